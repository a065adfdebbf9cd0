// A pile of cards that all may see: its number, and on request its cards.
import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import { t } from "../i18n";
import { Button } from "../ui/button";
import { Dialog } from "../ui/dialog";
import { type CardProps, type Context, cardProps } from "./module";

export function Pile(props: {
	title: string;
	cards: readonly string[];
	context: Context;
	/** What draws them, if it is not the game's own drawing. */
	Card?: ComponentType<CardProps>;
	side?: number;
	/** How many of them were added last. */
	gained?: number;
}) {
	const { title, cards, context, side, gained } = props;
	const [open, setOpen] = useState(false);
	const { catalog } = context;
	const { Card = catalog.module.Card } = props;
	const counts = new Map<string, number>();
	for (const card of cards) counts.set(card, (counts.get(card) ?? 0) + 1);
	return (
		<>
			<Button
				class="pile"
				disabled={cards.length === 0}
				onClick={() => setOpen(true)}
				aria-label={`${title} ${cards.length}${gained ? `, ${t().newly(gained)}` : ""}`}
			>
				{title} <b>{cards.length}</b>
				{gained ? <span class="gained"> ({t().newly(gained)})</span> : null}
			</Button>
			{open && (
				<Dialog title={`${title}: ${t().cards(cards.length)}`} onClose={() => setOpen(false)} wide>
					<ul class="gallery">
						{[...counts].map(([card, count]) => (
							<li key={card}>
								<Card {...cardProps(catalog, card)} side={side} />
								<span class="caption">{t().copies(count)}</span>
							</li>
						))}
					</ul>
				</Dialog>
			)}
		</>
	);
}
