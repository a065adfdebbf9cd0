// A made-up game of whist for two as the catalog of a server would describe it, with a view of it.
import {
	create,
	createFileRegistry,
	type DescMessage,
	fromJson,
	type JsonObject,
	toBinary,
} from "@bufbuild/protobuf";
import {
	type Any,
	anyPack,
	type DescriptorProto,
	DescriptorProtoSchema,
	type FieldDescriptorProto,
	FieldDescriptorProto_Label,
	FieldDescriptorProto_Type,
	FieldDescriptorProtoSchema,
	FieldOptionsSchema,
	FileDescriptorProtoSchema,
	type FileDescriptorSet,
	FileDescriptorSetSchema,
	file_google_protobuf_descriptor,
} from "@bufbuild/protobuf/wkt";
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
const KINDS = FieldDescriptorProto_Type;
const TYPES: Record<string, number> = {
	bool: KINDS.BOOL,
	bytes: KINDS.BYTES,
	uint32: KINDS.UINT32,
	int32: KINDS.INT32,
};

/** A field from a line such as "repeated uint32 cards". */
function field(line: string, number: number, more: object): FieldDescriptorProto {
	const words = line.split(" ");
	const name = words.pop()!;
	const kind = words.pop()!;
	const optional = words.includes("optional");
	return create(FieldDescriptorProtoSchema, {
		name,
		jsonName: name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase()),
		number,
		label: words.includes("repeated")
			? FieldDescriptorProto_Label.REPEATED
			: FieldDescriptorProto_Label.OPTIONAL,
		type: TYPES[kind] ?? (kind === "Suit" ? KINDS.ENUM : KINDS.MESSAGE),
		typeName: TYPES[kind] ? "" : `.${PACKAGE}.${kind}`,
		proto3Optional: optional,
		...more,
	});
}

/** A message from the lines of its fields; those after "oneof NAME" belong to one. */
function message(name: string, ...lines: string[]): DescriptorProto {
	const made = create(DescriptorProtoSchema, { name });
	let choice = false;
	for (const line of lines) {
		if (line.startsWith("oneof ")) {
			choice = true;
			made.oneofDecl.push({
				$typeName: "google.protobuf.OneofDescriptorProto",
				name: line.slice(6),
			});
			continue;
		}
		const optional = line.startsWith("optional ");
		if (optional)
			made.oneofDecl.push({
				$typeName: "google.protobuf.OneofDescriptorProto",
				name: `_${line.split(" ").at(-1)}`,
			});
		const more = choice
			? { oneofIndex: 0 }
			: optional
				? { oneofIndex: made.oneofDecl.length - 1 }
				: {};
		made.field.push(field(line, made.field.length + 1, more));
	}
	return made;
}

/** From 1 to 13, as the rules of buf.validate say it: FieldRules.uint32 = {gte: 1, lte: 13}. */
const BOUNDS = Uint8Array.from([0x2a, 0x04, 0x28, 0x01, 0x18, 0x0d]);

const rules = create(FileDescriptorProtoSchema, {
	name: "buf/validate/validate.proto",
	package: "buf.validate",
	syntax: "proto3",
	dependency: ["google/protobuf/descriptor.proto"],
	messageType: [
		{
			name: "FieldRules",
			oneofDecl: [{ name: "type" }],
			field: [
				{
					name: "uint32",
					number: 5,
					type: KINDS.MESSAGE,
					label: FieldDescriptorProto_Label.OPTIONAL,
					typeName: ".buf.validate.UInt32Rules",
					oneofIndex: 0,
				},
			],
		},
		{
			name: "UInt32Rules",
			oneofDecl: [{ name: "less_than" }, { name: "greater_than" }],
			field: (["lt", "lte", "gt", "gte"] as const).map((name, index) => ({
				name,
				number: index + 2,
				type: KINDS.UINT32,
				label: FieldDescriptorProto_Label.OPTIONAL,
				oneofIndex: index < 2 ? 0 : 1,
			})),
		},
	],
	extension: [
		{
			name: "field",
			number: 1159,
			type: KINDS.MESSAGE,
			label: FieldDescriptorProto_Label.OPTIONAL,
			typeName: ".buf.validate.FieldRules",
			extendee: ".google.protobuf.FieldOptions",
			proto3Optional: false,
		},
	],
});

const ruleset = message("WhistRuleset", "uint32 tricks", "bool open_stock", "optional int32 bonus");
ruleset.field[0]!.options = create(FieldOptionsSchema, {});
ruleset.field[0]!.options.$unknown = [
	{ no: 1159, wireType: 2, data: Uint8Array.from([BOUNDS.length, ...BOUNDS]) },
];

export const schema: FileDescriptorSet = create(FileDescriptorSetSchema, {
	file: [
		file_google_protobuf_descriptor.proto,
		rules,
		create(FileDescriptorProtoSchema, {
			name: "acme/whist/v1/whist.proto",
			package: PACKAGE,
			syntax: "proto3",
			dependency: ["buf/validate/validate.proto"],
			enumType: [
				{
					name: "Suit",
					value: ["UNSPECIFIED", "CLUBS", "DIAMONDS", "HEARTS", "SPADES"].map((name, number) => ({
						name: `SUIT_${name}`,
						number,
					})),
				},
			],
			messageType: [
				ruleset,
				message("Play", "uint32 card"),
				message("Exchange", "repeated uint32 cards"),
				message("Pass"),
				message("WhistAction", "oneof action", "Play play", "Exchange exchange", "Pass pass"),
				message("Dealt", "uint32 seat", "uint32 count", "repeated uint32 cards"),
				message("Played", "uint32 seat", "optional uint32 card"),
				message("Drawn", "uint32 seat", "optional uint32 card"),
				message("TrickWon", "uint32 winner", "Suit suit"),
				message(
					"WhistEvent",
					"oneof event",
					"Dealt dealt",
					"Played played",
					"TrickWon trick_won",
					"Drawn drawn",
				),
				message(
					"WhistView",
					"Suit trumps",
					"repeated uint32 hand_cards",
					"optional uint32 led_card",
					"optional uint32 turn_up_card",
					"uint32 stock_size",
					"repeated uint32 tricks_won",
					"repeated uint32 hand_sizes",
					"uint32 leader_seat",
					"bool last_stock",
					"bytes memory",
					"repeated uint32 taken_cards",
				),
			],
		}),
	],
});

const registry = createFileRegistry(schema);
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
		"event.dealt": "{seat} gets {cards}",
		"event.played": "{seat} plays {card}",
		"event.drawn": "{seat} draws a card: {card}",
		"event.trick_won": "The trick goes to {winner}, in {suit}",
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
		"event.dealt": "{seat} bekommt {cards}",
		"event.played": "{seat} spielt {card}",
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
		schema: toBinary(FileDescriptorSetSchema, schema),
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
