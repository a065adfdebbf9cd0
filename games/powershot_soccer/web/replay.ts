// The table of PowerShot Soccer after each event of a record, and the deal derived again from chance.
import type { Follower } from "@app/games/module";
import {
	type PowerShotSoccerEvent,
	PowerShotSoccerOutcome,
	PowerShotSoccerPhase,
} from "@app/gen/croupier/v1/powershot_soccer_pb";
import { deckByIndex, ownDecks } from "@app/replay/deal";
import { type On, take } from "@app/replay/states";

export function follow(): Follower {
	const sides = [0, 1].map(() => ({ hand: [] as number[], goals: 0, drawPileSize: 0 }));
	let plays: { seat: number; card: number; role: number; outcome: number }[] = [];
	let attackStart = 0;
	let possession = 0;
	let standing = 0;
	let half = 1;
	let phase = PowerShotSoccerPhase.ATTACK;
	const on: On<PowerShotSoccerEvent["event"]> = {
		shuffled: ({ count }, seat) => {
			sides[seat]!.drawPileSize = count;
		},
		drawn: ({ count, cards }, seat) => {
			sides[seat]!.drawPileSize -= count;
			sides[seat]!.hand.push(...cards);
		},
		halfEnded: () => {
			for (const side of sides) side.hand = [];
		},
		halfStarted: (started) => {
			half = started.half;
			possession = started.kickOff;
			plays = [];
			attackStart = standing = 0;
			phase = PowerShotSoccerPhase.ATTACK;
		},
		played: ({ card, role }, seat) => {
			take(sides[seat]!.hand, [card]);
			plays.push({ seat, card, role, outcome: 0 });
			phase = seat === possession ? PowerShotSoccerPhase.DEFEND : PowerShotSoccerPhase.ATTACK;
		},
		exchangeDecided: ({ outcome }, seat) => {
			const last = plays.findLast((play) => play.seat === seat);
			if (last) last.outcome = outcome;
			phase = PowerShotSoccerPhase.ATTACK;
			if (outcome === PowerShotSoccerOutcome.STANDS) {
				standing++;
				return;
			}
			if (outcome === PowerShotSoccerOutcome.GOAL) sides[seat]!.goals++;
			if (outcome !== PowerShotSoccerOutcome.REPELLED) possession = 1 - seat;
			attackStart = plays.length;
			standing = 0;
		},
	};
	return {
		on,
		game: () => ({
			case: "powershotSoccer",
			value: {
				phase,
				half,
				possession,
				standing,
				plays: plays.map((play) => ({ ...play })),
				attackStart,
				sides: sides.map((side, seat) => ({
					goals: side.goals,
					drawPileSize: side.drawPileSize,
					handSize: side.hand.length,
					discardPile: plays
						.slice(0, attackStart)
						.flatMap((play) => (play.seat === seat ? [play.card] : [])),
				})),
			},
		}),
		hands: () => [sides[0]!.hand, sides[1]!.hand],
		nameOf: String,
	};
}

export const deal = ownDecks(deckByIndex, (happened) => {
	const { event } = happened as PowerShotSoccerEvent;
	return event.case === "shuffled" ? event.value : undefined;
});
