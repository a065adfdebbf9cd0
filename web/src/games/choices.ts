// How an action is put together by clicks. Each legal action is a list of stages, and each stage a
// set of keys that may be clicked in any order: a card, a square, a button. What has been clicked
// so far leaves the actions that begin with it, and these say what can be clicked next.
import type { Action, View } from "../api/types";

/** Something that can be clicked, such as "card:KNIGHT", "square:4" or "to:gate". */
export type Key = string;

export interface Choice {
	action: Action;
	stages: Key[][];
}

/** A click: the key, and which of several equal things it was, such as the place in the hand. */
export interface Click {
	key: Key;
	instance: number;
}

/** Whether two lists offer the same to click, in the same order. */
export function sameOffer(ones: readonly Choice[], others: readonly Choice[]): boolean {
	const offered = (choices: readonly Choice[]) =>
		JSON.stringify(choices.map((each) => each.stages));
	return ones.length === others.length && offered(ones) === offered(others);
}

/** Whether each choice begins with one thing, and not with several that are chosen together. */
export const eachBeginsWithOne = (choices: readonly Choice[]) =>
	choices.every(({ stages }) => stages.find((stage) => stage.length > 0)?.length === 1);

/** The actions that begin with the clicks, and those among them that are complete. */
export function matching(choices: readonly Choice[], clicks: readonly Click[]) {
	const open: Choice[] = [];
	const complete: Choice[] = [];
	for (const choice of choices) {
		const rest = restAfter(choice, clicks);
		if (!rest) continue;
		open.push(choice);
		if (rest.length === 0) complete.push(choice);
	}
	return { open, complete };
}

/** The keys that may come next after the clicks, with the actions that each leads to. */
export function nextKeys(choices: readonly Choice[], clicks: readonly Click[]): Map<Key, Choice[]> {
	const next = new Map<Key, Choice[]>();
	for (const choice of choices) {
		const rest = restAfter(choice, clicks);
		for (const key of new Set(rest?.[0] ?? [])) {
			const known = next.get(key);
			if (known) known.push(choice);
			else next.set(key, [choice]);
		}
	}
	return next;
}

/** The stages that are left after the clicks; undefined if the choice does not begin with them. */
function restAfter(choice: Choice, clicks: readonly Click[]): Key[][] | undefined {
	const stages = choice.stages.filter((stage) => stage.length > 0).map((stage) => [...stage]);
	for (const { key } of clicks) {
		const stage = stages[0];
		const at = stage?.indexOf(key) ?? -1;
		if (!stage || at < 0) return undefined;
		stage.splice(at, 1);
		if (stage.length === 0) stages.shift();
	}
	return stages;
}

/** Removes one click, and those after it unless they belong to the same stage. */
export function without(choices: readonly Choice[], clicks: readonly Click[], at: number): Click[] {
	const stages =
		matching(choices, clicks).open[0]?.stages.filter((stage) => stage.length > 0) ?? [];
	const stageAt = (click: number) => {
		let begun = 0;
		return stages.findIndex((stage) => {
			begun += stage.length;
			return click < begun;
		});
	};
	if (stageAt(at) !== stageAt(clicks.length - 1)) return clicks.slice(0, at);
	return clicks.filter((_, index) => index !== at);
}

/** Equal for equal actions, and for equal positions of a game. */
export function identity({ game }: Pick<Action | View, "game">): string {
	return JSON.stringify(game, (key, value) =>
		key.startsWith("$") ? undefined : typeof value === "bigint" ? `${value}` : value,
	);
}
