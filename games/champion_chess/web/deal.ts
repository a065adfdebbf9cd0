// The deal of Champion Chess, derived again from chance.
import type { ChampionChessEvent } from "@app/gen/croupier/v1/champion_chess_pb";
import { deckByCard, ownDecks } from "@app/replay/deal";

export const deal = ownDecks(deckByCard, (happened) => {
	const { seat, event } = happened as ChampionChessEvent;
	return event.case === "shuffled" ? { seat, cards: event.value.cards } : undefined;
});
