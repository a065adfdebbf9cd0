// One open match: follows the server, keeps what happened, and submits decisions.
import { computed, type Signal, signal } from "@preact/signals";
import {
	cancelDecisionsAhead,
	getView,
	HEARTBEAT_MS,
	submitAction,
	watchMatch,
} from "../api/calls";
import { type Refusal, refusalOf } from "../api/errors";
import type {
	Action,
	Event,
	RematchOffer,
	SeatPresence,
	View,
	WatchMatchResponse,
} from "../api/types";
import { uuid } from "../api/uuid";
import { identity } from "../games/choices";
import type { Seat } from "../state/seats";
import { calm, presence } from "../state/settings";
import { observe } from "./alerts";
import { now } from "./clock";

export type Connection = "connecting" | "live" | "lost" | "over" | "refused";

/** One version of the match, as it is shown. */
export interface Step {
	version: bigint;
	events: Event[];
	view?: View;
	/** Whether it is a decision of this seat. */
	own?: boolean;
}

/** What happened since the last decision of this seat, that one included. */
export const sinceOwn = <S extends Pick<Step, "own">>(steps: readonly S[]): readonly S[] =>
	steps.slice(
		Math.max(
			0,
			steps.findLastIndex(({ own }) => own),
			steps.length - MOST_TOLD,
		),
	);

const MOST_TOLD = 60; // Before the first decision; after one, hardly any turn is longer.

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 2500; // While somebody looks at the page.
const LONGEST_WAIT_HIDDEN_MS = 15_000;
const PROBE_TIMEOUT_MS = 5000;
const SILENCE_MS = 2.5 * HEARTBEAT_MS; // A stream that says nothing for so long is lost.
const DRIFT_MS = 2000;

/** What the viewer has decided and the server keeps until it is due. */
export function keptAhead(view: View | undefined): Action[] {
	const ahead = view?.decisionsAhead;
	return ahead && !ahead.endReason ? ahead.actions : [];
}

export class Session {
	readonly view: Signal<View | undefined> = signal(undefined);
	/** The first of the versions in a row that show this position: the other seat may decide in secret, or offer
	 * something, which makes a version and changes nothing here. */
	readonly since = signal(0n);
	/** Everything that has happened so far, oldest first, up to the view that is shown. */
	readonly events: Signal<Event[]> = signal([]);
	/** The steps since the last decision of this seat, as far as they are shown. */
	readonly told: Signal<readonly Step[]> = signal([]);
	/** What happened in the step that is shown now: for motion and for the screen reader. */
	readonly latest: Signal<Event[]> = signal([]);
	readonly connection: Signal<Connection> = signal("connecting");
	readonly refusal: Signal<Refusal | undefined> = signal(undefined);
	/** The rematch of a match that is over, if one was offered. */
	readonly rematch: Signal<RematchOffer | undefined> = signal(undefined);
	/** Whether the other player is there, as far as the server tells. */
	readonly otherSeat: Signal<SeatPresence | undefined> = signal(undefined);
	readonly submitting = signal(false);
	/** The decision that was submitted last, unless it was refused. */
	readonly sent: Signal<Action | undefined> = signal(undefined);
	/** The servers' clock minus ours, in milliseconds. */
	readonly clockOffset = signal(0);
	/** The version that our last decision led to: until it is shown, the view is of the past. */
	private readonly reached = signal(0n);
	/** Whether more is decided or on its way than is shown, so that no decision can be made yet. */
	readonly busy = computed(
		() =>
			this.waiting.value.length > 0 ||
			this.submitting.value ||
			keptAhead(this.view.value).length > 0 ||
			this.reached.value > (this.view.value?.version ?? 0n),
	);

	/** The steps that are still to be shown, one after another. */
	readonly waiting: Signal<Step[]> = signal([]);
	private lastVersion: bigint | undefined;
	private etag = ""; // Of that version.
	private stop = new AbortController();
	/** The pauses before the next attempts, each of which can be cut short. */
	private readonly pauses = new Set<() => void>();
	private wait = FIRST_WAIT_MS;
	private stream: AbortController | undefined;
	private heard = 0;
	private timer: ReturnType<typeof setTimeout> | undefined;
	private caughtUp = false;
	/** How far the device's clock was ahead of `now` at the last look. */
	private ahead = 0;

	constructor(
		readonly seat: Seat,
		/** How long a step stays before the next one is shown, in milliseconds. */
		private readonly pace: (events: Event[]) => number,
	) {}

	start() {
		addEventListener("online", this.onOnline);
		document.addEventListener("visibilitychange", this.onVisible);
		void this.follow(this.stop.signal);
		this.forgetPresence = presence.subscribe(() => this.stream?.abort());
	}

	private forgetPresence = () => {};

	close() {
		this.forgetPresence();
		removeEventListener("online", this.onOnline);
		document.removeEventListener("visibilitychange", this.onVisible);
		clearTimeout(this.timer);
		this.stop.abort();
		this.retry();
	}

	// A stream from before may be dead without a sign of it: another one takes its place.
	private onOnline = () => {
		this.stream?.abort();
		this.retry();
	};

	private onVisible = () => {
		if (this.drifted() || now() - this.heard > 1.5 * HEARTBEAT_MS) this.stream?.abort();
		this.retry();
	};

	/** Whether the device's clock was set, or it has slept, when `now` may have stood: then we look again. */
	private drifted = () => Math.abs(Date.now() - now() - this.ahead) > DRIFT_MS;

	private retry() {
		for (const end of this.pauses) end();
	}

	/** Waits before the next attempt; the wait after that one is longer. */
	private async pause() {
		const { wait } = this;
		this.wait = Math.min(2 * wait, document.hidden ? LONGEST_WAIT_HIDDEN_MS : LONGEST_WAIT_MS);
		await new Promise<void>((resolve) => {
			const end = () => {
				clearTimeout(timer);
				this.pauses.delete(end);
				resolve();
			};
			// Not all pages at once, after a server has restarted.
			const timer = setTimeout(end, wait * (0.6 + 0.4 * Math.random()));
			this.pauses.add(end);
		});
	}

	private async follow(signal: AbortSignal) {
		while (!signal.aborted) {
			try {
				await this.look(signal);
				if (await this.listen(signal)) {
					this.connection.value = "over";
					return;
				}
			} catch (error) {
				if (signal.aborted) return;
				const refusal = refusalOf(error);
				if (refusal.reason === "VERSION_IN_FUTURE" && this.lastVersion !== undefined) {
					this.beginAnew();
				} else if (!refusal.temporary) {
					this.refusal.value = refusal;
					this.connection.value = "refused";
					return;
				}
				this.connection.value = "lost";
				this.otherSeat.value = undefined;
				await this.pause();
			}
		}
	}

	/** The log has lost what was shown: its database was restored, or a standby took over. */
	private beginAnew() {
		clearTimeout(this.timer);
		this.timer = undefined;
		this.lastVersion = undefined;
		this.etag = "";
		this.caughtUp = false;
		this.behind.length = 0;
		this.waiting.value = [];
		this.events.value = [];
		this.told.value = [];
		this.latest.value = [];
		this.reached.value = 0n;
		this.sent.value = undefined;
	}

	/** Follows the stream; returns whether it ended because there is no more to come. */
	private async listen(signal: AbortSignal): Promise<boolean> {
		const stream = new AbortController();
		this.stream = stream;
		const end = () => stream.abort();
		signal.addEventListener("abort", end);
		let silence = setTimeout(end, SILENCE_MS);
		try {
			const hides = presence.value === "off";
			const changes = watchMatch(this.seat, this.lastVersion, this.etag, hides, stream.signal);
			for await (const response of changes) {
				clearTimeout(silence);
				silence = setTimeout(end, SILENCE_MS);
				this.receive(response);
			}
			return true;
		} catch (error) {
			// A silent stream is no lost connection yet: the next look tells.
			if (stream.signal.aborted && !signal.aborted) return false;
			throw error;
		} finally {
			clearTimeout(silence);
			signal.removeEventListener("abort", end);
		}
	}

	/** Asks for the present view: for the servers' clock, and for the version to catch up with. */
	private async look(signal: AbortSignal) {
		const before = now();
		this.ahead = Date.now() - before;
		const { view, serverTime, rematch } = await getView(this.seat, signal, PROBE_TIMEOUT_MS);
		if (serverTime) {
			const server = Number(serverTime.seconds) * 1000 + serverTime.nanos / 1e6;
			this.clockOffset.value = server - (before + now()) / 2;
		}
		// Whatever happened before now is shown at once, and only then at a pace.
		this.catchUpTo = view?.version ?? 0n;
		if (rematch) this.rematch.value = rematch;
		// Where both players wait, the stream may say nothing for a long time.
		if (view?.version === this.lastVersion) this.connection.value = "live";
		// A decision of ours that stays hidden for now changes the view and not its version.
		if (view && view.version === this.view.value?.version) this.show(view);
	}

	private catchUpTo = 0n;
	private readonly behind: Step[] = [];

	private receive(response: WatchMatchResponse) {
		this.connection.value = "live";
		this.heard = now();
		if (this.drifted()) this.stream?.abort();
		this.wait = FIRST_WAIT_MS;
		if (response.rematch) this.rematch.value = response.rematch;
		if (response.upToDate) {
			this.otherSeat.value = response.otherSeat;
			if (response.view) this.correct(response.view);
		}
		if (response.upToDate || response.rematch) return;
		this.lastVersion = response.version;
		this.etag = response.etag;
		const { version, events, view, ownAction: own } = response;
		const step = { version, events, view, own };
		if (!this.caughtUp) {
			this.behind.push(step);
			if (!view || version < this.catchUpTo) return;
			this.caughtUp = true;
			this.take(this.behind.splice(0));
			this.show(view);
			return;
		}
		this.waiting.value = [...this.waiting.value, step];
		if (this.timer === undefined) this.showNext();
	}

	/** The newest version with what this seat has decided ahead, of which another tab has taken some back. */
	private correct(view: View) {
		const last = this.waiting.value.at(-1);
		if (last?.version === view.version) last.view = view;
		else if (view.version === this.view.value?.version) this.show(view);
	}

	private showNext = () => {
		this.timer = undefined;
		const [step, ...rest] = this.waiting.value;
		if (!step) return;
		this.waiting.value = rest;
		this.take([step]);
		this.latest.value = step.events;
		if (step.view) this.show(step.view);
		const hurry = calm() || document.hidden || step.version <= this.skipped;
		const pause = hurry ? 0 : this.pace(step.events);
		// The step keeps the stage for a while, also if nothing waits yet.
		this.timer = setTimeout(this.showNext, pause);
	};

	private skipped = -1n;

	/** Shows at once what is waiting to be shown. */
	skip() {
		this.skipped = this.waiting.value.at(-1)?.version ?? -1n;
		if (this.skipped < 0n) return;
		clearTimeout(this.timer);
		this.showNext();
	}

	private take(steps: readonly Step[]) {
		this.events.value = [...this.events.value, ...steps.flatMap(({ events }) => events)];
		this.told.value = sinceOwn([...this.told.value, ...steps]);
	}

	private show(view: View) {
		const shown = this.view.value;
		const same = shown && shown.version <= view.version && identity(shown) === identity(view);
		if (!same) this.since.value = view.version;
		this.view.value = view;
		observe(this.seat.match, view);
	}

	/** Takes back what the server keeps until it is due; throws nothing. */
	async cancelAhead() {
		this.submitting.value = true;
		this.refusal.value = undefined;
		try {
			this.correct(await cancelDecisionsAhead(this.seat));
		} catch (error) {
			this.refusal.value = refusalOf(error);
		} finally {
			this.submitting.value = false;
		}
	}

	/** Submits a decision and what shall follow it; throws nothing: a refusal is shown and the next view corrects the table. */
	async submit(action: Action, then: Action[] = []) {
		const view = this.view.value;
		if (!view || this.submitting.value) return;
		this.submitting.value = true;
		this.sent.value = action;
		this.refusal.value = undefined;
		const requestId = uuid();
		try {
			for (;;) {
				try {
					const after = await submitAction(
						this.seat,
						view.version,
						action,
						requestId,
						view.etag,
						then,
					);
					// The first of two simultaneous decisions makes no new view on the stream.
					if (after.version === this.view.value?.version) this.show(after);
					this.reached.value = after.version;
					this.connection.value = "live";
					this.retry();
					return;
				} catch (error) {
					const refusal = refusalOf(error);
					if (!refusal.temporary || this.stop.signal.aborted) {
						this.sent.value = undefined;
						this.refusal.value = refusal;
						// Another tab may have played this seat.
						await this.look(this.stop.signal).catch(() => undefined);
						return;
					}
					this.connection.value = "lost";
					await this.pause();
				}
			}
		} finally {
			this.submitting.value = false;
		}
	}
}
