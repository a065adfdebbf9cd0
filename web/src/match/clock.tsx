// The clock of a seat, by the servers' time.
import { useEffect, useState } from "preact/hooks";
import type { TimeControl, View } from "../api/types";
import { t } from "../i18n";

type Moment = { seconds: bigint; nanos: number };
const milliseconds = (moment: Moment) => Number(moment.seconds) * 1000 + moment.nanos / 1e6;

/** A time control as a sentence. */
export function clockInWords(control: TimeControl | undefined): string {
	if (!control) return t().clockNone;
	const { perMatch, increment, perDecision } = control;
	const time = (moment: Moment) => t().time(milliseconds(moment) / 1000);
	return t().clockSentence(
		perMatch && time(perMatch),
		increment && milliseconds(increment) > 0 ? time(increment) : undefined,
		perDecision && time(perDecision),
	);
}

/** `offset` is the servers' clock minus ours; without it, the clock stands as it did in the view. */
export function Clock(props: { view: View; seat: number; offset: number | undefined }) {
	const { view, offset } = props;
	const clock = view.clocks?.seats.find((each) => each.seat === props.seat);
	const deadline = clock?.deadline && milliseconds(clock.deadline);
	const [now, setNow] = useState(Date.now);
	useEffect(() => {
		if (deadline === undefined || offset === undefined) return;
		setNow(Date.now());
		const timer = setInterval(() => setNow(Date.now()), 250);
		return () => clearInterval(timer);
	}, [deadline, offset === undefined]);
	if (!clock) return null;
	const time = offset === undefined ? milliseconds(view.clocks!.time!) : now + offset;
	const left =
		deadline !== undefined
			? Math.max(0, deadline - time)
			: clock.timeLeft
				? milliseconds(clock.timeLeft)
				: undefined;
	if (left === undefined) return null;
	const running = deadline !== undefined && !view.result;
	return (
		<span
			class={`clock ${running ? "running" : ""} ${running && left < 20_000 ? "short" : ""}`}
			role="timer"
			aria-label={t().timeLeft}
		>
			{format(left)}
		</span>
	);
}

function format(left: number): string {
	const seconds = Math.ceil(left / 1000);
	const hours = Math.floor(seconds / 3600);
	const rest = `${String(Math.floor((seconds % 3600) / 60)).padStart(hours ? 2 : 1, "0")}:${String(seconds % 60).padStart(2, "0")}`;
	return hours ? `${hours}:${rest}` : rest;
}
