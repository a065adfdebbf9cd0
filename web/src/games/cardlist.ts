// The cards of a match that has a list of its own.

import type { Ruleset } from "../api/types";
import type { Catalog } from "./module";
import { Words } from "./words";

type Specs = { cards?: readonly object[] };
const specsOf = (ruleset?: Ruleset) => (ruleset?.game.value as Specs | undefined)?.cards ?? [];
/** Equal for cards on which the same is printed. */
const printed = (spec: object) =>
	JSON.stringify(spec, (key, value) => (/^[$]|^copies$/.test(key) ? undefined : value));

const shortened = new WeakMap<Catalog, { key: string; made: Catalog }>();

/** The catalog with the card list of a match, in a game whose messages name cards by their place in it. */
export function under(catalog: Catalog, ruleset: Ruleset | undefined): Catalog {
	const specs = specsOf(ruleset);
	const { game } = catalog;
	const standard = game.defaultRuleset;
	const phrases = (ruleset && catalog.module.phrases?.(ruleset)) ?? {};
	const listed = specs.map(printed).join();
	const key = listed + JSON.stringify(phrases);
	const places = specsOf(standard).map(printed);
	const usual = specs.length === 0 || listed === places.join() || game.cards[0]?.id !== "0";
	if (!standard || (usual && Object.keys(phrases).length === 0)) return catalog;
	const known = shortened.get(catalog);
	if (known?.key === key) return known.made;
	const placed = (spec: object, index: number) => {
		const card = game.cards[places.indexOf(printed(spec))];
		return card ? [{ ...card, id: `${index}` }] : [];
	};
	const cards = usual ? game.cards : specs.flatMap(placed);
	const value = { ...(standard.game.value as object), cards: usual ? specsOf(standard) : specs };
	const own = { ...standard, game: { ...standard.game, value } } as Ruleset;
	const shown = { ...game, cards, defaultRuleset: own, phrases: { ...game.phrases, ...phrases } };
	const made: Catalog = {
		...catalog,
		game: shown,
		words: new Words(shown),
		cards: new Map(cards.map((card) => [card.id, card])),
	};
	shortened.set(catalog, { key, made });
	return made;
}
