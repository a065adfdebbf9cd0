// The stream of a match, resumed when it breaks.
import type { Client } from "@connectrpc/connect";
import type { MatchService, WatchMatchResponse } from "./gen/croupier/v1/match_pb.js";
import { Patience, type RetryOptions } from "./retry.js";

/** What a call needs to speak for a seat or a spectator of a match. */
export interface Access {
	/** The name of the match, "matches/{match}". */
	name: string;
	token: string;
}

export interface WatchOptions extends RetryOptions {
	/** The last version that is known; by default the stream begins with the first one. */
	afterVersion?: bigint;
	/** Ends the stream. */
	signal?: AbortSignal;
}

/** Returns the headers of a call that speaks for a seat or a spectator. */
export function authorize(access: Access): Record<string, string> {
	return { authorization: `Bearer ${access.token}` };
}

// --8<-- [start:watch]
/**
 * Yields every version of a match until it is over. When the stream breaks, it is resumed after the
 * last version that came; throws when that has failed for as long as the patience lasts.
 */
export async function* watchMatch(
	matches: Client<typeof MatchService>,
	access: Access,
	options: WatchOptions = {},
): AsyncGenerator<WatchMatchResponse, void> {
	const patience = new Patience(options, options.signal);
	const call = { headers: authorize(access), signal: options.signal };
	let afterVersion = options.afterVersion;
	while (true) {
		try {
			for await (const change of matches.watchMatch({ name: access.name, afterVersion }, call)) {
				afterVersion = change.version;
				patience.reset();
				yield change;
			}
			return; // The match is over.
		} catch (error) {
			await patience.wait(error);
		}
	}
}
// --8<-- [end:watch]
