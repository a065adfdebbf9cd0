// What a game adds to the web app. Everything else is the same for all games.
import type { ComponentType } from "preact";
import type { Action, CatalogCard, Event, View } from "../api/types";
import type { Choice, Click, Key } from "../match/choices";
import type { Catalog } from "../state/catalog";

/** A line of the log. */
export interface Line {
	/** Who did it; not set if nobody did. */
	seat?: number;
	text: string;
	/** Whether it deserves to be seen, as a goal does. */
	strong?: boolean;
}

/** What texts about a match need to know. */
export interface Context {
	catalog: Catalog;
	/** The seat from which the table is seen; not set for a spectator. */
	me: number | undefined;
	view: View;
}

/** What can be clicked now, and what has been clicked. */
export interface Picker {
	clicks: readonly Click[];
	/** Whether a click on the key would continue the choice. */
	can(key: Key): boolean;
	/** How many times the key was chosen, or whether this one of several equal things was. */
	chosen(key: Key, instance?: number): boolean;
	/** The probability with which the hint plays on with the key; undefined without a hint. */
	share(key: Key): number | undefined;
	pick(key: Key, instance?: number): void;
}

export interface BoardProps {
	context: Context;
	view: View;
	/** Everything that has happened so far. */
	events: readonly Event[];
	picker: Picker;
	/** The seat at the bottom of the board. */
	near: number;
}

export interface CardProps {
	card: CatalogCard | undefined;
	catalog: Catalog;
	/** Whose card it is, where the games tell by colour. */
	side?: number;
	/** Whether there is little room: the drawing leaves out what the board shows elsewhere. */
	small?: boolean;
}

/** A button of the action bar for a key that is not on the board. */
export interface ButtonWords {
	label: string;
	primary?: boolean;
}

/** An option of the ruleset that the lobby offers. */
export interface LobbyOption {
	name: string;
	label(): string;
	kind: "boolean" | "number";
	value: number | boolean;
	min?: number;
	max?: number;
}

export interface GameModule {
	id: string;
	options: LobbyOption[];
	Board: ComponentType<BoardProps>;
	Card: ComponentType<CardProps>;
	/** The legal actions, as they are put together by clicks. */
	choices(view: View): Choice[];
	/** The cards that lie in front of the viewer, in the order in which they are drawn. */
	hand(view: View): { title: string; cards: string[]; note?: string }[];
	/** What to do next, in words. */
	prompt(view: View, clicks: readonly Click[], context: Context): string;
	/** The words on the button of a key such as "role:TACKLE"; undefined if it needs none. */
	button(key: Key, clicks: readonly Click[], context: Context): ButtonWords | undefined;
	/** The words on the button that completes the choice. */
	confirm(action: Action, context: Context): string;
	/** Whether the last click is enough, so that no button has to confirm it. */
	atOnce(clicks: readonly Click[]): boolean;
	describeAction(action: Action, context: Context): string;
	describeEvent(event: Event, context: Context): Line | undefined;
	/** How long an event deserves to be seen before the next one, in milliseconds. */
	pace(event: Event): number;
	/** The score of a seat as the players count it, and what it counts. */
	score(view: View, seat: number): { value: string; label: string } | undefined;
	/** The cards in a hand of the other seat, face down. */
	handSize(view: View, seat: number): number;
	/** What the search says about hidden cards: the ids of all cards that may be hidden. */
	hidden(view: View): string[];
}

/** The key of a card. */
export const cardKey = (card: string): Key => `card:${card}`;
export const cardOf = (key: Key) => key.slice("card:".length);

export const titleOf = (context: Context, card: string) =>
	context.catalog.cards.get(card)?.title ?? card;

/** The name of an enum value without the prefix that the compiler has already removed. */
export const nameOf = (names: Record<number, string>, value: number) => names[value] ?? "";
