// What the visitor has set: language, theme, name, sound and notifications. None of it is a secret.
import { effect, type Signal, signal } from "@preact/signals";
import { type Check, oneOf, read, write } from "./storage";

export type Language = "en" | "de";
export type Theme = "system" | "light" | "dark";
export type Switch = "on" | "off";

/** A setting that is stored under a key, and lasts as long as the page where it cannot be. */
function setting<T extends string>(key: string, otherwise: T, check: Check<T>): Signal<T> {
	const found = signal(check(read(key)) ?? otherwise);
	effect(() => {
		// A setting that was never changed is not stored.
		if (found.value !== (read(key) ?? otherwise)) write(key, found.value);
	});
	return found;
}

const spoken: Language = navigator.language.toLowerCase().startsWith("de") ? "de" : "en";

export const language = setting<Language>("language", spoken, oneOf("en", "de"));
export const theme = setting<Theme>("theme", "system", oneOf("system", "light", "dark"));
/** The longest display name that the schema allows, in characters. */
export const NAME_LENGTH = 32;
/** The name by which the other player sees the visitor; may be empty. */
export const displayName = setting("name", "", (value) =>
	typeof value === "string" ? value.replace(/\p{C}/gu, "").slice(0, NAME_LENGTH) : undefined,
);
/** Whether the other player is told that the visitor is there, and the visitor of the other player. */
export const presence = setting<Switch>("presence", "on", oneOf("on", "off"));
/** Whether a sound says that it is the visitor's turn. */
export const sound = setting<Switch>("sound", "off", oneOf("on", "off"));
/** Whether a notification says so while the page is hidden. */
export const notifications = setting<Switch>("notifications", "off", oneOf("on", "off"));

effect(() => {
	document.documentElement.lang = language.value;
});
effect(() => {
	if (theme.value === "system") delete document.documentElement.dataset.theme;
	else document.documentElement.dataset.theme = theme.value;
});

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
