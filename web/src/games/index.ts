// The drawings of games. Each folder in games/ may have one; every other game is drawn from its schema.
import type { Game } from "../api/types";
import { anyGame } from "./any";
import { drawn } from "./drawing";
import type { GameModule } from "./module";

const found = import.meta.glob<GameModule>("../../../games/*/web/index.ts", {
	eager: true,
	import: "game",
});
const OWN: ReadonlyMap<string, GameModule> = new Map(
	Object.values(found).map((game) => [game.id, game]),
);

export const idOfGame = (game: Game) => game.name.replace("games/", "");

/** The drawing of a game of the catalog; undefined if the page cannot read its messages. */
export async function moduleOf(game: Game): Promise<GameModule | undefined> {
	const own = OWN.get(idOfGame(game));
	if (own) return own;
	const any = anyGame(game);
	return any && drawn(any);
}

const CLOTHS = 5;

/** The classes of whatever shows a game: one of its own, and a cloth if no style sheet is ours. */
export function classOf(id: string): string {
	if (OWN.has(id)) return `game-${id}`;
	const sum = [...id].reduce((total, letter) => total + letter.charCodeAt(0), 0);
	return `game-${id} cloth cloth${sum % CLOTHS}`;
}
