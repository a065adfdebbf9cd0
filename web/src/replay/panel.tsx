// The review beside the replay: its progress, the graph with a filter, and the whole match in figures.
import { type DecisionReview, type MatchReview, Verdict } from "../api/types";
import type { Context } from "../games/module";
import { describeAction, nameOfSeat } from "../games/sentences";
import { inWords, margin, points, signed, t } from "../i18n";
import { Button } from "../ui/button";
import { Refused } from "../ui/refused";
import { Graph, Sign } from "./graph";
import { contextOf, lossOf, Who } from "./judged";
import {
	countOf,
	curve,
	ERRORS,
	type Filter,
	isError,
	secondsLeft,
	stepOf,
	termsOf,
} from "./review";
import type { Review } from "./reviewing";
import type { Moment } from "./states";

const ORDER = [Verdict.BEST, Verdict.GOOD, ...ERRORS, Verdict.UNCLEAR, Verdict.FORCED] as const;
const SIZES = {
	all: undefined,
	inaccuracies: Verdict.INACCURACY,
	mistakes: Verdict.MISTAKE,
} as const;

interface Shared {
	all: readonly Moment[];
	context: Context;
	near: number;
	go: (step: number) => void;
}

/** The button that begins it, and how far it is. */
export function Progress({ review }: { review: Review }) {
	const progress = review.progress.value;
	const refusal = review.refusal.value;
	if (review.summary.value) return null;
	const begun = review.decisions.value.length > 0;
	const left = progress && t().time(secondsLeft(progress));
	return (
		<div class="reviewprogress">
			{review.running.value && progress ? (
				<>
					<progress value={review.share.value} aria-label={t().reviewTitle} />
					<p data-testid="progress">
						{progress.decisionsJudged < progress.decisions
							? t().reviewing(progress.decisionsJudged, progress.decisions)
							: t().reviewingDeep(progress.decisionsDeepened, progress.decisionsToDeepen)}
						, {t().reviewLeft(left!)}. {progress.budgetShare > 1 && t().reviewWaits}
					</p>
				</>
			) : (
				<p class="muted">{begun ? t().reviewStopped : left && t().reviewText(left)}</p>
			)}
			<Refused says={refusal && inWords(refusal)} />
			<div class="buttons">
				{review.running.value ? (
					<Button onClick={() => review.stop()}>{t().stop}</Button>
				) : (
					<Button class="primary" data-testid="review" onClick={() => void review.start()}>
						{begun ? t().reviewGoOn : t().review}
					</Button>
				)}
			</div>
		</div>
	);
}

/** The graph, and which decisions it marks. */
export function Overview(
	props: Shared & {
		at: number;
		review: Review;
		filter: Filter;
		shown: readonly DecisionReview[];
		setFilter: (filter: Filter) => void;
	},
) {
	const { all, context, near, filter, shown, setFilter } = props;
	const decisions = props.review.decisions.value;
	const found = curve(all, decisions, near, near);
	const errors = ERRORS.map((verdict) => {
		const n = decisions.filter((each) => each.verdict === verdict).length;
		return `${t().verdicts[verdict]}: ${n}`;
	}).join(", ");
	const label = t().reviewGraph(
		nameOfSeat(context, near),
		points(found[0]?.score ?? 0.5),
		points(found.at(-1)?.score ?? 0.5),
		errors,
	);
	const size = Object.entries(SIZES).find(([, least]) => least === filter.least)![0];
	return (
		<div class="overview">
			<Graph
				{...{ all, decisions, shown, near, label }}
				chance={props.review.summary.value?.chanceOutcomes ?? []}
				at={props.at}
				go={props.go}
			/>
			<p class="muted keys">
				{t().reviewMarks(nameOfSeat(context, near), nameOfSeat(context, 1 - near))}
			</p>
			<div class="filters">
				<select
					aria-label={t().reviewWhose}
					value={`${filter.seat ?? ""}`}
					onChange={({ currentTarget: { value } }) =>
						setFilter({ ...filter, seat: value === "" ? undefined : Number(value) })
					}
				>
					<option value="">{t().reviewBoth}</option>
					{[near, 1 - near].map((seat) => (
						<option key={seat} value={`${seat}`}>
							{nameOfSeat(context, seat)}
						</option>
					))}
				</select>
				<select
					aria-label={t().reviewWhich}
					value={size}
					data-testid="size"
					onChange={({ currentTarget: { value } }) =>
						setFilter({ ...filter, least: SIZES[value as keyof typeof SIZES] })
					}
				>
					{Object.entries(t().reviewSizes).map(([name, words]) => (
						<option key={name} value={name}>
							{words}
						</option>
					))}
				</select>
			</div>
		</div>
	);
}

/** The whole match in figures, with links to what turned it and to all decisions that are shown. */
export function MatchFigures(
	props: Shared & {
		summary: MatchReview | undefined;
		decisions: readonly DecisionReview[];
		shown: readonly DecisionReview[];
	},
) {
	const { all, context, near, go, summary, decisions, shown } = props;
	const at = (version: bigint, seat: number | undefined) =>
		decisions.find((each) => each.version === version && each.seat === seat);
	// A decision that was no error, or of which that cannot be told, is not said to have turned the match.
	const moments = (summary?.keyMoments ?? []).filter(({ version, seat }) => {
		const decision = at(version, seat);
		return !decision || isError(decision);
	});
	return (
		<div class="matchfigures" data-testid="matchfigures">
			{summary && <Counts {...{ context, near, summary }} />}
			{summary && <Result {...{ context, near, summary }} dealt={all[0]!.version} />}
			{moments.length > 0 && (
				<>
					<h2>{t().reviewMoments}</h2>
					<ul class="moments">
						{moments.map(({ version, seat, change }) => (
							<Entry
								key={`${version}/${seat}`}
								{...{ all, context, near, go, version }}
								decision={at(version, seat)}
								change={points(near === 0 ? change : -change)}
							/>
						))}
					</ul>
				</>
			)}
			<h2>{t().reviewDecisions}</h2>
			{shown.length === 0 && <p class="muted">{t().reviewNone}</p>}
			<ul class="moments" data-testid="decisions">
				{shown.map((each) => (
					<Entry
						key={`${each.version}/${each.seat}`}
						{...{ all, context, near, go }}
						version={each.version}
						decision={each}
					/>
				))}
			</ul>
		</div>
	);
}

/** A decision or an outcome of chance, to go there. */
function Entry(
	props: Shared & {
		version: bigint;
		decision: DecisionReview | undefined;
		change?: number;
	},
) {
	const { all, near, go, version, decision, change } = props;
	const step = stepOf(all, version);
	const context = { ...props.context, view: all[step]!.view };
	return (
		<li>
			<Button onClick={() => go(step)}>
				<span class="num muted">{step + 1}</span>
				<span>
					{decision ? (
						<>
							<Sign verdict={decision.verdict} own={decision.seat === near} />{" "}
							<Who context={context} seat={decision.seat} />: {t().verdicts[decision.verdict]} ·{" "}
							{describeAction(decision.action!, contextOf(context, decision.seat))}
						</>
					) : (
						t().reviewTerms[version <= all[0]!.version ? "deal" : "later"]
					)}
				</span>
				<span class="num">
					{change !== undefined
						? signed(change)
						: decision &&
							isError(decision) && (
								<span title={lossOf(decision)}>{signed(-points(decision.loss))}</span>
							)}
				</span>
			</Button>
		</li>
	);
}

/** The head of a table with a column for each seat. */
function Columns({ context, seats }: { context: Context; seats: readonly number[] }) {
	return (
		<thead>
			<tr>
				<td />
				{seats.map((seat) => (
					<th key={seat} scope="col">
						<Who context={context} seat={seat} />
					</th>
				))}
			</tr>
		</thead>
	);
}

function Counts(props: { context: Context; near: number; summary: MatchReview }) {
	const { context, near, summary } = props;
	const seats = [near, 1 - near];
	return (
		<table class="rowtable counts">
			<caption>{t().reviewCounts}</caption>
			<Columns context={context} seats={seats} />
			<tbody>
				{ORDER.map((verdict) => (
					<tr key={verdict}>
						<th scope="row">
							<Sign verdict={verdict} own /> {t().verdicts[verdict]}
						</th>
						{seats.map((seat) => (
							<td key={seat}>{countOf(summary, seat, verdict)}</td>
						))}
					</tr>
				))}
				<tr class="sum">
					<th scope="row">{t().reviewSum}</th>
					{seats.map((seat) => {
						const { loss = 0, lossDeviation = 0 } = summary.seats[seat] ?? {};
						return (
							<td key={seat}>
								{points(loss)} <span class="muted">± {margin(lossDeviation)}</span>
							</td>
						);
					})}
				</tr>
				<tr>
					<th scope="row">{t().reviewLuck}</th>
					{seats.map((seat) => {
						const { luck = 0, luckDeviation = 0 } = summary.seats[seat] ?? {};
						return (
							<td key={seat}>
								{signed(points(luck))} <span class="muted">± {margin(luckDeviation)}</span>
							</td>
						);
					})}
				</tr>
			</tbody>
		</table>
	);
}

function Result(props: { context: Context; near: number; summary: MatchReview; dealt: bigint }) {
	const { context, near, summary, dealt } = props;
	const { result, ...terms } = termsOf(summary, near, dealt);
	// A match that was played on was not dealt.
	const { begun, ...rest } = t().reviewTerms;
	const playedOn = context.view.origin !== undefined;
	const words = playedOn ? { ...rest, start: begun } : rest;
	const rows = Object.entries(terms).filter(([name]) => !playedOn || name !== "deal");
	return (
		<>
			<table class="rowtable counts" data-testid="terms">
				<caption>{t().reviewResult}</caption>
				<Columns context={context} seats={[near]} />
				<tbody>
					<tr>
						<th scope="row">{words.even}</th>
						<td>50</td>
					</tr>
					{rows.map(([name, value]) => (
						<tr key={name}>
							<th scope="row">{words[name as keyof typeof terms]}</th>
							<td data-value={value}>{signed(value)}</td>
						</tr>
					))}
					<tr class="sum">
						<th scope="row">{words.result}</th>
						<td data-result={result}>{result}</td>
					</tr>
				</tbody>
			</table>
			<p class="muted note">
				{t().reviewResultNote} {t().reviewRest(margin(summary.restDeviation))}
			</p>
		</>
	);
}
