// The stream of a match, resumed when it breaks.
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
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
	/** The `etag` of that version: the stream goes on only from it, and not from its like. */
	etag?: string;
	/** Ends the stream. */
	signal?: AbortSignal;
	/** How often the server shall prove that the stream lives, from 1 s to 60 s; by default 10 s. */
	heartbeatMs?: number;
	/** Whether these proofs, which have `upToDate`, are yielded too; those with a view always are. */
	heartbeats?: boolean;
	/** Whether the stream goes on after the end, with what becomes of a rematch (`rematch`). */
	followRematch?: boolean;
}

const HEARTBEAT_MS = 10_000;
const SILENT_INTERVALS = 2.5; // A stream that was silent for so many is lost: one may come late.

/**
 * Returns the headers of a call that speaks for a seat or a spectator; throws a ConnectError for a
 * token that no header can carry, which would look like a lost connection.
 */
export function authorize(access: Access): Record<string, string> {
	if (!/^[ -~]*$/.test(access.token)) {
		const why = "the token has characters other than printable ASCII";
		throw new ConnectError(why, Code.Unauthenticated);
	}
	return { authorization: `Bearer ${access.token}` };
}

// --8<-- [start:watch]
/**
 * Yields every version of a match until it is over. When the stream breaks, or falls silent after
 * the server has begun to prove that it lives, it is resumed after the last version that came;
 * throws when that has failed for as long as the patience lasts.
 */
export async function* watchMatch(
	matches: Client<typeof MatchService>,
	access: Access,
	options: WatchOptions = {},
): AsyncGenerator<WatchMatchResponse, void> {
	const patience = new Patience(options, options.signal);
	const headers = authorize(access);
	const intervalMs = options.heartbeatMs ?? HEARTBEAT_MS;
	let afterVersion = options.afterVersion;
	let etag = options.etag;
	while (true) {
		const silence = new AbortController();
		const signal = AbortSignal.any([silence.signal, ...(options.signal ? [options.signal] : [])]);
		let lives = false;
		let timer: ReturnType<typeof setTimeout> | undefined;
		try {
			const stream = matches.watchMatch(
				{
					name: access.name,
					afterVersion,
					etag,
					heartbeatInterval: durationFromMs(intervalMs),
					followRematch: options.followRematch,
				},
				{ headers, signal },
			);
			for await (const change of stream) {
				clearTimeout(timer);
				afterVersion = change.version;
				etag = change.etag || etag;
				patience.reset();
				lives ||= change.upToDate;
				if (options.heartbeats || change.view || !change.upToDate) yield change;
				if (lives) timer = setTimeout(() => silence.abort(), SILENT_INTERVALS * intervalMs);
			}
			return; // The match is over.
		} catch (error) {
			await patience.wait(error);
		} finally {
			clearTimeout(timer);
			silence.abort();
		}
	}
}
// --8<-- [end:watch]
