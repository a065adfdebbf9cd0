// What the review of a match found, as the page shows it: points of view, filter, the way a result came about.
import { equals } from "@bufbuild/protobuf";
import {
	ActionSchema,
	type DecisionReview,
	type MatchReview,
	type ReviewProgress,
	Verdict,
} from "../api/types";
import { points } from "../i18n";
import type { Moment } from "./states";

const BUDGET_SECONDS = 60; // The budget of search is one for a minute.

/** The verdicts on errors, the least first. */
export const ERRORS = [Verdict.INACCURACY, Verdict.MISTAKE, Verdict.BLUNDER] as const;

/** Which decisions are shown: of which seat, and from which error on; all if that is not set. */
export interface Filter {
	seat?: number;
	least?: Verdict;
}

/** The step that shows the table of a version. */
export function stepOf(all: readonly Moment[], version: bigint): number {
	const later = all.findIndex((moment) => moment.version > version);
	return Math.max(0, (later < 0 ? all.length : later) - 1);
}

export interface Point {
	step: number;
	score: number;
}

/**
 * The expected score of the near seat by what one of the seats knew, wherever that one had a choice, and
 * at the end the result.
 */
export function curve(
	all: readonly Moment[],
	decisions: readonly DecisionReview[],
	near: number,
	knowing: number,
): Point[] {
	const scores = new Map<number, number>();
	for (const { version, seat, verdict, expectedScore } of decisions) {
		if (seat !== knowing || verdict === Verdict.FORCED) continue; // Nothing was searched.
		scores.set(stepOf(all, version), seat === near ? expectedScore : 1 - expectedScore);
	}
	const result = all.at(-1)?.view.result?.scores[near];
	if (result !== undefined) scores.set(all.length - 1, result);
	return [...scores].map(([step, score]) => ({ step, score }));
}

/** Whether a filter lets a decision through. What was no choice is not shown among others. */
export function passes({ seat, least }: Filter, decision: DecisionReview): boolean {
	if (seat !== undefined && seat !== decision.seat) return false;
	if (least === undefined) return decision.verdict !== Verdict.FORCED;
	return decision.verdict >= least && decision.verdict <= Verdict.BLUNDER;
}

export const isError = ({ verdict }: DecisionReview) =>
	passes({ least: Verdict.INACCURACY }, { verdict } as DecisionReview);

/** The nearest step after a step, or before it, at which one of the decisions was made. */
export function neighbour(
	all: readonly Moment[],
	decisions: readonly DecisionReview[],
	at: number,
	direction: 1 | -1,
): number | undefined {
	const steps = decisions
		.map(({ version }) => stepOf(all, version))
		.filter((step) => direction * (step - at) > 0);
	if (steps.length === 0) return undefined;
	return direction > 0 ? Math.min(...steps) : Math.max(...steps);
}

/** What was found of the better action, with the line that is expected to follow. */
export const better = ({ hint, bestAction }: DecisionReview) =>
	hint?.actions.find(
		({ action }) => action && bestAction && equals(ActionSchema, action, bestAction),
	);

/** Whether the action that was played is the best one. */
export const playedBest = ({ action, bestAction }: DecisionReview) =>
	action !== undefined && bestAction !== undefined && equals(ActionSchema, action, bestAction);

/** The terms of a result for the near seat, in whole points of a hundred. */
export interface Terms {
	start: number;
	deal: number;
	later: number;
	own: number;
	others: number;
	rest: number;
	result: number;
}

/** How a result came about: 50 and all the terms together are exactly the result. */
export function termsOf(review: MatchReview, near: number, dealt: bigint): Terms {
	const sign = near === 0 ? 1 : -1;
	const luck = (ofDeal: boolean) =>
		points(
			sign *
				sum(
					review.chanceOutcomes
						.filter(({ version }) => version <= dealt === ofDeal)
						.map((each) => each.luck),
				),
		);
	const lost = (seat: number) => points(review.seats[seat]?.loss ?? 0);
	const terms = {
		start: points(sign * review.start),
		deal: luck(true),
		later: luck(false),
		own: -lost(near) || 0,
		others: lost(1 - near),
	};
	const result = points(review.result?.scores[near] ?? 0.5);
	// The rest is what nothing else explains: it takes what rounding leaves over as well.
	return { ...terms, rest: result - 50 - sum(Object.values(terms)), result };
}

export const countOf = (review: MatchReview, seat: number, verdict: Verdict) =>
	review.seats[seat]?.verdicts.find((each) => each.verdict === verdict)?.count ?? 0;

/** How many seconds a review still takes, at most two digits; longer if it has to wait for the budget. */
export function secondsLeft({ remainingSearchTime, budgetShare }: ReviewProgress): number {
	const searching =
		Number(remainingSearchTime?.seconds ?? 0n) + (remainingSearchTime?.nanos ?? 0) / 1e9;
	const seconds = Math.max(1, Math.ceil(searching), Math.ceil((budgetShare - 1) * BUDGET_SECONDS));
	if (seconds <= 20) return seconds;
	return seconds <= 90 ? 10 * Math.ceil(seconds / 10) : 60 * Math.ceil(seconds / 60);
}

const sum = (values: readonly number[]) => values.reduce((all, each) => all + each, 0);
