// The hint: a sentence, the chances, the moves, the expected line, the hidden cards; figures on request.

import {
	type ActionEvaluation,
	type CardBelief,
	type Hint,
	HintPolicy,
	StopReason,
	type View,
} from "../api/types";
import { type Context, cardProps, spaced } from "../games/module";
import { describeAction } from "../games/words";
import { inWords, number, percent, t } from "../i18n";
import { Button } from "../ui/button";
import { Refused } from "../ui/refused";
import { Sparkline } from "../ui/sparkline";
import type { Hints } from "./hints";
import { nameOfSeat } from "./words";

const MOVES = 6;
const SURE = 0.95; // From here on a move is played always.
const LIKELY = 0.7; // From here on a hidden card stands out.
const SELDOM = 0.05; // Below this a move is not worth a word.

/** Tells the style sheet how likely something is. */
const tenths = (probability: number) => (element: HTMLElement | null) =>
	element?.style.setProperty("--n", `${Math.floor(10 * probability)}`);

/** Whether the seats may ask for hints now. */
export const hintsAllowed = (view: View) =>
	view.hintPolicy !== HintPolicy.AFTER_END || view.result !== undefined;

export function HintPanel(props: { context: Context; hints: Hints; possible: boolean }) {
	const { context, hints, possible } = props;
	const hint = hints.hint.value;
	const beliefs = hints.beliefs.value;
	const refusal = hints.refusal.value;
	const over = context.view.result !== undefined;
	if (over || !hintsAllowed(context.view))
		return (
			<div class="hintpanel" data-testid="nohints">
				{!over && <p>{t().hintsForbidden}</p>}
				<p class="muted">{t().hintsAfterwards}</p>
			</div>
		);
	return (
		<div class="hintpanel">
			<div class="buttons">
				{hints.running.value ? (
					<Button onClick={() => hints.cancel()}>{t().stop}</Button>
				) : (
					<Button class="primary" disabled={!possible} onClick={() => void hints.start()}>
						{t().hintAsk}
					</Button>
				)}
				{hints.on.value && (
					<Button class="quiet" onClick={() => hints.hide()}>
						{t().hintOff}
					</Button>
				)}
			</div>
			{!possible && !hint && <p class="muted">{t().hintNotNow}</p>}
			<Refused says={refusal && inWords(refusal)} />
			{hints.running.value && !hint && <p class="muted">{t().hintThinking}</p>}
			{hint && hint.actions.length > 0 && (
				<>
					<p class="advice" data-testid="advice">
						{advice(hint, context)}
					</p>
					<Chances win={hint.win} draw={hint.draw} loss={hint.loss} />
					<p class="muted">
						{t().hintPoints} {isMixed(hint) && t().hintMixing}
					</p>
					<Moves hint={hint} context={context} />
					{hint.actions[0]!.line.length > 0 && <h3>{t().hintLine}</h3>}
					<Expected seat={hint.seat} found={hint.actions[0]!} context={context} />
					<Figures hint={hint} scores={hints.scores.value} />
				</>
			)}
			{beliefs && beliefs.cards.length > 0 && (
				<>
					<h3>{t().hintHidden}</h3>
					<p class="muted">{t().hintHiddenNote(number(beliefs.worlds))}</p>
					<Hidden cards={beliefs.cards} context={context} Title="h4" />
				</>
			)}
		</div>
	);
}

/** The cards that may lie in each hidden place: first those that did, then the likeliest. */
export function Hidden(props: {
	cards: readonly Pick<
		CardBelief & { there?: boolean },
		"card" | "placeName" | "probability" | "there"
	>[];
	context: Context;
	Title: "h3" | "h4";
	/** How many are shown of each place. */
	most?: number;
}) {
	const { cards, context, Title, most } = props;
	const {
		module: game,
		game: { phrases },
	} = context.catalog;
	const places = [...new Set(cards.map(({ placeName }) => placeName))];
	return places
		.filter((place) => place !== "opponent_pile")
		.map((place) => (
			<div key={place}>
				<Title>{phrases[`place.${place}`] ?? spaced(place)}</Title>
				<ul class="heat">
					{cards
						.filter(({ placeName }) => placeName === place)
						.sort(
							(a, b) =>
								Number(b.there ?? 0) - Number(a.there ?? 0) || b.probability - a.probability,
						)
						.slice(0, most)
						.map(({ card, probability, there }) => (
							<li
								key={card}
								class={there ? "there" : probability >= LIKELY ? "likely" : ""}
								ref={tenths(probability)}
							>
								<game.Card {...cardProps(context.catalog, card)} />
								<span class="num">
									{there && (
										<>
											<span aria-hidden="true">✓ </span>
											<span class="sr">{t().reviewThere}, </span>
										</>
									)}
									{percent(probability)}
								</span>
							</li>
						))}
				</ul>
			</div>
		));
}

/** Whether there is more than one move to play. */
const isMixed = ({ actions: [best, next] }: Hint) =>
	best!.probability < SURE && next !== undefined && next.probability >= SELDOM;

/** What to play, how often, and what it is worth, in one or two sentences. */
function advice(hint: Hint, context: Context): string {
	const [best, next] = hint.actions;
	const title = (which: typeof best) => describeAction(which!.action!, context);
	const worth = t().points(best!.expectedScore);
	if (!next) return `${t().hintOnly(title(best))} ${t().hintWorth(worth)}`;
	if (!isMixed(hint)) {
		const others = next.tied ? ` ${t().hintOthers}` : "";
		return `${t().hintAlways(title(best))} ${t().hintWorth(worth)}${others}`;
	}
	const inTen = (probability: number) => Math.min(9, Math.max(1, Math.round(10 * probability)));
	const rest = 1 - best!.probability - next.probability;
	const mixed =
		rest < 2 * SELDOM
			? t().hintMixed(title(best), inTen(best!.probability), title(next))
			: t().hintMixedMore(
					title(best),
					inTen(best!.probability),
					title(next),
					inTen(next.probability),
				);
	const other = t().points(next.expectedScore);
	return `${mixed} ${other === worth ? t().hintWorthBoth(worth) : t().hintWorthEach(worth, other)}`;
}

export function Chances(props: { win: number; draw: number; loss: number }) {
	const chances = [
		["win", props.win, t().hintWin],
		["draw", props.draw, t().hintDraw],
		["loss", props.loss, t().hintLoss],
	] as const;
	let at = 0;
	return (
		<div class="chancesbox">
			<svg class="chances" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
				{chances.map(([name, share]) => {
					const x = at;
					at += 100 * share;
					return <rect key={name} class={name} x={x} width={100 * share} height="6" />;
				})}
			</svg>
			<ul>
				{chances.map(([name, share, title]) => (
					<li key={name}>
						<svg class="swatch" viewBox="0 0 1 1" aria-hidden="true">
							<rect class={name} width="1" height="1" />
						</svg>
						{title} <b class="num">{percent(share)}</b>
					</li>
				))}
			</ul>
		</div>
	);
}

export function Moves(props: {
	hint: Hint;
	context: Context;
	/** In points of 100, and without a judgement of its own. */
	review?: boolean;
}) {
	const { hint, context, review } = props;
	// Of moves that are equally good the hint may play one always. "0 %" beside another would say that
	// it must not be played.
	const instead = (move: Hint["actions"][number], index: number) =>
		!review && index > 0 && move.tied && move.probability < SELDOM && !isMixed(hint);
	return (
		<table class="rowtable shares">
			<thead>
				<tr>
					<th scope="col">{t().hintMove}</th>
					<th scope="col">{t().hintShare}</th>
					<th scope="col">{t().hintValue}</th>
				</tr>
			</thead>
			<tbody>
				{hint.actions.slice(0, MOVES).map((each, index) => (
					<tr key={index}>
						<th scope="row">
							{describeAction(each.action!, context)}
							{index > 0 && each.tied && !review && <span class="muted"> {t().hintTied}</span>}
						</th>
						{instead(each, index) ? (
							<td>{t().hintInstead}</td>
						) : (
							<td class="num">
								{percent(each.probability)}
								<meter min={0} max={1} value={each.probability} aria-hidden="true" />
							</td>
						)}
						<td class="num">
							{number(Math.round(100 * each.expectedScore) / (review ? 1 : 100), review ? 0 : 2)}
						</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

/** A move of a seat, and what is expected to follow. */
export function Expected(props: { seat: number; found: ActionEvaluation; context: Context }) {
	const { seat, found, context } = props;
	if (found.line.length === 0) return null;
	return (
		<ol class="line">
			{[{ seat, action: found.action }, ...found.line].map((each, index) => (
				<li key={index}>
					<b class={`who ${each.seat === context.me ? "mine" : "theirs"}`}>
						{nameOfSeat(context, each.seat)}:
					</b>{" "}
					{describeAction(each.action!, context)}
				</li>
			))}
		</ol>
	);
}

function Figures({ hint, scores }: { hint: Hint; scores: readonly number[] }) {
	return (
		<details class="figures">
			<summary>{t().hintFigures}</summary>
			<p>
				{t().hintExpected}:{" "}
				<b class="num">{number(Math.round(1000 * hint.expectedScore) / 1000)}</b>
			</p>
			{scores.length > 1 && <Sparkline values={scores} label={t().hintScoreGraph} />}
			<p class="muted">
				{hint.stopReason === StopReason.PROVEN
					? t().hintProven
					: t().hintSearched(number(hint.iterations), number(hint.worlds))}
			</p>
		</details>
	);
}
