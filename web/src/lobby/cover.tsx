// The picture of a game in the lobby: a fan of some of its own cards.
import { counted } from "../cards/frame";
import { type Catalog, cardProps } from "../games/module";

const SHOWN = [0, 1, 2, 3, 4];

export function Cover({ catalog }: { catalog: Catalog }) {
	const { cover, Card } = catalog.module;
	const all = [...catalog.cards.keys()];
	const ids = cover ?? SHOWN.map((at) => all[Math.floor(((at + 0.8) * all.length) / 5)]!);
	return (
		<div class="fan">
			{ids.map((id, index) => (
				<span key={index} ref={counted(index + 1)}>
					<Card {...cardProps(catalog, id)} side={index % 2} />
				</span>
			))}
		</div>
	);
}
