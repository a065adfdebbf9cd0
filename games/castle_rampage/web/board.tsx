// The board of Castle Rampage: two Gates and two Castles, and the last attack between them.
import type { Event } from "@app/api/types";
import { CardBack, counted } from "@app/cards/frame";
import { Glyph } from "@app/cards/glyphs";
import { type BoardProps, type Context, cardOf, cardProps, titleOf } from "@app/games/module";
import { Pile } from "@app/games/pile";
import { describeEvent, nameOfSeat } from "@app/games/sentences";
import {
	type CastleRampageAction,
	CastleRampageCard,
	type CastleRampageEvent,
	CastleRampageKnown,
	CastleRampagePhase,
	type CastleRampageSide,
	type CastleRampageStack,
	CastleRampageStructure,
	type CastleRampageView,
} from "@app/gen/croupier/v1/castle_rampage_pb";
import { t } from "@app/i18n";
import type { ComponentChildren } from "preact";
import { CastleCard, StandingCard } from "./card";
import { say } from "./texts";

export const idOf = (card: CastleRampageCard) => CastleRampageCard[card] ?? "";

const CLASHES = 3; // Of an attack, so many cards that it met last are drawn; the log has all.
const SHOWN = 12; // Cards of a stack that are drawn; beyond, only their number.

export function CastleBoard({ view, events, context, picker, near }: BoardProps) {
	const game = view.game.value as CastleRampageView;
	const options = view.ruleset?.game.case === "castleRampage" ? view.ruleset.game.value : undefined;
	const far = 1 - near;
	const settingUp = game.phase === CastleRampagePhase.SET_UP;
	const newest = strengthened(events);
	const fort = (seat: number) => ({ side: game.sides[seat]!, seat, context, newest });
	return (
		<div class={`castleboard ${settingUp ? "settingup" : ""}`}>
			<Fort {...fort(far)} />
			<div class="court">
				<div class="boardhead">
					<span>
						{settingUp
							? say().setUp(game.setUps + 1, options?.setUps ?? 2)
							: say().turn(game.turn, options?.turns ?? 200)}
					</span>
					<span class="piles">
						<span class="pilelabel">
							{say().draw} <b>{game.drawSize}</b>
						</span>
						<Pile title={say().discards} cards={game.discards.map(idOf)} context={context} />
					</span>
				</div>
				{settingUp ? (
					<SetUp
						context={context}
						picker={picker}
						hand={game.hand.map(idOf)}
						kept={game.kept}
						mine={context.me !== undefined && view.deciders.includes(near)}
					/>
				) : (
					<LastPlay events={events} context={context} near={near} />
				)}
			</div>
			<Fort {...fort(near)} own={picker} />
		</div>
	);
}

interface FortProps {
	side: CastleRampageSide;
	seat: number;
	context: Context;
	/** The structures that were strengthened last, as "0GATE". */
	newest: ReadonlySet<string>;
	/** What is chosen, of the near side. */
	own?: BoardProps["picker"];
}

function Fort(props: FortProps) {
	const { side, seat, context, own } = props;
	const inPlay = (["CATAPULT", "GRANARY"] as const).map((card) => {
		const count = card === "CATAPULT" ? side.catapults : side.granaries;
		if (count === 0) return null;
		const title = titleOf(context, card);
		return (
			<span
				key={card}
				class="inplay held"
				data-flip={`permanent${seat}${card}${count}`}
				title={title}
			>
				<Glyph name={card} label={title} /> {count}
			</span>
		);
	});
	return (
		<div class={`fort ${own ? "own" : "other"}`}>
			<Stack {...props} structure="CASTLE" stack={side.castle!}>
				{inPlay}
			</Stack>
			<Stack {...props} structure="GATE" stack={side.gate!} />
		</div>
	);
}

function Stack(
	props: FortProps & {
		structure: "GATE" | "CASTLE";
		stack: CastleRampageStack;
		children?: ComponentChildren;
	},
) {
	const { structure, stack, seat, context, own, newest } = props;
	const { standing } = stack;
	const title = context.catalog.words.word(`value.structure.${structure.toLowerCase()}`);
	// The top card, which is attacked next, lies last and hides none of its numbers.
	const shown = standing.slice(0, SHOWN).reverse();
	return (
		<section
			class={`stack ${standing.length === 0 ? "razed" : ""} ${own?.chosen(`to:${structure.toLowerCase()}`) ? "chosen" : ""}`}
			aria-label={`${context.catalog.game.seatTitles[seat]}, ${title}: ${t().cards(standing.length)}`}
		>
			<div class="stackhead">
				<h2>
					<Glyph name={structure} /> {title} <b>{standing.length}</b>
				</h2>
				{props.children}
				{stack.fallen.length > 0 && (
					<Pile title={say().fallen} cards={stack.fallen.map(idOf)} context={context} />
				)}
				{shown.length > 1 && <p class="ends">{say().topToBottom}</p>}
			</div>
			<div class="standingbox">
				<ol class="standing" ref={counted(shown.length)}>
					{shown.map((each, index) => {
						const seen =
							each.known === CastleRampageKnown.SHOWN
								? say().shown
								: each.known === CastleRampageKnown.SEEN
									? say().seen
									: "";
						// From the bottom, a card keeps its place while those above it fall.
						const place = standing.length - shown.length + index;
						const added = index === 0 && newest.has(`${seat}${structure}`);
						const top = index === shown.length - 1;
						return (
							<li
								key={place}
								title={[top && say().top, added && say().newest, seen].filter(Boolean).join(", ")}
								data-flip={`stack${seat}${structure}${place}`}
								class={`${seen ? "known" : ""} ${added ? "added" : ""} ${own ? "down" : ""}`}
							>
								{each.card ? (
									<StandingCard
										{...cardProps(context.catalog, idOf(each.card))}
										structure={structure}
										seen={seen !== ""}
									/>
								) : (
									<CardBack label={t().faceDown} />
								)}
								{seen && <Glyph name="EYE" class="seen" label={seen} />}
								{added && <span class="sr">{say().newest}</span>}
								{top && <b class="toptag">{say().topTag}</b>}
							</li>
						);
					})}
				</ol>
			</div>
		</section>
	);
}

/** The structures that were strengthened in this turn or in the one before. */
function strengthened(events: readonly Event[]): Set<string> {
	const found = new Set<string>();
	let turns = 0;
	for (let at = events.length - 1; at >= 0 && turns < 2; at--) {
		const { event } = events[at]!;
		if (event.case !== "castleRampage") continue;
		const { seat, event: what } = event.value as CastleRampageEvent;
		if (what.case === "turnStarted") turns++;
		if (what.case === "strengthened")
			found.add(seat + (what.value.structure === CastleRampageStructure.GATE ? "GATE" : "CASTLE"));
	}
	return found;
}

/** The cards of a set-up in the order of its places, as far as they are chosen or have been sent. */
function sharedOut(props: Parameters<typeof SetUp>[0]): string[] {
	const { context, picker, hand, mine } = props;
	const sent = (context.sent?.game.value as CastleRampageAction | undefined)?.action;
	if (sent?.case === "setUp") {
		const { gate, castle, keep } = sent.value;
		return [...gate, ...castle, keep].map(idOf);
	}
	const chosen = mine ? picker.clicks.map((click) => cardOf(click.key)) : [];
	if (chosen.length < hand.length - 1) return chosen;
	// The one that is left is kept.
	const left = [...hand];
	for (const card of chosen) left.splice(left.indexOf(card), 1);
	return [...chosen, ...left];
}

/** The five places of a set-up, filled in order. */
function SetUp(props: {
	context: Context;
	picker: BoardProps["picker"];
	hand: readonly string[];
	kept: CastleRampageCard;
	mine: boolean;
}) {
	const { context, kept, mine } = props;
	const chosen = sharedOut(props);
	return (
		<div class="setup">
			{context.me !== undefined && (
				<div class="setupbox">
					<ol class="fit spread" ref={counted(say().slots.length)}>
						{say().slots.map((slot, index) => (
							<li key={slot} class={mine && index === chosen.length ? "next" : ""}>
								<span class="slotname">{slot}</span>
								<span class="slotcard vacant">
									{chosen[index] && <CastleCard {...cardProps(context.catalog, chosen[index])} />}
								</span>
							</li>
						))}
					</ol>
				</div>
			)}
			{kept !== 0 && <p class="muted">{say().kept(titleOf(context, idOf(kept)))}</p>}
		</div>
	);
}

interface Clash {
	card: string;
	defence: number;
	strength: number;
	end: "" | "held" | "destroyed";
	/** How it ended, in words. */
	told: string;
}

/** The last card that was played, and what it met. */
function LastPlay(props: { events: readonly Event[]; context: Context; near: number }) {
	const { events, context, near } = props;
	let player: number | undefined;
	let card = "";
	let played = "";
	let attackerFell = false;
	const clashes: Clash[] = [];
	let from = events.length - 1;
	while (from >= 0 && !isPlayed(events[from]!)) from--;
	for (const each of from >= 0 ? events.slice(from) : []) {
		const { event } = each;
		if (event.case !== "castleRampage") continue;
		const told = describeEvent(each, context)?.text ?? "";
		const { seat, event: what } = event.value as CastleRampageEvent;
		if (what.case === "played") {
			player = seat;
			card = idOf(what.value.card);
			played = told;
		} else if (what.case === "revealed") {
			clashes.push({ ...what.value, card: idOf(what.value.card), end: "", told });
		} else if (what.case === "held" && clashes.length > 0) {
			Object.assign(clashes.at(-1)!, { end: "held", told });
			attackerFell = true;
		} else if (what.case === "destroyed") {
			const last = clashes.at(-1);
			if (last && last.end === "" && last.card === idOf(what.value.card)) {
				Object.assign(last, { end: "destroyed", told });
				attackerFell = last.defence === last.strength;
			} else if (clashes.length === 0 && what.value.structure !== 0) {
				const card = idOf(what.value.card);
				clashes.push({ card, defence: 0, strength: 0, end: "destroyed", told });
			}
		}
	}
	if (!card) return <div class="lastplay none" />;
	return (
		<div class={`lastplay ${player === near ? "mine" : "theirs"}`} key={`${from}`}>
			<span class={`mini ${attackerFell ? "fell" : ""}`} data-flip={`played${from}`}>
				<CastleCard {...cardProps(context.catalog, card)} />
			</span>
			<div class="clashes">
				<p>
					<b class={`who ${player === near ? "mine" : "theirs"}`}>
						{nameOfSeat(context, player ?? 0)}
					</b>{" "}
					{played}
				</p>
				<ol>
					{clashes.slice(-CLASHES).map((clash, index) => (
						<li key={index} class={clash.end} data-flip={`clash${from}.${index}`}>
							<span class="mini">
								<CastleCard {...cardProps(context.catalog, clash.card)} />
							</span>
							{clash.strength > 0 && (
								<span class="versus num">
									{clash.strength} : {clash.defence}
								</span>
							)}
							<Glyph name={clash.end === "held" ? "SHIELD" : "BLOCKED"} label={clash.told} />
						</li>
					))}
				</ol>
			</div>
		</div>
	);
}

const isPlayed = ({ event }: Event) =>
	event.case === "castleRampage" && (event.value as CastleRampageEvent).event.case === "played";
