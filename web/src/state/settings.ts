// The visitor's language and theme. They are no secrets, so they may outlive the session.
import { effect, signal } from "@preact/signals";

export type Language = "en" | "de";
export type Theme = "system" | "light" | "dark";

function stored<T extends string>(key: string, allowed: readonly T[], otherwise: T): T {
	try {
		const value = localStorage.getItem(key) as T | null;
		return value && allowed.includes(value) ? value : otherwise;
	} catch {
		return otherwise; // Storage may be forbidden.
	}
}

function store(key: string, value: string) {
	try {
		localStorage.setItem(key, value);
	} catch {
		// The setting then lasts as long as the page.
	}
}

const spoken: Language = navigator.language.toLowerCase().startsWith("de") ? "de" : "en";

export const language = signal<Language>(stored("language", ["en", "de"], spoken));
export const theme = signal<Theme>(stored("theme", ["system", "light", "dark"], "system"));

effect(() => {
	document.documentElement.lang = language.value;
	store("language", language.value);
});
effect(() => {
	if (theme.value === "system") delete document.documentElement.dataset.theme;
	else document.documentElement.dataset.theme = theme.value;
	store("theme", theme.value);
});

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
