// Where the fields of a view go: into the hand, to a seat, or between the two.
import type { DescField } from "@bufbuild/protobuf";
import type { ReflectMessage } from "@bufbuild/protobuf/reflect";
import { t } from "../../i18n";
import { BOOL, BYTES, isList, isNumber, isSaid, messageOf, scalarOf, valuesOf } from "../schema";
import type { Words } from "../words";

/** Something to be drawn. */
export type Item =
	| { kind: "cards"; name: string; label: string; cards: { card: string; note?: string }[] }
	| { kind: "pile"; label: string; count: number }
	| { kind: "figure"; label: string; value: string; seat?: number }
	| { kind: "sentence"; text: string }
	| { kind: "flag"; label: string }
	| { kind: "table"; label: string; columns: string[]; rows: string[][] }
	| { kind: "group"; label: string; items: Item[] };

export interface Layout {
	hand: { title: string; cards: string[] }[];
	/** What belongs to each seat. */
	sides: [Item[], Item[]];
	middle: Item[];
}

const HAND = /^(hand|own_hand|your_hand|hand_cards|own_cards|cards)$/;
const SIDES = /^(sides|seats|players)$/;
export const SCORE = /^(scores?|points|tricks|tricks_won|won|goals|chips|total)$/;
export const HELD =
	/^(hand_sizes?|hand_counts?|cards_in_hand|opponent_hand_size|opponent_hand_count)$/;
const STACK = /(^|_)(deck|stock|pile|talon)(_size|_count|_left)?$/;
// What a player would not look at: the memory of what has been seen, and lists of what has not.
const HIDDEN = /^(unseen.*|.*history|.*memory)$/;
const LAST = 12; // Of a long list, as many entries are drawn.

/** Sorts the fields of a view; `me` is the seat that looks, if it is one of the two. */
export function layoutOf(words: Words, view: ReflectMessage, me: number | undefined): Layout {
	const layout: Layout = { hand: [], sides: [[], []], middle: [] };
	const score = figureOf(view, 0, SCORE, words)?.field; // It is said beside the player's name too.
	const take = (message: ReflectMessage, path: string, seat: number | undefined) => {
		for (const field of message.fields) {
			if (isLeftOut(words, path, field) || !isSaid(message, field) || field === score) continue;
			const mine = seat === undefined || seat === me;
			if (words.holdsCards(field) && isList(field) && HAND.test(field.name) && mine) {
				if (me === undefined) continue;
				const title = ownLabel(words, path, field) ?? t().yourHand;
				layout.hand.push({ title, cards: words.cardsOf(message, field) });
				continue;
			}
			const values = valuesOf(message, field);
			if (SIDES.test(field.name) && messageOf(field) && values.length === 2 && seat === undefined) {
				for (const [at, value] of values.entries())
					take(value as ReflectMessage, `${field.name}.`, at);
				continue;
			}
			if (HELD.test(field.name)) continue; // It is said beside the name of the player.
			const isSaidWhole = sentenceOf(words, path, field) !== undefined;
			if (isPair(words, field, values) && seat === undefined && !isSaidWhole) {
				const label = labelOf(words, path, field);
				const said = values.map((each) => words.valueOf(field, each));
				for (const [at, value] of said.entries())
					layout.sides[at as 0 | 1].push({ kind: "figure", label, value });
				continue;
			}
			const whose = seat ?? ownerOf(field.name, me);
			const place = whose === undefined ? layout.middle : layout.sides[whose as 0 | 1];
			place.push(itemOf(words, message, field, path));
		}
	};
	take(view, "", undefined);
	return layout;
}

/** A figure of a seat: of a list by seat, or of the part of the view that is the seat's. */
export function figureOf(
	state: ReflectMessage | undefined,
	seat: number,
	name: RegExp,
	words: Words,
): { value: string; label: string; field: DescField } | undefined {
	for (const field of state?.fields ?? []) {
		if (!isList(field) || isLeftOut(words, "", field) || sentenceOf(words, "", field)) continue;
		const value = valuesOf(state!, field)[seat];
		if (name.test(field.name) && (typeof value === "number" || typeof value === "bigint"))
			return { value: `${value}`, label: words.label("view", field.name), field };
		if (!SIDES.test(field.name) || typeof value !== "object") continue;
		const side = value as ReflectMessage;
		const path = `${field.name}.`;
		const own = side.fields.find(
			(each) => name.test(each.name) && isNumber(each) && !isLeftOut(words, path, each),
		);
		if (own) return { value: `${side.get(own)}`, label: labelOf(words, path, own), field: own };
	}
	return undefined;
}

/** Whether nobody would look at a field; a game says so of its own by an empty phrase. */
function isLeftOut(words: Words, path: string, field: DescField): boolean {
	const own = words.game.phrases[`view.${path}${field.name}`];
	return own === "" || HIDDEN.test(field.name) || scalarOf(field) === BYTES;
}

/** Two values, one for each seat. */
const isPair = (words: Words, field: DescField, values: unknown[]) =>
	isList(field) && !messageOf(field) && !words.holdsCards(field) && values.length === 2;

function ownerOf(name: string, me: number | undefined): number | undefined {
	if (me === undefined) return undefined;
	return /^opponent_/.test(name) ? 1 - me : /^(own|your)_/.test(name) ? me : undefined;
}

/** The sentence that a game has for a field of a view, with values in braces. */
function sentenceOf(words: Words, path: string, field: DescField): string | undefined {
	const own = words.game.phrases[`view.${path}${field.name}`];
	return own?.includes("{") ? own : undefined;
}

/** What a field of a view is called, within the message that the path names, such as `sides.`. */
export const labelOf = (words: Words, path: string, field: DescField) =>
	ownLabel(words, path, field) ?? words.label("view", field.name);

const ownLabel = (words: Words, path: string, field: DescField) =>
	sentenceOf(words, path, field) ? undefined : words.game.phrases[`view.${path}${field.name}`];

function itemOf(words: Words, message: ReflectMessage, field: DescField, path: string): Item {
	const sentence = sentenceOf(words, path, field);
	if (sentence) return { kind: "sentence", text: words.sentence(sentence, message) };
	const label = labelOf(words, path, field);
	const values = valuesOf(message, field);
	if (words.holdsCards(field)) {
		const cards = words.cardsOf(message, field).map((card) => ({ card }));
		return { kind: "cards", name: field.name, label, cards };
	}
	if (messageOf(field) && isList(field))
		return listOf(words, field, label, values as ReflectMessage[], `${path}${field.name}.`);
	if (messageOf(field)) {
		const inside = `${path}${field.name}.`;
		const part = values[0] as ReflectMessage;
		const items = part.fields
			.filter((each) => isSaid(part, each) && !isLeftOut(words, inside, each))
			.map((each) => itemOf(words, part, each, inside));
		// One thing needs no heading below a heading.
		const [only] = items;
		if (items.length === 1 && only && "label" in only) return { ...only, label };
		return { kind: "group", label, items };
	}
	if (scalarOf(field) === BOOL && !isList(field)) return { kind: "flag", label };
	if (isNumber(field) && STACK.test(field.name))
		return { kind: "pile", label, count: Number(values[0]) };
	const seat = words.namesSeat(field) ? Number(values[0]) : undefined;
	return { kind: "figure", label, value: words.fieldIn(message, field) ?? "–", seat };
}

/** A list of messages: cards with notes, if each has a card, and else a table. */
function listOf(
	words: Words,
	field: DescField,
	label: string,
	items: ReflectMessage[],
	path: string,
): Item {
	const shown = items.slice(-LAST);
	const leftOut = (each: DescField) => isLeftOut(words, path, each);
	const columns = messageOf(field)!.fields.filter((each) => !leftOut(each));
	const card = columns.find((each) => words.holdsCards(each) && !isList(each));
	if (card) {
		const but = (each: DescField) => each === card || leftOut(each);
		const called = (each: DescField) => ownLabel(words, path, each);
		const cards = shown.map((item) => ({
			card: words.cardsOf(item, card)[0] ?? "",
			note: words.allOf(item, but, called).join(", "),
		}));
		return { kind: "cards", name: field.name, label, cards };
	}
	return {
		kind: "table",
		label,
		columns: columns.map((each) => labelOf(words, path, each)),
		rows: shown.map((item) =>
			columns.map((each) => (isSaid(item, each) ? (words.fieldIn(item, each) ?? "") : "–")),
		),
	};
}
