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
	/** Whether the order says something: then only equal cards that follow each other are counted. */
	ordered?: boolean;
	/** How many of them were added last. */
	gained?: number;
}) {
	const { title, cards, context, side, gained, ordered = false } = props;
	const [open, setOpen] = useState(false);
	const { catalog } = context;
	const { Card = catalog.module.Card } = props;
	const counts: { card: string; count: number }[] = [];
	for (const card of cards) {
		const same = ordered ? counts.at(-1) : counts.find((each) => each.card === card);
		if (same?.card === card) same.count++;
		else counts.push({ card, count: 1 });
	}
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
						{counts.map(({ card, count }, at) => (
							<li key={at}>
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
