// A match: the players, the board, the hand, what to do, the log and the hints.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { resignMatch } from "../api/calls";
import type { Action, Event, View } from "../api/types";
import { under } from "../games/cardlist";
import { catalogOf } from "../games/catalog";
import { useGuide } from "../games/lesson";
import type { Context } from "../games/module";
import { describeAction, inOne, linesOf, outcome, reason } from "../games/sentences";
import { inWords, t } from "../i18n";
import { addressOf, inviteTo, linkTo } from "../state/router";
import { idOf, type Seat } from "../state/seats";
import { Button } from "../ui/button";
import { CopyLink } from "../ui/copylink";
import { Dialog } from "../ui/dialog";
import { Loading, Notice } from "../ui/notice";
import { QrCode } from "../ui/qr";
import { ActionBar } from "./actions";
import { draw, isMixed } from "./advice";
import { clockInWords } from "./clock";
import { backTo, Ending } from "./end";
import { useFlip } from "./flip";
import { Coach } from "./guide";
import { HintPanel, hintsAllowed } from "./hintpanel";
import { Hints } from "./hints";
import { useKeys } from "./keys";
import { Log } from "./log";
import { MakeOffers, Offered } from "./offers";
import { showing, useChooser } from "./picker";
import { Session } from "./session";
import { type Panel, rulesPanel, Table } from "./table";
import { readingTime } from "./told";

export function MatchScreen({ seat }: { seat: Seat }) {
	const catalog = catalogOf(seat.game);
	const pace = useRef<(events: readonly Event[]) => number>(() => 0);
	const { session, hints } = useMemo(
		() => ({ session: new Session(seat, (each) => pace.current(each)), hints: new Hints(seat) }),
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
	const refusal = session.refusal.value;
	if (session.connection.value === "refused" && refusal) return <Notice says={inWords(refusal)} />;
	if (!view || !catalog)
		return <Loading says={session.connection.value === "lost" ? t().offline : undefined} />;
	const told = { catalog, me: seat.seat, view };
	pace.current = (events) => readingTime(linesOf(events, told));
	const deciding = seat.seat !== undefined && view.deciders.includes(seat.seat);
	const context: Context = {
		catalog: under(catalog, view.ruleset),
		me: seat.seat,
		view,
		sent: deciding && !session.submitting.value ? undefined : session.sent.value,
	};
	return <Match key={seat.match} {...{ seat, context, session, hints }} />;
}

function Match(props: { seat: Seat; context: Context; session: Session; hints: Hints }) {
	const { seat, context, session, hints } = props;
	const { view, me } = context;
	const game = context.catalog.module;
	const guide = useGuide(seat.lesson && game);
	const near = me ?? 0;
	const busy = session.busy.value;
	const events = session.events.value;
	const possible = me !== undefined && view.deciders.includes(me) && !busy;
	const since = session.since.value;
	// A hint belongs to one position. One of a later version waits until that is shown.
	const found = hints.hint.value;
	const hint = found && since <= found.version && found.version <= view.version ? found : undefined;
	const root = useRef<HTMLDivElement>(null);
	const submit = (action: Action, then?: Action[]) => {
		hints.hide();
		void session.submit(action, then);
	};
	const chooser = useChooser(context, possible, hint, submit);
	const [shown, show] = useState<Action | undefined>();
	const clicks = chooser.clicksOf(hint && shown);
	const play = () => {
		const action = hint && draw(hint)?.action;
		if (!action) return;
		const drawn = isMixed(hint) ? t().hintPlayed(describeAction(action, context)) : "";
		chooser.play(action, drawn);
	};
	const [panel, setPanel] = useState<"log" | "hint" | "rules">();
	const [asked, setAsked] = useState(false);
	useFlip(root, `${view.version}`);
	useKeys(root, {
		undo: chooser.undo,
		hint: () => {
			setPanel("hint");
			setAsked(true);
		},
		play,
		stamp: `${view.version} ${chooser.clicks.length}`,
	});
	// Where the position changes and the decision is still owed, a hint is sought anew.
	useEffect(() => {
		if (!hints.on.value || (found && found.version >= since)) return;
		hints.hide();
		setAsked(true);
	}, [hints, since]);
	// A hint that is asked for while steps are still shown begins after them.
	useEffect(() => {
		if (!asked || busy) return;
		setAsked(false);
		if (possible && hintsAllowed(view)) void hints.start();
	}, [hints, asked, busy, possible, view]);

	const waiting = view.game.case === undefined;
	const lost = session.connection.value === "lost";
	const refusal = session.refusal.value;
	// A decision is sent until it arrives, so a lost connection is no reason to wait with it.
	const state = session.submitting.value ? "submitting" : busy ? "busy" : "ready";
	const panels: Panel<NonNullable<typeof panel>>[] = [
		{
			name: "log",
			title: t().log,
			glyph: "LIST",
			show: () => <Log {...{ context, events }} latest={session.latest.value.length} />,
		},
		{
			name: "hint",
			title: t().hint,
			glyph: "BULB",
			show: () => <HintPanel {...{ context, hints, hint, possible, play, show }} />,
		},
		rulesPanel(context.catalog),
	];
	return (
		<Table
			{...{ root, context, events, near }}
			kind={hint && "hinted"}
			data-testid="match"
			data-version={`${view.version}`}
			data-connection={session.connection.value}
			tale={{
				steps: session.told.value,
				skip: session.waiting.value.length > 0 ? () => session.skip() : undefined,
			}}
			offset={session.clockOffset.value}
			other={session.otherSeat.value}
			chooser={
				me === undefined ? undefined : clicks.length > 0 ? showing(chooser, clicks) : chooser
			}
			boardless={waiting && <Waiting seat={seat} view={view} />}
			bar={
				<>
					{seat.lesson && me !== undefined && guide && (
						<Coach
							{...{ seat, root, guide }}
							now={{ view, context, me, events, clicks: chooser.clicks }}
							submitting={session.submitting.value}
						/>
					)}
					{view.result ? (
						<Ending seat={seat} context={context} session={session} />
					) : (
						<ActionBar
							{...{ context, chooser, state }}
							cancelAhead={() => void session.cancelAhead()}
							offer={<Offered key={`${view.version}`} {...{ seat, context }} />}
							shown={clicks}
							message={refusal && inWords(refusal)}
						/>
					)}
				</>
			}
			more={<More seat={seat} context={context} />}
			panels={panels.filter(({ name }) => name !== "hint" || me !== undefined)}
			open={panel}
			setOpen={setPanel}
		>
			<p class={lost ? "connection" : "sr"} role="status" data-testid="connection">
				{lost && `${t().reconnecting} ${possible ? t().goOnChoosing : ""}`}
			</p>
			<Announcer session={session} context={context} mine={possible} />
		</Table>
	);
}

function Waiting({ seat, view }: { seat: Seat; view: View }) {
	const invitation = seat.invitation;
	if (view.result) return <div class="board" />;
	const address = invitation && inviteTo(seat.game, invitation);
	const alone = /^(localhost|127\..*|\[::1\])$/.test(location.hostname);
	return (
		<div class="board invite">
			<h2>{invitation ? t().inviteTitle : t().waitingFor(seat.opponent ?? t().theOther)}</h2>
			{address && (
				<>
					<p>{t().inviteText}</p>
					{alone && (
						<p class="refusal" data-testid="alone">
							{t().inviteAlone(location.host)}
						</p>
					)}
					<CopyLink address={address} />
					<QrCode of={address} />
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
		<>
			{context.view.origin && (
				<p class="muted" data-testid="practice">
					<b>{t().practice}:</b> {t().practiceNote(context.view.origin.logged)}
				</p>
			)}
			{watch && (
				<details>
					<summary>{t().watchLink}</summary>
					<p class="muted">{t().watchLinkText}</p>
					<CopyLink address={addressOf(linkTo.watch(idOf(seat.match), watch))} />
				</details>
			)}
			{seat.back && (
				<a class="button" href={seat.back} data-testid="back">
					{backTo(seat.back)}
				</a>
			)}
			<MakeOffers {...{ seat, context }} />
			{seat.seat !== undefined && !context.view.result && (
				<Button class="quiet danger" onClick={() => setAsking(true)}>
					{words.act}
				</Button>
			)}
			<details>
				<summary>{t().keys}</summary>
				<p class="muted">{t().keyboard}</p>
			</details>
			{asking && (
				<Dialog title={words.sure} onClose={() => setAsking(false)}>
					{inviting && <p>{t().withdrawText}</p>}
					<div class="buttons">
						<Button
							class="primary danger"
							onClick={() => {
								setAsking(false);
								void resignMatch(seat).catch(() => undefined);
							}}
						>
							{words.yes}
						</Button>
						<Button onClick={() => setAsking(false)}>{t().cancel}</Button>
					</div>
				</Dialog>
			)}
		</>
	);
}

/** Says what has just happened to those who do not see it. */
function Announcer(props: { session: Session; context: Context; mine: boolean }) {
	const { session, context, mine } = props;
	const lines = linesOf(session.latest.value, context).map((line) => inOne(line, context));
	const end = [outcome(context), reason(context)].filter(Boolean).join(" ");
	return (
		<div class="sr" role="status" aria-live="polite" data-testid="announcer">
			{lines.join(". ")}
			{end ? ` ${end}` : mine ? ` ${t().yourTurn}.` : ""}
		</div>
	);
}
