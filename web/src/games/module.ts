// What a game adds to the web app. Everything else is the same for all games.
import type { ComponentType } from "preact";
import {
	type Action,
	type CatalogCard,
	create,
	type Event,
	type Game,
	type Ruleset,
	RulesetSchema,
	type View,
} from "../api/types";
import type { Choice, Click, Key } from "./choices";
import type { Words } from "./words";

/** A game as the server describes it, in the visitor's language. */
export interface Catalog {
	game: Game;
	/** The cards by id. */
	cards: Map<string, CatalogCard>;
	/** What is said in the game. */
	words: Words;
	/** What draws the game. */
	module: GameModule;
}

/** A line of the log. */
export interface Line {
	/** Who did it; not set if nobody did. */
	seat?: number;
	text: string;
	/** The cards that it names: ids of the catalog. */
	cards: readonly string[];
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
	/** Those since the viewer's last decision, which are to be found on the board at a glance. */
	fresh: readonly Event[];
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
	/** The key of the card of one of them. */
	keyOf(action: Action): Key;
	/** What to say while the server keeps those that are not due yet. */
	waiting(left: number): string;
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
	/** Whether an event deserves to be seen in the log, as a goal does. */
	strong?(event: Event): boolean;
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
	/** Phrases that depend on the ruleset of a match. */
	phrases?(ruleset: Ruleset): Record<string, string>;
	/** The word for a theme of puzzles, if its name is none. */
	theme?(name: string): string | undefined;
	/** A view with what the other seat knew of its own side, for a replay; without it, the view as it is. */
	opened?(view: View, other: View): View;
	/** The lesson, and what the rules explain with pictures; without it there is no lesson. */
	guide?(): Promise<Guide>;
	/** How the deal is checked; without it only the hash of the secret is. */
	deal?: Deal;
}

/** What a tip may depend on. */
export interface Moment {
	view: View;
	/** Everything that has happened so far. */
	events: readonly Event[];
	/** What the player has clicked for the present decision. */
	clicks: readonly Click[];
	context: Context;
	/** The player's seat. */
	me: number;
}

export interface Tip {
	/** Whether the tip matters now. */
	when(now: Moment): boolean;
	/** A CSS selector, within the match, of what the tip is about. */
	anchor: string | ((now: Moment) => string);
}

/** At most about 40 words. */
export type TipText = string | ((now: Moment) => string);

/** A part of a card, for the picture that explains it. */
export interface Part {
	/** A CSS selector within the drawing. */
	at: string;
	/** The index of the number of the catalog that stands there, if one does. */
	number?: number;
}

/** Whether a card is the one that is explained. */
export type IsCard = (card: CatalogCard, catalog: Catalog) => boolean;

/** A term as the rules first use it, what it means, and its own form if that is another. */
export type Term = readonly [word: string, meaning: string, head?: string];

export interface Guide {
	/** The ruleset of the lesson; otherwise it is the game's own. */
	ruleset?(standard: Ruleset): Ruleset;
	/** The tips by id, the most urgent first. The one called `end` says what decided the match. */
	tips: Record<string, Tip>;
	words: Record<"en" | "de", Record<string, TipText>>;
	/** The cards that are drawn large to explain them, with their parts by name. */
	anatomy: { is: IsCard; parts: Record<string, Part> }[];
	parts: Record<"en" | "de", Record<string, string>>;
	terms: Record<"en" | "de", readonly Term[]>;
}

/** `german_whist` as the name of its field in the schema's `oneof`s: `germanWhist`. */
const caseOf = (game: string) => game.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

/** A ruleset with options, of a game with a field of its own in the schema. */
export const rulesetOf = (game: string, value: object): Ruleset =>
	create(RulesetSchema, { game: { case: caseOf(game), value } as unknown as Ruleset["game"] });

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

/** The name of an enum value without the prefix that the compiler has already removed. */
export const nameOf = (names: Record<number, string>, value: number) => names[value] ?? "";
