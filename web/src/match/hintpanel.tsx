// The hint: a sentence, the chances, the moves, the expected line, the hidden cards; figures on request.

import {
	type Action,
	type ActionEvaluation,
	type CardBelief,
	type Hint,
	HintPolicy,
	Standing,
	StopReason,
	type View,
} from "../api/types";
import { type Context, cardProps } from "../games/module";
import { Said } from "../games/said";
import { spaced } from "../games/schema";
import { describeAction, nameOfSeat } from "../games/sentences";
import { inWords, number, percent, points, t } from "../i18n";
import { Button } from "../ui/button";
import { Refused } from "../ui/refused";
import { Sparkline } from "../ui/sparkline";
import { advised, compared, isMixed, outcomeOf } from "./advice";
import type { Hints } from "./hints";
import { Why } from "./why";

const MOVES = 6;
const LIKELY = 0.7; // From here on a hidden card stands out.

/** Tells the style sheet how likely something is. */
const tenths = (probability: number) => (element: HTMLElement | null) =>
	element?.style.setProperty("--n", `${Math.floor(10 * probability)}`);

/** Whether the seats may ask for hints now. */
export const hintsAllowed = (view: View) =>
	view.hintPolicy !== HintPolicy.AFTER_END || view.result !== undefined;

export function HintPanel(props: {
	context: Context;
	hints: Hints;
	/** What is found for the position that is shown. */
	hint: Hint | undefined;
	possible: boolean;
	/** Plays the advice. */
	play(): void;
	/** Shows a move on the table, or none. */
	show(action: Action | undefined): void;
}) {
	const { context, hints, hint, possible, play, show } = props;
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
					<Button
						class={hint ? "quiet" : "primary"}
						data-testid="askhint"
						disabled={!possible}
						onClick={() => void hints.start()}
					>
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
					{possible && (
						<div class="buttons">
							<Button class="primary" data-testid="playadvice" onClick={play}>
								{isMixed(hint) ? t().hintDraw : t().hintPlay}
							</Button>
						</div>
					)}
					<Why hint={hint} context={context} />
					<Chances hint={hint} />
					<p class="muted">
						{t().hintPoints} {isMixed(hint) && t().hintMixing}
					</p>
					<Moves hint={hint} context={context} show={show} />
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
	const row = ({ card, probability, there }: (typeof cards)[number]) => (
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
	);
	return places
		.filter((place) => place !== "opponent_pile")
		.map((place) => {
			const { single, alike } = apart(cards.filter(({ placeName }) => placeName === place));
			return (
				<div key={place}>
					<Title>{phrases[`place.${place}`] ?? spaced(place)}</Title>
					<ul class="heat">{single.slice(0, most).map(row)}</ul>
					{alike.map((some) => (
						<details key={some[0]!.card}>
							<summary>{t().hintAlike(some.length, percent(some[0]!.probability))}</summary>
							<ul class="heat">{some.map(row)}</ul>
						</details>
					))}
				</div>
			);
		});
}

const MANY_ALIKE = 8; // Cards as likely as each other that tell no more than one of them would.

/** Cards in the order of their likelihood; apart, many of which each is as likely, within a twentieth. */
export function apart<T extends { probability: number; there?: boolean }>(cards: readonly T[]) {
	const step = ({ probability }: T) => Math.round(20 * probability);
	const sorted = cards.toSorted(
		(a, b) => Number(b.there ?? 0) - Number(a.there ?? 0) || b.probability - a.probability,
	);
	const steps = [...new Set(sorted.map(step))];
	const alike = steps
		.map((at) => sorted.filter((each) => !each.there && step(each) === at))
		.filter((some) => some.length >= MANY_ALIKE);
	return { single: sorted.filter((each) => !alike.some((some) => some.includes(each))), alike };
}

/** What to play, how often, and what it is worth, in one or two sentences. */
function advice(hint: Hint, context: Context): string {
	const [best, next] = hint.actions;
	const title = (which: typeof best) => describeAction(which!.action!, context);
	const worth = t().hintWorth(points(hint.expectedScore));
	if (!next) return `${t().hintOnly(title(best))} ${worth}`;
	if (!isMixed(hint)) {
		const others = [Standing.BEST, Standing.AS_GOOD].includes(next.standing)
			? ` ${t().hintOthers(compared(next))}`
			: "";
		return `${t().hintAlways(title(best))} ${worth}${others}`;
	}
	const inTen = (probability: number) => Math.min(9, Math.max(1, Math.round(10 * probability)));
	const mixed =
		advised(hint).length === 2
			? t().hintMixed(title(best), inTen(best!.probability), title(next))
			: t().hintMixedMore(
					title(best),
					inTen(best!.probability),
					title(next),
					inTen(next.probability),
				);
	return `${mixed} ${worth}`;
}

export function Chances({ hint }: { hint: Hint }) {
	const { win, draw, loss } = outcomeOf(hint);
	const chances = [
		["win", win / 100, t().hintWin],
		["draw", draw / 100, t().hintDrawn],
		["loss", loss / 100, t().hintLoss],
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
	/** Shows a move on the table, or none. */
	show?(action: Action | undefined): void;
}) {
	const { hint, context, show } = props;
	const mixed = isMixed(hint);
	return (
		<table class="rowtable shares">
			<thead>
				<tr>
					<th scope="col">{t().hintMove}</th>
					{mixed && <th scope="col">{t().hintShare}</th>}
					<th scope="col">{t().hintValue}</th>
				</tr>
			</thead>
			<tbody>
				{hint.actions.slice(0, MOVES).map((each, index) => (
					<tr
						key={index}
						tabIndex={show && 0}
						data-standing={each.standing}
						onMouseEnter={() => show?.(each.action)}
						onMouseLeave={() => show?.(undefined)}
						onFocus={() => show?.(each.action)}
						onBlur={() => show?.(undefined)}
					>
						<th scope="row">
							<Move action={each.action!} context={context} />
						</th>
						{mixed && (
							<td class="num">
								{each.standing === Standing.BEST && (
									<>
										{percent(each.probability)}
										<meter min={0} max={1} value={each.probability} aria-hidden="true" />
									</>
								)}
							</td>
						)}
						<td>{compared(each)}</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

/** An action in a few words, of which the cards can be asked. */
const Move = ({ action, context }: { action: Action; context: Context }) => (
	<Said
		text={describeAction(action, context)}
		cards={context.catalog.words.cardsIn(action)}
		catalog={context.catalog}
	/>
);

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
					<Move action={each.action!} context={context} />
				</li>
			))}
		</ol>
	);
}

function Figures({ hint, scores }: { hint: Hint; scores: readonly number[] }) {
	return (
		<details class="figures">
			<summary>{t().hintFigures}</summary>
			{scores.length > 1 && <Sparkline values={scores} label={t().hintScoreGraph} />}
			<p class="muted">
				{hint.stopReason === StopReason.PROVEN
					? t().hintProven
					: t().hintSearched(number(hint.iterations), number(hint.worlds))}
			</p>
		</details>
	);
}
