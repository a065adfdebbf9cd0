// The puzzles of each game, and those that were solved in this browser.
import { signal } from "@preact/signals";
import { listPuzzles } from "../api/calls";
import { read, readList, write } from "./storage";

const KEY = "puzzles";
const NONE: readonly string[] = [];

/** The names of the puzzles that were solved. */
export const solved = signal<readonly string[]>(readList(read(KEY)));

export function solve(name: string) {
	// Another tab may have solved one meanwhile.
	solved.value = [...new Set([...readList<string>(read(KEY)), ...solved.value, name])];
	write(KEY, JSON.stringify(solved.value));
}

const listed = signal<ReadonlyMap<string, readonly string[]>>(new Map());
const underway = new Set<string>();

/** The names of all puzzles of a game; undefined until they are loaded. */
export function puzzlesOf(game: string): readonly string[] | undefined {
	const found = listed.value.get(game);
	if (!found && !underway.has(game)) {
		underway.add(game);
		void listPuzzles(game)
			// A server without them is as one that cannot be reached.
			.catch(() => NONE)
			.then((names) => {
				listed.value = new Map(listed.value).set(game, names);
			});
	}
	return found;
}

/** The last part of the name of a puzzle. */
export const idOfPuzzle = (name: string) => name.slice(name.lastIndexOf("/") + 1);
