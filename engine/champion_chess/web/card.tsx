// A card of Champion Chess: a piece or an aid, and its points in the three categories.
import { CardFrame, Title } from "@app/cards/frame";
import { GlyphAt } from "@app/cards/glyphs";
import type { CardProps } from "@app/games/module";

/** The drawings of the three categories, in the order of the numbers. */
export const CATEGORIES = ["MOVE", "SWORD", "SHIELD"] as const;
const NOBLES = new Set(["KING", "QUEEN", "BISHOP", "ROOK", "KNIGHT"]);

export const isNoble = (card: string) => NOBLES.has(card);

export function ChessCard({ card, side = 0 }: CardProps) {
	if (!card) return null;
	const noble = isNoble(card.id);
	const label = `${card.title}, ${card.numbers.map((each) => `${each.title} ${each.value}`).join(", ")}`;
	return (
		<CardFrame class={`chess ${noble ? "noble" : "aid"} side${side}`} label={label}>
			{noble && <path class="arch" d="M14 98V56a36 36 0 0 1 72 0v42z" />}
			<Title text={card.title} y={19} lines={1} />
			<GlyphAt class="piece" name={card.id} x={50} y={noble ? 63 : 61} size={noble ? 56 : 46} />
			{card.numbers.map((each, index) => (
				<g key={each.title} class={`stat stat${index} ${each.value === 0 ? "none" : ""}`}>
					<rect x={5 + index * 30.5} y="100" width="29" height="35" rx="6" />
					<GlyphAt name={CATEGORIES[index] ?? ""} x={19.5 + index * 30.5} y={109} size={11} />
					<text x={19.5 + index * 30.5} y="131" text-anchor="middle" font-size="18">
						{each.value}
					</text>
				</g>
			))}
		</CardFrame>
	);
}
