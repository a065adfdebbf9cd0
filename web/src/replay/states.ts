// A match from its record: the table after each step, with both hands.
import { create } from "@bufbuild/protobuf";
import {
	BotStrength,
	type Event,
	type MatchRecord,
	PlayerSchema,
	type View,
	ViewSchema,
} from "../api/types";
import type { Follower } from "../games/module";

/** The table after one step. */
export interface Moment {
	version: bigint;
	/** What happened in this step, hidden cards shown. */
	events: Event[];
	/** What everyone could see then. */
	view: View;
	/** The hand of each seat: ids of the catalog. */
	hands: [string[], string[]];
}

/** The event of a game. Some games say beside all kinds of events whose it is, others in each kind. */
interface Happened {
	seat?: number;
	event: { case?: string; value?: { seat?: number } };
}

/** What each kind of event of a game does. */
export type On<Kind extends { case: unknown; value?: unknown }> = {
	[K in Kind as K["case"] & string]?: (what: NonNullable<K["value"]>, seat: number) => void;
};

/** The table after each step; without a follower the view has no state of the game. */
export function moments(record: MatchRecord, follower: Follower | undefined): Moment[] {
	const kind = record.ruleset?.game.case;
	const found: Moment[] = [];
	let events: Event[] = [];
	const finish = (version: bigint) => {
		if (events.length === 0) return;
		found.push({
			version,
			events,
			view: create(ViewSchema, {
				name: record.name,
				version,
				ruleset: record.ruleset,
				players: playersOf(record),
				origin: record.start?.origin,
				game: follower?.game(),
			}),
			hands: handsOf(follower),
		});
		events = [];
	};
	const follow = ({ event: { case: of, value } }: Event) => {
		if (of !== kind) return;
		const { seat, event } = value as Happened;
		follower?.on[event.case ?? ""]?.(event.value as never, seat ?? event.value?.seat ?? 0);
	};
	if (record.start) {
		events = [...record.start.events];
		events.forEach(follow);
		finish(0n);
	}
	let version = record.entries[0]?.version ?? 0n;
	for (const { entry, version: at } of record.entries) {
		if (at !== version) finish(version);
		version = at;
		if (entry.case !== "event") continue;
		events.push(entry.value);
		follow(entry.value);
	}
	finish(version);
	const last = found.at(-1);
	if (last) last.view.result = record.result; // The record has no event for the end.
	return found;
}

/** Who sat in the seats; whoever joined by an invitation gave their name then. */
function playersOf(record: MatchRecord) {
	const players = record.seats.map(({ occupant, displayName }) =>
		create(PlayerSchema, {
			displayName,
			kind:
				occupant.case === "bot"
					? { case: "bot", value: { strength: BotStrength[occupant.value.strength] } }
					: { case: "open", value: {} },
		}),
	);
	for (const { entry } of record.entries) {
		const player = entry.case === "seatJoined" ? players[entry.value.seat] : undefined;
		if (player && entry.case === "seatJoined") player.displayName = entry.value.displayName;
	}
	return players;
}

function handsOf(follower: Follower | undefined): Moment["hands"] {
	if (!follower) return [[], []];
	const [first, second] = follower.hands();
	return [sorted(first).map(follower.nameOf), sorted(second).map(follower.nameOf)];
}

export const sorted = (cards: readonly number[]) => [...cards].sort((a, b) => a - b);

/** Removes one copy of each card. */
export function take(from: number[], cards: readonly number[]) {
	for (const card of cards) {
		const at = from.indexOf(card);
		if (at >= 0) from.splice(at, 1);
	}
}
