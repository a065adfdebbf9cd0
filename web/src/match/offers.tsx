// What the players agree on while they play: to take a move back, or to pause.
import { useState } from "preact/hooks";
import { answerOffer, makeOffer, resumeMatch } from "../api/calls";
import { refusalOf } from "../api/errors";
import { OfferKind } from "../api/types";
import type { Context } from "../games/module";
import { nameOfSeat } from "../games/sentences";
import { inWords, t } from "../i18n";
import type { Seat } from "../state/seats";
import { Button } from "../ui/button";
import { Refused } from "../ui/refused";

type Way = readonly [name: string, label: string, call: () => Promise<unknown>];

/** Buttons for calls that the stream answers, and why the last one was refused. */
function Ways({ ways, quiet }: { ways: readonly Way[]; quiet?: boolean }) {
	const [failed, setFailed] = useState<string>();
	const go = (call: Way[2]) => {
		setFailed(undefined);
		call().catch((error) => setFailed(inWords(refusalOf(error))));
	};
	return (
		<>
			<Refused says={failed} />
			{ways.map(([name, label, call]) => (
				<Button key={name} class={quiet ? "quiet" : ""} data-testid={name} onClick={() => go(call)}>
					{label}
				</Button>
			))}
		</>
	);
}

/** The offer that waits for an answer, and what the viewer can do about it or about a pause. */
export function Offered({ seat, context }: { seat: Seat; context: Context }) {
	const { view, me } = context;
	const { offer, pauseEndTime } = view;
	if (!offer && !pauseEndTime) return null;
	const own = offer?.seat === me;
	const answer = (agree: boolean) => () => answerOffer(seat, offer!.version, agree, view.etag);
	const who = offer && !own ? nameOfSeat(context, offer.seat) : undefined;
	const ways: Way[] = pauseEndTime
		? [["resume", t().resume, () => resumeMatch(seat)]]
		: own
			? [["withdraw", t().rematchTakeBack, answer(false)]]
			: [
					["agree", t().rematchAccept, answer(true)],
					["decline", t().rematchDecline, answer(false)],
				];
	return (
		<div class="offer">
			{offer && (
				<p role="status" data-testid="offer">
					{t().offered(offer.kind === OfferKind.PAUSE, who)}
				</p>
			)}
			{me !== undefined && (
				<div class="buttons">
					<Ways ways={ways} />
				</div>
			)}
		</div>
	);
}

/** What the viewer can offer now. */
export function MakeOffers({ seat, context }: { seat: Seat; context: Context }) {
	const { offer, pauseEndTime, takebackVersion, clocks, result, game, forbiddenOffers } =
		context.view;
	if (context.me === undefined || result || offer || pauseEndTime) return null;
	const ways: Way[] = [];
	if (takebackVersion !== undefined)
		ways.push(["ask-takeback", t().takeback, () => makeOffer(seat, OfferKind.TAKEBACK)]);
	if (clocks && game.case && !forbiddenOffers.includes(OfferKind.PAUSE))
		ways.push(["ask-pause", t().pause, () => makeOffer(seat, OfferKind.PAUSE)]);
	return <Ways ways={ways} quiet />;
}
