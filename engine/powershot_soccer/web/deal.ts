// The deal of PowerShot Soccer, derived again from chance, and as the events tell it.
import type { Deal } from "@app/games/module";
import type { PowerShotSoccerEvent } from "@app/gen/croupier/v1/powershot_soccer_pb";
import { deckByIndex, pile } from "@app/replay/deal";

export const deal: Deal = {
	derive: (draws, cards) => {
		const deck = deckByIndex(cards);
		return [0, 1].flatMap((seat) => pile(draws, deck, `${seat}`));
	},
	told: (happened) => {
		const seats = new Set<number>();
		return happened.flatMap((each) => {
			const { event } = each as PowerShotSoccerEvent;
			if (event.case !== "shuffled" || seats.has(event.value.seat)) return [];
			seats.add(event.value.seat);
			return event.value.cards.map((card) => `${event.value.seat} ${card}`);
		});
	},
};
