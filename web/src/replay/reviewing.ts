// The review of one match while it is made: what the server has reported so far.
import { type Signal, signal } from "@preact/signals";
import { reviewMatch } from "../api/calls";
import { type Refusal, refusalOf } from "../api/errors";
import type { DecisionReview, MatchReview, ReviewProgress } from "../api/types";
import type { Seat } from "../state/seats";

const DEEP = 3; // How much longer the second search of a decision takes, by the server's defaults.

export class Review {
	/** Whether the server has said what it would take, or why it does not. */
	readonly planned = signal(false);
	readonly running = signal(false);
	readonly progress: Signal<ReviewProgress | undefined> = signal(undefined);
	/** How much is done, from 0 to 1. It never goes back. */
	readonly share = signal(0);
	/** In the order of the match. */
	readonly decisions: Signal<DecisionReview[]> = signal([]);
	readonly summary: Signal<MatchReview | undefined> = signal(undefined);
	readonly refusal: Signal<Refusal | undefined> = signal(undefined);
	private stopper: AbortController | undefined;

	constructor(private readonly seat: Seat) {}

	/** Asks what a review would take, which costs nothing. */
	async plan() {
		if (this.progress.value) return;
		await this.follow(true);
	}

	/** Reviews the match, or goes on where it was stopped. */
	async start() {
		this.refusal.value = undefined;
		this.running.value = true;
		await this.follow(false);
	}

	/** Ends the searches, and keeps what was found. */
	stop() {
		this.stopper?.abort();
	}

	private async follow(planOnly: boolean) {
		this.stop();
		const stopper = new AbortController();
		this.stopper = stopper;
		try {
			for await (const { progress, report } of reviewMatch(this.seat, planOnly, stopper.signal)) {
				if (progress) this.note(progress);
				if (report.case === "decision") this.add(report.value);
				if (report.case === "summary") this.summary.value = report.value;
			}
		} catch (error) {
			if (!planOnly && !stopper.signal.aborted) this.refusal.value = refusalOf(error);
		}
		this.planned.value = true;
		if (this.stopper === stopper) this.running.value = false;
	}

	private note(progress: ReviewProgress) {
		this.progress.value = progress;
		const all = progress.decisions + DEEP * progress.decisionsToDeepen;
		const done = progress.decisionsJudged + DEEP * progress.decisionsDeepened;
		this.share.value = Math.max(this.share.value, all > 0 ? done / all : 0);
	}

	private add(decision: DecisionReview) {
		const others = this.decisions.value.filter(
			({ version, seat }) => version !== decision.version || seat !== decision.seat,
		);
		this.decisions.value = [...others, decision].sort(
			(a, b) => Number(a.version - b.version) || a.seat - b.seat,
		);
	}
}

// What was found is kept while the page is open: whoever comes back finds it again.
const reviews = new Map<string, Review>();

export function reviewOf(seat: Seat): Review {
	const known = reviews.get(seat.match) ?? new Review(seat);
	reviews.set(seat.match, known);
	return known;
}
