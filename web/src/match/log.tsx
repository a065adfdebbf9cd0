// What happened, in words: by rounds, halves or turns where the game has them, the newest marked.
import { useEffect, useRef } from "preact/hooks";
import type { Event } from "../api/types";
import type { Context } from "../games/module";
import { Said } from "../games/said";
import { describeEvent, nameOfSeat } from "../games/sentences";
import { t } from "../i18n";

/** The title of the part of the match that begins with an event, if one does. */
function partOf({ event }: Event): string | undefined {
	const inner = (event.value as { event?: { case?: string; value?: Record<string, unknown> } })
		?.event;
	const kind = /^(round|half|turn)Started$/.exec(inner?.case ?? "")?.[1];
	const at = kind && inner?.value?.[kind];
	return typeof at === "number" ? t().parts[kind!]!(at) : undefined;
}

export function Log(props: {
	context: Context;
	events: readonly Event[];
	/** How many of the events, at the end, happened in the latest step. */
	latest: number;
}) {
	const { context, events } = props;
	const list = useRef<HTMLOListElement>(null);
	useEffect(() => {
		const log = list.current;
		if (!log) return;
		// The newest stays in sight, also when something comes to stand above.
		const watcher = new ResizeObserver(() => log.scrollTo({ top: log.scrollHeight }));
		watcher.observe(log);
		return () => watcher.disconnect();
	}, [events.length]);
	if (events.length === 0) return <p class="muted">{t().logEmpty}</p>;
	const old = events.length - Math.max(1, props.latest);
	return (
		<ol class="log" ref={list} tabIndex={0} aria-label={t().log}>
			{events.map((event, index) => {
				// That a seat has decided is news only until both have.
				if (event.event.case === "seatDecided" && index < events.length - 1) return null;
				const line = describeEvent(event, context);
				if (!line) return null;
				const part = partOf(event);
				const classes = [line.strong && "strong", index >= old && "newest"];
				return [
					part && (
						<li key={`part${index}`} class="part">
							{part}
						</li>
					),
					<li key={index} class={classes.filter(Boolean).join(" ")}>
						{line.seat !== undefined && (
							<b class={`who ${line.seat === context.me ? "mine" : "theirs"}`}>
								{nameOfSeat(context, line.seat)}
							</b>
						)}{" "}
						<Said {...line} catalog={context.catalog} />
					</li>,
				];
			})}
		</ol>
	);
}
