// The rules and the cards of a game, from the catalog.
import { idOfGame } from "../games";
import { t } from "../i18n";
import type { Catalog } from "../state/catalog";

export function Rules({ catalog }: { catalog: Catalog }) {
	const { Card } = catalog.module;
	const cards = [...catalog.cards.values()];
	return (
		<div class="rules">
			{catalog.game.rules
				.trim()
				.split(/\n\n+/)
				.map((paragraph) => (
					<p key={paragraph}>{paragraph.replace(/\n/g, " ")}</p>
				))}
			<h3>{t().cardsOf(catalog.game.title)}</h3>
			<ul class={`gallery game-${idOfGame(catalog.game)}`}>
				{cards.map((card) => (
					<li key={card.id}>
						<Card card={card} catalog={catalog} side={0} />
						<span class="caption">
							<span class="muted">{t().copies(card.copies)}</span> {card.text}
						</span>
					</li>
				))}
			</ul>
		</div>
	);
}
