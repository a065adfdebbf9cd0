// A text with the titles of cards in it, each of which can be asked as the card itself.
import type { Catalog } from "./module";

export function Said(props: { text: string; cards: readonly string[]; catalog: Catalog }) {
	const { text, cards, catalog } = props;
	const ids = new Map(cards.map((id) => [catalog.cards.get(id)?.title ?? id, id]));
	// The longest first: a title may begin with another one.
	const titles = [...ids.keys()].sort((a, b) => b.length - a.length);
	const escaped = titles.map((title) => title.replace(/[^\p{L}\p{N}\s]/gu, "\\$&"));
	const parts = titles.length > 0 ? text.split(new RegExp(`(${escaped.join("|")})`, "u")) : [text];
	return (
		<>
			{parts.map((part, index) =>
				index % 2 ? (
					<span key={index} class="cardname" data-card={ids.get(part)}>
						{part}
					</span>
				) : (
					part
				),
			)}
		</>
	);
}
