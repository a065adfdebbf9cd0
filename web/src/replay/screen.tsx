// The replay of a finished match, from its record: both hands, step by step, with its review, and the
// check of the deal.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { evaluate, getRecord } from "../api/calls";
import { refusalOf } from "../api/errors";
import { EndReason, Verdict as Judgement, type MatchRecord } from "../api/types";
import { Glyph } from "../cards/glyphs";
import { classOf } from "../games";
import { under } from "../games/cardlist";
import type { Context, GameModule, Picker } from "../games/module";
import { percent, t } from "../i18n";
import { NewMatchDialog } from "../lobby/newmatch";
import { useFlip } from "../match/flip";
import { Log } from "../match/log";
import { outcome, reason } from "../match/words";
import { catalogOf } from "../state/catalog";
import { linkTo } from "../state/router";
import { idOf, type Seat } from "../state/seats";
import { Sparkline } from "../ui/sparkline";
import { Sign } from "./graph";
import { remembered } from "./history";
import { StepReview, Who } from "./judged";
import { MatchFigures, Overview, Progress } from "./panel";
import { type Filter, isError, neighbour, passes, stepOf } from "./review";
import { reviewOf } from "./reviewing";
import { type Moment, moments } from "./states";
import type { Verdict } from "./verify";
import "../style/review.css";

const NOTHING: Picker = {
	clicks: [],
	can: () => false,
	chosen: () => false,
	share: () => undefined,
	pick: () => undefined,
};

export function ReplayScreen({ seat }: { seat: Seat }) {
	const [record, setRecord] = useState<MatchRecord>();
	const [failed, setFailed] = useState<string>();
	useEffect(() => {
		getRecord(seat).then(setRecord, (error) => {
			const refusal = refusalOf(error);
			setFailed(refusal.reason === "MATCH_NOT_OVER" ? t().replayNotOver : refusal.message);
		});
	}, [seat.match, seat.token]);
	const standard = catalogOf(seat.game);
	const catalog = standard && under(standard, record?.ruleset);
	const module = catalog?.module;
	const all = useMemo(
		() => (record && module ? moments(record, module.follow?.(record)) : []),
		[record, module],
	);
	if (failed)
		return (
			<div class="notice">
				<p role="alert">{failed}</p>
				<a class="button" href={linkTo.match(idOf(seat.match))}>
					{t().backToMatch}
				</a>
			</div>
		);
	if (!record || !catalog || all.length === 0) return <p class="notice">{t().loading}</p>;
	return (
		<Replay {...{ seat, record, all }} context={{ catalog, me: seat.seat, view: all[0]!.view }} />
	);
}

function Replay(props: { seat: Seat; record: MatchRecord; all: Moment[]; context: Context }) {
	const { seat, record, all } = props;
	const game = props.context.catalog.module;
	const [at, setAt] = useState(all.length - 1);
	const [filter, setFilter] = useState<Filter>({ least: Judgement.INACCURACY });
	const [tab, setTab] = useState<"step" | "match" | "log">("log");
	const review = reviewOf(seat);
	const decisions = review.decisions.value;
	const shown = decisions.filter((each) => passes(filter, each));
	const reviewed = decisions.length > 0;
	const here = decisions.filter(({ version }) => stepOf(all, version) === at);
	const root = useRef<HTMLDivElement>(null);
	useFlip(root, at);
	const moment = all[at]!;
	const near = seat.seat ?? 0;
	const context = { ...props.context, view: moment.view };
	const events = useMemo(() => all.slice(0, at + 1).flatMap((each) => each.events), [all, at]);
	const go = (to: number) => setAt(Math.max(0, Math.min(all.length - 1, to)));
	/** Goes to a step to read what the review says of it. */
	const explain = (to: number | undefined) => {
		if (to === undefined) return;
		go(to);
		setTab("step");
	};
	const mistake = (direction: 1 | -1) => neighbour(all, shown, at, direction);
	const keys = useRef(mistake);
	keys.current = mistake;
	useEffect(() => {
		void review.plan();
		return () => review.stop();
	}, [review]);
	const [playingOn, setPlayingOn] = useState(false);
	const decided = at === all.length - 1 && record.result?.reason === EndReason.RULES;
	const panel = useRef<HTMLElement>(null);
	useEffect(() => panel.current?.scrollTo(0, 0), [at, tab]);
	useEffect(() => {
		if (reviewed) setTab("match");
	}, [reviewed]);
	useEffect(() => {
		const onKey = (event: KeyboardEvent) => {
			if (event.ctrlKey || event.metaKey || event.altKey) return;
			if (document.querySelector("dialog[open]")) return;
			if (/^(INPUT|SELECT)$/.test((event.target as HTMLElement).tagName)) return;
			const direction = { n: 1, p: -1 }[event.key.toLowerCase()] as 1 | -1 | undefined;
			if (direction) explain(keys.current(direction));
			const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
			if (step) setAt((now) => Math.max(0, Math.min(all.length - 1, now + step)));
		};
		document.addEventListener("keydown", onKey);
		return () => document.removeEventListener("keydown", onKey);
	}, [all.length]);
	return (
		<div class={`match replay ${classOf(seat.game)}`} ref={root} data-testid="replay">
			<div class="tablearea">
				<Hand game={game} context={context} moment={moment} seat={1 - near} />
				<div class="board">
					{moment.view.game.case ? (
						<game.Board {...{ context, events, near }} view={moment.view} picker={NOTHING} />
					) : (
						<p class="noboard">{t().replayNoBoard}</p>
					)}
				</div>
				<Hand game={game} context={context} moment={moment} seat={near} />
				<section class="actions" aria-label={t().replay}>
					<p class="prompt" role="status">
						{t().replayStep(at + 1, all.length)}{" "}
						{here.filter(isError).map((each) => (
							<span key={each.seat} class="told">
								<Sign verdict={each.verdict} own={each.seat === near} />{" "}
								<Who context={context} seat={each.seat} />: {t().verdicts[each.verdict]}
							</span>
						))}
						{moment.view.result && (
							<>
								<b class="told">{outcome(context)}</b> {reason(context)}
							</>
						)}
					</p>
					<input
						type="range"
						min={0}
						max={all.length - 1}
						value={at}
						aria-label={t().replay}
						onInput={(event) => go(event.currentTarget.valueAsNumber)}
					/>
					<div class="buttons">
						<Step label={t().replayFirst} sign="«" onClick={() => go(0)} />
						<Step label={t().replayBack} sign="‹" onClick={() => go(at - 1)} />
						<Step label={t().replayForward} sign="›" onClick={() => go(at + 1)} />
						<Step label={t().replayLast} sign="»" onClick={() => go(all.length - 1)} />
						{reviewed && (
							<>
								<button
									type="button"
									data-testid="lastmistake"
									disabled={mistake(-1) === undefined}
									onClick={() => explain(mistake(-1))}
								>
									{filter.least ? t().lastMistake : t().lastDecision}
								</button>
								<button
									type="button"
									data-testid="nextmistake"
									disabled={mistake(1) === undefined}
									onClick={() => explain(mistake(1))}
								>
									{filter.least ? t().nextMistake : t().nextDecision}
								</button>
							</>
						)}
						<button
							type="button"
							data-testid="playon"
							disabled={decided}
							onClick={() => setPlayingOn(true)}
						>
							{t().playOn}
						</button>
						<a class="button quiet" href={linkTo.match(idOf(seat.match))}>
							{t().backToMatch}
						</a>
					</div>
				</section>
			</div>
			<aside class="side">
				<section class="review" aria-label={t().reviewTitle}>
					{review.possible.value && review.progress.value?.decisions !== 0 && (
						<Progress review={review} />
					)}
					{review.possible.value === false && <ScoreGraph seat={seat} />}
					{reviewed && (
						<Overview
							{...{ all, context, near, at, review, filter, shown, setFilter }}
							go={explain}
						/>
					)}
				</section>
				{reviewed && (
					<div class="tabs">
						{(["match", "step", "log"] as const).map((name) => (
							<button
								key={name}
								type="button"
								class={tab === name ? "current" : ""}
								aria-pressed={tab === name}
								data-testid={`tab-${name}`}
								onClick={() => setTab(name)}
							>
								{t().reviewTabs[name]}
							</button>
						))}
					</div>
				)}
				<section
					class="panel"
					ref={panel}
					tabIndex={0}
					aria-label={!reviewed || tab === "log" ? t().log : t().reviewTabs[tab]}
				>
					{(!reviewed || tab === "log") && (
						<Log
							{...{ game, context, events }}
							latest={record.start && at === 0 ? 1 : moment.events.length}
						/>
					)}
					{reviewed && tab === "step" && (
						<StepReview
							{...{ game, context, near }}
							decisions={here}
							summary={review.summary.value}
							version={moment.version}
							running={review.running.value}
						/>
					)}
					{reviewed && tab === "match" && (
						<MatchFigures
							{...{ all, context, near, game, decisions, shown }}
							summary={review.summary.value}
							go={explain}
						/>
					)}
				</section>
				<div class="more">
					<p class="muted keys">{t().keyboardReplay}</p>
					<details>
						<summary>{t().verify}</summary>
						<Verify seat={seat} record={record} context={context} />
					</details>
				</div>
			</aside>
			{playingOn && (
				<NewMatchDialog
					id={seat.game}
					from={{
						token: seat.token,
						version: moment.version,
						ruleset: record.ruleset!,
						seat: near as 0 | 1,
					}}
					onClose={() => setPlayingOn(false)}
				/>
			)}
		</div>
	);
}

function Step(props: { label: string; sign: string; onClick: () => void }) {
	return (
		<button type="button" aria-label={props.label} title={props.label} onClick={props.onClick}>
			{props.sign}
		</button>
	);
}

function Hand(props: { game: GameModule; context: Context; moment: Moment; seat: number }) {
	const { game, context, moment, seat } = props;
	const score = moment.view.game.case && game.score(moment.view, seat);
	return (
		<section class="player replayhand" aria-label={context.catalog.game.seatTitles[seat]}>
			<span
				class={`seatmark ${game.seatColours?.[seat] ?? (seat === context.me ? "mine" : "")}`}
				aria-hidden="true"
			/>
			<span class="name">
				<b>{context.catalog.game.seatTitles[seat]}</b>
				{seat === context.me && <span class="muted"> {t().you}</span>}
			</span>
			<ul class="smallhand">
				{moment.hands[seat]!.map((card, index) => (
					<li key={`${card}${index}`}>
						<game.Card
							card={context.catalog.cards.get(card)}
							catalog={context.catalog}
							side={seat}
						/>
					</li>
				))}
			</ul>
			{score && (
				<span class="score" title={score.label}>
					<span class="label">{score.label} </span>
					{score.value}
				</span>
			)}
		</section>
	);
}

function Verify(props: { seat: Seat; record: MatchRecord; context: Context }) {
	const [verdict, setVerdict] = useState<Verdict>();
	// A match that was played on was not dealt.
	const deal = props.record.start ? undefined : props.context.catalog.module.deal;
	async function check() {
		const { verify } = await import("./verify");
		const { game } = props.context.catalog;
		setVerdict(await verify(props.record, props.seat.secretHash, game, deal));
	}
	const hash =
		verdict &&
		{
			kept: t().verifyHash,
			record: t().verifyHashRecord,
			wrong: t().verifyHashWrong,
		}[verdict.hash];
	return (
		<section class="verify" aria-label={t().verify}>
			<p class="muted">{t().verifyText}</p>
			<div class="buttons">
				<button type="button" class="primary" data-testid="verify" onClick={() => void check()}>
					<Glyph name="SHIELD" /> {t().verify}
				</button>
			</div>
			{verdict && (
				<div role="status" data-testid="verdict">
					<ul>
						{" "}
						<li class={verdict.hash === "wrong" ? "refusal" : ""}>
							{verdict.hash === "wrong" ? "✗" : "✓"} {hash}
						</li>
						{deal && (
							<li class={verdict.equal ? "" : "refusal"}>
								{verdict.equal ? `✓ ${t().verifyDeal(verdict.cards)}` : `✗ ${t().verifyDealWrong}`}
							</li>
						)}
					</ul>
				</div>
			)}
		</section>
	);
}

const ITERATIONS = 400; // For each point of the graph.

/** The expected score at each decision of mine, searched from the views that this tab has seen. */
function ScoreGraph({ seat }: { seat: Seat }) {
	const views = remembered(seat.match);
	const [scores, setScores] = useState<number[]>([]);
	const stop = useRef<AbortController | undefined>(undefined);
	useEffect(() => () => stop.current?.abort(), []);
	if (views.length < 2) return null;
	async function search() {
		stop.current = new AbortController();
		const found: number[] = [];
		for (const view of views) {
			try {
				const hint = await evaluate(view, ITERATIONS, stop.current.signal);
				found.push(hint.expectedScore);
				setScores([...found]);
			} catch {
				return;
			}
		}
	}
	return (
		<section class="scoregraph" aria-label={t().scoreGraph}>
			{scores.length === 0 ? (
				<div class="buttons">
					<button type="button" data-testid="scoregraph" onClick={() => void search()}>
						{t().scoreGraph}
					</button>
				</div>
			) : (
				<>
					<p class="muted">
						{t().scoreGraph}: {percent(scores.at(-1) ?? 0)}
					</p>
					<Sparkline values={views.map((_, index) => scores[index])} label={t().scoreGraph} />
				</>
			)}
		</section>
	);
}
