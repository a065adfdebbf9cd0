// The table of Castle Rampage after each event of a record, and the deal derived again from chance.
import { create, ViewSchema } from "@app/api/types";
import type { Deal, Follower } from "@app/games/module";
import {
	CastleRampageCard,
	type CastleRampageEvent,
	CastleRampagePhase,
	CastleRampageStructure,
} from "@app/gen/croupier/v1/castle_rampage_pb";
import { deckByCard, pile } from "@app/replay/deal";
import { take } from "@app/replay/states";

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
	return {
		follow(value) {
			const { seat = 0, event } = value as CastleRampageEvent;
			const side = sides[seat]!;
			switch (event.case) {
				case "shuffled":
					drawSize = event.value.count;
					break;
				case "drawn":
					drawSize -= event.value.count;
					side.hand.push(...event.value.cards);
					break;
				case "cardsSetUp":
					take(side.hand, [...event.value.gate, ...event.value.castle]);
					side.gate.push(...event.value.gate);
					side.castle.push(...event.value.castle);
					setUps += 0.5;
					break;
				case "starterDrawn":
					active = seat;
					break;
				case "turnStarted":
					phase = CastleRampagePhase.TURN;
					turn = event.value.turn;
					active = seat;
					break;
				case "strengthened":
					take(side.hand, [event.value.card]);
					(event.value.structure === CastleRampageStructure.GATE ? side.gate : side.castle).push(
						event.value.card,
					);
					break;
				case "played":
					take(side.hand, [event.value.card]);
					if (event.value.card === CastleRampageCard.CATAPULT) side.catapults++;
					if (event.value.card === CastleRampageCard.GRANARY) side.granaries++;
					break;
				case "discarded":
					take(side.hand, event.value.cards);
					break;
				case "destroyed": {
					const { structure, card } = event.value;
					if (structure === CastleRampageStructure.GATE) {
						take(side.gate, [card]);
						side.fallenGate.push(card);
					} else if (structure === CastleRampageStructure.CASTLE) {
						take(side.castle, [card]);
						side.fallenCastle.push(card);
					} else if (card === CastleRampageCard.CATAPULT) side.catapults--;
					else if (card === CastleRampageCard.GRANARY) side.granaries--;
					break;
				}
				case "returned":
					side.hand.push(event.value.card);
					break;
			}
		},
		game: () =>
			create(ViewSchema, {
				game: {
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
							gate: { standing: side.gate.map((card) => ({ card })), fallen: [...side.fallenGate] },
							castle: {
								standing: side.castle.map((card) => ({ card })),
								fallen: [...side.fallenCastle],
							},
						})),
					},
				},
			}).game,
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
