// The texts in the visitor's language.

import { computed } from "@preact/signals";
import type { Refusal } from "../api/errors";
import { language } from "../state/settings";
import { de } from "./de";
import { en, type Texts } from "./en";

const general = computed<Texts>(() => (language.value === "de" ? de : en));

/** The texts; a component that calls it is drawn again when the language changes. */
export const t = (): Texts => general.value;

/** Texts of a game in the visitor's language, from those in all languages. */
export const texts =
	<T>(each: { en: T; de: T }): (() => T) =>
	() =>
		each[language.value];

/** With this many digits after the point at least. */
export const number = (value: number | bigint, minimumFractionDigits = 0) =>
	new Intl.NumberFormat(language.value, { minimumFractionDigits }).format(value);

/** With its sign, unless it is 0. */
export const signed = (value: number) =>
	new Intl.NumberFormat(language.value, { signDisplay: "exceptZero" }).format(value);

export const percent = (value: number) =>
	new Intl.NumberFormat(language.value, { style: "percent", maximumFractionDigits: 0 }).format(
		value,
	);

/** Scores from 0 to 1 in points of a hundred. */
export const points = (score: number) => Math.round(100 * score) || 0;

/** What a deviation leaves open, in points of a hundred: with 95 % probability it is not more. */
export const margin = (deviation: number) => points(2 * deviation);

/** "a, b and c" in the visitor's language; equal words are counted. */
export function list(words: readonly string[]): string {
	const counts = new Map<string, number>();
	for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
	const parts = [...counts].map(([word, count]) => (count > 1 ? `${count} × ${word}` : word));
	return new Intl.ListFormat(language.value).format(parts);
}

/** A refusal in words: what has not reached the server can be tried again. */
export const inWords = (refusal: Refusal) =>
	t().refused[refusal.reason] ?? (refusal.temporary ? t().notSent : refusal.message);
