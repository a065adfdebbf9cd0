// A match: the players, the board, the hand, what to do, the log and the hints.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { resignMatch } from "../api/calls";
import type { Event, View } from "../api/types";
import { Glyph } from "../cards/glyphs";
import { classOf } from "../games";
import { under } from "../games/cardlist";
import type { Context } from "../games/module";
import { t } from "../i18n";
import { Rules } from "../lobby/rules";
import { catalogOf } from "../state/catalog";
import { addressOf, linkTo } from "../state/router";
import { idOf, type Seat } from "../state/seats";
import { calm } from "../state/settings";
import { CopyLink } from "../ui/copylink";
import { Dialog } from "../ui/dialog";
import { QrCode } from "../ui/qr";
import { ActionBar } from "./actions";
import { Clock, clockInWords } from "./clock";
import { Ending } from "./end";
import { useFlip } from "./flip";
import { Coach } from "./guide";
import { Hands } from "./hand";
import { HintPanel, hintsAllowed } from "./hintpanel";
import { Hints } from "./hints";
import { useKeys } from "./keys";
import { useGuide } from "./lesson";
import { Log } from "./log";
import { useChooser } from "./picker";
import { Session } from "./session";
import { describeEvent, inGame, nameOfSeat, outcome, playerOfSeat, reason } from "./words";

export function MatchScreen({ seat }: { seat: Seat }) {
	const catalog = catalogOf(seat.game);
	const pace = useRef<(event: Event) => number>(() => 0);
	if (catalog) pace.current = catalog.module.pace;
	const { session, hints } = useMemo(
		() => ({
			session: new Session(seat, (events) =>
				Math.max(0, ...events.map((event) => (inGame(event) ? pace.current(event) : 0))),
			),
			hints: new Hints(seat),
		}),
		[seat.match, seat.token],
	);
	useEffect(() => {
		session.start();
		return () => {
			session.close();
			hints.cancel();
		};
	}, [session, hints]);
	const view = session.view.value;
	if (session.connection.value === "refused") {
		const refusal = session.refusal.value;
		return (
			<div class="notice">
				<p role="alert">{t().refused[refusal?.reason ?? ""] ?? refusal?.message}</p>
				<a class="button" href={linkTo.lobby}>
					{t().back}
				</a>
			</div>
		);
	}
	if (!view || !catalog) {
		return (
			<p class="notice" role="status">
				{session.connection.value === "lost" ? t().offline : t().loading}
			</p>
		);
	}
	const deciding = seat.seat !== undefined && view.deciders.includes(seat.seat);
	const context: Context = {
		catalog: under(catalog, view.ruleset),
		me: seat.seat,
		view,
		sent: deciding && !session.submitting.value ? undefined : session.sent.value,
	};
	return <Table key={seat.match} {...{ seat, context, session, hints, view }} />;
}

const PANELS = ["log", "hint", "rules"] as const;
type Panel = (typeof PANELS)[number];
const SIGNS = { log: "LIST", hint: "BULB", rules: "BOOK" };

function Table(props: {
	seat: Seat;
	context: Context;
	session: Session;
	hints: Hints;
	view: View;
}) {
	const { seat, context, session, hints, view } = props;
	const game = context.catalog.module;
	const guide = useGuide(seat.lesson && game);
	const near = seat.seat ?? 0;
	const mine = seat.seat !== undefined && view.deciders.includes(seat.seat);
	const busy = session.busy.value;
	const hint = hints.on.value ? hints.hint.value : undefined;
	const root = useRef<HTMLDivElement>(null);
	const submit = async (action: View["legalActions"][number]) => {
		hints.hide();
		await session.submit(action);
		return session.refusal.value === undefined;
	};
	const chooser = useChooser(game, view, context, mine && !busy, hint, submit);
	const [panel, setPanel] = useState<Panel | undefined>();
	const [asked, setAsked] = useState(false);
	const side = useRef<HTMLElement>(null);
	const panels = PANELS.filter((name) => name !== "hint" || seat.seat !== undefined);
	const titles = { log: t().log, hint: t().hint, rules: t().rules };
	useFlip(root, `${view.version}`);
	useKeys(root, {
		undo: chooser.undo,
		hint: () => {
			setPanel("hint");
			setAsked(true);
		},
		stamp: `${view.version} ${chooser.clicks.length}`,
	});
	// A hint belongs to one position.
	useEffect(() => {
		if (hints.hint.value && hints.hint.value.version !== view.version) hints.hide();
	}, [hints, view.version]);
	// A hint that is asked for while steps are still shown begins after them.
	useEffect(() => {
		if (!asked || busy) return;
		setAsked(false);
		if (mine && hintsAllowed(view)) void hints.start();
	}, [hints, asked, busy, mine, view]);

	const waiting = view.game.case === undefined;
	const offset = session.clockOffset.value;
	const lost = session.connection.value === "lost";
	const refusal = session.refusal.value;
	// A decision is sent until it arrives, so a lost connection is no reason to wait with it.
	const state = session.submitting.value ? "submitting" : busy ? "busy" : "ready";
	return (
		<div
			class={`match ${classOf(seat.game)} ${hint ? "hinted" : ""}`}
			ref={root}
			data-testid="match"
			data-version={`${view.version}`}
			data-connection={session.connection.value}
		>
			<p class={lost ? "connection" : "sr"} role="status" data-testid="connection">
				{lost && t().reconnecting}
			</p>
			<div class="tablearea">
				<Player {...{ context, view, offset }} at={1 - near} far />
				{waiting ? (
					<Waiting seat={seat} view={view} />
				) : (
					<div class="board" data-testid="board">
						<game.Board
							context={context}
							view={view}
							events={session.events.value}
							picker={chooser}
							near={near}
						/>
					</div>
				)}
				<Player {...{ context, view, offset }} at={near}>
					<div class="jump" role="group" aria-label={t().menu}>
						{panels.map((name) => (
							<button
								type="button"
								key={name}
								aria-label={titles[name]}
								title={titles[name]}
								onClick={() => {
									setPanel(name);
									side.current?.scrollIntoView({ behavior: calm() ? "auto" : "smooth" });
								}}
							>
								<Glyph name={SIGNS[name]} />
							</button>
						))}
					</div>
				</Player>
				{!waiting && seat.seat !== undefined && (
					<Hands game={game} context={context} picker={chooser} near={near} />
				)}
				{seat.lesson && seat.seat !== undefined && guide && (
					<Coach
						{...{ seat, root }}
						guide={guide}
						now={{
							...{ view, context, me: seat.seat, events: session.events.value },
							clicks: chooser.clicks,
						}}
						submitting={session.submitting.value}
					/>
				)}
				{view.result ? (
					<Ending seat={seat} context={context} session={session} />
				) : (
					<ActionBar
						game={game}
						context={context}
						chooser={chooser}
						state={state}
						message={refusal ? (t().refused[refusal.reason] ?? refusal.message) : undefined}
					/>
				)}
			</div>
			<aside class="side" ref={side}>
				<div class="tabs" role="group" aria-label={t().menu}>
					{panels.map((name) => (
						<button
							type="button"
							key={name}
							class={(panel ?? "log") === name ? "current" : ""}
							aria-pressed={(panel ?? "log") === name}
							onClick={() => setPanel(panel === name ? undefined : name)}
						>
							<Glyph name={SIGNS[name]} />
							{titles[name]}
						</button>
					))}
				</div>
				<section class="panel" tabIndex={0} aria-label={t().menu}>
					{(panel ?? "log") === "log" && (
						<Log
							game={game}
							context={context}
							events={session.events.value}
							latest={session.latest.value.length}
						/>
					)}
					{panel === "hint" && (
						<HintPanel game={game} context={context} hints={hints} possible={mine && !busy} />
					)}
					{panel === "rules" && <Rules catalog={context.catalog} />}
				</section>
				<More seat={seat} context={context} />
			</aside>
			<Announcer session={session} context={context} mine={mine && !busy} />
		</div>
	);
}

export function Player(props: {
	context: Context;
	view: View;
	/** The servers' clock minus ours. */
	offset: number;
	at: number;
	far?: boolean;
	children?: ComponentChildren;
}) {
	const { context, view, offset, at } = props;
	const game = context.catalog.module;
	const started = view.game.case !== undefined;
	const score = started ? game.score(view, at) : undefined;
	const held = started ? game.handSize(view, at) : undefined;
	const deciding = view.deciders.includes(at);
	const who = playerOfSeat(context, at);
	const title = context.catalog.game.seatTitles[at];
	return (
		<section
			class={`player ${props.far ? "far" : "near"} ${deciding ? "deciding" : ""}`}
			aria-label={`${title} ${who}`}
		>
			<span class={`seatmark ${game.seatColours?.[at] ?? ""}`} aria-hidden="true" />
			<span class="name">
				<b>{title}</b>
				{who && <bdi class="muted"> {who}</bdi>}
			</span>
			{held !== undefined && (
				<span class="held" title={t().handOf(held)}>
					<Glyph name="HAND" />
					<span aria-hidden="true">{held}</span>
					<span class="label"> {t().handOf(held)}</span>
				</span>
			)}
			<Clock view={view} seat={at} offset={offset} />
			{score && (
				<span class="score" title={score.label}>
					<span class="label">{score.label} </span>
					{score.value}
				</span>
			)}
			{props.children}
		</section>
	);
}

function Waiting({ seat, view }: { seat: Seat; view: View }) {
	const invitation = seat.invitation;
	if (view.result) return <div class="board" />;
	return (
		<div class="board invite">
			<h2>{invitation ? t().inviteTitle : t().waitingFor(seat.opponent ?? t().theOther)}</h2>
			{invitation && (
				<>
					<p>{t().inviteText}</p>
					<CopyLink address={addressOf(linkTo.join(invitation))} />
					<QrCode of={addressOf(linkTo.join(invitation))} />
				</>
			)}
			<p class="muted">
				{t().inviteWaiting} {clockInWords(view.clocks?.timeControl)}{" "}
				{hintsAllowed(view) ? t().hintsAllowed : t().hintsAfter}
			</p>
		</div>
	);
}

function More({ seat, context }: { seat: Seat; context: Context }) {
	const [asking, setAsking] = useState(false);
	const watch = seat.spectatorToken;
	// Before anybody has joined, giving up the match is no more than to withdraw the invitation.
	const inviting = seat.invitation !== undefined && context.view.game.case === undefined;
	const words = inviting
		? { act: t().withdraw, sure: t().withdrawSure, yes: t().withdrawYes }
		: { act: t().resign, sure: t().resignSure, yes: t().resignYes };
	return (
		<div class="more">
			{context.view.origin && (
				<p class="muted" data-testid="practice">
					<b>{t().practice}:</b> {t().practiceNote}
				</p>
			)}
			{watch && (
				<details>
					<summary>{t().watchLink}</summary>
					<p class="muted">{t().watchLinkText}</p>
					<CopyLink address={addressOf(linkTo.watch(idOf(seat.match), watch))} />
				</details>
			)}
			{seat.seat !== undefined && !context.view.result && (
				<button type="button" class="quiet danger" onClick={() => setAsking(true)}>
					{words.act}
				</button>
			)}
			<details>
				<summary>{t().keys}</summary>
				<p class="muted">{t().keyboard}</p>
			</details>
			{asking && (
				<Dialog title={words.sure} onClose={() => setAsking(false)}>
					{inviting && <p>{t().withdrawText}</p>}
					<div class="buttons">
						<button
							type="button"
							class="primary danger"
							onClick={() => {
								setAsking(false);
								void resignMatch(seat).catch(() => undefined);
							}}
						>
							{words.yes}
						</button>
						<button type="button" onClick={() => setAsking(false)}>
							{t().cancel}
						</button>
					</div>
				</Dialog>
			)}
		</div>
	);
}

/** Says what has just happened to those who do not see it. */
function Announcer(props: { session: Session; context: Context; mine: boolean }) {
	const { session, context, mine } = props;
	const game = context.catalog.module;
	const lines = session.latest.value
		.map((event) => describeEvent(game, event, context))
		.filter((line) => line !== undefined)
		.map((line) =>
			line.seat === undefined
				? line.text
				: `${line.name ?? nameOfSeat(context, line.seat)} ${line.text}`,
		);
	const end = [outcome(context), reason(context)].filter(Boolean).join(" ");
	return (
		<div class="sr" role="status" aria-live="polite" data-testid="announcer">
			{lines.join(". ")}
			{end ? ` ${end}` : mine ? ` ${t().yourTurn}.` : ""}
		</div>
	);
}
