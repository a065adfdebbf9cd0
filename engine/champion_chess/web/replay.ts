// The table of Champion Chess after each event of a record, and the deal derived again from chance.
import { create, ViewSchema } from "@app/api/types";
import type { Follower } from "@app/games/module";
import {
	ChampionChessCard,
	type ChampionChessEvent,
	ChampionChessPhase,
} from "@app/gen/croupier/v1/champion_chess_pb";
import { deckByCard, ownDecks } from "@app/replay/deal";
import { sorted, take } from "@app/replay/states";

const KING = ChampionChessCard.KING;

export function follow(): Follower {
	const sides = [0, 1].map(() => ({
		hand: [] as number[],
		deckSize: 0,
		reserve: [] as number[],
		defeated: [] as number[],
		champion: 0,
		aid: [] as number[],
	}));
	let phase = ChampionChessPhase.CHAMPION;
	let challenge = 1;
	return {
		follow(value) {
			const { seat, event } = value as ChampionChessEvent;
			const side = sides[seat]!;
			switch (event.case) {
				case "shuffled":
					side.deckSize = event.value.count;
					if (event.value.fromReserve) side.reserve = [];
					break;
				case "drawn":
					if (phase === ChampionChessPhase.END) {
						phase = ChampionChessPhase.CHAMPION;
						challenge++;
					}
					side.deckSize -= event.value.count;
					side.hand.push(...event.value.cards);
					break;
				case "mulligan":
					take(side.hand, event.value.cards);
					side.reserve.push(...event.value.cards);
					break;
				case "championRevealed":
					phase = ChampionChessPhase.AID;
					side.champion = event.value.champion;
					// After castling the King is in the deck, and the Rook came from there.
					take(side.hand, [event.value.castled ? KING : event.value.champion]);
					break;
				case "aidRevealed":
					side.aid = [...event.value.cards];
					take(side.hand, side.aid);
					break;
				case "challengeDecided":
					phase = ChampionChessPhase.END;
					(event.value.won ? side.reserve : side.defeated).push(event.value.champion);
					side.defeated.push(...side.aid);
					side.aid = [];
					side.champion = 0;
					break;
				case "discarded":
					take(side.hand, event.value.cards);
					side.reserve.push(...event.value.cards);
					break;
			}
		},
		game: () =>
			create(ViewSchema, {
				game: {
					case: "championChess",
					value: {
						phase,
						challenge,
						sides: sides.map((side) => ({
							handSize: side.hand.length,
							deckSize: side.deckSize,
							reserve: sorted(side.reserve),
							defeated: sorted(side.defeated),
							champion: side.champion,
						})),
					},
				},
			}).game,
		hands: () => [sides[0]!.hand, sides[1]!.hand],
		nameOf: (card) => ChampionChessCard[card] ?? "",
	};
}

export const deal = ownDecks(deckByCard, (happened) => {
	const { seat, event } = happened as ChampionChessEvent;
	return event.case === "shuffled" ? { seat, cards: event.value.cards } : undefined;
});
