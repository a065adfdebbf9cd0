// A match that is over: the table after each step, with both hands, as the server replays it.
import type { Event, MatchRecord, ReplayMatchResponse, View } from "../api/types";
import type { GameModule } from "../games/module";

/** The table after one step. */
export interface Moment {
	version: bigint;
	/** What happened in this step, hidden cards shown. */
	events: Event[];
	/** Whether the near seat decided to bring it about. */
	own: boolean;
	/** What the near seat saw then, and the far one of its own side. */
	view: View;
	/** The hand of each seat: ids of the catalog. */
	hands: readonly (readonly string[])[];
}

/** A match with the views of both seats at each version. */
export interface Replayed {
	record: MatchRecord;
	versions: readonly ReplayMatchResponse[];
}

/** The table after each version in which cards moved, and after the last one. */
export function moments({ record, versions }: Replayed, game: GameModule, near: number): Moment[] {
	const dealt = versions.filter(({ views }) => views[near]?.game.case);
	const happened = new Map<bigint, Event[]>();
	const tell = (version: bigint, event: Event) => {
		happened.set(version, happened.get(version) ?? []);
		happened.get(version)!.push(event);
	};
	// A match that was played on begins with all that had happened before.
	for (const event of record.start?.events ?? []) tell(dealt[0]?.version ?? 0n, event);
	for (const { version, entry } of record.entries)
		if (entry.case === "event") tell(version, entry.value);
	const decided = record.entries.flatMap(({ version, entry }) =>
		entry.case === "action" && entry.value.seat === near ? version : [],
	);
	let before = -1n;
	return dealt
		.filter(({ version, endVersion }) => happened.has(version) || version === endVersion)
		.map(({ version, views }) => {
			// A decision that was held shows with the one that it waited for.
			const since = before;
			const own = decided.some((each) => each > since && each <= version);
			before = version;
			const [mine, other] = [views[near]!, views[1 - near]!];
			return {
				version,
				events: happened.get(version) ?? [],
				own,
				view: game.opened?.(mine, other) ?? mine,
				hands: views.map((view) => game.hand(view).flatMap(({ cards }) => cards)),
			};
		});
}
