// A game that nobody wrote a drawing for, of a schema that is made up here.

import { afterEach, describe, expect, it } from "vitest";
import { anyGame } from "../../src/games/any";
import { layoutOf } from "../../src/games/any/layout";
import { matching, nextKeys } from "../../src/games/choices";
import type { Context, GameModule } from "../../src/games/module";
import { inner, schemaOf } from "../../src/games/schema";
import { describeAction } from "../../src/games/sentences";
import { Words } from "../../src/games/words";
import { apart } from "../../src/match/hintpanel";
import { language } from "../../src/state/settings";
import { action, event, HAND, rulesetIn, view, whist } from "../support/whist";

const moduleFor = (each: "en" | "de" = "en") => anyGame(whist(each)) as GameModule;
const contextFor = (module: GameModule, seen = view()): Context => {
	const game = whist();
	const cards = new Map(game.cards.map((card) => [card.id, card]));
	return { catalog: { game, cards, words: new Words(game), module }, me: 0, view: seen };
};
const click = (...keys: string[]) => keys.map((key) => ({ key, instance: 0 }));

afterEach(() => {
	language.value = "en";
});

describe("a game without a drawing", () => {
	const module = moduleFor();
	const context = contextFor(module);

	it("has its hand in the hand, under its own name", () => {
		expect(module.hand(view())).toEqual([{ title: "Your thirteen", cards: HAND.map(String) }]);
		expect(moduleFor("de").hand(view())[0]?.title).toBe("Deine dreizehn");
	});

	it("plays a card that only one action names with one click", () => {
		const choices = module.choices(view());
		expect([...nextKeys(choices, []).keys()]).toEqual(
			[14, 17, 20, 22, 25].map((card) => `card:${card}`),
		);
		const { open, complete } = matching(choices, click("card:17"));
		expect([open.length, complete.length]).toEqual([1, 1]);
		expect(module.atOnce(click("card:17"))).toBe(true);
		expect(describeAction(complete[0]!.action, context)).toBe("Play 6 of Diamonds");
		expect(module.button("card:17", [], context)).toBeUndefined();
	});

	it("has buttons where a card leaves a choice, and for actions without cards", () => {
		const seen = view({}, [
			action({ play: { card: 14 } }),
			action({ exchange: { cards: [14] } }),
			action({ exchange: { cards: [14, 17] } }),
			action({ exchange: {} }),
			action({ pass: {} }),
		]);
		const choices = module.choices(seen);
		const now = contextFor(module, seen);
		const label = (key: string) => module.button(key, [], now)?.label;
		const first = [...nextKeys(choices, []).keys()];
		expect(first.slice(0, 2)).toEqual(["card:14", "card:17"]);
		expect(first.map(label)).toEqual([undefined, undefined, "Pass"]);
		// To exchange nothing is complete at once.
		expect(matching(choices, []).complete.map((each) => module.confirm(each.action, now))).toEqual([
			"Exchange",
		]);
		const second = [...nextKeys(choices, click("card:14")).keys()];
		expect(second.map(label).sort()).toEqual([
			"Exchange: 3 of Diamonds",
			"Play 3 of Diamonds",
			undefined,
		]);
		expect(module.atOnce(click("card:14", second.find((key) => key.startsWith("act:"))!))).toBe(
			true,
		);
		expect(module.atOnce(click("card:14", "card:17"))).toBe(false);
	});

	it("offers a card that lies nowhere as a button", () => {
		const seen = view({}, [action({ play: { card: 50 } }), action({ play: { card: 14 } })]);
		expect(module.button("card:50", [], contextFor(module, seen))?.label).toBe("King of Spades");
	});

	it("tells events by their phrases, and by the schema where there is none", () => {
		const told = (json: Parameters<typeof event>[0], of = whist()) =>
			new Words(of).about(event(json), { me: 0, who: (seat) => (seat ? "the bot" : "you") });
		expect(told({ played: { seat: 1, card: 16 } })).toEqual({
			seat: 1,
			text: "plays 5 of Diamonds",
		});
		expect(told({ played: { seat: 1 } })?.text).toBe("plays a card");
		expect(told({ dealt: { seat: 0, count: 13 } })?.text).toBe("get 13 cards");
		expect(told({ drawn: { seat: 0 } })?.text).toBe("draw a card");
		expect(told({ drawn: { seat: 0, card: 51 } })?.text).toBe("draw a card: Ace of Spades");
		expect(told({ dealt: { seat: 0, count: 2, cards: [0, 1] } })?.text).toBe(
			"get 2 of Clubs and 3 of Clubs",
		);
		expect(told({ trickWon: { winner: 1, suit: "SUIT_HEARTS" } })).toEqual({
			text: "The trick goes to the bot, in Hearts",
		});
		const german = whist("de");
		expect(told({ played: { seat: 0 } }, german)).toEqual({ seat: 0, text: "spielst eine Karte" });
		expect(told({ trickWon: { winner: 1, suit: "SUIT_HEARTS" } }, german)?.text).toBe(
			"Trick won: South, Hearts",
		);
	});

	it("lays out the view by seat", () => {
		const schema = schemaOf(whist())!;
		const words = new Words(whist());
		const lay = (me: number | undefined) =>
			layoutOf(words, inner(schema, schema.view, view().game)!, me);
		const { middle, sides, hand } = lay(0);
		// The tricks are the score, which stands beside the names.
		expect(sides).toEqual([[], []]);
		expect(middle).toEqual([
			{ kind: "sentence", text: "Hearts are trumps" },
			{ kind: "cards", name: "led_card", label: "Led", cards: [{ card: "16" }] },
			{ kind: "cards", name: "turn_up_card", label: "Turned up", cards: [{ card: "40" }] },
			{ kind: "pile", label: "Stock", count: 19 },
			{ kind: "figure", label: "Led by", value: "South", seat: 1 },
			{ kind: "flag", label: "The last cards of the stock" },
			expect.objectContaining({ kind: "cards", label: "Taken" }),
		]);
		expect(hand).toHaveLength(1);
		expect(lay(undefined).hand).toEqual([]);
	});

	it("leaves out what a game calls by an empty phrase", () => {
		const game = whist();
		const schema = schemaOf(game)!;
		const state = inner(schema, schema.view, view().game)!;
		game.phrases["view.led_card"] = "";
		const { middle } = layoutOf(new Words(game), state, 0);
		expect(middle.filter((each) => "name" in each && each.name === "led_card")).toEqual([]);
		expect(middle).toHaveLength(6);
	});

	it("fills a sentence for a field, wherever it would stand", () => {
		const game = whist();
		game.phrases = { ...game.phrases };
		const schema = schemaOf(game)!;
		const state = inner(schema, schema.view, view().game)!;
		for (const { name, message } of state.fields)
			if (!message) game.phrases[`view.${name}`] = `Lion {${name}}.`;
		game.phrases["view.hand_sizes"] = "Lions {hand_sizes.0} and {hand_sizes.1}";
		const { hand, sides, middle } = layoutOf(new Words(game), state, 0);
		expect(JSON.stringify([hand, sides, middle])).toContain("Lion");
		for (const each of [...hand, ...sides.flat(), ...middle])
			for (const said of Object.values(each))
				if (typeof said === "string") expect(said).not.toMatch(/[{}]/);
		expect((anyGame(game) as GameModule).score(view(), 0)).toBeUndefined();
	});

	it("leaves out what is hidden as a score, and says it on neither side", () => {
		const game = whist();
		game.phrases = { ...game.phrases, "view.tricks_won": "" };
		const own = anyGame(game) as GameModule;
		expect(own.score(view(), 0)).toBeUndefined();
		const schema = schemaOf(game)!;
		const { sides } = layoutOf(new Words(game), inner(schema, schema.view, view().game)!, 0);
		expect(sides).toEqual([[], []]);
	});

	it("calls what stands beside a card as the game calls it", () => {
		const state = inner(schemaOf(whist())!, schemaOf(whist())!.view, view().game)!;
		const called = ({ name }: { name: string }) => (name === "stock_size" ? "Talon" : undefined);
		const all = new Words(whist()).allOf(state, undefined, called);
		expect(all).toContain("Talon 19");
		expect(new Words(whist()).allOf(state)).toContain("stock size 19");
	});

	it("tells many equal beliefs once, and each that differs", () => {
		const cards = (probabilities: number[]) =>
			probabilities.map((probability, at) => ({ card: `${at}`, probability }));
		const { single, alike } = apart(cards([0.9, ...Array(20).fill(0.5), 0.1]));
		expect(single.map(({ probability }) => probability)).toEqual([0.9, 0.1]);
		expect(alike.map((some) => some.length)).toEqual([20]);
		expect(apart(cards([0.5, 0.5, 0.5])).alike).toEqual([]);
	});

	it("calls a suit as the catalog calls the kind of its cards", () => {
		const game = whist();
		for (const [at, card] of game.cards.entries()) {
			if (card.kind === "Hearts") Object.assign(card, { id: `HEARTS_${at}`, kind: "herz" });
		}
		const schema = schemaOf(game)!;
		const state = inner(schema, schema.view, view().game)!;
		const { middle } = layoutOf(new Words(game), state, 0);
		expect(middle[0]).toEqual({ kind: "sentence", text: "Herz are trumps" });
	});

	it("knows the score and the hands of both", () => {
		expect(module.score(view(), 1)).toMatchObject({ value: "1", label: "Tricks" });
		expect(module.handSize(view(), 1)).toBe(12);
	});

	it("offers the options of its ruleset, within the bounds of their rules", () => {
		const [tricks, open, bonus] = module.options;
		expect(tricks).toMatchObject({ kind: "number", value: 13, min: 1, max: 13 });
		expect(tricks!.label()).toBe("Tricks");
		expect(open).toMatchObject({ kind: "boolean", value: false, name: "open_stock" });
		expect(bonus).toMatchObject({ kind: "number", value: -2 });
		const standard = { tricks: 13, open_stock: false, bonus: -2 };
		expect(rulesetIn(module.ruleset!(standard))).toEqual({
			type: "acme.whist.v1.WhistRuleset",
			bytes: [],
		});
		expect(rulesetIn(module.ruleset!({ ...standard, tricks: 6, open_stock: true })).bytes).toEqual([
			0x08, 6, 0x10, 1,
		]);
	});

	it("is drawn as well if its messages are in our own schema, and not without any", () => {
		const own = whist();
		own.defaultRuleset = undefined;
		expect(anyGame(own)).toBeUndefined();
		own.name = "games/skystones";
		expect(anyGame(own)?.id).toBe("skystones");
	});
});
