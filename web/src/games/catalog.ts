// The games as the server describes them, in the visitor's language.
import { signal } from "@preact/signals";
import { getGame, listGames } from "../api/calls";
import { refusalOf } from "../api/errors";
import type { Game, Ruleset } from "../api/types";
import { language } from "../state/settings";
import { idOfGame, moduleOf } from "./index";
import type { Catalog } from "./module";
import { Words } from "./words";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

const loaded = signal<ReadonlyMap<string, Catalog>>(new Map());
const underway = new Set<string>();
const missing = signal<ReadonlySet<string>>(new Set());
const ids = signal<readonly string[]>([]);
let listed: Promise<Game[]> | undefined;

/** The catalog of a game, or undefined until it is loaded. */
export function catalogOf(game: string): Catalog | undefined {
	const key = `${game} ${language.value}`;
	const found = loaded.value.get(key);
	if (!found && !underway.has(key)) void load(game, key);
	return found ?? loaded.value.get(`${game} ${language.value === "de" ? "en" : "de"}`);
}

/** Whether the server has no such game, or the page cannot read it. */
export const isMissing = (game: string) => missing.value.has(game);

async function load(game: string, key: string): Promise<void> {
	underway.add(key);
	const described = await again(() =>
		getGame(game, key.split(" ")[1]!).catch((error) => {
			if (refusalOf(error).temporary) throw error;
			return undefined;
		}),
	);
	const read = described && (await readGame(described).catch(reportError));
	// A game that cannot be read stays listed, and cannot be begun.
	if (!read) {
		missing.value = new Set(missing.value).add(game);
		return;
	}
	loaded.value = new Map(loaded.value).set(key, read);
	underway.delete(key);
}

async function readGame(game: Game): Promise<Catalog | undefined> {
	const module = await moduleOf(game);
	const cards = new Map(game.cards.map((card) => [card.id, card]));
	return module && { game, cards, words: new Words(game), module };
}

/** The ids of all games of the server, in its order; empty until they are loaded. */
export function gameIds(): readonly string[] {
	void list();
	return ids.value;
}

function list(): Promise<Game[]> {
	listed ??= again(() => listGames(language.peek())).then((games) => {
		ids.value = games.map(idOfGame);
		return games;
	});
	return listed;
}

/** The id of the game that a ruleset is of. */
export async function gameOf(ruleset: Ruleset | undefined): Promise<string> {
	const game = ruleset?.game;
	if (game?.case !== "packaged")
		return (game?.case ?? "").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
	const { typeUrl } = game.value;
	const found = (await list()).find(({ defaultRuleset }) => {
		const own = defaultRuleset?.game;
		return own?.case === "packaged" && own.value.typeUrl === typeUrl;
	});
	return found ? idOfGame(found) : "";
}

/** Repeats a call until it succeeds, at growing intervals. */
async function again<T>(call: () => Promise<T>): Promise<T> {
	for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
		try {
			return await call();
		} catch {
			await new Promise((resolve) => setTimeout(resolve, wait));
		}
	}
}
