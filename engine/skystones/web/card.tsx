// A character of Skystones: points on four edges around an emblem that its number draws.
import type { CatalogCard } from "@app/api/types";
import { GlyphAt } from "@app/cards/glyphs";
import type { CardProps } from "@app/games/module";
import { SkystonesElement } from "@app/gen/croupier/v1/skystones_pb";
import type { Catalog } from "@app/state/catalog";

/** The element of a character, as the name of its drawing. */
export function elementOf(catalog: Catalog, card: CatalogCard): string {
	const ruleset = catalog.game.defaultRuleset?.game;
	const spec = ruleset?.case === "skystones" ? ruleset.value.cards[Number(card.id)] : undefined;
	return SkystonesElement[spec?.element ?? 0] ?? "";
}

/** The points of the edges: north, east, south, west. */
export const edgesOf = (card: CatalogCard) => card.numbers.slice(1, 5).map((each) => each.value);
export const totalOf = (card: CatalogCard) => card.numbers[0]?.value ?? 0;

export function SkyCard({ card, catalog, side, small }: CardProps) {
	if (!card) return null;
	const [north = 0, east = 0, south = 0, west = 0] = edgesOf(card);
	const element = elementOf(catalog, card);
	const owner = side === undefined ? "" : `owner${side}`;
	const label = `${card.title}, ${card.kind}, ${card.numbers.map((n) => `${n.title} ${n.value}`).join(", ")}`;
	return (
		<svg
			class={`face sky ${element.toLowerCase()} ${owner}`}
			viewBox={small ? "0 0 100 100" : "0 0 100 124"}
			role="img"
			aria-label={label}
		>
			<rect class="paper" x="1.500" y="1.500" width="97" height={small ? 97 : 121} rx="10" />
			<Emblem id={Number(card.id)} />
			<GlyphAt class="element" name={element} x={50} y={50} size={22} />
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
						font-size={Math.min(13, 86 / (card.title.length * 0.53)).toFixed(1)}
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
