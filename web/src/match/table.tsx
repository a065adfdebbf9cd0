// The table of a match, a puzzle or a replay: the seats, the board, the hand and the bar, with panels beside it.
import type { ComponentChildren, HTMLAttributes, RefObject } from "preact";
import { type Dispatch, type StateUpdater, useRef, useState } from "preact/hooks";
import { type Event, SeatPresence } from "../api/types";
import { Glyph } from "../cards/glyphs";
import { classOf } from "../games";
import { type Catalog, type Context, cardProps, type Picker } from "../games/module";
import { Rules } from "../games/rules";
import { playerOfSeat } from "../games/sentences";
import { t } from "../i18n";
import { calm } from "../state/settings";
import { Button } from "../ui/button";
import { useScrolled } from "../ui/scrolled";
import { AskButton, Asked, useAsked } from "./asked";
import { Clock } from "./clock";
import { useFlip } from "./flip";
import { Hands } from "./hand";
import type { Chooser } from "./picker";
import { type Passed, type Tale, Told } from "./told";

/** Of a table at which nothing can be clicked. */
export const NOTHING: Picker = {
	clicks: [],
	can: () => false,
	chosen: () => false,
	share: () => undefined,
	pick: () => undefined,
};

/** Something to read beside the table. */
export interface Panel<Name extends string> {
	name: Name;
	title: string;
	/** The drawing on its tab; with one it can be reached from the table, too, where it lies below that. */
	glyph?: string;
	show(): ComponentChildren;
}

/** The panel with the rules and the cards, of the ruleset of the match. */
export const rulesPanel = (catalog: Catalog): Panel<"rules"> => ({
	name: "rules",
	title: t().rules,
	glyph: "BOOK",
	show: () => <Rules catalog={catalog} />,
});

export function Table<Name extends string>(
	props: Omit<HTMLAttributes<HTMLDivElement>, "title"> & {
		root: RefObject<HTMLDivElement | null>;
		/** A class of the screen. */
		kind?: string;
		context: Context;
		events: readonly Event[];
		/** What happened since the viewer's last decision, where anything can have happened. */
		tale?: Tale;
		/** The seat at the bottom of the board. */
		near: number;
		/** What can be clicked on the board and in the hand; a table without it is only looked at. */
		chooser?: Chooser;
		/** The servers' clock minus ours; without it, the clocks stand as they did at this version. */
		offset?: number;
		/** Whether the other player is there, where that is told. */
		other?: SeatPresence;
		/** In place of the board, as long as there is none. */
		boardless?: ComponentChildren;
		/** The cards of each seat, where they are shown beside the players. */
		hands?: readonly (readonly string[])[];
		/** The bar below the board. */
		bar: ComponentChildren;
		/** Above the tabs, and below the panel. */
		head?: ComponentChildren;
		more: ComponentChildren;
		panels: readonly Panel<Name>[];
		/** The panel that is open: the first one, if none was chosen. */
		open: Name | undefined;
		setOpen: Dispatch<StateUpdater<Name | undefined>>;
		panelRef?: RefObject<HTMLElement | null>;
	},
) {
	const { root, kind = "", context: now, events: all, hands: held, ...others } = props;
	const { tale, near, chooser, offset, other, boardless, bar, head, more, ...further } = others;
	const { panels, open, setOpen, panelRef, children, ...rest } = further;
	// The table goes back with what is told of it, as far as the viewer was shown it then.
	const [back, setBack] = useState(false);
	const [step, look] = useState<Passed>();
	const past = back && step?.view ? step : undefined;
	const context = past ? { ...now, view: past.view!, sent: undefined } : now;
	const { view } = context;
	const { module: game } = context.catalog;
	const until = ({ version }: { version: bigint }) => !past || version <= past.version;
	const events = all.filter(until);
	const hands = past?.hands ?? held;
	// Of what has not happened there is no other present.
	const foretold = tale?.title !== undefined;
	const gone = past !== undefined && !foretold;
	useFlip(root, foretold && `${view.version}`);
	const side = useRef<HTMLElement>(null);
	const place = useScrolled<HTMLDivElement>();
	const current = panels.find(({ name }) => name === open) ?? panels[0]!;
	const asks = useAsked(root, context);
	const fresh = tale?.steps.filter(until).flatMap((step) => step.events) ?? [];
	const jumps = panels.filter(({ glyph }) => glyph);
	/** Whoever chooses a card of the hand is back in the present. */
	const pick: Chooser["pick"] = (...card) => {
		setBack(false);
		chooser?.pick(...card);
	};
	return (
		<div
			class={`match ${kind} ${asks.asking ? "asking" : ""} ${classOf(game.id)}`}
			ref={root}
			{...rest}
		>
			{children}
			<div class="tablearea">
				<div class="farside">
					<Player
						{...{ context, other }}
						offset={past ? undefined : offset}
						at={1 - near}
						cards={hands?.[1 - near]}
						far
					/>
					{tale && !boardless && <Told {...{ tale, back, setBack, look }} context={now} />}
				</div>
				{boardless || (
					<div
						class={`board ${gone ? "past" : ""}`}
						data-testid="board"
						data-shows={`${view.version}`}
						ref={place}
					>
						<game.Board
							{...{ context, view, events, fresh, near }}
							picker={past ? NOTHING : (chooser ?? NOTHING)}
						/>
						{gone && <p class="pastnote">{t().toldPast}</p>}
					</div>
				)}
				<Player {...{ context }} offset={past ? undefined : offset} at={near} cards={hands?.[near]}>
					<AskButton {...asks} />
					{jumps.length > 0 && (
						<div class="jump" role="group" aria-label={t().menu}>
							{jumps.map(({ name, title, glyph }) => (
								<Button
									key={name}
									aria-label={title}
									title={title}
									onClick={() => {
										setOpen(name);
										side.current?.scrollIntoView({ behavior: calm() ? "auto" : "smooth" });
									}}
								>
									<Glyph name={glyph!} />
								</Button>
							))}
						</div>
					)}
				</Player>
				{chooser && !boardless && (
					<Hands
						context={gone ? now : context}
						near={near}
						picker={gone ? { ...chooser, pick } : chooser}
					/>
				)}
				{bar}
			</div>
			<aside class="side" ref={side}>
				{head}
				{panels.length > 1 && (
					<div class="tabs" role="group" aria-label={t().menu}>
						{panels.map(({ name, title, glyph }) => (
							<Button
								key={name}
								class={name === current.name ? "current" : ""}
								aria-pressed={name === current.name}
								data-testid={`tab-${name}`}
								onClick={() => setOpen(name)}
							>
								{glyph && <Glyph name={glyph} />}
								{title}
							</Button>
						))}
					</div>
				)}
				<section class="panel" ref={panelRef} tabIndex={0} aria-label={current.title}>
					{current.show()}
				</section>
				<div class="more">{more}</div>
			</aside>
			{asks.asked && <Asked {...asks.asked} context={context} close={asks.close} />}
		</div>
	);
}

/** Whether the other player has the match open: a full or an empty circle, and a word where there is room. */
function There({ as, who }: { as: SeatPresence | undefined; who: string }) {
	const here = as === SeatPresence.HERE;
	const says = here ? t().isHere(who) : t().isAway(who);
	return (
		<span class={`there ${here ? "here" : ""}`} role="status" data-testid="there">
			{as ? (
				<span title={says}>
					<span class="label">{says}</span>
					<span class="word muted" aria-hidden="true">
						{here ? t().here : t().away}
					</span>
				</span>
			) : null}
		</span>
	);
}

/** A seat: who sits there, its score and its clock, and its cards if they are shown. */
function Player(props: {
	context: Context;
	offset: number | undefined;
	other?: SeatPresence;
	at: number;
	far?: boolean;
	cards?: readonly string[];
	children?: ComponentChildren;
}) {
	const { context, at, cards } = props;
	const { catalog, view, me } = context;
	const game = catalog.module;
	const started = view.game.case !== undefined;
	const score = started ? game.score(view, at) : undefined;
	const held = started && !cards ? game.handSize(view, at) : undefined;
	const who = playerOfSeat(context, at);
	const title = catalog.game.seatTitles[at];
	const place = cards ? "replayhand" : props.far ? "far" : "near";
	const colour = game.seatColours?.[at] ?? (cards && at === me ? "mine" : "");
	return (
		<section
			class={`player ${place} ${view.deciders.includes(at) ? "deciding" : ""}`}
			aria-label={`${title} ${who}`}
		>
			<span class={`seatmark ${colour}`} aria-hidden="true" />
			<span class="name">
				<b>{title}</b>
				{who && <bdi class="muted"> {who}</bdi>}
			</span>
			{props.far && me !== undefined && started && <There as={props.other} who={who} />}
			{held !== undefined && (
				<span class="held" title={t().handOf(held)}>
					<Glyph name="HAND" />
					<span aria-hidden="true">{held}</span>
					<span class="label"> {t().handOf(held)}</span>
				</span>
			)}
			{cards && (
				<ul class="smallhand">
					{cards.map((card, index) => (
						<li key={`${card}${index}`}>
							<game.Card {...cardProps(catalog, card)} side={at} />
						</li>
					))}
				</ul>
			)}
			<Clock view={view} seat={at} offset={props.offset} />
			{score && (
				<span class="score" title={score.label}>
					<span class="label">{score.label} </span>
					{score.value}
				</span>
			)}
			{props.children}
		</section>
	);
}
