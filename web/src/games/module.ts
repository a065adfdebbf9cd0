// What a game adds to the web app. Everything else is the same for all games.
import type { ComponentType } from "preact";
import {
	type Action,
	type CatalogCard,
	create,
	type Event,
	type Ruleset,
	RulesetSchema,
	type View,
} from "../api/types";
import { list, t } from "../i18n";
import type { Choice, Click, Key } from "../match/choices";
import type { Guide } from "../match/lesson";
import type { Catalog } from "../state/catalog";

/** A line of the log. */
export interface Line {
	/** Who did it; not set if nobody did. */
	seat?: number;
	/** What the seat is called, if the text would not fit "You". */
	name?: string;
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
	/** What the seat has decided, while the match waits for the other seat to decide as well. The view
	 * tells it to nobody, so it is not known any more after a reload. */
	sent?: Action;
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

/** Decisions of one kind that follow each other and are chosen together, such as the cards of a hand. */
export interface Series {
	/** How many of them are still to be made. */
	size: number;
	/** Whether the card may join those that were chosen, by the rules that the server keeps as well. */
	allows(chosen: readonly Key[], key: Key): boolean;
	/** The words on the button that confirms them all. */
	confirm: string;
	/** What to say while they are sent. */
	sending(left: number): string;
	/** What to say if one of them could not be made any more. */
	stopped: string;
}

/** What a card of the hand would do now, as a sign on it. */
export interface Mark {
	/** The name of a drawing. */
	glyph: string;
	label: string;
}

export type SeatColour = "red" | "blue" | "white" | "black";

/** A button of the action bar for a key that is not on the board. */
export interface ButtonWords {
	label: string;
	primary?: boolean;
}

/** An option of the ruleset that the lobby offers. */
export interface LobbyOption {
	name: string;
	label(): string;
	/** What the option changes, in a sentence. */
	note?(): string;
	kind: "boolean" | "number";
	value: number | boolean;
	min?: number;
	max?: number;
}

/** Numbers drawn from the chance of a match. */
export interface Draws {
	/** A number from 0 to n - 1. */
	below(n: number): number;
	/** Shuffles in place. */
	shuffle(cards: string[]): string[];
}

/** How the deal of a game is derived again from its chance: its cards in order, as words. */
export interface Deal {
	derive(draws: Draws, cards: readonly object[]): string[];
	/** The same, as the events of the deal tell it. */
	told(happened: readonly unknown[]): string[];
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
	/** The decisions that are chosen together now. */
	series?(view: View, context: Context): Series | undefined;
	/** Why a card of the hand cannot be chosen now; asked only if that is so. */
	why?(card: string, clicks: readonly Click[], context: Context): string | undefined;
	/** What a card of the hand would do now, if that is not to be seen from the card. */
	mark?(card: string, context: Context): Mark | undefined;
	/** The colours after which the seats are called, where they are called after colours. */
	seatColours?: readonly [SeatColour, SeatColour];
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
	/** The cards in a hand of the other seat, face down; undefined if the game does not say. */
	handSize(view: View, seat: number): number | undefined;
	/** A ruleset with these options. */
	ruleset?(options: Record<string, number | boolean>): Ruleset;
	/** The game's own message in a view, an action or an event, of a game without a field in the schema. */
	read?(outer: View | Action | Event): object | undefined;
	/** A line about the game in the lobby; otherwise it is the first sentence of the rules. */
	blurb?(): string;
	/** The cards on its picture in the lobby. */
	cover?: string[];
	/** The name of a place where hidden cards lie, if the web app has no word for it. */
	place?(name: string): string | undefined;
	/** The word for a theme of puzzles, if its name is none. */
	theme?(name: string): string | undefined;
	/** A view with what the other seat knew of its own side, for a replay; without it, the view as it is. */
	opened?(view: View, other: View): View;
	/** The lesson, and what the rules explain with pictures; without it there is no lesson. */
	guide?(): Promise<Guide>;
	/** How the deal is checked; without it only the hash of the secret is. */
	deal?: Deal;
}

/** `german_whist` as the name of its field in the schema's `oneof`s: `germanWhist`. */
const caseOf = (game: string) => game.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

/** A ruleset with options, of a game with a field of its own in the schema. */
export const rulesetOf = (game: string, value: object): Ruleset =>
	create(RulesetSchema, { game: { case: caseOf(game), value } as unknown as Ruleset["game"] });

/** A name of a schema as words: "opponent_hand" becomes "Opponent hand". */
export const spaced = (name: string) =>
	name.charAt(0).toUpperCase() + name.slice(1).toLowerCase().replace(/_/g, " ");

/** The key of a card. */
export const cardKey = (card: string): Key => `card:${card}`;
export const cardOf = (key: Key) => key.slice("card:".length);

/** What a card is drawn from, by its id. */
export const cardProps = (catalog: Catalog, card: string) => ({
	card: catalog.cards.get(card),
	catalog,
});

export const titleOf = (context: Context, card: string) =>
	context.catalog.cards.get(card)?.title ?? card;

/** The titles of cards; of those that are hidden, their number. */
export const titlesOf = (context: Context, cards: readonly string[], count = 0) =>
	cards.length > 0 ? list(cards.map((card) => titleOf(context, card))) : t().cards(count);

/** The name of an enum value without the prefix that the compiler has already removed. */
export const nameOf = (names: Record<number, string>, value: number) => names[value] ?? "";
