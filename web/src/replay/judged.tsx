// What a review says of one step: each decision with its reasons, hindsight apart from it, and luck.
import { type DecisionReview, type MatchReview, type RevealedCard, Verdict } from "../api/types";
import type { Context } from "../games/module";
import { describeAction, nameOfSeat } from "../games/sentences";
import { margin, percent, points, signed, t } from "../i18n";
import { Expected, Hidden, Moves } from "../match/hintpanel";
import { Why } from "../match/why";
import { Button } from "../ui/button";
import { Sign } from "./graph";
import { better, isError, playedBest } from "./review";

const CARDS = 10; // Hidden cards that are shown of one place.
const LIKELY = 0.25; // A card that was not there is worth a word from here on.
const SURE = 0.95; // From here on a move is played always.

export const lossOf = ({ loss, deviation }: DecisionReview) =>
	t().reviewPoints(points(loss), margin(deviation));

/** The context in which a decision is said in words: what the deciding seat calls its own. */
export const contextOf = (context: Context, seat: number): Context => ({
	...context,
	view: Object.assign(Object.create(context.view), { seat }),
});

/** How good the decision was: a sentence that claims no more than was found. */
export function judgement(decision: DecisionReview, best: string): string {
	const { verdict, probability, loss } = decision;
	switch (verdict) {
		case Verdict.FORCED:
			return t().reviewForced;
		case Verdict.BEST:
			if (!playedBest(decision)) return t().reviewPart(percent(probability), best);
			return probability < SURE ? t().reviewBestMixed(percent(probability)) : t().reviewBest;
		case Verdict.GOOD:
			return points(loss) > 0 ? t().reviewGood(lossOf(decision)) : t().reviewAsGood;
		case Verdict.UNCLEAR:
			return t().reviewUnclear(lossOf(decision));
		default:
			return t().reviewLost(lossOf(decision));
	}
}

const worstFirst = (a: DecisionReview, b: DecisionReview) =>
	Number(isError(b)) - Number(isError(a)) || b.loss - a.loss;

export function Who({ context, seat }: { context: Context; seat: number }) {
	return (
		<bdi class={`who ${seat === context.me ? "mine" : "theirs"}`}>{nameOfSeat(context, seat)}</bdi>
	);
}

export function StepReview(props: {
	context: Context;
	near: number;
	decisions: readonly DecisionReview[];
	summary: MatchReview | undefined;
	/** The version of the shown step. */
	version: bigint;
	running: boolean;
	/** Goes to where other moves than that of a decision are tried. */
	setTried: (decision: DecisionReview) => void;
}) {
	const { context, near, decisions, summary, running } = props;
	const luck = summary?.chanceOutcomes.find(({ version }) => version === props.version);
	return (
		<div class="judged" data-testid="judged">
			{decisions.length === 0 && (
				<p class="muted">{running ? t().reviewNotYet : t().reviewNothing}</p>
			)}
			{[...decisions].sort(worstFirst).map((each) => (
				<Judged key={each.seat} {...props} decision={each} />
			))}
			{luck && points(luck.luck) !== 0 && (
				<p>
					{t().reviewLuckHere(
						nameOfSeat(context, near),
						`${signed(points(near === 0 ? luck.luck : -luck.luck))} (± ${margin(luck.deviation)})`,
					)}
				</p>
			)}
		</div>
	);
}

function Judged(props: {
	context: Context;
	near: number;
	decision: DecisionReview;
	setTried: (decision: DecisionReview) => void;
}) {
	const { near, decision } = props;
	const { seat, verdict, hindsight, hint } = decision;
	const context = contextOf(props.context, seat);
	const played = describeAction(decision.action!, context);
	const best = describeAction(decision.bestAction!, context);
	const expected = better(decision);
	const off = hindsight && margin(hindsight.deviation);
	const other = !playedBest(decision) && verdict !== Verdict.BEST;
	return (
		<article class="decision">
			<h2>
				<Sign verdict={verdict} own={seat === near} /> <Who context={context} seat={seat} />:{" "}
				<span data-testid="verdictof" data-verdict={verdict}>
					{t().verdicts[verdict]}
				</span>
			</h2>
			<dl>
				<dt>{t().reviewPlayed}</dt>
				<dd>{played}</dd>
				{other && (
					<>
						<dt>{isError(decision) ? t().reviewBetter : t().reviewOther}</dt>
						<dd>{best}</dd>
					</>
				)}
			</dl>
			<p>
				<b>{judgement(decision, best)}</b>
				{hint && ` ${t().reviewExpected(points(decision.expectedScore))}`}
			</p>
			{verdict !== Verdict.FORCED && (
				<div class="buttons">
					<Button data-testid="try" onClick={() => props.setTried(decision)}>
						{t().tryMove}
					</Button>
				</div>
			)}
			{isError(decision) && hint && <Why hint={hint} context={context} />}
			{isError(decision) && expected && expected.line.length > 0 && (
				<>
					<h3>{t().reviewLine(best)}</h3>
					<Expected seat={seat} found={expected} context={context} />
				</>
			)}
			<Revealed cards={decision.revealedCards} context={context} />
			{hindsight && (
				<aside class="hindsight">
					<h3>{t().reviewHindsight}</h3>
					<p>
						{t().reviewHindsightText(
							points(hindsight.playedScore),
							points(hindsight.bestScore),
							off ? ` (± ${off})` : "",
						)}
					</p>
				</aside>
			)}
			{hint && hint.actions.length > 1 && (
				<details class="figures">
					<summary>{t().reviewMoves}</summary>
					<Moves hint={hint} context={context} />
				</details>
			)}
		</article>
	);
}

/** What the seat could believe of the cards that it did not see, and which of them were there. */
function Revealed(props: { cards: readonly RevealedCard[]; context: Context }) {
	const cards = props.cards.flatMap(({ belief, copies }) =>
		belief && (copies > 0 || belief.probability >= LIKELY)
			? [{ ...belief, there: copies > 0 }]
			: [],
	);
	if (cards.every(({ placeName }) => placeName === "opponent_pile")) return null;
	return (
		<details class="figures">
			<summary>{t().reviewHidden}</summary>
			<p class="muted">{t().reviewHiddenNote}</p>
			<Hidden cards={cards} context={props.context} Title="h3" most={CARDS} />
		</details>
	);
}
