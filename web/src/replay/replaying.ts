// A match that is over, as the server replays it, kept while the page is open.
import { getRecord, replayMatch } from "../api/calls";
import type { Seat } from "../state/seats";
import type { Replayed } from "./states";

let newest: { match: string; replayed: Promise<Replayed> } | undefined;

/** A match, which does not change any more: the one that was asked for last is kept. */
export function replayed(seat: Seat): Promise<Replayed> {
	if (newest?.match !== seat.match) {
		const asked = Promise.all([getRecord(seat), replayMatch(seat)]);
		const kept = {
			match: seat.match,
			replayed: asked.then(([record, versions]) => ({ record, versions })),
		};
		kept.replayed.catch(() => {
			if (newest === kept) newest = undefined;
		});
		newest = kept;
	}
	return newest.replayed;
}
