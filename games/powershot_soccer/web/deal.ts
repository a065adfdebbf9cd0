// The deal of PowerShot Soccer, derived again from chance.

import { deckByIndex, ownDecks } from "@app/games/deal";
import type { PowerShotSoccerEvent } from "@app/gen/croupier/v1/powershot_soccer_pb";

export const deal = ownDecks(deckByIndex, (happened) => {
	const { event } = happened as PowerShotSoccerEvent;
	return event.case === "shuffled" ? event.value : undefined;
});
