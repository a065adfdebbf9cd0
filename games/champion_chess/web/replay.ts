// The table of Champion Chess after each event of a record, and the deal derived again from chance.
import type { Follower } from "@app/games/module";
import {
	ChampionChessCard,
	type ChampionChessEvent,
	ChampionChessPhase,
} from "@app/gen/croupier/v1/champion_chess_pb";
import { deckByCard, ownDecks } from "@app/replay/deal";
import { type On, sorted, take } from "@app/replay/states";

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
	const on: On<ChampionChessEvent["event"]> = {
		shuffled: ({ count, fromReserve }, seat) => {
			sides[seat]!.deckSize = count;
			if (fromReserve) sides[seat]!.reserve = [];
		},
		drawn: ({ count, cards }, seat) => {
			if (phase === ChampionChessPhase.END) {
				phase = ChampionChessPhase.CHAMPION;
				challenge++;
			}
			sides[seat]!.deckSize -= count;
			sides[seat]!.hand.push(...cards);
		},
		mulligan: ({ cards }, seat) => toReserve(seat, cards),
		championRevealed: ({ champion, castled }, seat) => {
			phase = ChampionChessPhase.AID;
			sides[seat]!.champion = champion;
			// After castling the King is in the deck, and the Rook came from there.
			take(sides[seat]!.hand, [castled ? KING : champion]);
		},
		aidRevealed: ({ cards }, seat) => {
			sides[seat]!.aid = [...cards];
			take(sides[seat]!.hand, cards);
		},
		challengeDecided: ({ won, champion }, seat) => {
			const side = sides[seat]!;
			phase = ChampionChessPhase.END;
			(won ? side.reserve : side.defeated).push(champion);
			side.defeated.push(...side.aid);
			side.aid = [];
			side.champion = 0;
		},
		discarded: ({ cards }, seat) => toReserve(seat, cards),
	};
	function toReserve(seat: number, cards: number[]) {
		take(sides[seat]!.hand, cards);
		sides[seat]!.reserve.push(...cards);
	}
	return {
		on,
		game: () => ({
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
		}),
		hands: () => [sides[0]!.hand, sides[1]!.hand],
		nameOf: (card) => ChampionChessCard[card] ?? "",
	};
}

export const deal = ownDecks(deckByCard, (happened) => {
	const { seat, event } = happened as ChampionChessEvent;
	return event.case === "shuffled" ? { seat, cards: event.value.cards } : undefined;
});
