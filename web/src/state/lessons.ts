// The games whose lesson was played to its end in this browser.
import { signal } from "@preact/signals";

const KEY = "lessons";

function load(): string[] {
	try {
		return JSON.parse(localStorage.getItem(KEY) ?? "[]");
	} catch {
		return []; // Storage may be forbidden.
	}
}

export const lessons = signal<readonly string[]>(load());

export function learned(game: string) {
	if (lessons.value.includes(game)) return;
	lessons.value = [...lessons.value, game];
	try {
		localStorage.setItem(KEY, JSON.stringify(lessons.value));
	} catch {
		// The tick then lasts as long as the page.
	}
}
