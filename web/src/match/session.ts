// One open match: follows the server, keeps what happened, and submits decisions.
import { computed, type Signal, signal } from "@preact/signals";
import { getView, submitAction, watchMatch } from "../api/calls";
import { type Refusal, refusalOf } from "../api/errors";
import type { Action, Event, View, WatchMatchResponse } from "../api/types";
import { uuid } from "../api/uuid";
import { remember } from "../replay/history";
import type { Seat } from "../state/seats";
import { calm } from "../state/settings";

export type Connection = "connecting" | "live" | "lost" | "over" | "refused";

/** One version of the match, as it is shown. */
export interface Step {
	version: bigint;
	events: Event[];
	view?: View;
}

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 15_000;

export class Session {
	readonly view: Signal<View | undefined> = signal(undefined);
	/** Everything that has happened so far, oldest first, up to the view that is shown. */
	readonly events: Signal<Event[]> = signal([]);
	/** What happened in the step that is shown now: for motion and for the screen reader. */
	readonly latest: Signal<Event[]> = signal([]);
	readonly connection: Signal<Connection> = signal("connecting");
	readonly refusal: Signal<Refusal | undefined> = signal(undefined);
	readonly submitting = signal(false);
	/** The servers' clock minus ours, in milliseconds. */
	readonly clockOffset = signal(0);
	/** Whether steps wait to be shown, so that no decision can be made yet. */
	readonly busy = computed(() => this.waiting.value.length > 0 || this.submitting.value);

	private readonly waiting: Signal<Step[]> = signal([]);
	private lastVersion: bigint | undefined;
	private stop = new AbortController();
	private wake: (() => void) | undefined;
	private timer: ReturnType<typeof setTimeout> | undefined;
	private caughtUp = false;

	constructor(
		readonly seat: Seat,
		/** How long a step stays before the next one is shown, in milliseconds. */
		private readonly pace: (events: Event[]) => number,
	) {}

	start() {
		addEventListener("online", this.retry);
		document.addEventListener("visibilitychange", this.retry);
		void this.follow(this.stop.signal);
	}

	close() {
		removeEventListener("online", this.retry);
		document.removeEventListener("visibilitychange", this.retry);
		clearTimeout(this.timer);
		this.stop.abort();
		this.wake?.();
	}

	private retry = () => this.wake?.();

	private async follow(signal: AbortSignal) {
		let wait = FIRST_WAIT_MS;
		while (!signal.aborted) {
			try {
				if (this.seat.seat !== undefined || this.clockOffset.value === 0)
					await this.setClock(signal);
				for await (const response of watchMatch(this.seat, this.lastVersion, signal)) {
					wait = FIRST_WAIT_MS;
					this.receive(response);
				}
				this.connection.value = "over";
				return;
			} catch (error) {
				if (signal.aborted) return;
				const refusal = refusalOf(error);
				if (!refusal.temporary) {
					this.refusal.value = refusal;
					this.connection.value = "refused";
					return;
				}
				this.connection.value = "lost";
				const jitter = 0.5 + Math.random();
				await new Promise<void>((resolve) => {
					this.wake = resolve;
					setTimeout(resolve, wait * jitter);
				});
				wait = Math.min(2 * wait, LONGEST_WAIT_MS);
			}
		}
	}

	private async setClock(signal: AbortSignal) {
		const before = Date.now();
		const { view, serverTime } = await getView(this.seat, signal);
		if (serverTime) {
			const server = Number(serverTime.seconds) * 1000 + serverTime.nanos / 1e6;
			this.clockOffset.value = server - (before + Date.now()) / 2;
		}
		// Whatever happened before now is shown at once, and only then at a pace.
		this.catchUpTo = view?.version ?? 0n;
	}

	private catchUpTo = 0n;
	private readonly behind: Event[] = [];

	private receive(response: WatchMatchResponse) {
		this.connection.value = "live";
		this.lastVersion = response.version;
		const step = { version: response.version, events: response.events, view: response.view };
		if (!this.caughtUp) {
			this.behind.push(...response.events);
			if (!response.view || response.version < this.catchUpTo) return;
			this.caughtUp = true;
			this.events.value = [...this.events.value, ...this.behind.splice(0)];
			this.view.value = response.view;
			remember(response.view);
			return;
		}
		this.waiting.value = [...this.waiting.value, step];
		if (this.timer === undefined) this.showNext();
	}

	private showNext = () => {
		this.timer = undefined;
		const [step, ...rest] = this.waiting.value;
		if (!step) return;
		this.waiting.value = rest;
		this.events.value = [...this.events.value, ...step.events];
		this.latest.value = step.events;
		if (step.view) {
			this.view.value = step.view;
			remember(step.view);
		}
		const pause = calm() || document.hidden ? 0 : this.pace(step.events);
		// The step keeps the stage for a while, also if nothing waits yet.
		this.timer = setTimeout(this.showNext, pause);
	};

	/** Submits a decision; throws nothing: a refusal is shown and the next view corrects the table. */
	async submit(action: Action) {
		const view = this.view.value;
		if (!view || this.submitting.value) return;
		this.submitting.value = true;
		this.refusal.value = undefined;
		const requestId = uuid();
		let wait = FIRST_WAIT_MS;
		try {
			for (;;) {
				try {
					const after = await submitAction(this.seat, view.version, action, requestId);
					// The first of two simultaneous decisions makes no new view on the stream.
					if (after.version === this.view.value?.version) this.view.value = after;
					return;
				} catch (error) {
					const refusal = refusalOf(error);
					if (!refusal.temporary || this.stop.signal.aborted) {
						this.refusal.value = refusal;
						return;
					}
					this.connection.value = "lost";
					await new Promise((resolve) => setTimeout(resolve, wait));
					wait = Math.min(2 * wait, LONGEST_WAIT_MS);
				}
			}
		} finally {
			this.submitting.value = false;
		}
	}
}
