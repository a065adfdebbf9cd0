// What the phrases of the catalog say.
import { create, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import given from "../../../tests/croupier/phrases.json";
import {
	ActionSchema,
	AspectUnit,
	EventSchema,
	ExpectedActionSchema,
	HintSchema,
	ReasonSchema,
} from "../../src/api/types";
import { Words } from "../../src/games/words";
import { CastleRampageEventSchema } from "../../src/gen/croupier/v1/castle_rampage_pb";
import { CardSchema, GameSchema } from "../../src/gen/croupier/v1/catalog_pb";
import { EndingSchema } from "../../src/gen/croupier/v1/game_pb";

const wordsWith = (phrases: Record<string, string>) =>
	new Words(
		create(GameSchema, {
			name: "games/castle_rampage",
			seatTitles: ["Weiß", "Schwarz"],
			cards: Object.entries(given.cards).map(([id, title]) =>
				create(CardSchema, { id, kind: "Einheit", title }),
			),
			phrases,
		}),
	);

const cases = given.cases as unknown as [JsonObject, number | null, number | null, string][];

describe("an event", () => {
	it.each(cases)("%j is said to %s", (json, me, seat, text) => {
		const value = fromJson(CastleRampageEventSchema, json);
		const event = create(EventSchema, { event: { case: "castleRampage", value } });
		const reader = { me: me ?? undefined, who: (each: number) => (each === me ? "du" : "der Bot") };
		const told = wordsWith(given.phrases).about(event, reader);
		expect([told?.seat ?? null, told?.text]).toEqual([seat, text]);
	});
});

describe("a reason", () => {
	it.each(given.reasons as unknown as [JsonObject, string][])("%j is said", (json, text) => {
		const game = create(GameSchema, {
			name: "games/castle_rampage",
			phrases: given.phrases,
			aspects: [
				{ id: "goal", unit: AspectUnit.CHANCE },
				{ id: "chips", unit: AspectUnit.AMOUNT },
			],
		});
		const reason = fromJson(ReasonSchema, json);
		reason.otherAction = create(ActionSchema);
		const hint = create(HintSchema, { seat: 1, reasons: [reason], actions: [{}] });
		const words = new Words(game);
		expect(words.why(hint, () => "X")).toEqual([text]);
		const action = create(ActionSchema);
		hint.actions[0]!.line = [1, 0].map((seat) => create(ExpectedActionSchema, { seat, action }));
		expect(words.why(hint, () => "X")).toEqual([text, "Die Antwort: X"]);
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
	it("is said in the language of the catalog, with titles of cards, and seats as readers call them", () => {
		const phrase = "{seat} {hat|hast} den König mit {card} geschlagen, Angriff {attack}, {how}.";
		const words = wordsWith({ "ending.king_captured": phrase });
		const rest = "den König mit Springer geschlagen, Angriff 0, 8-6.";
		expect(words.ending(ending)).toBe(`Schwarz hat ${rest}`);
		expect(words.ending(ending, { me: 1, who: () => "du" })).toBe(`Du hast ${rest}`);
		expect(words.ending(ending, { me: 0, who: () => "der Bot" })).toBe(`Der Bot hat ${rest}`);
	});

	it("is said in English where the catalog does not have the phrase, or another one", () => {
		expect(wordsWith({}).ending(ending)).toBe(ending.text);
		const other = wordsWith({ "ending.king_captured": "{card} schlug den König im Zug {turn}." });
		expect(other.ending(ending)).toBe(ending.text);
	});
});
