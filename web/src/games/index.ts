// The games that the web app can draw. A new game is a folder here and a line below.
import { castleRampage } from "./castle_rampage";
import { championChess } from "./champion_chess";
import type { GameModule } from "./module";
import { powershotSoccer } from "./powershot_soccer";
import { skystones } from "./skystones";

export const GAMES: ReadonlyMap<string, GameModule> = new Map(
	[championChess, skystones, powershotSoccer, castleRampage].map((game) => [game.id, game]),
);
