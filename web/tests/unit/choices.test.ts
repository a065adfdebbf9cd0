import { describe, expect, it } from "vitest";
import type { Action } from "../../src/api/types";
import {
	type Choice,
	type Click,
	eachBeginsWithOne,
	matching,
	nextKeys,
	sameOffer,
	without,
} from "../../src/games/choices";

const choice = (name: string, ...stages: string[][]): Choice => ({
	action: name as unknown as Action,
	stages,
});
const clicks = (...keys: string[]): Click[] => keys.map((key, instance) => ({ key, instance }));
const names = (choices: Choice[]) => choices.map((each) => each.action as unknown as string).sort();

describe("choices", () => {
	const aid = [
		choice("none", []),
		choice("sword", ["card:SWORD"]),
		choice("pawns", ["card:PAWN", "card:PAWN"]),
		choice("both", ["card:PAWN", "card:SWORD"]),
	];

	it("knows where a second click may play a card, however many can be chosen now", () => {
		const castling = ["do:castle", "do:stay"].map((way) => choice(way, ["card:KING"], [way]));
		expect(eachBeginsWithOne([choice("rook", ["card:ROOK"], []), ...castling])).toBe(true);
		expect(eachBeginsWithOne(aid)).toBe(false);
		expect(eachBeginsWithOne(aid.slice(3))).toBe(false);
		// One card is left to add, but adding none is a choice as well.
		expect(eachBeginsWithOne(aid.slice(0, 2))).toBe(false);
	});

	it("completes the empty set at once, and offers what extends it", () => {
		expect(names(matching(aid, []).complete)).toEqual(["none"]);
		expect([...nextKeys(aid, []).keys()].sort()).toEqual(["card:PAWN", "card:SWORD"]);
	});

	it("tells the same offer from another", () => {
		const again = aid.map((each) => ({ ...each, stages: each.stages.map((keys) => [...keys]) }));
		expect(sameOffer(aid, again)).toBe(true);
		expect(sameOffer(aid, aid.slice(1))).toBe(false);
		expect(sameOffer(aid, [...aid.slice(0, 3), choice("both", ["card:PAWN", "card:KNIGHT"])])).toBe(
			false,
		);
	});

	it("takes the cards of a stage in any order", () => {
		const one = matching(aid, clicks("card:SWORD", "card:PAWN"));
		const other = matching(aid, clicks("card:PAWN", "card:SWORD"));
		expect(names(one.complete)).toEqual(["both"]);
		expect(names(other.complete)).toEqual(["both"]);
	});

	it("counts equal cards", () => {
		expect(names(matching(aid, clicks("card:PAWN", "card:PAWN")).complete)).toEqual(["pawns"]);
		expect(nextKeys(aid, clicks("card:PAWN", "card:PAWN")).size).toBe(0);
		expect(matching(aid, clicks("card:SWORD", "card:SWORD")).open).toEqual([]);
	});

	const castle = [
		choice("giant for knight", ["card:GIANT"], ["do:play"], ["card:KNIGHT"]),
		choice("knight", ["card:KNIGHT"], ["do:play"]),
		choice("giant to gate", ["card:GIANT"], ["to:gate"], []),
		choice("end", ["do:end"]),
	];

	it("keeps the order of stages", () => {
		expect([...nextKeys(castle, clicks("card:GIANT")).keys()].sort()).toEqual([
			"do:play",
			"to:gate",
		]);
		expect(
			names(matching(castle, clicks("card:GIANT", "do:play", "card:KNIGHT")).complete),
		).toEqual(["giant for knight"]);
		expect(matching(castle, clicks("card:KNIGHT", "do:play", "card:GIANT")).open).toEqual([]);
	});

	it("skips an empty stage", () => {
		expect(names(matching(castle, clicks("card:GIANT", "to:gate")).complete)).toEqual([
			"giant to gate",
		]);
	});

	it("drops what no longer fits when a click is taken back", () => {
		expect(without(castle, clicks("card:GIANT", "do:play", "card:KNIGHT"), 0)).toEqual([]);
		expect(without(aid, clicks("card:PAWN", "card:SWORD"), 0).map((each) => each.key)).toEqual([
			"card:SWORD",
		]);
	});
});
