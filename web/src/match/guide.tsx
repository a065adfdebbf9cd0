// The coach of a lesson: a card beside what it is about, or a strip above the action bar where there is no room.

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { EndReason } from "../api/types";
import { Glyph } from "../cards/glyphs";
import { anchorOf, dueTip, textOf } from "../games/lesson";
import type { Guide, Moment } from "../games/module";
import { t } from "../i18n";
import { learned } from "../state/lessons";
import { changeSeat, type Seat } from "../state/seats";
import { calm } from "../state/settings";
import { Button } from "../ui/button";
import { useKeydown } from "../ui/heard";

const FLOATS = "(min-width: 68rem)"; // Below it, the cards take the width of the page.

export function Coach(props: {
	seat: Seat;
	guide: Guide;
	now: Moment;
	root: RefObject<HTMLElement | null>;
	/** Whether a decision of the player is on its way: they have gone on without a click on the tip. */
	submitting: boolean;
}) {
	const { seat, guide, now, root, submitting } = props;
	const card = useRef<HTMLElement>(null);
	const open = useRef<string | undefined>(undefined);
	const seen = seat.lesson ?? [];
	const tip = dueTip(guide, seen, now, open.current);
	open.current = tip;
	const { result } = now.view;
	const byRules = result?.reason === EndReason.RULES;
	const text = !tip ? "" : result && !byRules ? t().lessonCutShort : textOf(guide, tip, now);

	const close = () => tip && changeSeat(seat.match, { lesson: [...seen, tip] });
	const skip = () => changeSeat(seat.match, { lesson: undefined });
	// What is remembered cannot wait for a frame: the page may be left at once.
	useLayoutEffect(() => {
		if (submitting && !result) close();
	}, [submitting]);
	useLayoutEffect(() => {
		if (byRules) learned(seat.game);
	}, [byRules, seat.game]);

	// Escape closes the tip from anywhere, but a dialog first.
	useKeydown((event) => {
		if (event.key === "Escape" && !document.querySelector("dialog[open]")) close();
	});

	// The button that had the focus is gone with the last tip: the focus goes on to the table.
	const within = useRef(false);
	useLayoutEffect(() => {
		if (within.current && !card.current?.contains(document.activeElement))
			root.current
				?.querySelector<HTMLElement>("[data-confirm]:not(:disabled), [data-can], .ending button")
				?.focus();
		within.current = false;
	});

	useLayoutEffect(() => {
		const match = root.current;
		const coach = card.current;
		if (!match || !coach || !tip) return;
		const anchor = match.querySelector<HTMLElement>(anchorOf(guide, tip, now));
		anchor?.setAttribute("data-coached", "");
		const move = () => place(coach, anchor);
		move();
		// What stands around it changes its size when pictures of cards come and go.
		const watcher = new ResizeObserver(move);
		watcher.observe(match);
		addEventListener("resize", move);
		addEventListener("scrollend", move);
		return () => {
			anchor?.removeAttribute("data-coached");
			watcher.disconnect();
			removeEventListener("resize", move);
			removeEventListener("scrollend", move);
		};
	});
	useEffect(() => {
		const anchor = root.current?.querySelector("[data-coached]");
		// The bar lies below the strip: if the strip is in sight, the bar is.
		const strip = card.current?.dataset.at === "strip" ? card.current : undefined;
		const target = strip?.nextElementSibling?.contains(anchor ?? null) ? strip : anchor;
		target?.scrollIntoView({ block: "nearest", behavior: calm() ? "auto" : "smooth" });
	}, [tip]);

	const remember = () => {
		within.current = true;
	};
	return (
		<section
			class={`coach ${tip ? "" : "resting"}`}
			ref={card}
			aria-label={t().lesson}
			data-testid="coach"
			data-tip={tip}
		>
			<p class="coachhead">
				<Glyph name="BULB" /> {t().lesson}
				{!tip && <span class="muted">{t().lessonWaits}</span>}
			</p>
			<p role="status" class="coachtext">
				{text}
			</p>
			<div class="buttons">
				{tip && (
					<Button
						class="primary"
						data-testid="gotit"
						aria-keyshortcuts="Escape"
						onClick={() => {
							remember();
							close();
						}}
					>
						{t().gotIt}
					</Button>
				)}
				{!result && (
					<Button
						class="quiet"
						data-testid="skiplesson"
						onClick={() => {
							remember();
							skip();
						}}
					>
						{t().skipLesson}
					</Button>
				)}
			</div>
		</section>
	);
}

const GAP = 12;
const STEP = 12;

/** Puts the coach as near to its anchor as it can be without covering anything that is needed. */
function place(coach: HTMLElement, anchor: HTMLElement | null) {
	coach.dataset.at = "beside";
	const spot = matchMedia(FLOATS).matches ? freeSpot(coach, anchor) : undefined;
	if (spot) {
		coach.style.setProperty("left", `${spot.x + scrollX}px`);
		coach.style.setProperty("top", `${spot.y + scrollY}px`);
		return;
	}
	coach.dataset.at = "strip";
	const bar = coach.nextElementSibling?.getBoundingClientRect().height ?? 0;
	coach.style.setProperty("--bar", `${bar}px`);
}

interface Box {
	left: number;
	top: number;
	right: number;
	bottom: number;
}

function freeSpot(coach: HTMLElement, anchor: HTMLElement | null) {
	const { offsetWidth: width, offsetHeight: height } = coach;
	const boxes = (selector: string) =>
		[...document.querySelectorAll(selector)]
			.filter((each) => !coach.contains(each))
			.map((each) => each.getBoundingClientRect())
			.filter((box) => box.width > 0);
	const taken: Box[] = boxes("button, a, input, select, summary, .face, .actions, .ending");
	// What else is worth seeing: figures more than the log.
	const soft = [
		...boxes(".top, .player, .boardhead, .board :is(table, p, li, svg), .handtitle"),
	].map((box) => ({ box, weight: 1 / 10 }));
	soft.push(...boxes(".panel").map((box) => ({ box, weight: 1 / 400 })));
	const goal: Box = anchor?.getBoundingClientRect() ?? { left: 0, top: 0, right: 0, bottom: 0 };
	if (anchor) taken.push(goal);
	let best: { x: number; y: number } | undefined;
	let least = Number.POSITIVE_INFINITY;
	for (let y = GAP; y + height + GAP <= innerHeight; y += STEP) {
		for (let x = GAP; x + width + GAP <= document.documentElement.clientWidth; x += STEP) {
			const box: Box = { left: x, top: y, right: x + width, bottom: y + height };
			const far = Math.hypot(
				Math.max(goal.left - box.right, box.left - goal.right, 0),
				Math.max(goal.top - box.bottom, box.top - goal.bottom, 0),
			);
			if (far >= least || taken.some((other) => common(box, other, GAP / 2) > 0)) continue;
			const cost =
				far + soft.reduce((sum, other) => sum + common(box, other.box, 0) * other.weight, 0);
			if (cost < least) {
				least = cost;
				best = { x, y };
			}
		}
	}
	return best;
}

/** The area that two boxes share, if the first had a margin. */
function common(one: Box, other: Box, margin: number): number {
	const wide = Math.min(one.right + margin, other.right) - Math.max(one.left - margin, other.left);
	const high = Math.min(one.bottom + margin, other.bottom) - Math.max(one.top - margin, other.top);
	return Math.max(0, wide) * Math.max(0, high);
}
