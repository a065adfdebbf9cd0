// What a hint says of its moves: an outcome that adds up, how each compares in words, and which is drawn.
import { type ActionEvaluation, type Hint, Standing, StopReason } from "../api/types";
import { margin, points, t } from "../i18n";

/** What the advice leads to, in whole points of a hundred: win + draw / 2 = points. */
export interface Outcome {
	points: number;
	win: number;
	draw: number;
	loss: number;
}

/** Rounded so that all of it adds up: the draws to an even number, and the rest after them. */
export function outcomeOf(hint: Pick<Hint, "expectedScore" | "draw">): Outcome {
	const expected = points(hint.expectedScore);
	const half = Math.min(points(hint.draw / 2), expected, 100 - expected);
	return { points: expected, win: expected - half, draw: 2 * half, loss: 100 - expected - half };
}

/** The moves that a hint advises: one, or the parts of a mixture. Where it is proven what each move is
 * worth, the best ones are worth the same, and the first will do. */
export const advised = ({ actions, stopReason }: Hint): ActionEvaluation[] =>
	stopReason === StopReason.PROVEN
		? actions.slice(0, 1)
		: actions.filter(({ standing }) => standing === Standing.BEST);

export const isMixed = (hint: Hint) => advised(hint).length > 1;

/** How a move compares with the advice, in words. */
export function compared({ standing, loss = 0, lossDeviation = 0 }: ActionEvaluation): string {
	switch (standing) {
		case Standing.BEST:
			return t().hintBest;
		case Standing.AS_GOOD:
			return t().hintAsGood;
		case Standing.WORSE:
			return t().hintWorse(points(loss), Math.min(100, margin(lossDeviation)));
		default:
			return t().hintUnexamined;
	}
}

/** One of the advised moves, by their probabilities and a number from 0 to 1. */
export function draw(hint: Hint, chance = Math.random()): ActionEvaluation | undefined {
	const parts = advised(hint);
	let left = chance * parts.reduce((sum, { probability }) => sum + probability, 0);
	for (const part of parts) {
		left -= part.probability;
		if (left < 0) return part;
	}
	return parts.at(-1);
}
