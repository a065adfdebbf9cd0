// What the phrases of the catalog say.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { EventSchema } from "../../src/api/types";
import { Words } from "../../src/games/words";
import { CardSchema, GameSchema } from "../../src/gen/croupier/v1/catalog_pb";
import { EndingSchema } from "../../src/gen/croupier/v1/game_pb";

const wordsWith = (phrases: Record<string, string>) =>
	new Words(
		create(GameSchema, {
			name: "games/castle_rampage",
			seatTitles: ["Weiß", "Schwarz"],
			cards: ["KNIGHT", "SPY"].map((id, at) =>
				create(CardSchema, { id, kind: "Einheit", title: ["Springer", "Spion"][at]! }),
			),
			phrases: {
				"word.and": "und",
				"word.card": "eine Karte",
				"word.cards": "{count} Karten",
				...phrases,
			},
		}),
	);

type Castle = Extract<
	NonNullable<MessageInitShape<typeof EventSchema>["event"]>,
	{ case: "castleRampage" }
>["value"];
const told = (phrases: Record<string, string>, value: Castle, me?: number) =>
	wordsWith(phrases).about(create(EventSchema, { event: { case: "castleRampage", value } }), {
		me,
		who: (seat) => (seat === me ? "du" : "der Bot"),
	});

describe("an event", () => {
	const discarded = (...cards: number[]): Castle => ({
		seat: 1,
		event: { case: "discarded", value: { cards, reason: 1 } },
	});
	const phrases = {
		"event.discarded": "{seat} {wirft|wirfst} {cards} ab",
		"event.discarded.reason=random": "Zufall",
		"event.discarded.cards=einheit": "Von {seat} abgeworfen: {cards.1}[ wegen {reason}]",
		"event.drawn": "{seat} {zieht|ziehst} {cards}",
		"event.strengthened": "{seat} {legt|legst} {card} hin[: {card}]",
	};

	it("begins with the seat that it is about, apart, in the words of its reader", () => {
		const { "event.discarded": phrase } = phrases;
		const text = "2 × Springer, Spion und Springer ab";
		const cards = [1, 1, 12, 1];
		const by = (me?: number) => told({ "event.discarded": phrase }, discarded(...cards), me);
		expect(by(0)).toEqual({ seat: 1, text: `wirft ${text}` });
		expect(by(1)).toEqual({ seat: 1, text: `wirfst ${text}` });
	});

	it("is said by the variant with most conditions that hold", () => {
		expect(told(phrases, discarded(1, 12))?.text).toBe(
			"Von der Bot abgeworfen: Spion wegen Payment",
		);
		expect(told(phrases, discarded())?.text).toBe("wirft no cards ab");
	});

	it("tells hidden cards by their number, and leaves out what says nothing", () => {
		const drawn: Castle = { seat: 0, event: { case: "drawn", value: { count: 3 } } };
		expect(told(phrases, drawn, 0)?.text).toBe("ziehst 3 Karten");
		const put = (card: number): Castle => ({
			seat: 0,
			event: { case: "strengthened", value: { card, structure: 1 } },
		});
		expect(told(phrases, put(0))?.text).toBe("legt eine Karte hin");
		expect(told(phrases, put(1))?.text).toBe("legt Springer hin: Springer");
	});

	it("compares numbers", () => {
		const revealed = (defence: number): Castle => ({
			seat: 0,
			event: { case: "revealed", value: { card: 1, structure: 1, defence, strength: 9 } },
		});
		const variants = {
			"event.revealed": "wenig",
			"event.revealed.defence=0": "nichts",
			"event.revealed.defence=9+": "viel",
			"event.revealed.strength=9+.defence=10": "genau",
		};
		const said = [0, 8, 9, 10, 11].map((each) => told(variants, revealed(each))?.text);
		expect(said).toEqual(["Nichts", "Wenig", "Viel", "Genau", "Viel"]);
	});
});

const ending = create(EndingSchema, {
	id: "king_captured",
	values: [
		{ field: "seat", value: { case: "seat", value: 1 } },
		{ field: "card", value: { case: "card", value: "KNIGHT" } },
		{ field: "attack", value: { case: "number", value: 0 } },
		{ field: "how", value: { case: "text", value: "8-6" } },
	],
	text: "Black's Knight captured the King with attack 0, 8-6.",
});

describe("what decided a match", () => {
	it("is said in the language of the catalog, with titles of seats and cards", () => {
		const phrase =
			"{card} von {seat} schlug den König mit Angriff {attack}, {how}. {seat} gewinnt.";
		expect(wordsWith({ "ending.king_captured": phrase }).ending(ending)).toBe(
			"Springer von Schwarz schlug den König mit Angriff 0, 8-6. Schwarz gewinnt.",
		);
	});

	it("is said in English where the catalog does not have the phrase, or another one", () => {
		expect(wordsWith({}).ending(ending)).toBe(ending.text);
		const other = wordsWith({ "ending.king_captured": "{card} schlug den König im Zug {turn}." });
		expect(other.ending(ending)).toBe(ending.text);
	});
});
