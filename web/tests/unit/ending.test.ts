import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { Context } from "../../src/games/module";
import { CardSchema, GameSchema } from "../../src/gen/croupier/v1/catalog_pb";
import { EndingSchema } from "../../src/gen/croupier/v1/game_pb";
import { sentence } from "../../src/match/ending";
import type { Catalog } from "../../src/state/catalog";

const contextWith = (phrases: Record<string, string>): Context => {
	const game = create(GameSchema, { seatTitles: ["Weiß", "Schwarz"], phrases });
	const cards = new Map([["KNIGHT", create(CardSchema, { id: "KNIGHT", title: "Springer" })]]);
	return { catalog: { game, cards } as Catalog } as Context;
};

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
		expect(sentence(contextWith({ "ending.king_captured": phrase }), ending)).toBe(
			"Springer von Schwarz schlug den König mit Angriff 0, 8-6. Schwarz gewinnt.",
		);
	});

	it("is said in English where the catalog does not have the phrase, or another one", () => {
		expect(sentence(contextWith({}), ending)).toBe(ending.text);
		const other = contextWith({ "ending.king_captured": "{card} schlug den König im Zug {turn}." });
		expect(sentence(other, ending)).toBe(ending.text);
	});
});
