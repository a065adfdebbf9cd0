// The table of Castle Rampage after each event of a record, and the deal derived again from chance.
import type { Deal, Follower } from "@app/games/module";
import {
	CastleRampageCard,
	type CastleRampageEvent,
	CastleRampagePhase,
	CastleRampageStructure,
} from "@app/gen/croupier/v1/castle_rampage_pb";
import { deckByCard, pile } from "@app/replay/deal";
import { type On, take } from "@app/replay/states";

export function follow(): Follower {
	const sides = [0, 1].map(() => ({
		hand: [] as number[],
		gate: [] as number[],
		castle: [] as number[],
		fallenGate: [] as number[],
		fallenCastle: [] as number[],
		catapults: 0,
		granaries: 0,
	}));
	let phase = CastleRampagePhase.SET_UP;
	let drawSize = 0;
	let setUps = 0;
	let turn = 0;
	let active = 0;
	const on: On<CastleRampageEvent["event"]> = {
		shuffled: ({ count }) => {
			drawSize = count;
		},
		drawn: ({ count, cards }, seat) => {
			drawSize -= count;
			sides[seat]!.hand.push(...cards);
		},
		cardsSetUp: ({ gate, castle }, seat) => {
			const side = sides[seat]!;
			take(side.hand, [...gate, ...castle]);
			side.gate.push(...gate);
			side.castle.push(...castle);
			setUps += 0.5;
		},
		starterDrawn: (_, seat) => {
			active = seat;
		},
		turnStarted: (started, seat) => {
			phase = CastleRampagePhase.TURN;
			turn = started.turn;
			active = seat;
		},
		strengthened: ({ structure, card }, seat) => {
			const side = sides[seat]!;
			take(side.hand, [card]);
			(structure === CastleRampageStructure.GATE ? side.gate : side.castle).push(card);
		},
		played: ({ card }, seat) => {
			const side = sides[seat]!;
			take(side.hand, [card]);
			if (card === CastleRampageCard.CATAPULT) side.catapults++;
			if (card === CastleRampageCard.GRANARY) side.granaries++;
		},
		discarded: ({ cards }, seat) => take(sides[seat]!.hand, cards),
		destroyed: ({ structure, card }, seat) => {
			const side = sides[seat]!;
			if (structure === CastleRampageStructure.GATE) {
				take(side.gate, [card]);
				side.fallenGate.push(card);
			} else if (structure === CastleRampageStructure.CASTLE) {
				take(side.castle, [card]);
				side.fallenCastle.push(card);
			} else if (card === CastleRampageCard.CATAPULT) side.catapults--;
			else if (card === CastleRampageCard.GRANARY) side.granaries--;
		},
		returned: ({ card }, seat) => sides[seat]!.hand.push(card),
	};
	const standing = (cards: number[]) => cards.map((card) => ({ card }));
	return {
		on,
		game: () => ({
			case: "castleRampage",
			value: {
				phase,
				setUps: Math.min(1, Math.floor(setUps)),
				turn,
				active,
				drawSize,
				sides: sides.map((side) => ({
					handSize: side.hand.length,
					catapults: side.catapults,
					granaries: side.granaries,
					gate: { standing: standing(side.gate), fallen: [...side.fallenGate] },
					castle: { standing: standing(side.castle), fallen: [...side.fallenCastle] },
				})),
			},
		}),
		hands: () => [sides[0]!.hand, sides[1]!.hand],
		nameOf: (card) => CastleRampageCard[card] ?? "",
	};
}

export const deal: Deal = {
	derive: (draws, cards) => [`starter ${draws.below(2)}`, ...pile(draws, deckByCard(cards), "-")],
	told: (happened) => {
		let shuffled = false;
		return happened.flatMap((each) => {
			const { seat, event } = each as CastleRampageEvent;
			if (event.case === "starterDrawn") return [`starter ${seat}`];
			if (event.case !== "shuffled" || shuffled) return [];
			shuffled = true;
			return event.value.cards.map((card) => `- ${card}`);
		});
	},
};
