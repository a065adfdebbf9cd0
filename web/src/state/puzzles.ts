// The puzzles of each game, and those that were solved in this browser.
import { signal } from "@preact/signals";
import { listPuzzles } from "../api/calls";
import type { Puzzle } from "../api/types";
import { readList, text, write } from "./storage";

const KEY = "puzzles";
const NONE: readonly Puzzle[] = [];

/** The names of the puzzles that were solved. */
export const solved = signal<readonly string[]>(readList(KEY, text));

export function solve(name: string) {
	// Another tab may have solved one meanwhile.
	solved.value = [...new Set([...readList(KEY, text), ...solved.value, name])];
	write(KEY, JSON.stringify(solved.value));
}

const listed = signal<ReadonlyMap<string, readonly Puzzle[]>>(new Map());
const underway = new Set<string>();

/** All puzzles of a game; undefined until they are loaded. */
export function puzzlesOf(game: string): readonly Puzzle[] | undefined {
	const found = listed.value.get(game);
	if (!found && !underway.has(game)) {
		underway.add(game);
		void listPuzzles(game)
			// A server without them is as one that cannot be reached.
			.catch(() => NONE)
			.then((all) => {
				listed.value = new Map(listed.value).set(game, all);
			});
	}
	return found;
}

/** The number of those that were solved. */
export const countSolved = (all: readonly Puzzle[]) =>
	all.filter(({ name }) => solved.value.includes(name)).length;

/** The last part of the name of a puzzle. */
export const idOfPuzzle = ({ name }: Puzzle) => name.slice(name.lastIndexOf("/") + 1);
