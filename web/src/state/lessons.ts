// The games whose lesson was played to its end in this browser.
import { signal } from "@preact/signals";
import { readList, text, write } from "./storage";

const KEY = "lessons";

export const lessons = signal<readonly string[]>(readList(KEY, text));

export function learned(game: string) {
	if (lessons.value.includes(game)) return;
	lessons.value = [...lessons.value, game];
	write(KEY, JSON.stringify(lessons.value));
}
