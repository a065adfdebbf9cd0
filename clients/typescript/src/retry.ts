// Which failed calls are repeated, and when.
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { explain } from "./errors.js";

export interface RetryOptions {
	/** For how long to try again without an answer; by default 30 seconds. */
	patienceMs?: number;
	/** Called before each further attempt. */
	onRetry?: (error: ConnectError) => void;
}

const PATIENCE_MS = 30_000;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;
const CALL_TIMEOUT_MS = 30_000;
const SEARCH_TIMEOUT_MS = 60_000; // Besides CALL_TIMEOUT_MS: the longest search of a server.

// --8<-- [start:retry]
/**
 * Returns a transport that gives each attempt of a unary call a deadline, and repeats the call until
 * the server answers. Requests that change something must carry a `requestId`, as all of Croupier's
 * can.
 */
export function persistent(transport: Transport, options: RetryOptions = {}): Transport {
	return {
		async unary(method, signal, timeoutMs, header, input, contextValues) {
			const patience = new Patience(options, signal);
			timeoutMs ??= CALL_TIMEOUT_MS + (method.name === "SuggestAction" ? SEARCH_TIMEOUT_MS : 0);
			while (true) {
				try {
					return await transport.unary(method, signal, timeoutMs, header, input, contextValues);
				} catch (error) {
					await patience.wait(error);
				}
			}
		},
		stream: transport.stream.bind(transport), // See watchMatch.
	};
}

/** Says how long to wait between attempts. */
export class Patience {
	private pauseMs = FIRST_PAUSE_MS;
	private until: number | undefined;

	constructor(
		private readonly options: RetryOptions,
		private readonly signal: AbortSignal | undefined,
	) {}

	/** Starts the time over, because the server has answered. */
	reset() {
		this.pauseMs = FIRST_PAUSE_MS;
		this.until = undefined;
	}

	/** Returns when it is time for the next attempt; throws the error if there should be none. */
	async wait(error: unknown): Promise<void> {
		this.until ??= Date.now() + (this.options.patienceMs ?? PATIENCE_MS);
		// A fifth more or less, so that the clients of a lost server come back apart.
		const pauseMs = explain(error).retryAfterMs ?? this.pauseMs * (0.8 + 0.4 * Math.random());
		const late = Date.now() + pauseMs > this.until;
		if (late || !mayPass(error) || this.signal?.aborted) throw error;
		this.pauseMs = Math.min(2 * this.pauseMs, MAX_PAUSE_MS);
		await new Promise<void>((resolve) => {
			setTimeout(resolve, pauseMs);
			this.signal?.addEventListener("abort", () => resolve(), { once: true });
		});
		if (this.signal?.aborted) throw error;
		this.options.onRetry?.(ConnectError.from(error));
	}
}

/** Whether the same call may succeed later, or at another server. */
export function mayPass(error: unknown): boolean {
	const { code, reason, retryAfterMs } = explain(error);
	if (reason) {
		// The server has answered.
		const exhausted = code === Code.ResourceExhausted && retryAfterMs !== undefined;
		return code === Code.Unavailable || exhausted;
	}
	// The connection was lost, or a proxy has lost the server. In Node, a reset connection is Aborted.
	return LOST.includes(code) && !hasBadCertificate(error);
}

const LOST = [
	Code.Unavailable,
	Code.Internal,
	Code.Unknown,
	Code.Canceled,
	Code.DeadlineExceeded,
	Code.Aborted,
];
// --8<-- [end:retry]

/** Whether Node does not trust the server's certificate, which another attempt does not mend. */
function hasBadCertificate(error: unknown): boolean {
	for (let each = error; each instanceof Error; each = each.cause) {
		if ("code" in each && /CERT|VERIFY|ERR_TLS/.test(String(each.code))) return true;
	}
	return false;
}
