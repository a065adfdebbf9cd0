// The picture of a game in the lobby: a fan of some of its own cards.
import type { GameModule } from "../games/module";
import type { Catalog } from "../state/catalog";

const SHOWN: Record<string, string[]> = {
	champion_chess: ["KNIGHT", "SWORD", "KING", "SHIELD", "QUEEN"],
	castle_rampage: ["ARCHER", "OGRE", "DRAGON", "CATAPULT", "GRAND_ASSAULT"],
};

export function Cover({ game, catalog }: { game: GameModule; catalog: Catalog }) {
	const all = [...catalog.cards.keys()];
	const step = Math.floor(all.length / 5);
	const ids = SHOWN[game.id] ?? [0, 1, 2, 3, 4].map((index) => all[index * step + 7]!);
	return (
		<div class="fan">
			{ids.map((id, index) => (
				<span class={`fan${index}`} key={id}>
					<game.Card card={catalog.cards.get(id)} catalog={catalog} side={index % 2} />
				</span>
			))}
		</div>
	);
}
