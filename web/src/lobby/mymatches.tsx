// The matches of this browser: whose turn it is, how they ended, and what the other players want.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getSummary } from "../api/calls";
import { refusalOf } from "../api/errors";
import { RematchState } from "../api/types";
import { classOf } from "../games";
import { catalogOf } from "../games/catalog";
import { botOf } from "../games/sentences";
import { number, t } from "../i18n";
import { observe } from "../match/alerts";
import { linkTo } from "../state/router";
import { addSeat, forgetSeat, idOf, type Seat, seats } from "../state/seats";
import { language } from "../state/settings";
import { Button } from "../ui/button";
import { Dialog } from "../ui/dialog";

const POLL_MS = 4000;
const POLL_MORE_MS = 500; // For each match that is asked for.
const POLL_HIDDEN_MS = 15_000;
const REMATCH_MS = 3_600_000; // So long after the end of a match somebody may still want another one.

/** What only the server can tell, and what is not kept. */
type News = "gone" | "stuck" | "rematch";

const ended = (seat: Seat) => seat.known?.turn === "over";

/** Whether there may be news of a match. */
const open = (seat: Seat) =>
	!ended(seat) ||
	(seat.seat !== undefined && !seat.bot && Date.now() - (seat.known?.ended ?? 0) < REMATCH_MS);

/** Asks for one match after the other, now and then: a stream each would use up the few connections
 * that a browser opens to one server. */
function useNews(): ReadonlyMap<string, News> {
	const [news, setNews] = useState<ReadonlyMap<string, News>>(new Map());
	useEffect(() => {
		const stop = new AbortController();
		const gone = new Set<string>();
		let timer: ReturnType<typeof setTimeout> | undefined;
		const learn = (match: string, what: News | undefined) =>
			setNews((known) => {
				if (known.get(match) === what) return known;
				const next = new Map(known);
				if (what) next.set(match, what);
				else next.delete(match);
				return next;
			});
		async function look() {
			clearTimeout(timer);
			timer = undefined;
			const asked = seats.peek().filter((each) => open(each) && !gone.has(each.match));
			for (const seat of asked) {
				try {
					const { view, rematch } = await getSummary(seat, stop.signal);
					if (view) observe(seat.match, view);
					const offered =
						rematch?.state === RematchState.OFFERED &&
						seat.seat !== undefined &&
						!rematch.askingSeats.includes(seat.seat);
					learn(seat.match, offered ? "rematch" : undefined);
				} catch (error) {
					if (stop.signal.aborted) return;
					const { temporary, reason } = refusalOf(error);
					if (temporary) break;
					gone.add(seat.match);
					learn(seat.match, reason === "MATCH_NOT_FOUND" ? "gone" : "stuck");
				}
			}
			const pause = document.hidden ? POLL_HIDDEN_MS : POLL_MS;
			timer = setTimeout(look, pause + POLL_MORE_MS * asked.length);
		}
		const onVisible = () => {
			if (timer !== undefined && !document.hidden) void look();
		};
		document.addEventListener("visibilitychange", onVisible);
		void look();
		return () => {
			document.removeEventListener("visibilitychange", onVisible);
			stop.abort();
			clearTimeout(timer);
		};
	}, []);
	return news;
}

export function MyMatches() {
	const news = useNews();
	const [asking, setAsking] = useState<Seat>();
	const [removed, setRemoved] = useState<readonly Seat[]>([]);
	const drop = (seat: Seat) => {
		forgetSeat(seat.match);
		setRemoved((list) => [...list, seat]);
		setAsking(undefined);
	};
	const takeBack = (seat: Seat) => {
		addSeat(seat);
		setRemoved((list) => list.filter((other) => other !== seat));
	};
	const all = seats.value;
	if (all.length === 0 && removed.length === 0) return null;
	const urgent = (seat: Seat) => (seat.known?.turn === "mine" ? 0 : 1);
	const running = all.filter((seat) => !ended(seat)).sort((a, b) => urgent(a) - urgent(b));
	const finished = all.filter(ended);
	const row = (seat: Seat) => (
		<MyMatch
			key={seat.match}
			seat={seat}
			news={news.get(seat.match)}
			// Whoever gives up a seat of a running match is asked first.
			onRemove={() =>
				ended(seat) ||
				seat.seat === undefined ||
				["gone", "stuck"].includes(news.get(seat.match) ?? "")
					? drop(seat)
					: setAsking(seat)
			}
		/>
	);
	return (
		<section class="mymatches" aria-labelledby="mymatches">
			<h2 id="mymatches">{t().yourMatches}</h2>
			{removed.map((seat) => (
				<p class="removed" role="status" key={seat.match}>
					{t().removed(nameOf(seat))} <Button onClick={() => takeBack(seat)}>{t().undo}</Button>
				</p>
			))}
			<Rows all={running} row={row} />
			{finished.length > 0 && (
				<>
					<h3>{t().finished}</h3>
					<Rows all={finished} row={row} />
				</>
			)}
			{asking && (
				<Dialog title={t().removeSure(nameOf(asking))} onClose={() => setAsking(undefined)}>
					<p>{t().removeText}</p>
					<div class="buttons">
						<a class="button" href={linkTo.match(idOf(asking.match))}>
							{t().removeNot}
						</a>
						<Button class="primary danger" data-testid="remove" onClick={() => drop(asking)}>
							{t().removeYes}
						</Button>
					</div>
				</Dialog>
			)}
		</section>
	);
}

const ROWS = 4; // Of so many the games are still in sight.

/** The first rows, and the others behind a click. */
function Rows({ all, row }: { all: readonly Seat[]; row: (seat: Seat) => ComponentChildren }) {
	const rest = all.slice(ROWS);
	return (
		<>
			{all.length > 0 && <ul>{all.slice(0, ROWS).map(row)}</ul>}
			{rest.length > 0 && (
				<details>
					<summary>{t().moreMatches(rest.length)}</summary>
					<ul>{rest.map(row)}</ul>
				</details>
			)}
		</>
	);
}

const titleOf = (seat: Seat) => catalogOf(seat.game)?.game.title ?? seat.game;

const whoOf = (seat: Seat) =>
	seat.seat === undefined
		? t().watching
		: seat.bot
			? botOf(seat.bot)
			: (seat.opponent ?? t().friend);

/** The time of today, or else the day. */
function when(moment: number): string {
	const today = new Date(moment).toDateString() === new Date().toDateString();
	const style = today ? { timeStyle: "short" as const } : { dateStyle: "medium" as const };
	return new Intl.DateTimeFormat(language.value, style).format(moment);
}

/** How far the match is, by which several against the same player are told apart. */
function stateOf({ known }: Seat): string {
	if (!known?.version || known.turn === "waiting") return "";
	return `${known.scores ?? t().stepOf(number(known.version))} · `;
}

const nameOf = (seat: Seat) => `${titleOf(seat)}, ${whoOf(seat)}`;

function statusOf(seat: Seat, news: News | undefined): string {
	if (news === "gone") return t().gone;
	if (news === "stuck") return t().stuck;
	if (news === "rematch") return t().wantsRematch;
	switch (seat.known?.turn) {
		case undefined:
			return "…";
		case "over":
			return t().outcomes[seat.known.outcome ?? ""] ?? t().over;
		case "waiting":
			return t().waitingFriend;
		case "mine":
			return t().yourTurn;
		case "theirs":
			return seat.seat === undefined ? t().running : t().turnTheirs;
	}
}

function MyMatch(props: { seat: Seat; news: News | undefined; onRemove: () => void }) {
	const { seat, news } = props;
	const mine = seat.known?.turn === "mine" || news === "rematch";
	return (
		<li class={`mymatch ${classOf(seat.game)} ${mine ? "mine" : ""}`} data-match={seat.match}>
			<a href={linkTo.match(idOf(seat.match))}>
				<b>{titleOf(seat)}</b>
				<span class="muted">
					<bdi>{whoOf(seat)}</bdi> · {stateOf(seat)}
					{when(seat.created)}
				</span>
				<span class="status">{statusOf(seat, news)}</span>
			</a>
			<Button
				class="quiet"
				aria-label={`${t().remove}: ${nameOf(seat)}`}
				title={t().remove}
				onClick={props.onRemove}
			>
				✕
			</Button>
		</li>
	);
}
