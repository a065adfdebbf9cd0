// The cards of PowerShot Soccer: what a card does, and its power.
import { CardFrame, Title } from "@app/cards/frame";
import { addGlyphs, GlyphAt } from "@app/cards/glyphs";
import type { CardProps, Catalog } from "@app/games/module";
import { PowerShotSoccerRole } from "@app/gen/croupier/v1/powershot_soccer_pb";

addGlyphs({
	PASS: "M9 16a8 8 0 1 1 0 16A8 8 0 0 1 9 16zM20 21h13l-5-7h8l10 10-10 10h-8l5-7H20z",
	DRIBBLE: "M3 38l10-18 9 9 7-12-6-3 20-9 2 21-6-4-15 23-8-11-7 9z",
	CROSS: "M3 42C5 20 20 8 32 14l4-8 7 20-21 2 5-7C18 17 12 28 11 42zM9 46a4 4 0 1 1 .1 0z",
	FANCY_FOOTWORK:
		"M24 4a20 20 0 1 0 20 20h-7a13 13 0 1 1-13-13 8 8 0 0 1 0 16v-6l-9 9 9 9v-5a15 15 0 0 0 0-30z",
	SHOOT:
		"M31 9a15 15 0 1 1 0 30 15 15 0 0 1 0-30zM31 17l-6.500 4.700 2.500 7.600h8l2.500-7.600zM1 13h14v4H1zM0 22h12v4H0zM3 31h12v4H3z",
	LONG_RANGE_SHOT:
		"M24 3a21 21 0 1 1 0 42 21 21 0 0 1 0-42zM24 9a15 15 0 1 0 0 30 15 15 0 0 0 0-30zM24 15a9 9 0 1 1 0 18 9 9 0 0 1 0-18zM24 20a4 4 0 1 0 0 8 4 4 0 0 0 0-8z",
	TACKLE:
		"M10 4h13v17c7 1 15 5 21 9 2 2 2 5 2 7H6c0-7 4-11 4-17zM8 39h7v5H8zM20 39h7v5h-7zM32 39h7v5h-7z",
	INTERCEPT: "M3 20h18l-5-7h8l10 11-10 11h-8l5-7H3zM37 4h7v40h-7z",
	SAVE: "M14 45V31l-8-10c-2-4 3-7 6-3l4 5V9c0-5 6-5 6 0V6c0-5 6-5 6 0v3c0-5 6-5 6 0v5c0-4 6-4 6 1v18c0 5-2 8-4 12z",
	STAR_PLAYER: "M24 2l7 14.500 16 2L35.500 30 38 46l-14-8-14 8 2.500-16L1 18.500l16-2z",
	GIVE_UP: "M8 4h5v40H8zM15 6h26l-7 9 7 9H15z",
	DECLINE: "M8 21h32v6H8z",
	BALL: "M24 2a22 22 0 1 1 0 44 22 22 0 0 1 0-44zM24 13l-10 7.300 3.800 11.700h12.400L34 20.300zM24 5l-6 3 6 4 6-4zM6 22l1 8 5-5-1.500-6zM42 22l-4.500-3-1.500 6 5 5zM16 35l-4 1 5 5 5-1zM32 35l-6 5 5 1 5-5z",
});

/** The role of a card, as the name of its drawing. */
export function roleOf(catalog: Catalog, card: string): string {
	const ruleset = catalog.game.defaultRuleset?.game;
	const spec = ruleset?.case === "powershotSoccer" ? ruleset.value.cards[Number(card)] : undefined;
	return PowerShotSoccerRole[spec?.role ?? 0] ?? "";
}

const TINTS: Record<string, string> = {
	SHOOT: "#c2400f",
	LONG_RANGE_SHOT: "#c2400f",
	TACKLE: "#23509e",
	INTERCEPT: "#23509e",
	SAVE: "#23509e",
	STAR_PLAYER: "#8a6400",
};

export const isSpecial = (role: string) => role === "CROSS" || role === "FANCY_FOOTWORK";

export function SoccerCard({ card, catalog }: CardProps) {
	if (!card) return null;
	const role = roleOf(catalog, card.id);
	const power = card.numbers[0]?.value ?? 0;
	// The catalog's title ends in the power, which the card shows anyway.
	const title = card.title.replace(/ \d+$/, "");
	return (
		<CardFrame
			class={role === "STAR_PLAYER" ? "soccer star" : "soccer"}
			tint={TINTS[role] ?? "#16794a"}
			label={`${card.title}, ${card.kind}`}
			card={card.id}
		>
			<path class="band tinted" d="M1 10a9 9 0 0 1 9-9h80a9 9 0 0 1 9 9v42L1 72z" />
			<text class="power" x="14" y="46" font-size="46">
				{power}
			</text>
			<GlyphAt class="role tinted" name={role} x={56} y={82} size={44} />
			{isSpecial(role) && (
				<g class="bonus">
					<rect class="white" x="58" y="10" width="34" height="22" rx="11" />
					<text class="tinted" x="75" y="26.500" text-anchor="middle" font-size="15">
						+2
					</text>
				</g>
			)}
			<Title text={title} y={126} max={15} />
		</CardFrame>
	);
}
