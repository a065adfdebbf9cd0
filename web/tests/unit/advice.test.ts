// What a hint says in figures and words.
import { create, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import given from "../../../tests/croupier/hints.json";
import { ActionEvaluationSchema, HintSchema, Standing, StopReason } from "../../src/api/types";
import { compared, draw, outcomeOf } from "../../src/match/advice";
import { language } from "../../src/state/settings";

afterEach(() => {
	language.value = "en";
});

describe("a move of a hint", () => {
	const cases = given.compared as unknown as [JsonObject, string, string][];
	it.each(cases)("%j is %s", (json, ...said) => {
		const move = fromJson(ActionEvaluationSchema, json);
		const found = (["en", "de"] as const).map((each) => {
			language.value = each;
			return compared(move);
		});
		expect(found).toEqual(said);
	});
});

describe("an outcome", () => {
	const cases = given.outcomes as unknown as [JsonObject, number[]][];
	it.each(cases)("of %j is shown as %j", (json, shown) => {
		const { points, win, draw, loss } = outcomeOf(fromJson(HintSchema, json));
		expect([points, win, draw, loss]).toEqual(shown);
	});

	it("adds up as it is shown", () => {
		for (let draws = 0; draws <= 200; draws++)
			for (let wins = 0; wins + draws <= 200; wins++) {
				const hint = { expectedScore: (wins + draws / 2) / 200, draw: draws / 200 };
				const { points, win, draw, loss } = outcomeOf(hint);
				expect(Math.min(win, draw, loss)).toBeGreaterThanOrEqual(0);
				expect(win + draw + loss).toBe(100);
				expect(win + draw / 2).toBe(points);
				expect(Math.abs(draw - draws / 2)).toBeLessThanOrEqual(1);
			}
	});
});

describe("a mixture", () => {
	const moves = [
		{ probability: 0.6, standing: Standing.BEST },
		{ probability: 0.3, standing: Standing.BEST },
		{ probability: 0.1, standing: Standing.BEST },
		{ probability: 0, standing: Standing.AS_GOOD },
	];
	const hint = create(HintSchema, { actions: moves });

	it("is drawn with its probabilities, and from nothing else", () => {
		const times = new Map<number, number>();
		for (let n = 0; n < 1000; n++) {
			const { probability } = draw(hint, (n + 0.5) / 1000)!;
			times.set(probability, (times.get(probability) ?? 0) + 1);
		}
		expect([...times]).toEqual([
			[0.6, 600],
			[0.3, 300],
			[0.1, 100],
		]);
		expect(draw(create(HintSchema))).toBeUndefined();
		// Moves that are proven to be equally good are no mixture.
		const proven = create(HintSchema, { actions: moves, stopReason: StopReason.PROVEN });
		expect([0, 0.5, 1].map((n) => draw(proven, n))).toEqual(Array(3).fill(proven.actions[0]));
	});
});
