// The deal of Champion Chess, derived again from chance, and as the events tell it.
import type { Deal } from "@app/games/module";
import type { ChampionChessEvent } from "@app/gen/croupier/v1/champion_chess_pb";
import { deckByCard, pile } from "@app/replay/deal";

export const deal: Deal = {
	derive: (draws, cards) => {
		const deck = deckByCard(cards);
		return [0, 1].flatMap((seat) => pile(draws, deck, `${seat}`));
	},
	told: (happened) => {
		const seats = new Set<number>();
		return happened.flatMap((each) => {
			const { seat, event } = each as ChampionChessEvent;
			if (event.case !== "shuffled" || seats.has(seat)) return [];
			seats.add(seat);
			return event.value.cards.map((card) => `${seat} ${card}`);
		});
	},
};
