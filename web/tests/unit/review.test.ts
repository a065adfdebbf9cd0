import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
	ActionSchema,
	DecisionReviewSchema,
	MatchReviewSchema,
	Verdict,
	ViewSchema,
} from "../../src/api/types";
import { judgement } from "../../src/replay/judged";
import { curve, neighbour, passes, secondsLeft, stepOf, termsOf } from "../../src/replay/review";
import type { Moment } from "../../src/replay/states";

/** A match with these versions, which seat 0 wins. */
const momentsAt = (...versions: number[]): Moment[] =>
	versions.map((version, index) => ({
		version: BigInt(version),
		events: [],
		own: false,
		hands: [[], []],
		view: create(ViewSchema, {
			result: index === versions.length - 1 ? { scores: [1, 0] } : undefined,
		}),
	}));
const decided = (version: number, seat: number, verdict: Verdict, expectedScore = 0.5) =>
	create(DecisionReviewSchema, { version: BigInt(version), seat, verdict, expectedScore });

const ALL = momentsAt(0, 2, 3, 7);
const DECISIONS = [
	decided(0, 0, Verdict.MISTAKE, 0.75),
	decided(0, 1, Verdict.FORCED, 0),
	decided(2, 1, Verdict.INACCURACY, 0.25),
	decided(4, 0, Verdict.UNCLEAR, 0.5),
	decided(5, 1, Verdict.BLUNDER, 0.125),
];

describe("the review of a match", () => {
	it("shows a version at the step that has led to it", () => {
		expect([0n, 1n, 2n, 6n, 7n, 9n].map((version) => stepOf(ALL, version))).toEqual([
			0, 0, 1, 2, 3, 3,
		]);
	});

	it("has scores from the point of view of one seat, and ends with the result", () => {
		expect(curve(ALL, DECISIONS, 0, 0)).toEqual([
			{ step: 0, score: 0.75 },
			{ step: 2, score: 0.5 },
			{ step: 3, score: 1 },
		]);
		// What the other seat knew, seen from the same side; its forced decision was not searched.
		expect(curve(ALL, DECISIONS, 0, 1)).toEqual([
			{ step: 1, score: 0.75 },
			{ step: 2, score: 0.875 },
			{ step: 3, score: 1 },
		]);
		expect(curve(ALL, DECISIONS, 1, 1).map(({ score }) => score)).toEqual([0.25, 0.125, 0]);
	});

	it("is filtered by seat and by how much was lost", () => {
		const versions = (filter: Parameters<typeof passes>[0]) =>
			DECISIONS.filter((each) => passes(filter, each)).map(({ version }) => Number(version));
		expect(versions({})).toEqual([0, 2, 4, 5]);
		expect(versions({ least: Verdict.INACCURACY })).toEqual([0, 2, 5]);
		expect(versions({ least: Verdict.MISTAKE })).toEqual([0, 5]);
		expect(versions({ least: Verdict.INACCURACY, seat: 1 })).toEqual([2, 5]);
	});

	it("leads to the nearest decision before and after", () => {
		const next = (at: number, direction: 1 | -1) => neighbour(ALL, DECISIONS, at, direction);
		expect([next(0, 1), next(1, 1), next(2, 1)]).toEqual([1, 2, undefined]);
		expect([next(3, -1), next(1, -1), next(0, -1)]).toEqual([2, 0, undefined]);
	});

	it.each([0, 1])("explains the result of seat %i by terms that add up", (near) => {
		const review = create(MatchReviewSchema, {
			result: { scores: [1, 0] },
			start: 0.014,
			chanceOutcomes: [
				{ version: 1n, luck: 0.114 },
				{ version: 2n, luck: -0.0149 },
				{ version: 5n, luck: 0.226 },
			],
			seats: [{ loss: 0.3049 }, { loss: 0.256 }],
		});
		const { result, ...terms } = termsOf(review, near, 1n);
		expect(result).toBe(near === 0 ? 100 : 0);
		expect(Object.values(terms).reduce((all, each) => all + each, 50)).toBe(result);
		const sign = near === 0 ? 1 : -1;
		expect(terms.deal).toBe(sign * 11);
		expect(terms.later).toBe(sign * 21);
		expect([terms.own, terms.others]).toEqual(near === 0 ? [-30, 26] : [-26, 30]);
	});

	it("claims no more than was found", () => {
		const action = create(ActionSchema, { game: { case: "skystones", value: {} } });
		const bestAction = create(ActionSchema, { game: { case: "championChess", value: {} } });
		const say = (verdict: Verdict, rest: object) =>
			judgement(create(DecisionReviewSchema, { verdict, action, bestAction, ...rest }), "Y");
		expect(say(Verdict.UNCLEAR, { loss: 0.07, deviation: 0.05 })).toMatch(
			/cannot be told.*7 points of 100 \(± 10\)/,
		);
		expect(say(Verdict.BEST, { probability: 0.2 })).toMatch(/Part of a good mix.*20%.*“Y”/);
		expect(say(Verdict.BEST, { probability: 0.6, bestAction: action })).toMatch(/part of a mix/);
		expect(say(Verdict.BEST, { probability: 1, bestAction: action })).not.toMatch(/mix/);
		expect(say(Verdict.BLUNDER, { loss: 0.12, deviation: 0.015 })).toMatch(
			/lost about 12 points of 100 \(± 3\)/,
		);
	});

	it("says how long it takes, waiting for the budget included", () => {
		const left = (seconds: number, budgetShare: number) =>
			secondsLeft({
				remainingSearchTime: { seconds: BigInt(seconds), nanos: 1 },
				budgetShare,
			} as Parameters<typeof secondsLeft>[0]);
		expect([left(0, 0), left(7, 0.1), left(31, 0), left(100, 0)]).toEqual([1, 8, 40, 120]);
		expect(left(7, 3)).toBe(120);
	});
});
