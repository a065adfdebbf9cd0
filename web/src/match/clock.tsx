// The clock of a seat, by the servers' time.
import { useEffect, useState } from "preact/hooks";
import type { TimeControl, View } from "../api/types";
import { t } from "../i18n";

/** The time in milliseconds, by a clock that goes on when somebody sets the one of the device. */
export const now = () => performance.timeOrigin + performance.now();

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
	const [time, setTime] = useState(now);
	useEffect(() => {
		if (deadline === undefined || offset === undefined) return;
		setTime(now());
		const timer = setInterval(() => setTime(now()), 250);
		return () => clearInterval(timer);
	}, [deadline, offset === undefined]);
	if (!clock) return null;
	const theirs = offset === undefined ? milliseconds(view.clocks!.time!) : time + offset;
	const left =
		deadline !== undefined
			? Math.max(0, deadline - theirs)
			: clock.timeLeft
				? milliseconds(clock.timeLeft)
				: undefined;
	if (left === undefined) return null;
	const running = deadline !== undefined && !view.result;
	return (
		<span
			class={`clock ${running ? "running" : ""} ${running && left < 20_000 ? "short" : ""}`}
			role="timer"
			translate={false}
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
