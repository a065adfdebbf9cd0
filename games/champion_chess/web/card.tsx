// The cards of Champion Chess: nobles and aid, with a number for each of the three categories.
import { CardFrame, labelOf, Title } from "@app/cards/frame";
import { addGlyphs, GlyphAt } from "@app/cards/glyphs";
import type { CardProps } from "@app/games/module";

addGlyphs({
	KING: "M22 3h4v4h4v4h-4v4.500c7-4 16-2 16 6.500 0 6-5 9-7 13H13c-2-4-7-7-7-13 0-8.500 9-10.500 16-6.500V11h-4V7h4zM13 37h22v3H13zM11 41h26v4H11z",
	QUEEN:
		"M7 10a3 3 0 1 1 .1 0zM16 7a3 3 0 1 1 .1 0zM24 6a3 3 0 1 1 .1 0zM32 7a3 3 0 1 1 .1 0zM41 10a3 3 0 1 1 .1 0zM7 12l7 10 2-14 6 13 2-15 2 15 6-13 2 14 7-10-5 23H12zM12 37h24v3H12zM10 41h28v4H10z",
	BISHOP:
		"M24 2a3.500 3.500 0 0 1 2.500 6c5 4 9 9.500 9 15 0 5-3 8.500-6 10.500h-11c-3-2-6-5.500-6-10.500 0-5.500 4-11 9-15A3.500 3.500 0 0 1 24 2zM22.500 15v4.500H18v3h4.500V29h3v-6.500H30v-3h-4.500V15zM16 35h16v3H16zM11 41h26v4H11zM14 38h20v3H14z",
	ROOK: "M10 5h6v5h5V5h6v5h5V5h6v12l-5 4v12H15V21l-5-4zM13 35h22v4H13zM9 41h30v4H9z",
	KNIGHT:
		"M13 38c0-9 10-12 10-20-3 4-8 5-11 8l-6-5c1-6 7-9 9-14l0-6 6 4c11 0 18 8 18 19 0 6-2 10-2 14zM20 13a2 2 0 1 0 .1 0zM11 41h28v4H11z",
	PAWN: "M24 6a7.500 7.500 0 0 1 5 13.100c3 1.300 5 3 5 5.900h-4.500c0 5 2 9 5.500 12H13c3.500-3 5.500-7 5.500-12H14c0-2.900 2-4.600 5-5.900A7.500 7.500 0 0 1 24 6zM11 40h26v5H11z",
	STEED:
		"M8 44V22a16 16 0 0 1 32 0v22h-9V22a7 7 0 0 0-14 0v22zM11 36v4h3v-4zM34 36v4h3v-4zM11 26v4h3v-4zM34 26v4h3v-4zM14 15l2 2 2-2-2-2zM30 15l2 2 2-2-2-2z",
	ARMOR:
		"M12 4l6 3c2 3 10 3 12 0l6-3 7 9-6 5 1 11c0 8-8 12-14 15-6-3-14-7-14-15l1-11-6-5zM22.500 15v20h3V15z",
	SWORD: "M38 3h7v7L24 31l5 5-3.500 3.500-5-5L12 43l-7-7 8.500-8.500-5-5L12 19l5 5z",
	FEINT:
		"M4 13c12 6 28 6 40 0 2 18-8 28-20 30C12 41 2 31 4 13zM12 22c2 5 8 5 10 1-3-3-7-3-10-1zM26 23c2 4 8 4 10-1-3-2-7-2-10 1zM15 31c3 7 15 7 18 0-6 3-12 3-18 0z",
	MOVE: "M9 33L29 13h-9V6h21v21h-7v-9L14 38z",
});

/** The drawings of the three categories, in the order of the numbers. */
export const CATEGORIES = ["MOVE", "SWORD", "SHIELD"] as const;
const NOBLES = new Set(["KING", "QUEEN", "BISHOP", "ROOK", "KNIGHT"]);

export const isNoble = (card: string) => NOBLES.has(card);

export function ChessCard({ card, side = 0 }: CardProps) {
	if (!card) return null;
	const noble = isNoble(card.id);
	return (
		<CardFrame
			class={`chess ${noble ? "noble" : "aid"} side${side}`}
			label={labelOf(card)}
			card={card.id}
		>
			{noble && <path class="arch soft" d="M14 98V56a36 36 0 0 1 72 0v42z" />}
			<Title text={card.title} y={19} lines={1} />
			<GlyphAt
				class="piece inked"
				name={card.id}
				x={50}
				y={noble ? 63 : 61}
				size={noble ? 56 : 46}
			/>
			{card.numbers.map((each, index) => (
				<g key={each.title} class={`stat stat${index} ${each.value === 0 ? "none" : ""}`}>
					<rect x={5 + index * 30.5} y="100" width="29" height="35" rx="6" />
					<GlyphAt
						class="white"
						name={CATEGORIES[index] ?? ""}
						x={19.5 + index * 30.5}
						y={109}
						size={11}
					/>
					<text class="white" x={19.5 + index * 30.5} y="131" text-anchor="middle" font-size="18">
						{each.value}
					</text>
				</g>
			))}
		</CardFrame>
	);
}
