// A card of any game: its title, its picture in the colour of its kind, and its numbers.
import { CardFrame, labelOf, Title } from "../../cards/frame";
import type { CardProps } from "../module";

/** A colour for each kind of cards, in the order of the game's list. */
const TINTS = [
	"#1d6b3c",
	"#1f5aa6",
	"#b3261e",
	"#2a2a33",
	"#6a3391",
	"#8a4b0f",
	"#0f6a72",
	"#8f2460",
];
const MOST_NUMBERS = 4;
const SMALLEST = 6; // A caption below it could not be read.

export function AnyCard({ card, catalog }: CardProps) {
	if (!card) return null;
	const numbers = card.numbers.slice(0, MOST_NUMBERS);
	const kinds = [...new Set(catalog.game.cards.map(({ kind }) => kind))];
	const tint = TINTS[kinds.indexOf(card.kind) % TINTS.length];
	const width = 90 / numbers.length;
	const longest = Math.max(...numbers.map((each) => each.title.length));
	const captionSize = Math.min(8.5, (width - 4) / (longest * 0.62));
	const captions = captionSize > SMALLEST;
	const low = numbers.length > 0 ? 62 : 82;
	return (
		<CardFrame class="any" card={card.id} tint={tint} label={labelOf(card, card.kind)}>
			<path class="band tinted" d="M1 10a9 9 0 0 1 9-9h80a9 9 0 0 1 9 9v27H1z" />
			<Title text={card.title} y={24} width={80} max={card.title.length > 11 ? 13 : 15} />
			{card.glyph ? (
				<path
					class="picture tinted"
					d={card.glyph}
					transform={`translate(23 ${low - 17}) scale(2.25)`}
				/>
			) : (
				<text class="initial tinted" x="50" y={low + 29} text-anchor="middle" font-size="54">
					{card.title.charAt(0)}
				</text>
			)}
			{numbers.map((each, index) => (
				<g class="count" key={each.title}>
					<rect
						class="soft"
						x={5 + index * width + 1}
						y="105"
						width={width - 2}
						height="30"
						rx="6"
					/>
					<text
						x={5 + (index + 0.5) * width}
						y={captions ? 121 : 126}
						text-anchor="middle"
						font-size={captions ? 16 : 18}
					>
						{each.value}
					</text>
					{captions && (
						<text
							class="what"
							x={5 + (index + 0.5) * width}
							y="131"
							text-anchor="middle"
							font-size={captionSize.toFixed(1)}
						>
							{each.title}
						</text>
					)}
				</g>
			))}
		</CardFrame>
	);
}
