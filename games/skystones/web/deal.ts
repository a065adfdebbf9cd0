// The deal of Skystones, derived again from chance.

import { deckByIndex } from "@app/games/deal";
import type { Deal } from "@app/games/module";
import type { SkystonesEvent } from "@app/gen/croupier/v1/skystones_pb";

export const deal: Deal = {
	derive: (draws, specs) => {
		const cards = draws.shuffle(deckByIndex(specs));
		const half = Math.floor(cards.length / 2);
		return [
			...cards.slice(0, half).map((card) => `0 ${card}`),
			...cards.slice(half, 2 * half).map((card) => `1 ${card}`),
			...cards.slice(2 * half).map((card) => `- ${card}`),
		];
	},
	told: (happened) =>
		happened.flatMap((each) => {
			const { event } = each as SkystonesEvent;
			if (event.case !== "dealt") return [];
			return event.value.cards.map((card) => `${event.value.seat ?? "-"} ${card}`);
		}),
};
