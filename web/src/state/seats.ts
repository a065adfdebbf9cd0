// The matches that this browser takes part in, with their tokens: in the local storage, which all
// tabs share and which outlives them.
import { signal } from "@preact/signals";
import { bytesToHex } from "../api/hex";
import { EndReason, type Player, type SeatToken, type View } from "../api/types";
import { listOf, moment, oneOf, readList, record, text, textLike, write } from "./storage";

/** What was last known of a match. */
export interface Known {
	turn: "mine" | "theirs" | "waiting" | "over";
	/** How it ended for this seat; of a match that is over. */
	outcome?: "won" | "lost" | "drawn" | "declined";
	/** When it became known that the match is over, in milliseconds. */
	ended?: number;
	/** How far the match is: its version, and the scores where the game has some, our own first. */
	version?: number;
	scores?: string;
}

/** A match that was created, joined or watched here. */
export interface Seat {
	match: string;
	game: string;
	/** 0 or 1; not set for a spectator. */
	seat?: number;
	token: string;
	spectatorToken?: string;
	/** The invitation for the other seat. */
	invitation?: string;
	/** The invitation by which this seat was joined. */
	joinedBy?: string;
	/** The hash of the secret that chance comes from, in hex: kept to verify the deal later. */
	secretHash?: string;
	/** A strength such as CASUAL; not set for a friend. */
	bot?: string;
	/** The name that the other player gave, if any. */
	opponent?: string;
	created: number;
	/** In a match that teaches: the tips that were read so far. */
	lesson?: readonly string[];
	known?: Known;
	/** The link from which this match was begun: of an invitation, for a lesson; of a replay, a puzzle. */
	back?: string;
}

const KEY = "croupier.seats";
const FINISHED_KEPT = 20;

const seatKept = record<Seat>(
	{
		match: textLike(/^matches\/[\w-]+$/),
		game: textLike(/^\w*$/),
		seat: oneOf(0, 1),
		token: textLike(/^[!-~]*$/),
		spectatorToken: textLike(/^[!-~]*$/),
		invitation: text,
		joinedBy: text,
		secretHash: textLike(/^[0-9a-f]*$/),
		bot: textLike(/^[A-Z]+$/),
		opponent: text,
		created: (value) => moment(value) ?? 0,
		back: textLike(/^#\/(join|replay|puzzles)\//),
		lesson: (value) => (value === undefined ? value : listOf(text)(value)),
		known: record<Known>(
			{
				turn: oneOf("mine", "theirs", "waiting", "over"),
				outcome: oneOf("won", "lost", "drawn", "declined"),
				ended: moment,
				version: moment,
				scores: text,
			},
			"turn",
		),
	},
	"match",
	"game",
	"token",
);

const isFirst = (seat: Seat, at: number, list: readonly Seat[]) =>
	list.findIndex(({ match }) => match === seat.match) === at;

const stored = () => readList(KEY, seatKept).filter(isFirst);

/** Whether the list is kept by this page alone, since the browser cannot store it. */
export const unkept = signal(false);

function keep(list: Seat[]) {
	unkept.value = !write(KEY, JSON.stringify(list));
}

export const seats = signal<Seat[]>(stored());
keep(seats.value);

addEventListener("storage", (event) => {
	if (event.key === KEY || event.key === null) seats.value = current();
});

/** What is stored now, and before it what could not be stored. */
const current = () => (unkept.value ? [...seats.value, ...stored()].filter(isFirst) : stored());

/** Changes what is stored now, which another tab may have changed since this one read it. */
function change(how: (list: Seat[]) => Seat[]) {
	let finished = 0;
	const list = how(current()).filter(
		({ known }) => known?.turn !== "over" || ++finished <= FINISHED_KEPT,
	);
	keep(list);
	seats.value = list;
}

export function addSeat(seat: Seat) {
	change((list) => [seat, ...list.filter((other) => other.match !== seat.match)]);
}

/** A seat that the server has given us in a match, with what else is to be kept of it. */
export function takeSeat(
	match: { name: string; spectatorToken: string; secretHash: Uint8Array },
	given: SeatToken | undefined,
	more: Partial<Seat> & Pick<Seat, "game">,
) {
	addSeat({
		match: match.name,
		seat: given?.seat,
		token: given?.token ?? "",
		spectatorToken: match.spectatorToken,
		secretHash: bytesToHex(match.secretHash),
		created: Date.now(),
		...more,
	});
}

export function changeSeat(match: string, changes: Partial<Seat>) {
	change((list) => list.map((seat) => (seat.match === match ? { ...seat, ...changes } : seat)));
}

export function forgetSeat(match: string) {
	change((list) => list.filter((seat) => seat.match !== match));
}

export const seatOf = (id: string) => seats.value.find((seat) => seat.match === `matches/${id}`);
export const idOf = (match: string) => match.replace("matches/", "");

/** The other player, as far as a view or an invitation names them. */
export const opponentOf = (players: readonly Player[], seat: number | undefined) =>
	seat === undefined ? undefined : players[1 - seat]?.displayName || undefined;

function knownOf(view: View, seat: Seat, scores?: string): Known {
	const { result } = view;
	const far = { version: Number(view.version), scores };
	if (!result) {
		const turn =
			view.deciders.length === 0
				? "waiting"
				: seat.seat !== undefined && view.deciders.includes(seat.seat)
					? "mine"
					: "theirs";
		return { turn, ...far };
	}
	// Whoever gave up while nobody had joined has withdrawn the invitation.
	const unplayed =
		!result.scores.length ||
		result.reason === EndReason.DECLINED ||
		seat.known?.outcome === "declined" ||
		(seat.known?.turn === "waiting" && result.reason === EndReason.RESIGNATION);
	const [first = 0, second = 0] = result.scores;
	const lead = seat.seat === 0 ? first - second : second - first;
	return {
		turn: "over",
		...far,
		outcome: unplayed
			? "declined"
			: seat.seat === undefined
				? undefined
				: lead > 0
					? "won"
					: lead < 0
						? "lost"
						: "drawn",
		ended: seat.known?.ended ?? Date.now(),
	};
}

/** Keeps what a view says about the match; returns whether it has just become this seat's turn. */
export function note(match: string, view: View, scores?: string): boolean {
	const seat = current().find((each) => each.match === match);
	if (!seat) return false;
	const known = knownOf(view, seat, scores);
	const opponent = opponentOf(view.players, seat.seat) ?? seat.opponent;
	const before = seat.known;
	const alike = (["turn", "outcome", "version", "scores"] as const).every(
		(field) => before?.[field] === known[field],
	);
	if (alike && seat.opponent === opponent) return false;
	changeSeat(match, { known, opponent });
	// What another tab has seen before is no news, nor is the first view of a match.
	return known.turn === "mine" && before !== undefined && before.turn !== "mine";
}
