// The board of Castle Rampage: two Gates and two Castles, and the last attack between them.
import type { Event } from "@app/api/types";
import { CardBack, counted } from "@app/cards/frame";
import { Glyph } from "@app/cards/glyphs";
import { type BoardProps, type Context, cardOf, cardProps, titleOf } from "@app/games/module";
import { Pile } from "@app/games/pile";
import { nameOfSeat } from "@app/games/sentences";
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

const SHOWN = 12; // Cards of a stack that are drawn; beyond, only their number.

export function CastleBoard({ view, fresh, context, picker, near }: BoardProps) {
	const game = view.game.value as CastleRampageView;
	const options = view.ruleset?.game.case === "castleRampage" ? view.ruleset.game.value : undefined;
	const far = 1 - near;
	const settingUp = game.phase === CastleRampagePhase.SET_UP;
	const newest = touched(fresh);
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
				{settingUp && (
					<SetUp
						context={context}
						picker={picker}
						hand={game.hand.map(idOf)}
						kept={game.kept}
						mine={context.me !== undefined && view.deciders.includes(near)}
					/>
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
	/** The structures that were strengthened or that held since the viewer's last decision, as
	 * "strengthened0GATE". */
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
			aria-label={`${nameOfSeat(context, seat)}, ${title}: ${t().cards(standing.length)}`}
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
						const top = index === shown.length - 1;
						const at = `${seat}${structure}`;
						const added = index === 0 && newest.has(`strengthened${at}`);
						const held = top && newest.has(`held${at}`);
						return (
							<li
								key={place}
								title={[top && say().top, added && say().newest, held && say().held, seen]
									.filter(Boolean)
									.join(", ")}
								data-flip={`stack${seat}${structure}${place}`}
								class={`${seen ? "known" : ""} ${added || held ? "added" : ""} ${own ? "down" : ""}`}
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

/** What was strengthened, and what has held. */
function touched(fresh: readonly Event[]): Set<string> {
	const found = new Set<string>();
	for (const { event } of fresh) {
		if (event.case !== "castleRampage") continue;
		const { seat, event: what } = event.value as CastleRampageEvent;
		if (what.case !== "strengthened" && what.case !== "held") continue;
		const gate = what.value.structure === CastleRampageStructure.GATE;
		found.add(`${what.case}${seat}${gate ? "GATE" : "CASTLE"}`);
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
