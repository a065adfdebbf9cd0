// The deal of Castle Rampage, derived again from chance.

import { deckByCard, pile } from "@app/games/deal";
import type { Deal } from "@app/games/module";
import type { CastleRampageEvent } from "@app/gen/croupier/v1/castle_rampage_pb";

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
