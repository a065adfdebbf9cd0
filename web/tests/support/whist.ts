// A made-up game of whist for two as the catalog of a server would describe it, with a view of it.
import { readFileSync } from "node:fs";
import {
	create,
	createFileRegistry,
	type DescMessage,
	fromBinary,
	fromJson,
	type JsonObject,
} from "@bufbuild/protobuf";
import { type Any, anyPack, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import {
	type Action,
	ActionSchema,
	type Event,
	EventSchema,
	type Game,
	RulesetSchema,
	type View,
	ViewSchema,
} from "../../src/api/types";
import { CardSchema, GameSchema } from "../../src/gen/croupier/v1/catalog_pb";

const PACKAGE = "acme.whist.v1";
// scripts/web.sh compiles whist.proto.
const schema = readFileSync("src/gen/whist.binpb");

export const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, schema));
const descOf = (name: string) => registry.getMessage(`${PACKAGE}.Whist${name}`) as DescMessage;
const pack = (name: string, json: JsonObject): { case: "packaged"; value: Any } => ({
	case: "packaged",
	value: anyPack(descOf(name), fromJson(descOf(name), json)),
});

const SUITS = ["Clubs", "Diamonds", "Hearts", "Spades"];
const RANKS = ["2", "3", "4", "5", "6", "7", "8", "9", "10", "Jack", "Queen", "King", "Ace"];
const GLYPHS = [
	"M12 2a4 4 0 0 1 3 7 4 4 0 1 1-2 6l1 6h-4l1-6a4 4 0 1 1-2-6 4 4 0 0 1 3-7z",
	"M12 2l7 10-7 10-7-10z",
	"M12 21C5 15 3 12 3 8a4.500 4.500 0 0 1 9-1 4.500 4.500 0 0 1 9 1c0 4-2 7-9 13z",
	"M12 2c6 6 8 8 8 12a4 4 0 0 1-7 3l1 5h-4l1-5a4 4 0 0 1-7-3c0-4 2-6 8-12z",
];

const PHRASES = {
	en: {
		"action.play": "Play {card}",
		"event.dealt": "{seat} {gets|get} {cards}",
		"event.played": "{seat} {plays|play} {card}",
		"event.drawn": "{seat} {draws|draw} a card[: {card}]",
		"event.trick_won": "The trick goes to {winner}, in {suit}",
		"word.and": "and",
		"word.bot": "the bot",
		"word.card": "a card",
		"word.cards": "{count} cards",
		"view.hand_cards": "Your thirteen",
		"view.tricks_won": "Tricks",
		"view.turn_up_card": "Turned up",
		"view.led_card": "Led",
		"view.stock_size": "Stock",
		"view.leader_seat": "Led by",
		"view.taken_cards": "Taken",
		"view.last_stock": "The last cards of the stock",
		"view.trumps": "{trumps} are trumps",
	},
	de: {
		"action.play": "{card} spielen",
		"event.dealt": "{seat} {bekommt|bekommst} {cards}",
		"event.played": "{seat} {spielt|spielst} {card}",
		"word.card": "eine Karte",
		"view.hand_cards": "Deine dreizehn",
	},
} satisfies Record<string, Record<string, string>>;

/** The game as the catalog describes it. */
export const whist = (language: "en" | "de" = "en"): Game =>
	create(GameSchema, {
		name: "games/made_up_whist",
		title: "Made-up Whist",
		rules:
			"Two players take tricks for\nthe stock. The loser of a trick gets the next card.\n\nAces are high.",
		rulesVersion: 1,
		seatTitles: ["North", "South"],
		defaultRuleset: create(RulesetSchema, { game: pack("Ruleset", { tricks: 13, bonus: -2 }) }),
		cards: SUITS.flatMap((suit, s) =>
			RANKS.map((rank, r) =>
				create(CardSchema, {
					id: `${s * 13 + r}`,
					title: `${rank} of ${suit}`,
					kind: suit,
					copies: 1,
					numbers: [{ title: "Rank", value: r + 2 }],
					glyph: GLYPHS[s]!,
				}),
			),
		),
		languageCode: language,
		languageCodes: ["en", "de"],
		origin: "acme-whist 1.2",
		schema,
		phrases: PHRASES[language],
	});

export const action = (json: JsonObject): Action =>
	create(ActionSchema, { game: pack("Action", json) });

export const event = (json: JsonObject): Event =>
	create(EventSchema, { version: 1n, event: pack("Event", json) });

export const HAND = [1, 3, 8, 14, 17, 20, 22, 25, 30, 33, 38, 45, 51];

/** What North sees, who has to follow with a diamond. */
export const view = (more: JsonObject = {}, actions?: Action[]): View =>
	create(ViewSchema, {
		name: "matches/made1up",
		version: 7n,
		seat: 0,
		deciders: [0],
		ruleset: whist().defaultRuleset,
		players: [
			{ kind: { case: "open", value: {} } },
			{ kind: { case: "bot", value: { strength: "CASUAL" } } },
		],
		legalActions: actions ?? [14, 17, 20, 22, 25].map((card) => action({ play: { card } })),
		game: pack("View", {
			trumps: "SUIT_HEARTS",
			handCards: HAND,
			ledCard: 16,
			turnUpCard: 40,
			stockSize: 19,
			tricksWon: [2, 1],
			handSizes: [13, 12],
			leaderSeat: 1,
			lastStock: true,
			memory: "AAAA",
			takenCards: [0, 2, 4, 5, 6, 7],
			...more,
		}),
	});

/** The fields of the game's own ruleset in a message over all games. */
export const rulesetIn = (message: { game: { case?: string; value?: unknown } }) => {
	const any = message.game.value as Any;
	return { type: any.typeUrl.replace(/^.*\//, ""), bytes: [...any.value] };
};
