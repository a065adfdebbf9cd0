// The hint in full: the score, the shares of the moves, the expected line, and the hidden cards.

import { StopReason } from "../api/types";
import { type Context, type GameModule, spaced } from "../games/module";
import { number, percent, t } from "../i18n";
import { Sparkline } from "../ui/sparkline";
import type { Hints } from "./hints";
import { nameOfSeat } from "./words";

const MOVES = 6;

export function HintPanel(props: {
	game: GameModule;
	context: Context;
	hints: Hints;
	possible: boolean;
}) {
	const { game, context, hints, possible } = props;
	const hint = hints.hint.value;
	const beliefs = hints.beliefs.value;
	const refusal = hints.refusal.value;
	return (
		<section class="hintpanel" aria-label={t().hint}>
			<div class="buttons">
				{hints.running.value ? (
					<button type="button" onClick={() => hints.cancel()}>
						{t().hintStop}
					</button>
				) : (
					<button
						type="button"
						class="primary"
						disabled={!possible}
						onClick={() => void hints.start()}
					>
						{t().hintAsk}
					</button>
				)}
				{hints.on.value && (
					<button type="button" class="quiet" onClick={() => hints.hide()}>
						{t().hintOff}
					</button>
				)}
			</div>
			{!possible && !hint && <p class="muted">{t().hintNotNow}</p>}
			{refusal && <p class="refusal">{t().refused[refusal.reason] ?? refusal.message}</p>}
			{hints.running.value && !hint && <p class="muted">{t().hintThinking}</p>}
			{hint && (
				<>
					<div class="hintscore">
						<div>
							<span class="big">{percent(hint.expectedScore)}</span>
							<span class="muted">{t().hintExpected}</span>
						</div>
						<Sparkline values={hints.scores.value} label={t().hintScoreGraph} />
					</div>
					<Chances win={hint.win} draw={hint.draw} loss={hint.loss} />
					<p class="muted figures">
						{hint.stopReason === StopReason.PROVEN
							? t().hintProven
							: `${t().hintIterations(number(hint.iterations))} · ${t().hintWorlds(number(hint.worlds))}`}
					</p>
					<h3>{t().hintShares}</h3>
					<ol class="shares">
						{hint.actions.slice(0, MOVES).map((each, index) => (
							<li key={index}>
								<meter min={0} max={1} value={each.probability} aria-hidden="true" />
								<span class="what">{game.describeAction(each.action!, context)}</span>
								<span class="num">{percent(each.probability)}</span>
								<span class="num muted">
									{each.tied && (
										<abbr class="tied" title={t().hintTied}>
											={" "}
										</abbr>
									)}
									{percent(each.expectedScore)}
								</span>
							</li>
						))}
					</ol>
					{(hint.actions[0]?.line.length ?? 0) > 0 && (
						<>
							<h3>{t().hintLine}</h3>
							<ol class="line">
								{hint.actions[0]!.line.map((each, index) => (
									<li key={index}>
										<b class={`who ${each.seat === context.me ? "mine" : "theirs"}`}>
											{nameOfSeat(context, each.seat)}
										</b>{" "}
										{game.describeAction(each.action!, context)}
									</li>
								))}
							</ol>
						</>
					)}
				</>
			)}
			{beliefs && beliefs.cards.length > 0 && (
				<>
					<h3>{t().hintHidden}</h3>
					<p class="muted">{t().hintHiddenNote(number(beliefs.worlds))}</p>
					{[...new Set(beliefs.cards.map((each) => each.placeName))]
						.filter((place) => place !== "opponent_pile")
						.map((place) => (
							<div key={place}>
								<h4>{t().places[place] ?? game.place?.(place) ?? spaced(place)}</h4>
								<ul class="heat">
									{beliefs.cards
										.filter((each) => each.placeName === place)
										.sort((a, b) => b.probability - a.probability)
										.map((each) => {
											const card = context.catalog.cards.get(each.card);
											return (
												<li
													key={each.card}
													class={`heat${Math.min(9, Math.floor(each.probability * 10))}`}
												>
													<game.Card card={card} catalog={context.catalog} />
													<span class="num">{percent(each.probability)}</span>
												</li>
											);
										})}
								</ul>
							</div>
						))}
				</>
			)}
		</section>
	);
}

function Chances(props: { win: number; draw: number; loss: number }) {
	const { win, draw, loss } = props;
	const text = `${t().hintWin} ${percent(win)}, ${t().hintDraw} ${percent(draw)}, ${t().hintLoss} ${percent(loss)}`;
	return (
		<svg
			class="chances"
			viewBox="0 0 100 6"
			preserveAspectRatio="none"
			role="img"
			aria-label={text}
		>
			<title>{text}</title>
			<rect class="win" x="0" width={100 * win} height="6" />
			<rect class="draw" x={100 * win} width={100 * draw} height="6" />
			<rect class="loss" x={100 * (win + draw)} width={100 * loss} height="6" />
		</svg>
	);
}
