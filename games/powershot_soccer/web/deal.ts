// The deal of PowerShot Soccer, derived again from chance.
import type { PowerShotSoccerEvent } from "@app/gen/croupier/v1/powershot_soccer_pb";
import { deckByIndex, ownDecks } from "@app/replay/deal";

export const deal = ownDecks(deckByIndex, (happened) => {
	const { event } = happened as PowerShotSoccerEvent;
	return event.case === "shuffled" ? event.value : undefined;
});
