// The hint overlay's data: a search of one position, and estimates of hidden cards from more and more
// worlds. screen.tsx begins it anew where the position changes.
import { type Signal, signal } from "@preact/signals";
import { analyze, estimate } from "../api/calls";
import { type Refusal, refusalOf } from "../api/errors";
import type { CardBelief, Hint } from "../api/types";
import type { Seat } from "../state/seats";

const SEARCH_SECONDS = 6;
const WORLDS = [32, 128, 512, 2048, 8192]; // Each estimate is about twice as sharp as the last.

export interface Beliefs {
	worlds: number;
	cards: CardBelief[];
}

export class Hints {
	readonly on = signal(false);
	readonly running = signal(false);
	readonly hint: Signal<Hint | undefined> = signal(undefined);
	readonly beliefs: Signal<Beliefs | undefined> = signal(undefined);
	/** The expected score in each report so far. */
	readonly scores: Signal<number[]> = signal([]);
	readonly refusal: Signal<Refusal | undefined> = signal(undefined);
	private stop: AbortController | undefined;

	constructor(private readonly seat: Seat) {}

	/** Searches the present position; an earlier search ends. */
	async start() {
		this.cancel();
		this.on.value = true;
		this.hint.value = undefined;
		this.beliefs.value = undefined;
		this.scores.value = [];
		this.refusal.value = undefined;
		this.running.value = true;
		const stop = new AbortController();
		this.stop = stop;
		await Promise.all([this.search(stop.signal), this.sharpen(stop.signal)]);
		if (this.stop === stop) this.running.value = false;
	}

	/** Ends the search and keeps what it has found. */
	cancel() {
		this.stop?.abort();
		this.stop = undefined;
		this.running.value = false;
	}

	hide() {
		this.cancel();
		this.on.value = false;
		this.hint.value = undefined;
		this.beliefs.value = undefined;
	}

	private async search(signal: AbortSignal) {
		try {
			for await (const { hint } of analyze(this.seat, SEARCH_SECONDS, signal)) {
				if (signal.aborted || !hint) return;
				this.hint.value = hint;
				this.scores.value = [...this.scores.value, hint.expectedScore];
			}
		} catch (error) {
			if (!signal.aborted) this.refusal.value = refusalOf(error);
		}
	}

	private async sharpen(signal: AbortSignal) {
		try {
			for (const worlds of WORLDS) {
				const hint = await estimate(this.seat, worlds, signal);
				if (signal.aborted) return;
				this.beliefs.value = { worlds: hint.beliefWorlds, cards: hint.beliefs };
				await new Promise((resolve) => setTimeout(resolve, 500));
				if (signal.aborted) return;
			}
		} catch {
			// The search reports the same trouble.
		}
	}
}
