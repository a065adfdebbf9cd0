// The rules and the cards of a game, from the catalog.
import { GAMES } from "../games";
import { t } from "../i18n";
import type { Catalog } from "../state/catalog";

export function Rules({ catalog }: { catalog: Catalog }) {
	const module = GAMES.get(catalog.game.name.replace("games/", ""));
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
			<ul class={`gallery game-${module?.id}`}>
				{cards.map((card) => (
					<li key={card.id}>
						{module && <module.Card card={card} catalog={catalog} side={0} />}
						<span class="caption">
							<span class="muted">{t().copies(card.copies)}</span> {card.text}
						</span>
					</li>
				))}
			</ul>
		</div>
	);
}
