// Who comes by an invitation, or by a link with a token.
import { useEffect, useState } from "preact/hooks";
import { getInvitation, getView, joinMatch } from "../api/calls";
import { type Refusal, refusalOf } from "../api/errors";
import { type GetInvitationResponse, HintPolicy, InvitationState } from "../api/types";
import { uuid } from "../api/uuid";
import { classOf } from "../games";
import { catalogOf, gameOf } from "../games/catalog";
import { botOf } from "../games/sentences";
import { inWords, t } from "../i18n";
import { clockInWords } from "../match/clock";
import { linkTo, replacePlace } from "../state/router";
import {
	addSeat,
	changeSeat,
	idOf,
	opponentOf,
	type Seat,
	seatOf,
	seats,
	takeSeat,
} from "../state/seats";
import { displayName } from "../state/settings";
import { read, write } from "../state/storage";
import { Button } from "../ui/button";
import { Loading, Notice } from "../ui/notice";
import { Refused } from "../ui/refused";
import { Cover } from "./cover";
import { isNew, Learn } from "./learn";
import { RulesDialog } from "./rulesdialog";
import { NameField } from "./settings";

const RETRY_MS = 2000;

const attemptKey = (invitation: string) => `croupier.join.${invitation}`;

/** The id of the request to join, if it was sent before: its response may have been lost. */
const attempted = (invitation: string) => read(attemptKey(invitation));

/** The id of the request, the same after a reload, so that a lost response is not a lost seat. */
function requestIdFor(invitation: string): string {
	const id = attempted(invitation) ?? uuid();
	write(attemptKey(invitation), id);
	return id;
}

const forgetAttempt = (invitation: string) => write(attemptKey(invitation), undefined);

/** What the invitation is for; nothing about it from a server that cannot tell. */
function useInvitation(invitation: string) {
	const [found, setFound] = useState<{ about: GetInvitationResponse; game: string }>();
	const [failed, setFailed] = useState<Refusal>();
	useEffect(() => {
		const stop = new AbortController();
		let timer: ReturnType<typeof setTimeout>;
		async function ask() {
			try {
				const about = await getInvitation(invitation, stop.signal);
				setFound({ about, game: await gameOf(about.ruleset) });
				setFailed(undefined);
			} catch (error) {
				if (stop.signal.aborted) return;
				const refusal = refusalOf(error);
				setFailed(refusal);
				if (refusal.temporary) timer = setTimeout(ask, RETRY_MS);
			}
		}
		void ask();
		return () => {
			stop.abort();
			clearTimeout(timer);
		};
	}, [invitation]);
	return { found, failed };
}

export function Join({ invitation }: { invitation: string }) {
	const { found, failed: unknown } = useInvitation(invitation);
	const [underway, setUnderway] = useState(false);
	const [reading, setReading] = useState(false);
	const [failed, setFailed] = useState<string>();
	// The seat that was joined by it here, or the other one if it was sent from here.
	const mine = seats.value.find((each) => each.joinedBy === invitation);
	const own = seats.value.find((each) => each.invitation === invitation);

	async function join(event: Event) {
		event.preventDefault();
		setUnderway(true);
		setFailed(undefined);
		try {
			const name = displayName.value.trim();
			const joined = await joinMatch(invitation, name, requestIdFor(invitation));
			const token = joined.seatToken?.token ?? "";
			const { view } = await getView({ match: joined.name, token });
			takeSeat(joined, joined.seatToken, {
				game: await gameOf(view?.ruleset),
				opponent: opponentOf(view?.players ?? [], joined.seatToken?.seat),
				joinedBy: invitation,
			});
			forgetAttempt(invitation);
			replacePlace(linkTo.match(idOf(joined.name)));
		} catch (error) {
			const refusal = refusalOf(error);
			if (!refusal.temporary) forgetAttempt(invitation);
			setFailed(inWords(refusal));
			setUnderway(false);
		}
	}

	if (mine ?? own)
		return (
			<Notice
				says={mine ? t().alreadyJoined : t().ownInvitation}
				id="ownseat"
				link={linkTo.match(idOf((mine ?? own)!.match))}
				label={t().backToMatch}
			/>
		);
	// Without the catalog, the game has no name yet.
	const catalog = found && catalogOf(found.game);
	if (!found || !catalog)
		return (
			<div class="notice">
				<h1>{t().joinTitle}</h1>
				<p role={unknown ? "alert" : "status"}>
					{!unknown ? t().loading : unknown.temporary ? t().offline : inWords(unknown)}
				</p>
				{unknown && <Back />}
			</div>
		);
	const { about, game } = found;
	const closed =
		about.state === InvitationState.EXPIRED
			? t().invitationExpired
			: about.state === InvitationState.USED && !attempted(invitation)
				? t().refused.INVITATION_USED
				: undefined;
	return (
		<div class={`notice join ${classOf(game)}`}>
			<About about={about} game={game} />
			{closed ? (
				<>
					<p role="alert" data-testid="closed">
						{closed}
					</p>
					<Back />
				</>
			) : (
				<form onSubmit={(event) => void join(event)}>
					{isNew(catalog) && (
						<div class="buttons first">
							<span>{t().newHere(catalog.game.title)}</span>
							<Learn catalog={catalog} back={linkTo.join(invitation)} />
						</div>
					)}
					<NameField />
					<Refused says={failed} />
					<div class="buttons">
						<button type="submit" class="primary large" disabled={underway} data-testid="join">
							{underway ? t().joining : t().join}
						</button>
						<Button onClick={() => setReading(true)}>{t().rules}</Button>
					</div>
				</form>
			)}
			{reading && <RulesDialog id={game} onClose={() => setReading(false)} />}
		</div>
	);
}

const Back = () => (
	<a class="button" href={linkTo.lobby}>
		{t().back}
	</a>
);

/** The game, who invites, the clock and the hints. */
function About({ about, game }: { about: GetInvitationResponse; game: string }) {
	const catalog = catalogOf(game)!;
	const host = about.players[1 - about.seat];
	const who =
		host?.kind.case === "bot"
			? botOf(host.kind.value.strength)
			: host?.displayName || host?.keyName || t().somebody;
	return (
		<>
			<div class="cover" aria-hidden="true">
				<Cover catalog={catalog} />
			</div>
			<h1 data-testid="invitation">{t().invitesYou(who, catalog.game.title)}</h1>
			<dl>
				<dt>{t().yourSeat}</dt>
				<dd>{catalog.game.seatTitles[about.seat]}</dd>
				<dt>{t().clock}</dt>
				<dd>{clockInWords(about.timeControl)}</dd>
				{about.origin && (
					<>
						<dt>{t().practice}</dt>
						<dd>{t().practiceNote(about.origin.logged)}</dd>
					</>
				)}
				<dt>{t().hints}</dt>
				<dd>
					{about.hintPolicy === HintPolicy.AFTER_END ? t().hintsAfterNote : t().hintsAllowedNote}
				</dd>
			</dl>
		</>
	);
}

/** Whoever comes by a link with a token: a spectator, or a player whom a front end sends. */
export function Enter({ id, token }: { id: string; token: string }) {
	const [failed, setFailed] = useState<string>();
	const [other, setOther] = useState<Seat>(); // The seat of the link, if this browser has the other.
	useEffect(() => {
		const stop = new AbortController();
		async function enter() {
			try {
				const { view } = await getView({ match: `matches/${id}`, token }, stop.signal);
				const own = seatOf(id);
				const seat = {
					match: `matches/${id}`,
					game: await gameOf(view?.ruleset),
					seat: view?.seat,
					token,
					opponent: opponentOf(view?.players ?? [], view?.seat),
					created: Date.now(),
				};
				// A seat of ours is given up for no link, unless whoever came by it says so.
				if (own?.seat === undefined) addSeat(seat);
				else if (own.seat === seat.seat) changeSeat(own.match, { token });
				else if (seat.seat !== undefined) return setOther(seat);
				// The token leaves the address bar.
				replacePlace(linkTo.match(id));
			} catch (error) {
				if (stop.signal.aborted) return;
				const refusal = refusalOf(error);
				if (refusal.temporary) setTimeout(enter, RETRY_MS);
				setFailed(refusal.temporary ? t().offline : inWords(refusal));
			}
		}
		void enter();
		return () => stop.abort();
	}, [id, token]);
	if (other)
		return (
			<div class="notice" data-testid="otherseat">
				<p>{t().otherSeatHere}</p>
				<div class="buttons">
					<a class="button" href={linkTo.match(id)}>
						{t().backToMatch}
					</a>
					<Button
						onClick={() => {
							addSeat(other);
							replacePlace(linkTo.match(id));
						}}
						data-testid="takeseat"
					>
						{t().takeSeat}
					</Button>
				</div>
			</div>
		);
	return failed ? <Notice says={failed} /> : <Loading />;
}
