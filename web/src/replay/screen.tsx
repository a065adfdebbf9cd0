// The replay of a finished match, from its record: both hands, step by step, with its review, and the
// check of the deal.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { refusalOf } from "../api/errors";
import {
	type DecisionReview,
	EndReason,
	Verdict as Judgement,
	type MatchRecord,
} from "../api/types";
import { Glyph } from "../cards/glyphs";
import { under } from "../games/cardlist";
import { catalogOf } from "../games/catalog";
import type { Context } from "../games/module";
import { outcome, reason } from "../games/sentences";
import { t } from "../i18n";
import { NewMatchDialog } from "../lobby/newmatch";
import { useFlip } from "../match/flip";
import { Log } from "../match/log";
import { sinceOwn } from "../match/session";
import { type Panel, Table } from "../match/table";
import { linkTo } from "../state/router";
import { idOf, type Seat } from "../state/seats";
import { Button } from "../ui/button";
import { useKeydown } from "../ui/heard";
import { Loading, Notice } from "../ui/notice";
import { Sign } from "./graph";
import { StepReview, Who } from "./judged";
import { MatchFigures, Overview, Progress } from "./panel";
import { replayed } from "./replaying";
import { type Filter, isError, neighbour, passes, stepOf } from "./review";
import { reviewOf } from "./reviewing";
import { type Moment, moments, type Replayed } from "./states";
import { Try } from "./trying";
import type { Verdict } from "./verify";
import "../style/review.css";

const SETTLED_MS = 300;

export function ReplayScreen({ seat, version }: { seat: Seat; version?: string }) {
	const [match, setMatch] = useState<Replayed>();
	const [failed, setFailed] = useState<string>();
	useEffect(() => {
		replayed(seat).then(setMatch, (error) => {
			const refusal = refusalOf(error);
			setFailed(refusal.reason === "MATCH_NOT_OVER" ? t().replayNotOver : refusal.message);
		});
	}, [seat.match, seat.token]);
	const standard = catalogOf(seat.game);
	const catalog = standard && under(standard, match?.record.ruleset);
	const module = catalog?.module;
	const all = useMemo(
		() => (match && module ? moments(match, module, seat.seat ?? 0) : []),
		[match, module, seat.seat],
	);
	if (failed)
		return <Notice says={failed} link={linkTo.match(idOf(seat.match))} label={t().backToMatch} />;
	if (!match || !catalog || all.length === 0) return <Loading />;
	const context = { catalog, me: seat.seat, view: all[0]!.view };
	const at = /^\d{1,9}$/.test(version ?? "") ? stepOf(all, BigInt(version!)) : all.length - 1;
	return <Replay {...{ seat, all, context }} begin={at} record={match.record} />;
}

function Replay(props: {
	seat: Seat;
	record: MatchRecord;
	all: Moment[];
	context: Context;
	/** The step that is shown first. */
	begin: number;
}) {
	const { seat, record, all } = props;
	const [at, setAt] = useState(props.begin);
	const [tried, setTried] = useState<DecisionReview>();
	const [filter, setFilter] = useState<Filter>({ least: Judgement.INACCURACY });
	const [tab, setTab] = useState<"step" | "match" | "log">();
	const review = reviewOf(seat);
	const decisions = review.decisions.value;
	const shown = decisions.filter((each) => passes(filter, each));
	const reviewed = decisions.length > 0;
	const here = decisions.filter(({ version }) => stepOf(all, version) === at);
	const root = useRef<HTMLDivElement>(null);
	useFlip(root, at);
	const moment = all[at]!;
	const address = linkTo.replay(idOf(seat.match), moment.version);
	useEffect(() => {
		const here = location.hash;
		// A browser takes only so many changes in a time. Whoever has left meanwhile is not called back.
		const timer = setTimeout(() => {
			if (location.hash === here) history.replaceState(null, "", address);
		}, SETTLED_MS);
		return () => clearTimeout(timer);
	}, [address]);
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
	useEffect(() => {
		void review.plan();
		return () => review.stop();
	}, [review]);
	const [playingOn, setPlayingOn] = useState(false);
	const { result } = moment.view;
	// A match that ended early is played on from what was owed then.
	const owed = result && result.reason !== EndReason.RULES ? all[at - 1] : moment;
	const panel = useRef<HTMLElement>(null);
	useEffect(() => panel.current?.scrollTo(0, 0), [at, tab]);
	useKeydown((event) => {
		if (tried || document.querySelector("dialog[open]")) return;
		const direction = { n: 1, p: -1 }[event.key.toLowerCase()] as 1 | -1 | undefined;
		if (direction) explain(mistake(direction));
		const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (step) setAt((now) => Math.max(0, Math.min(all.length - 1, now + step)));
	});
	const panels: Panel<NonNullable<typeof tab>>[] = [
		{
			name: "match",
			title: t().reviewTabs.match,
			show: () => (
				<MatchFigures
					{...{ all, context, near, decisions, shown }}
					summary={review.summary.value}
					go={explain}
				/>
			),
		},
		{
			name: "step",
			title: t().reviewTabs.step,
			show: () => (
				<StepReview
					{...{ context, near, setTried }}
					decisions={here}
					summary={review.summary.value}
					version={moment.version}
					running={review.running.value}
				/>
			),
		},
		{
			name: "log",
			title: reviewed ? t().reviewTabs.log : t().log,
			show: () => (
				<Log
					{...{ context, events }}
					latest={record.start && at === 0 ? 1 : moment.events.length}
				/>
			),
		},
	];
	const playOnFrom = (version: bigint, from: number, onClose: () => void) => (
		<NewMatchDialog
			id={seat.game}
			from={{
				source: { case: "matchToken", value: seat.token },
				version,
				ruleset: record.ruleset!,
				seat: from as 0 | 1,
				back: address,
			}}
			onClose={onClose}
		/>
	);
	if (tried)
		return (
			<Try
				key={tried.version}
				{...{ seat, record, playOnFrom }}
				catalog={context.catalog}
				decision={tried}
				leave={() => setTried(undefined)}
			/>
		);
	return (
		<Table
			{...{ root, context, events, near }}
			kind="replay"
			data-testid="replay"
			data-version={`${moment.version}`}
			hands={moment.hands}
			tale={{ steps: sinceOwn(all.slice(0, at + 1)) }}
			bar={
				<section class="actions" aria-label={t().replay}>
					<p class="prompt" role="status">
						{t().replayStep(at + 1, all.length)}{" "}
						{here.filter(isError).map((each) => (
							<span key={each.seat} class="stepnote">
								<Sign verdict={each.verdict} own={each.seat === near} />{" "}
								<Who context={context} seat={each.seat} />: {t().verdicts[each.verdict]}
							</span>
						))}
						{result && (
							<>
								<b class="stepnote">{outcome(context)}</b> {reason(context)}
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
								<Button
									data-testid="lastmistake"
									disabled={mistake(-1) === undefined}
									onClick={() => explain(mistake(-1))}
								>
									{filter.least ? t().lastMistake : t().lastDecision}
								</Button>
								<Button
									data-testid="nextmistake"
									disabled={mistake(1) === undefined}
									onClick={() => explain(mistake(1))}
								>
									{filter.least ? t().nextMistake : t().nextDecision}
								</Button>
							</>
						)}
						<Button
							data-testid="playon"
							disabled={!owed?.view.deciders.length}
							onClick={() => setPlayingOn(true)}
						>
							{t().playOn}
						</Button>
						<a class="button quiet" href={linkTo.match(idOf(seat.match))}>
							{t().backToMatch}
						</a>
					</div>
				</section>
			}
			head={
				<section class="review" aria-label={t().reviewTitle}>
					{review.planned.value && review.progress.value?.decisions !== 0 && (
						<Progress review={review} />
					)}
					{reviewed && (
						<Overview
							{...{ all, context, near, at, review, filter, shown, setFilter }}
							go={explain}
						/>
					)}
				</section>
			}
			more={
				<>
					<p class="muted keys">{t().keyboardReplay}</p>
					<details>
						<summary>{t().verify}</summary>
						<Verify seat={seat} record={record} context={context} />
					</details>
				</>
			}
			panels={reviewed ? panels : panels.slice(2)}
			open={tab}
			setOpen={setTab}
			panelRef={panel}
		>
			{playingOn && playOnFrom(owed!.version, near, () => setPlayingOn(false))}
		</Table>
	);
}

function Step(props: { label: string; sign: string; onClick: () => void }) {
	return (
		<Button aria-label={props.label} title={props.label} onClick={props.onClick}>
			{props.sign}
		</Button>
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
				<Button class="primary" data-testid="verify" onClick={() => void check()}>
					<Glyph name="SHIELD" /> {t().verify}
				</Button>
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
