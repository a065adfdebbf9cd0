// What happened since the viewer's last decision, a few sentences at a time, with the cards: it is told at the
// pace of reading, and can be stepped through and played again, while the table shows each step.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { View } from "../api/types";
import { type Context, cardProps, type Line } from "../games/module";
import { Said } from "../games/said";
import { linesOf, nameOfSeat } from "../games/sentences";
import { t } from "../i18n";
import { calm } from "../state/settings";
import { Button } from "../ui/button";
import { useKeydown } from "../ui/heard";
import { useScrolled } from "../ui/scrolled";
import type { Step } from "./session";

// How much is told at once, as the style sheets have it: rows, what stands beside them, and a letter, in rem.
const ROOMS = [
	{ media: "(max-height: 50rem)", rows: 2, beside: 8, letter: 0.4 },
	{ media: "(max-width: 47rem)", rows: 3, beside: 6, letter: 0.43 },
	{ media: "all", rows: 3, beside: 8, letter: 0.48 },
];
const WORDS = 0.66; // Of the width: cards take at most the rest.
const FEWEST_LETTERS = 20;
const NAME_LETTERS = 8; // The seat before a line.
const MOST_CARDS = 5;
const GLANCE_MS = 700;
const LETTER_MS = 26;
const LONGEST_MS = 5000;

/** How long it takes to read lines, in milliseconds. */
export const readingTime = (lines: readonly Line[]) =>
	lines.length === 0
		? 0
		: Math.min(
				LONGEST_MS,
				lines.reduce((time, { text }) => time + LETTER_MS * text.length, GLANCE_MS),
			);

/** A step, with what the viewer was shown of the table after it, as far as that is known. */
export interface Passed extends Pick<Step, "version" | "events" | "own"> {
	view?: View;
	hands?: readonly (readonly string[])[];
}

export interface Tale {
	/** The steps since the viewer's last decision, that one included if there was one. */
	steps: readonly Passed[];
	/** Shows at once what the table has still to show; undefined if that is nothing. */
	skip?(): void;
	/** What is told, if that has not happened: then it begins with the first step, and the table does, too. */
	title?: string;
}

/** What is told at once: lines of one step. */
interface Beat {
	lines: Line[];
	step: Passed;
}

function beatsOf(steps: Tale["steps"], context: Context, width: number): Beat[] {
	const { rows: most, beside, letter } = ROOMS.find(({ media }) => matchMedia(media).matches)!;
	const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
	const letters = Math.max(FEWEST_LETTERS, ((WORDS * width) / rem - beside) / letter);
	return steps.flatMap((step, at) => {
		const { events } = step;
		const last = at === steps.length - 1;
		// That a seat has decided is news only until both have.
		const news = last ? events : events.filter(({ event }) => event.case !== "seatDecided");
		const lines = linesOf(news, context);
		const beats: Beat[] = [];
		let rows = most;
		for (const line of lines) {
			const more = Math.ceil((line.text.length + NAME_LETTERS) / letters);
			rows += more;
			if (rows <= most) beats.at(-1)!.lines.push(line);
			else {
				beats.push({ lines: [line], step });
				rows = more;
			}
		}
		return beats;
	});
}

export function Told(props: {
	tale: Tale;
	context: Context;
	/** Whether the table goes back with what is told. */
	back: boolean;
	setBack(back: boolean): void;
	/** Shows a step of the past on the table; undefined: the present. */
	look(step: Passed | undefined): void;
}) {
	const { tale, context, setBack, look } = props;
	const { steps, skip, title = t().told } = tale;
	const ahead = tale.title !== undefined;
	const strip = useRef<HTMLElement>(null);
	const [width, setWidth] = useState(0);
	useLayoutEffect(() => {
		// Out of sight, it has none.
		const watch = new ResizeObserver(([strip]) =>
			setWidth((was) => strip!.contentRect.width || was),
		);
		watch.observe(strip.current!);
		return () => watch.disconnect();
	}, []);
	const beats = beatsOf(steps, context, width);
	const last = beats.length - 1;
	const first = steps[0]?.version;
	// A spectator has no decision from which it could begin.
	const still = calm() || document.hidden || context.me === undefined;
	// "read" waits to be stepped through; "end" shows the newest whatever comes.
	const [mode, setMode] = useState<"play" | "read" | "end">("end");
	const [place, setPlace] = useState(0);
	const at = mode === "end" ? last : Math.min(place, last);
	const begun = useRef({ first: undefined as bigint | undefined, others: false, at: 0, since: 0 });
	const others = ahead ? 0 : beats.findIndex(({ step }) => !step.own);
	const lines = useScrolled<HTMLOListElement>();
	useLayoutEffect(() => {
		const { current } = begun;
		if (!width) return; // Where the other side begins is not known before.
		const anew = current.first !== first;
		if (!anew && (current.others || others < 0)) return;
		// Without motion it stands where the other side begins.
		const opened = current.first === undefined;
		if (anew || still) setPlace((still || opened) && others > 0 ? others : 0);
		if (anew) setMode(context.me === undefined ? "end" : still ? "read" : "play");
		if (anew) setBack(ahead);
		begun.current = { ...current, first, others: others >= 0 };
	}, [first, others, width > 0]);
	useEffect(() => {
		const { current } = begun;
		if (current.at !== at || current.since === 0) Object.assign(current, { at, since: Date.now() });
		if (mode !== "play" || at >= last) return;
		const left = current.since + readingTime(beats[at]!.lines) - Date.now();
		const timer = setTimeout(() => setPlace(at + 1), Math.max(0, left));
		return () => clearTimeout(timer);
	}, [mode, at, last, first]);
	const beat = beats[at];
	const present = !ahead && beat?.step === beats[last]?.step;
	const past = props.back && !present ? beat?.step : undefined;
	useLayoutEffect(() => look(past), [past]);
	const go = (to: number) => {
		setMode("read");
		setPlace(to);
		setBack(true);
	};
	const end = () => {
		setBack(ahead);
		skip?.();
		setMode("end");
	};
	useKeydown((event) => {
		if (event.key.toLowerCase() === "s" && !(event.target as HTMLElement).closest("dialog")) end();
	});
	const { catalog } = context;
	const { Card } = catalog.module;
	const cards = [...new Set(beat?.lines.flatMap((line) => line.cards))].slice(0, MOST_CARDS);
	const running =
		skip !== undefined || (at < last && (mode === "play" || (past !== undefined && !ahead)));
	return (
		<section
			class="told"
			ref={strip}
			aria-label={title}
			data-testid="told"
			data-beats={beats.length}
		>
			<ul class="toldcards">
				{cards.map((card) => (
					<li key={card}>
						<Card {...cardProps(catalog, card)} />
					</li>
				))}
			</ul>
			<ol class="toldlines" key={`${first}.${at}`} ref={lines}>
				{beat?.lines.map(({ seat, text, cards, strong }, index) => (
					<li key={index} class={strong ? "strong" : ""}>
						{seat !== undefined && (
							<b class={`who ${seat === context.me ? "mine" : "theirs"}`}>
								{nameOfSeat(context, seat)}
							</b>
						)}{" "}
						<Said {...{ text, cards, catalog }} />
					</li>
				))}
			</ol>
			{beats.length > 1 && (
				<div class="toldsteps" role="group" aria-label={title}>
					<Button aria-label={t().toldBack} disabled={at <= 0} onClick={() => go(at - 1)}>
						‹
					</Button>
					<span class="num">
						{at + 1}/{beats.length}
					</span>
					<Button aria-label={t().toldForward} disabled={at >= last} onClick={() => go(at + 1)}>
						›
					</Button>
					{running ? (
						<Button aria-label={t().toldSkip} title={`${t().toldSkip} (S)`} onClick={end}>
							»
						</Button>
					) : (
						<Button
							aria-label={t().toldAgain}
							title={t().toldAgain}
							onClick={() => {
								begun.current.since = 0;
								setPlace(0);
								setBack(true);
								setMode(calm() ? "read" : "play");
							}}
						>
							↻
						</Button>
					)}
				</div>
			)}
		</section>
	);
}
