// The deal of Champion Chess, derived again from chance.

import { deckByCard, ownDecks } from "@app/games/deal";
import type { ChampionChessEvent } from "@app/gen/croupier/v1/champion_chess_pb";

export const deal = ownDecks(deckByCard, (happened) => {
	const { seat, event } = happened as ChampionChessEvent;
	return event.case === "shuffled" ? { seat, cards: event.value.cards } : undefined;
});
