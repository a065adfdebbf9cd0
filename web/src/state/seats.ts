// The matches that this tab takes part in, with their tokens: in the session storage alone.
import { signal } from "@preact/signals";

/** A match that was created, joined or watched here. */
export interface Seat {
	match: string;
	game: string;
	/** 0 or 1; not set for a spectator. */
	seat?: number;
	token: string;
	spectatorToken?: string;
	/** The invitation for the other seat, until it was used. */
	invitation?: string;
	/** The hash of the secret that chance comes from, in hex: kept to verify the deal later. */
	secretHash?: string;
	/** A strength such as CASUAL; not set for a friend. */
	bot?: string;
	created: number;
}

const KEY = "croupier.seats";

function load(): Seat[] {
	try {
		return JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
	} catch {
		return [];
	}
}

export const seats = signal<Seat[]>(load());

function save(list: Seat[]) {
	seats.value = list;
	try {
		sessionStorage.setItem(KEY, JSON.stringify(list));
	} catch {
		// Without storage the matches last as long as the page.
	}
}

export function addSeat(seat: Seat) {
	save([seat, ...seats.value.filter((other) => other.match !== seat.match)]);
}

export function changeSeat(match: string, change: Partial<Seat>) {
	save(seats.value.map((seat) => (seat.match === match ? { ...seat, ...change } : seat)));
}

export function forgetSeat(match: string) {
	save(seats.value.filter((seat) => seat.match !== match));
}

export const seatOf = (id: string) => seats.value.find((seat) => seat.match === `matches/${id}`);
export const idOf = (match: string) => match.replace("matches/", "");
