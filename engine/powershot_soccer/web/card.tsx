// A card of PowerShot Soccer: what it does, and how strongly.

import { CardFrame, Title } from "@app/cards/frame";
import { GlyphAt } from "@app/cards/glyphs";
import type { CardProps } from "@app/games/module";
import { PowerShotSoccerRole } from "@app/gen/croupier/v1/powershot_soccer_pb";
import type { Catalog } from "@app/state/catalog";

/** The role of a card, as the name of its drawing. */
export function roleOf(catalog: Catalog, card: string): string {
	const ruleset = catalog.game.defaultRuleset?.game;
	const spec = ruleset?.case === "powershotSoccer" ? ruleset.value.cards[Number(card)] : undefined;
	return PowerShotSoccerRole[spec?.role ?? 0] ?? "";
}

const FAMILIES: Record<string, string> = {
	PASS: "ball",
	DRIBBLE: "ball",
	CROSS: "ball",
	FANCY_FOOTWORK: "ball",
	SHOOT: "shot",
	LONG_RANGE_SHOT: "shot",
	TACKLE: "defence",
	INTERCEPT: "defence",
	SAVE: "defence",
	STAR_PLAYER: "star",
};

export const isSpecial = (role: string) => role === "CROSS" || role === "FANCY_FOOTWORK";

export function SoccerCard({ card, catalog, small }: CardProps) {
	if (!card) return null;
	const role = roleOf(catalog, card.id);
	const power = card.numbers[0]?.value ?? 0;
	// The catalog's title ends in the power, which the card shows anyway.
	const title = card.title.replace(/ \d+$/, "");
	return (
		<CardFrame
			class={`soccer ${FAMILIES[role] ?? ""}`}
			label={`${card.title}, ${card.kind}`}
			height={small ? 120 : 140}
		>
			<path class="band" d="M1 10a9 9 0 0 1 9-9h80a9 9 0 0 1 9 9v42L1 72z" />
			<text class="power" x="14" y="46" font-size="46">
				{power}
			</text>
			<GlyphAt class="role" name={role} x={56} y={82} size={44} />
			{isSpecial(role) && (
				<g class="bonus">
					<rect x="58" y="10" width="34" height="22" rx="11" />
					<text x="75" y="26.500" text-anchor="middle" font-size="15">
						+2
					</text>
				</g>
			)}
			{!small && <Title text={title} y={126} max={15} />}
		</CardFrame>
	);
}
