// The games as the server describes them, in the visitor's language.
import { signal } from "@preact/signals";
import { getGame } from "../api/calls";
import type { CatalogCard, Game } from "../api/types";
import { language } from "./settings";

export interface Catalog {
	game: Game;
	/** The cards by id. */
	cards: Map<string, CatalogCard>;
}

const loaded = signal<ReadonlyMap<string, Catalog>>(new Map());
const underway = new Set<string>();

/** The catalog of a game, or undefined until it is loaded. */
export function catalogOf(game: string): Catalog | undefined {
	const key = `${game} ${language.value}`;
	const found = loaded.value.get(key);
	if (!found && !underway.has(key)) void load(game, key);
	return found ?? loaded.value.get(`${game} ${language.value === "de" ? "en" : "de"}`);
}

async function load(game: string, key: string, wait = 500): Promise<void> {
	underway.add(key);
	try {
		const described = await getGame(game, key.split(" ")[1]!);
		const cards = new Map(described.cards.map((card) => [card.id, card]));
		loaded.value = new Map(loaded.value).set(key, { game: described, cards });
		underway.delete(key);
	} catch {
		setTimeout(() => load(game, key, Math.min(2 * wait, 15_000)), wait);
	}
}
