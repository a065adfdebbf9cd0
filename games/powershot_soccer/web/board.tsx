// The pitch and the cards of PowerShot Soccer: the ball moves towards the goal as cards stand.
import type { Event } from "@app/api/types";
import { CardFrame, counted, Title } from "@app/cards/frame";
import { addGlyphs, Glyph, GlyphAt } from "@app/cards/glyphs";
import {
	type BoardProps,
	type CardProps,
	type Catalog,
	type Context,
	cardOf,
	cardProps,
} from "@app/games/module";
import { Pile } from "@app/games/pile";
import { nameOfSeat } from "@app/games/sentences";
import {
	type PowerShotSoccerEvent,
	PowerShotSoccerOutcome,
	PowerShotSoccerPhase,
	PowerShotSoccerRole,
	type PowerShotSoccerView,
} from "@app/gen/croupier/v1/powershot_soccer_pb";
import { t } from "@app/i18n";
import { say } from "./texts";

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

const SHOOT_NEEDS = 2;
const LONG_SHOT_NEEDS = 1;
const UNSTOPPABLE = 8; // A total above it is a PowerShot.

export function SoccerBoard({ view, fresh, context, picker, near }: BoardProps) {
	const game = view.game.value as PowerShotSoccerView;
	const plays = game.plays.slice(game.attackStart);
	// A new attack has no card yet: then the last one is still worth seeing.
	const past = plays.length === 0 ? lastAttack(game) : undefined;
	const shown = past ?? plays;
	const pairs = exchanges(shown);
	const latest = fresh.filter(isPlayed).length;
	const newPlays = new Set(shown.slice(Math.max(0, shown.length - latest)));
	const attacking = game.possession === near;
	const held = picker.clicks[0]?.key;
	const preview =
		held && game.phase === PowerShotSoccerPhase.ATTACK
			? shotTotal(game, context, cardOf(held))
			: undefined;
	// From the own half towards the goal: each standing card is a step.
	const advance = Math.min(4, game.standing) / 4;
	const ballY = attacking ? 62 - advance * 42 : 38 + advance * 42;
	const played = ({ seat, card, role }: Play, place: string) => (
		<span
			class={`played ${seat === near ? "mine" : "theirs"} ${role === PowerShotSoccerRole.DECLINE ? "faded" : ""}`}
		>
			<span
				data-flip={`play${game.half}.${past ? "p" : game.attackStart}.${place}`}
				class="playcard"
			>
				<SoccerCard {...cardProps(context.catalog, `${card}`)} />
			</span>
		</span>
	);
	return (
		<div class="pitchboard">
			<div class="boardhead">
				<span>{say().half(game.half)}</span>
				<span class="piles">
					<span class="pilelabel" title={t().deckOf(game.sides[near]?.drawPileSize ?? 0)}>
						<Glyph name="HAND" /> {game.sides[near]?.drawPileSize} :{" "}
						{game.sides[1 - near]?.drawPileSize}
					</span>
				</span>
			</div>
			<div class="pitchbox">
				<svg
					class="pitch"
					viewBox="0 0 100 100"
					role="img"
					aria-label={`${say().possession}: ${nameOfSeat(context, game.possession)}, ${say().standing(game.standing)}`}
				>
					<rect class="grass" x="0" y="0" width="100" height="100" rx="6" />
					{[0, 1, 2, 3, 4].map((stripe) => (
						<rect key={stripe} class="stripe" x="0" y={stripe * 20} width="100" height="10" />
					))}
					<g class="lines">
						<rect x="5" y="4" width="90" height="92" />
						<path d="M5 50h90M28 4v14h44V4M28 96V82h44v14M40 4V1h20v3M40 96v3h20v-3" />
						<circle cx="50" cy="50" r="11" />
					</g>
					<g class={`ballspot ${attacking ? "mine" : "theirs"}`} data-flip="ball" data-owner="ball">
						<circle class="halo" cx="50" cy={ballY} r="8.500" />
						<GlyphAt class="ball" name="BALL" x={50} y={ballY} size={12} />
					</g>
				</svg>
			</div>
			<div class="attackpanel">
				<h2 class="attacktitle">
					{past?.length ? say().lastAttack : say().attack}
					{!past && <span class="muted"> {say().standing(game.standing)}</span>}
				</h2>
				<div class="attackbox">
					<ol class="exchanges fit spread" ref={counted(pairs.length)}>
						{pairs.map(({ attack, answer }, index) => {
							const newest = newPlays.has(attack) || (answer !== undefined && newPlays.has(answer));
							const outcome = PowerShotSoccerOutcome[attack.outcome] ?? "";
							return (
								<li
									key={`${game.half}.${game.attackStart}.${index}`}
									class={`exchange ${outcome.toLowerCase()} ${newest ? "latest" : ""}`}
									title={newest ? say().newest : undefined}
								>
									{played(attack, `${index}a`)}
									{answer ? (
										played(answer, `${index}d`)
									) : (
										<span class="vacant" aria-hidden="true" />
									)}
									<span class={`outcome ${outcome.toLowerCase()}`}>
										{outcomeOf(context, attack.outcome)}
									</span>
								</li>
							);
						})}
						{shown.length === 0 && <li class="muted none">{say().kickOff}</li>}
					</ol>
				</div>
				{preview !== undefined && (
					<p class={`preview ${preview > UNSTOPPABLE ? "power" : ""}`}>
						{say().total(preview)}
						{preview > UNSTOPPABLE && ` · ${say().powerShot}`}
					</p>
				)}
			</div>
			<div class="piles">
				{[1 - near, near].map((seat) => (
					<Pile
						key={seat}
						title={say().discards(context.catalog.game.seatTitles[seat]!)}
						cards={(game.sides[seat]?.discardPile ?? []).map(String)}
						context={context}
					/>
				))}
			</div>
		</div>
	);
}

const isPlayed = ({ event }: Event) =>
	event.case === "powershotSoccer" && (event.value as PowerShotSoccerEvent).event.case === "played";

type Play = PowerShotSoccerView["plays"][number];

/** Each card of the attacker with the answer to it. */
function exchanges(plays: readonly Play[]): { attack: Play; answer?: Play }[] {
	const found: { attack: Play; answer?: Play }[] = [];
	for (const play of plays) {
		const last = found.at(-1);
		if (
			last &&
			!last.answer &&
			play.seat !== last.attack.seat &&
			last.attack.outcome !== PowerShotSoccerOutcome.GIVEN_UP
		) {
			last.answer = play;
		} else found.push({ attack: play });
	}
	return found;
}

/** The cards of the attack before this one. */
function lastAttack(game: PowerShotSoccerView): Play[] {
	const before = game.plays.slice(0, game.attackStart);
	const ends = exchanges(before);
	let start = ends.length - 1;
	while (start > 0 && ends[start - 1]!.attack.outcome === PowerShotSoccerOutcome.STANDS) start--;
	return ends
		.slice(Math.max(0, start))
		.flatMap(({ attack, answer }) => (answer ? [attack, answer] : [attack]));
}

/** The total that a shot with the card would have now; undefined if the card is no shot. */
function shotTotal(
	game: PowerShotSoccerView,
	context: BoardProps["context"],
	card: string,
): number | undefined {
	const role = roleOf(context.catalog, card);
	const needs = role === "LONG_RANGE_SHOT" ? LONG_SHOT_NEEDS : SHOOT_NEEDS;
	if (!["SHOOT", "LONG_RANGE_SHOT", "STAR_PLAYER"].includes(role) || game.standing < needs)
		return undefined;
	const power = context.catalog.cards.get(card)?.numbers[0]?.value ?? 0;
	const before = game.plays
		.slice(game.attackStart)
		.filter((play) => play.seat === game.possession)
		.at(-1);
	const special = before && isSpecial(roleOf(context.catalog, `${before.card}`)) ? 2 : 0;
	return power + 2 * (game.standing - needs) + special;
}

/** The role of a card, as the name of its drawing. */
const outcomeOf = ({ catalog }: Context, outcome: PowerShotSoccerOutcome) =>
	outcome === 0
		? ""
		: catalog.words.word(`value.outcome.${PowerShotSoccerOutcome[outcome]!.toLowerCase()}`);

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
