// The cards of Skystones: the points of their four edges, their element, and an emblem of their own.
import type { CatalogCard } from "@app/api/types";
import { labelOf, sizeOf } from "@app/cards/frame";
import { addGlyphs, GlyphAt } from "@app/cards/glyphs";
import type { CardProps, Catalog } from "@app/games/module";
import { SkystonesElement } from "@app/gen/croupier/v1/skystones_pb";

addGlyphs({
	FIRE: "M26 2c1 9 13 13 13 26 0 10-7 17-15 17S9 38 9 29c0-7 5-10 6-18 4 2 6 6 6 10 4-4 6-12 5-19zM24 27c-1 5-6 6-6 11 0 3 3 5 6 5s6-2 6-5c0-5-5-6-6-11z",
	EARTH: "M2 42L18 10l6 11 4-5 18 26zM18 17l-5 10 4-2 3 3 3-2z",
	ELECTRO: "M29 2L8 27h12l-5 19 24-27H26z",
	WATER:
		"M24 2c8 12 15 20 15 28a15 15 0 0 1-30 0C9 22 16 14 24 2zM15 30c0 6 4 9 8 10v-4c-3-1-4-3-4-6z",
	AIR: "M3 17h24a4 4 0 1 0-4-5h-5a9 9 0 1 1 9 10H3zM3 25h34a7.500 7.500 0 1 1-7 10h5a3 3 0 1 0 2-5H3zM3 33h18a6 6 0 1 1-6 8h5a1.500 1.500 0 1 0 1-3H3z",
});

/** The element of a character, as the name of its drawing. */
function elementOf(catalog: Catalog, card: CatalogCard): string {
	const ruleset = catalog.game.defaultRuleset?.game;
	const spec = ruleset?.case === "skystones" ? ruleset.value.cards[Number(card.id)] : undefined;
	return SkystonesElement[spec?.element ?? 0] ?? "";
}

/** The points of the edges: north, east, south, west. */
export const edgesOf = (card: CatalogCard) => card.numbers.slice(1, 5).map((each) => each.value);
export const totalOf = (card: CatalogCard) => card.numbers[0]?.value ?? 0;

const COLOURS: Record<string, string> = {
	FIRE: "--paper: #f6c9a8; --tint: #b23a12",
	EARTH: "--paper: #d9c99a; --tint: #6b4c12",
	ELECTRO: "--paper: #efe08d; --tint: #7a5c00",
	WATER: "--paper: #afd3ea; --tint: #0f4f86",
	AIR: "--paper: #d5e6dd; --tint: #2f6a55",
};

export function SkyCard({ card, catalog, small }: CardProps) {
	if (!card) return null;
	const [north = 0, east = 0, south = 0, west = 0] = edgesOf(card);
	const element = elementOf(catalog, card);
	const fitting = sizeOf(card.title, 88, 13);
	return (
		<svg
			class="face sky"
			style={COLOURS[element]}
			viewBox={small ? "0 0 100 100" : "0 0 100 124"}
			role={small ? undefined : "img"}
			aria-label={small ? undefined : labelOf(card, card.kind)}
			aria-hidden={small}
			data-card={card.id}
		>
			<rect class="paper" x="1.500" y="1.500" width="97" height={small ? 97 : 121} rx="10" />
			<Emblem id={Number(card.id)} />
			<GlyphAt class="element tinted" name={element} x={50} y={50} size={22} />
			<Edge value={north} x={50} y={15} />
			<Edge value={east} x={85} y={50} />
			<Edge value={south} x={50} y={85} />
			<Edge value={west} x={15} y={50} />
			{!small && (
				<>
					<rect class="plate" x="1.500" y="100" width="97" height="22.500" rx="8" />
					<text
						class="title"
						x="50"
						y="115"
						text-anchor="middle"
						font-size={Math.max(11.5, fitting)}
						// A long title is squeezed a little rather than printed too small.
						textLength={fitting < 11.5 ? 90 : undefined}
						lengthAdjust="spacingAndGlyphs"
					>
						{card.title}
					</text>
					<circle class="total" cx="84" cy="16" r="11" />
					<text class="totaltext" x="84" y="20.500" text-anchor="middle" font-size="13">
						{totalOf(card)}
					</text>
				</>
			)}
			<rect class="edge" x="1.500" y="1.500" width="97" height={small ? 97 : 121} rx="10" />
		</svg>
	);
}

function Edge({ value, x, y }: { value: number; x: number; y: number }) {
	return (
		<g class={value === 0 ? "points none" : "points"}>
			<rect
				x={x - 12}
				y={y - 12}
				width="24"
				height="24"
				rx="7"
				transform={`rotate(45 ${x} ${y})`}
			/>
			<text x={x} y={y + 7.5} text-anchor="middle" font-size="21">
				{value}
			</text>
		</g>
	);
}

/** A rosette whose folds, depth and turn follow from the number of the card: no two are alike. */
function Emblem({ id }: { id: number }) {
	const folds = 5 + (id % 7);
	const depth = 0.45 + ((id * 37) % 11) / 24;
	const turn = ((id * 53) % 90) - 45;
	const radius = 31;
	const points = Array.from({ length: folds * 2 }, (_, index) => {
		const angle = (Math.PI * index) / folds;
		const length = index % 2 ? radius * depth : radius;
		return `${(50 + length * Math.sin(angle)).toFixed(1)},${(50 - length * Math.cos(angle)).toFixed(1)}`;
	});
	return (
		<g class="emblem" transform={`rotate(${turn} 50 50)`}>
			<polygon points={points.join(" ")} />
			<circle cx="50" cy="50" r={(radius * depth).toFixed(1)} />
		</g>
	);
}
