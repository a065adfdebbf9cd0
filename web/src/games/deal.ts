// What the deals of games have in common.
import type { Deal, Draws } from "./module";

/** A card of a ruleset, with the number of its copies. */
interface Spec {
	card?: number;
	copies?: number;
}

/** A deck in the order of the enum of its cards, which are named by their numbers there. */
export const deckByCard = (specs: readonly Spec[]): string[] =>
	[...specs]
		.sort((a, b) => (a.card ?? 0) - (b.card ?? 0))
		.flatMap(({ card, copies }) => Array<string>(copies ?? 0).fill(`${card}`));

/** A deck in the order of its list, whose cards are named by their places there. */
export const deckByIndex = (specs: readonly Spec[]): string[] =>
	specs.flatMap(({ copies }, index) => Array<string>(copies ?? 1).fill(`${index}`));

/** A shuffled pile, the top card first, each as "place card". */
export const pile = (draws: Draws, deck: readonly string[], place: string): string[] =>
	draws
		.shuffle([...deck])
		.reverse()
		.map((card) => `${place} ${card}`);

/** The deal where each seat has a deck of its own, shuffled for the first time. */
export const ownDecks = (
	deckOf: (specs: readonly Spec[]) => string[],
	shuffled: (happened: unknown) => { seat: number; cards: readonly number[] } | undefined,
): Deal => ({
	derive: (draws, specs) => [0, 1].flatMap((seat) => pile(draws, deckOf(specs), `${seat}`)),
	told: (happened) => {
		const decks = happened.map(shuffled).filter((each) => each !== undefined);
		return [0, 1].flatMap((seat) => {
			const first = decks.find((each) => each.seat === seat);
			return (first?.cards ?? []).map((card) => `${seat} ${card}`);
		});
	},
});
