// The cards of Castle Rampage: attack, defence, cost and figure; and what counts of them in a structure.
import { CardFrame, labelOf, sizeOf, Title } from "@app/cards/frame";
import { addGlyphs, GlyphAt } from "@app/cards/glyphs";
import type { CardProps } from "@app/games/module";

addGlyphs({
	C_KNIGHT:
		"M24 3c9 0 15 6 15 15v18l-15 10L9 36V18C9 9 15 3 24 3zM12 19v6h10v15h4V25h10v-6zM16 30v3h3v-3zM29 30v3h3v-3z",
	ARCHER:
		"M10 4c22 2 32 12 34 34l-5-1C37 20 28 11 11 9zM10 4l34 34-2.500 2.500-34-34zM4 36l8-1 18-18-3-3 10-3-3 10-3-3-18 18-1 8-4-4z",
	AXE_MAN: "M4 39L25 18l5 5L9 44zM22 9c8-8 18-5 23 6-4 5-4 9-1 14-9 4-17 0-20-7l5-5z",
	GIANT:
		"M31 3c8 0 14 6 14 14 0 7-6 11-12 11L15 45 4 34l16-16c0-8 3-15 11-15zM29 9l-2 4 4 1zM37 11l-2 4 4 1zM31 18l-2 4 4 1z",
	MERCENARY:
		"M24 3a21 21 0 1 1 0 42 21 21 0 0 1 0-42zM24 8a16 16 0 1 0 0 32 16 16 0 0 0 0-32zM22 12h4v3h5v4H21c-2 0-2 3 0 3h6c7 0 7 11 0 11h-1v3h-4v-3h-5v-4h10c2 0 2-3 0-3h-6c-7 0-7-11 0-11h1z",
	VETERAN:
		"M5 16L24 4l19 12v7L24 11 5 23zM5 28l19-12 19 12v7L24 23 5 35zM5 40l19-12 19 12v6L24 35 5 46z",
	DRAGON:
		"M2 34c3-14 12-20 22-20l-6-10 15 8 10-4-3 10 6 9-9-1-7 7h8l-5 7-13-3-7 9-4-9zM28 19l-1 4 5-1z",
	DIGGER: "M35 3l10 10-6 6-3-3-11 11 5 5c1 7-5 13-13 14H3V32c1-8 7-14 14-13l5 5 11-11-3-3z",
	OGRE: "M5 3c2 8 6 11 10 11 6-4 12-4 18 0 4 0 8-3 10-11 4 13 1 19-5 22 2 12-6 20-14 20S8 37 10 25C4 22 1 16 5 3zM15 24l8 4-7 3zM33 24l-8 4 7 3zM16 36l3-3 5 2 5-2 3 3-3 4H19z",
	BOMBER:
		"M19 14l2-6 7 3-1 5a16 16 0 1 1-8-2zM27 9c2-5 6-5 8-3l-2 3c-1-1-2-1-3 1zM36 4l2-4 2 4 5-1-2 4 4 3-5 1 0 5-4-4-4 3 1-5-4-2zM13 24c-3 3-3 8 0 11l3-2c-2-3-2-5 0-7z",
	SABOTEUR: "M21 2h6v12h11v5H28l3 16-7 11-7-11 3-16H10v-5h11z",
	SPY: "M1 24C10 8 38 8 47 24 38 40 10 40 1 24zM24 14a10 10 0 1 0 0 20 10 10 0 0 0 0-20zM24 19a5 5 0 1 1 0 10 5 5 0 0 1 0-10z",
	JESTER:
		"M24 15c3-10 14-12 19-5-6-1-9 3-8 9 6-3 12 1 12 8-5-4-10-2-11 5v5H12v-5c-1-7-6-9-11-5 0-7 6-11 12-8 1-6-2-10-8-9 5-7 16-5 19 5zM11 39h26v6H11zM24 27a3 3 0 1 0 .1 0z",
	SUMMONER:
		"M24 2a22 22 0 1 1 0 44 22 22 0 0 1 0-44zM24 6a18 18 0 1 0 0 36 18 18 0 0 0 0-36zM24 7l4 12h13l-10 8 4 13-11-8-11 8 4-13-10-8h13z",
	PRIEST: "M20 2h8v12h12v8H28v24h-8V22H8v-8h12z",
	CATAPULT:
		"M3 38h42v5H3zM10 29a6 6 0 1 1-.1 0zM36 29a6 6 0 1 1-.1 0zM7 24h32v4H7zM12 24L35 6l5 5-18 13zM40 1a7 7 0 1 1-.1 0z",
	GRANARY:
		"M22 46V22h4v24zM24 2c5 5 5 11 0 15-5-4-5-10 0-15zM10 11c7 0 12 4 13 11-7 0-12-4-13-11zM38 11c-7 0-12 4-13 11 7 0 12-4 13-11zM10 24c7 0 12 4 13 11-7 0-12-4-13-11zM38 24c-7 0-12 4-13 11 7 0 12-4 13-11z",
	VOLLEY:
		"M8 20L3 22 10 4l7 18-5-2v25H8zM22 14l-5 2L24 0l7 16-5-2v26h-4zM36 20l-5 2L38 4l7 18-5-2v25h-4z",
	CHARGE: "M3 45L34 14l-5-4L46 2l-8 17-4-5L7 46zM6 10h22l-9 9 0 9H6l7-9z",
	SKIRMISH:
		"M3 3h7l15 18 4-4 5 4-4 4 9 10-5 5-9-9-4 5-5-5 5-5L3 10zM45 3v7L31 22l-5-5L38 3zM18 25l5 5-6 6 4 4-4 4-4-3-7 6-5-5 6-6-3-5 4-4 4 4z",
	GRAND_ASSAULT:
		"M5 21h6v4h4v-4h6v4h6v-4h6v4h4v-4h6v25H30V36a6 6 0 0 0-12 0v10H5zM22 2h15l-4 5 4 5H25v7h-3z",
	GATE: "M6 45V21a18 18 0 0 1 36 0v24h-5V21a13 13 0 0 0-26 0v24zM14 22h4v23h-4zM22 16h4v29h-4zM30 22h4v23h-4zM14 28h20v3H14z",
	CASTLE: "M7 4h8v6h5V4h8v6h5V4h8v14l-5 4v23H12V22l-5-4zM21 45v-9a3 3 0 0 1 6 0v9z",
});

export const SCHEMES = ["VOLLEY", "CHARGE", "SKIRMISH", "GRAND_ASSAULT"];
const TINTS: Record<string, string[]> = {
	"#8d2f22": ["KNIGHT", "ARCHER", "AXE_MAN", "GIANT", "MERCENARY"],
	"#5f2f7d": ["OGRE", "BOMBER", "SABOTEUR", "SPY"],
	"#6a5311": ["CATAPULT", "GRANARY"],
	"#22436f": SCHEMES,
	"#1f5f5a": ["JESTER", "SUMMONER", "PRIEST"],
};

const tintOf = (id: string) =>
	Object.keys(TINTS).find((tint) => TINTS[tint]!.includes(id)) ?? "#9a4b12";

/** The name of the drawing of a card. */
const figureOf = (id: string) => (id === "KNIGHT" ? "C_KNIGHT" : id);

/** The numbers in the catalog's order: Gate and Castle, then Attack, Bonus and Cost if not zero. */
export function numbersOf(id: string, numbers: readonly { title: string; value: number }[]) {
	const [gate, castle, ...rest] = numbers;
	const attacks = ![
		"BOMBER",
		"SABOTEUR",
		"SPY",
		"JESTER",
		"SUMMONER",
		"PRIEST",
		"CATAPULT",
		"GRANARY",
	].includes(id);
	const attack = attacks ? rest.shift() : undefined;
	const bonus = ["MERCENARY", ...SCHEMES].includes(id) ? rest.shift() : undefined;
	return { gate, castle, attack, bonus, cost: rest.shift() };
}

export function CastleCard({ card }: CardProps) {
	if (!card) return null;
	const { gate, castle, attack, bonus, cost } = numbersOf(card.id, card.numbers);
	return (
		<CardFrame class="castle" card={card.id} tint={tintOf(card.id)} label={labelOf(card)}>
			<path class="banner tinted" d="M8 1h84v92L50 106 8 93z" />
			<GlyphAt class="figure" name={figureOf(card.id)} x={50} y={54} size={50} />
			{attack && (
				<g class="attack">
					<circle cx="18" cy="18" r="16" />
					<text x="18" y="25.500" text-anchor="middle" font-size="21">
						{attack.value}
					</text>
				</g>
			)}
			{bonus && (
				<g class="bonus">
					<rect x="3" y="37" width="30" height="17" rx="8.500" />
					<text x="18" y="50" text-anchor="middle" font-size="13">
						+{bonus.value}
					</text>
				</g>
			)}
			{cost &&
				cost.value > 0 &&
				Array.from({ length: cost.value }, (_, index) => (
					<rect
						key={index}
						class="cost"
						x={82 - index * 13}
						y="6"
						width="11"
						height="15"
						rx="2.500"
					/>
				))}
			<Title text={card.title} y={99} lines={1} width={90} max={13.5} />
			<g class="walls">
				<rect x="6" y="107" width="42" height="27" rx="6" />
				<rect x="52" y="107" width="42" height="27" rx="6" />
				<GlyphAt name="GATE" x={18} y={120.5} size={16} />
				<text x="36" y="127" text-anchor="middle" font-size="18">
					{gate?.value}
				</text>
				<GlyphAt name="CASTLE" x={64} y={120.5} size={16} />
				<text x="82" y="127" text-anchor="middle" font-size="18">
					{castle?.value}
				</text>
			</g>
		</CardFrame>
	);
}

/**
 * A card that stands in a structure: its right edge, which stays in sight when others lie on it, has
 * the one number that counts there, and its name.
 */
export function StandingCard(props: CardProps & { structure: "GATE" | "CASTLE"; seen: boolean }) {
	const { card, structure, seen } = props;
	if (!card) return null;
	const { gate, castle } = numbersOf(card.id, card.numbers);
	const counts = structure === "GATE" ? gate : castle;
	return (
		<CardFrame
			class="castle inwall"
			card={card.id}
			tint={tintOf(card.id)}
			label={`${card.title}, ${counts?.title} ${counts?.value}`}
		>
			<path class="banner tinted" d="M90 1H72v138h18a9 9 0 0 0 9-9V10a9 9 0 0 0-9-9z" />
			<text class="counts" x="85.500" y="26" text-anchor="middle" font-size="25">
				{counts?.value}
			</text>
			<text
				class="white"
				transform={`translate(90 ${seen ? 115 : 131}) rotate(-90)`}
				font-size={sizeOf(card.title, seen ? 72 : 88, 13.5)}
			>
				{card.title}
			</text>
			<GlyphAt class="tinted" name={figureOf(card.id)} x={36} y={70} size={46} />
			<GlyphAt class="tinted" name={structure} x={36} y={118} size={22} />
		</CardFrame>
	);
}
