// The end of a match: who won and why, and what both players want next.
import { useEffect, useRef, useState } from "preact/hooks";
import { rematch as askForRematch, declineRematch, getView } from "../api/calls";
import { refusalOf } from "../api/errors";
import { RematchState } from "../api/types";
import type { Context } from "../games/module";
import { nameOfSeat, outcome, reason } from "../games/sentences";
import { inWords, t } from "../i18n";
import { linkTo } from "../state/router";
import { forgetSeat, idOf, type Seat, takeSeat } from "../state/seats";
import { Button } from "../ui/button";
import { Refused } from "../ui/refused";
import type { Session } from "./session";

export function Ending(props: { seat: Seat; context: Context; session: Session }) {
	const { seat, context } = props;
	const [first = 0, second = 0] = context.view.result?.scores ?? [];
	const won = seat.seat !== undefined && (seat.seat === 0 ? first > second : second > first);
	return (
		<section class={`ending ${won ? "won" : ""}`} data-testid="ending">
			<p class="finale" data-testid="outcome">
				{outcome(context)}
			</p>
			<p data-testid="why">{reason(context)}</p>
			<div class="next">
				{seat.seat !== undefined && (context.view.game.case || !seat.invitation) && (
					<Rematch {...props} me={seat.seat} />
				)}
				<div class="buttons">
					{context.view.game.case && (
						<a class="button" href={linkTo.replay(idOf(seat.match))}>
							{t().replayAndReview}
						</a>
					)}
					{seat.back && (
						<a class="button" href={seat.back} data-testid="back">
							{backTo(seat.back)}
						</a>
					)}
					<a class="button quiet" href={linkTo.lobby}>
						{t().lobby}
					</a>
				</div>
			</div>
		</section>
	);
}

/** The words on a link to where a match was begun from. */
export const backTo = (link: string) =>
	t().backTo[/^#\/(\w+)/.exec(link)?.[1] as keyof ReturnType<typeof t>["backTo"]];

function Rematch(props: { seat: Seat; context: Context; session: Session; me: number }) {
	const { seat, context, session, me } = props;
	const [failed, setFailed] = useState<string>();
	const [underway, setUnderway] = useState(false);
	/** Whether this page has declined the rematch, or taken it back. */
	const [refused, setRefused] = useState(false);
	const waited = useRef(false);
	const offer = session.rematch.value;
	const asked = offer?.askingSeats.includes(me) ?? false;
	const other = nameOfSeat(context, 1 - me);

	useEffect(() => {
		if (!offer) return;
		if (offer.state === RematchState.OFFERED && asked) waited.current = true;
		// Whoever comes back to a match of the past is not taken away from it.
		if (offer.state === RematchState.ACCEPTED && waited.current) enter(offer.name);
		if (offer.state === RematchState.DECLINED) forgetSeat(offer.name);
	}, [offer, asked]);

	const enter = (match: string) => {
		location.hash = linkTo.match(idOf(match));
	};
	async function attempt(call: () => Promise<void>) {
		setUnderway(true);
		setFailed(undefined);
		try {
			await call();
		} catch (error) {
			setFailed(inWords(refusalOf(error)));
		}
		setUnderway(false);
	}
	/** Offers the rematch, or accepts it. */
	const ask = () =>
		attempt(async () => {
			const next = await askForRematch(seat);
			const { game, bot, opponent } = seat;
			takeSeat(next, next.seatToken, { game, bot, opponent });
			const { rematch } = await getView(seat);
			if (rematch?.state === RematchState.OFFERED) session.rematch.value = rematch;
			else enter(next.name);
		});
	const refuse = () =>
		attempt(async () => {
			setRefused(true);
			session.rematch.value = (await declineRematch(seat)).rematch;
		});

	const button = (label: string, act: () => Promise<void>, primary: boolean, name: string) => (
		<Button
			class={primary ? "primary" : ""}
			disabled={underway}
			data-testid={name}
			onClick={() => void act()}
		>
			{label}
		</Button>
	);
	const state = offer?.state;
	const offered = state === RematchState.OFFERED;
	const said =
		offered && asked
			? t().rematchWaiting(other)
			: offered
				? t().rematchOffered(other)
				: state !== RematchState.DECLINED
					? undefined
					: refused
						? asked
							? t().rematchTakenBack
							: t().rematchRefused
						: asked
							? t().rematchDeclined(other)
							: t().rematchWithdrawn(other);
	return (
		<div class={`rematch ${offered && !asked ? "offered" : ""}`}>
			<p role="status" data-testid="rematch">
				{said}
			</p>
			<Refused says={failed} />
			<div class="buttons">
				{!offer && button(t().rematch, ask, true, "ask")}
				{offered && !asked && button(t().rematchAccept, ask, true, "accept")}
				{offered && !asked && button(t().rematchDecline, refuse, false, "decline")}
				{offered && asked && button(t().rematchTakeBack, refuse, false, "takeback")}
				{state === RematchState.ACCEPTED && button(t().rematchEnter, ask, true, "enter")}
			</div>
		</div>
	);
}
