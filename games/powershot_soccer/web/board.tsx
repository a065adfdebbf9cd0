// The pitch of PowerShot Soccer: the ball moves towards the goal as cards stand.
import type { Event } from "@app/api/types";
import { counted } from "@app/cards/frame";
import { Glyph, GlyphAt } from "@app/cards/glyphs";
import { type BoardProps, type Context, cardOf, cardProps } from "@app/games/module";
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
import { isSpecial, roleOf, SoccerCard } from "./card";
import { say } from "./texts";

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

const outcomeOf = ({ catalog }: Context, outcome: PowerShotSoccerOutcome) =>
	outcome === 0
		? ""
		: catalog.words.word(`value.outcome.${PowerShotSoccerOutcome[outcome]!.toLowerCase()}`);
