// A card of Castle Rampage: its attack, what it defends, what it costs, and whom it shows.
import { CardFrame, Title } from "@app/cards/frame";
import { GlyphAt } from "@app/cards/glyphs";
import type { CardProps } from "@app/games/module";

const FAMILIES: Record<string, string[]> = {
	unit: ["KNIGHT", "ARCHER", "AXE_MAN", "GIANT", "MERCENARY"],
	purple: ["OGRE", "BOMBER", "SABOTEUR", "SPY"],
	permanent: ["CATAPULT", "GRANARY"],
	scheme: ["VOLLEY", "CHARGE", "SKIRMISH", "GRAND_ASSAULT"],
	special: ["JESTER", "SUMMONER", "PRIEST"],
};

const familyOf = (id: string) =>
	Object.keys(FAMILIES).find((family) => FAMILIES[family]!.includes(id)) ?? "strike";

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
	const bonus = ["MERCENARY", ...FAMILIES.scheme!].includes(id) ? rest.shift() : undefined;
	return { gate, castle, attack, bonus, cost: rest.shift() };
}

export function CastleCard({ card }: CardProps) {
	if (!card) return null;
	const { gate, castle, attack, bonus, cost } = numbersOf(card.id, card.numbers);
	const label = `${card.title}, ${card.numbers.map((each) => `${each.title} ${each.value}`).join(", ")}`;
	return (
		<CardFrame class={`castle ${familyOf(card.id)}`} label={label}>
			<path class="banner" d="M8 1h84v92L50 106 8 93z" />
			<GlyphAt
				class="figure"
				name={card.id === "KNIGHT" ? "C_KNIGHT" : card.id}
				x={50}
				y={54}
				size={50}
			/>
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
