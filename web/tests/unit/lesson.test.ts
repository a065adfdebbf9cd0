// Which tip is due, and the cards of a match with a list of its own.
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { CatalogCard, Ruleset, View } from "../../src/api/types";
import { under } from "../../src/games/cardlist";
import { dueTip } from "../../src/games/lesson";
import type { Catalog, GameModule, Guide, Moment } from "../../src/games/module";
import { Words } from "../../src/games/words";
import { GameSchema } from "../../src/gen/croupier/v1/catalog_pb";

const tip = (when: boolean) => ({ when: () => when, anchor: ".hand" });
const guide = {
	tips: { first: tip(false), second: tip(true), third: tip(true), end: tip(false) },
} as unknown as Guide;
const now = { view: {} as View } as Moment;

describe("the tip that is due", () => {
	it("is the first that matters and was not seen", () => {
		expect(dueTip(guide, [], now)).toBe("second");
		expect(dueTip(guide, ["second"], now)).toBe("third");
		expect(dueTip(guide, ["second", "third"], now)).toBeUndefined();
	});

	it("stays until it was seen, even if another one matters more", () => {
		expect(dueTip(guide, [], now, "third")).toBe("third");
		expect(dueTip(guide, ["third"], now, "third")).toBe("second");
	});

	it("is the last one when the match is over, once", () => {
		const over = { view: { result: {} } as View } as Moment;
		expect(dueTip(guide, [], over, "second")).toBe("end");
		expect(dueTip(guide, ["end"], over)).toBeUndefined();
	});
});

describe("a card list of its own", () => {
	const ruleset = (...powers: number[]) =>
		({
			game: { case: "powershotSoccer", value: { cards: powers.map((power) => ({ power })) } },
		}) as unknown as Ruleset;
	const cards = [1, 2, 3].map((power, index) => ({ id: `${index}`, title: `Pass ${power}` }));
	const game = Object.assign(create(GameSchema, { name: "games/powershot_soccer" }), {
		cards: cards as CatalogCard[],
		defaultRuleset: ruleset(1, 2, 3),
	});
	const catalog: Catalog = {
		game,
		words: new Words(game),
		cards: new Map(cards.map((card) => [card.id, card as CatalogCard])),
		module: {} as GameModule,
	};

	it("names its cards by their places in it", () => {
		const shorter = under(catalog, ruleset(1, 3));
		expect(shorter.cards.get("1")?.title).toBe("Pass 3");
		expect(shorter.game.cards.length).toBe(2);
		expect(shorter.game.defaultRuleset).toMatchObject(ruleset(1, 3));
		expect(under(catalog, ruleset(1, 3))).toBe(shorter);
	});

	it("is the catalog's where it is the usual one or not given", () => {
		expect(under(catalog, ruleset(1, 2, 3))).toBe(catalog);
		expect(under(catalog, ruleset())).toBe(catalog);
		expect(under(catalog, undefined)).toBe(catalog);
	});
});
