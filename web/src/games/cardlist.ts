// The cards of a match that has a list of its own.
import type { Ruleset } from "../api/types";
import type { Catalog } from "../state/catalog";

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
	const key = specs.map(printed).join();
	const places = specsOf(standard).map(printed);
	if (specs.length === 0 || key === places.join() || !standard || game.cards[0]?.id !== "0")
		return catalog;
	const known = shortened.get(catalog);
	if (known?.key === key) return known.made;
	const cards = specs.flatMap((spec, index) => {
		const card = game.cards[places.indexOf(printed(spec))];
		return card ? [{ ...card, id: `${index}` }] : [];
	});
	const value = { ...(standard.game.value as object), cards: specs };
	const own = { ...standard, game: { ...standard.game, value } } as Ruleset;
	const made: Catalog = {
		...catalog,
		game: { ...game, cards, defaultRuleset: own },
		cards: new Map(cards.map((card) => [card.id, card])),
	};
	shortened.set(catalog, { key, made });
	return made;
}
