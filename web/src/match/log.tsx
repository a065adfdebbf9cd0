// What happened, in words.
import { useEffect, useRef } from "preact/hooks";
import type { Event } from "../api/types";
import type { Context, GameModule } from "../games/module";
import { t } from "../i18n";
import { describeEvent, nameOfSeat } from "./words";

export function Log(props: { game: GameModule; context: Context; events: readonly Event[] }) {
	const { game, context, events } = props;
	const list = useRef<HTMLOListElement>(null);
	useEffect(() => {
		list.current?.scrollTo({ top: list.current.scrollHeight });
	}, [events.length]);
	if (events.length === 0) return <p class="muted">{t().logEmpty}</p>;
	return (
		<ol class="log" ref={list} tabIndex={0} aria-label={t().log}>
			{events.map((event, index) => {
				// That a seat has decided is news only until both have.
				if (event.event.case === "seatDecided" && index < events.length - 1) return null;
				const line = describeEvent(game, event, context);
				if (!line) return null;
				return (
					<li key={index} class={line.strong ? "strong" : ""}>
						{line.seat !== undefined && (
							<b class={`who ${line.seat === context.me ? "mine" : "theirs"}`}>
								{line.name ?? nameOfSeat(context, line.seat)}
							</b>
						)}{" "}
						{line.text}
					</li>
				);
			})}
		</ol>
	);
}
