// A game of a package in a real browser: the server is real, and what it says of this game is made up.
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { type Any, anyUnpack } from "@bufbuild/protobuf/wkt";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { CatalogService, MatchService, ReviewService } from "../../src/api/types";
import { MatchRecordSchema } from "../../src/gen/croupier/v1/match_pb";
import { event, registry, view, whist } from "../support/whist";
import { faultsAt } from "./layout";
import { chance, play, playWithMouse } from "./players";
import { audit, deal, openSite, verified, visit } from "./visitor";
import { frame } from "./wire";

const SEED = Number(process.env.SEED ?? Date.now() % 100_000);

const happened = [
	event({ dealt: { seat: 0, count: 13, cards: [1, 3] } }),
	event({ dealt: { seat: 1, count: 13 } }),
	event({ played: { seat: 1, card: 16 } }),
];

const record = create(MatchRecordSchema, {
	name: "matches/made1up",
	ruleset: whist().defaultRuleset,
	entries: happened.map((value, index) => ({
		version: index < 2 ? 1n : 2n,
		entry: { case: "event" as const, value },
	})),
});

const replayed = [1n, 2n].map((version) => ({
	version,
	endVersion: 2n,
	views: [
		view({ stockSize: 20 - Number(version) }, []),
		{ ...view({ handCards: [2, 4] }, []), seat: 1 },
	],
}));

/** Answers the calls about the made-up game; returns what was sent in them. */
async function answer(page: Page, language: "en" | "de") {
	const sent: Message[] = [];
	const game = whist(language);
	const answers: Record<string, () => Record<string, unknown> | Record<string, unknown>[]> = {
		ListGames: () => ({ games: [game] }),
		GetGame: () => ({ game }),
		CreateMatch: () => ({ name: "matches/made1up", seatTokens: [{ seat: 0, token: "t" }] }),
		GetView: () => ({ view: view() }),
		WatchMatch: () => [{ version: 7n, events: happened, view: view() }],
		ReplayMatch: () => replayed,
		GetRecord: () => ({ record }),
		SubmitAction: () => {
			const after = view({ handCards: [1, 3], ledCard: 16 }, []);
			after.deciders = [1];
			return { view: after };
		},
	};
	const methods = [...CatalogService.methods, ...MatchService.methods, ...ReviewService.methods];
	await page.route("**/croupier.v1.*/*", async (route) => {
		const call = new URL(route.request().url()).pathname.split("/").at(-1)!;
		const method = methods.find(({ name }) => name === call);
		const made = answers[call]?.();
		if (!method || !made) return route.continue();
		if (["CreateMatch", "SubmitAction"].includes(call))
			sent.push(fromBinary(method.input, new Uint8Array(route.request().postDataBuffer()!)));
		const write = (response: Record<string, unknown>) =>
			Buffer.from(toBinary(method.output, create(method.output, response)));
		if (!Array.isArray(made))
			return route.fulfill({ contentType: "application/proto", body: write(made) });
		const frames = made.map((response) => frame(write(response)));
		const stream = Buffer.concat([...frames, frame(Buffer.from("{}"), 2)]);
		return route.fulfill({ contentType: "application/connect+proto", body: stream });
	});
	return sent;
}

const unpacked = (any: unknown) => {
	const { $typeName, ...fields } = anyUnpack(any as Any, registry) as Message;
	return { $typeName, ...fields };
};

describe("a game of a package", () => {
	const site = openSite();

	it("covers nothing that is needed, at any size", async () => {
		const { page } = await visit(site.browser, site.url, { locale: "de-DE" });
		await answer(page, "de");
		await page.reload();
		await deal(page, "made_up_whist", { seat: "0" });
		await page.waitForSelector(".hand .card[data-can]");
		const found = await faultsAt(page, "start");
		await page.locator(".hand .card[aria-disabled=true]").first().focus();
		found.push(...(await faultsAt(page, "a card asked")));
		await page.click('.hand [data-key="card:17"]');
		await page.waitForFunction(() => document.querySelectorAll(".hand .card").length === 2);
		found.push(...(await faultsAt(page, "played")));
		expect(found).toEqual([]);
	});

	it.each([
		["en", "light", 1440, 900],
		["de", "dark", 390, 844],
	] as const)(
		"is drawn and played, %s, %s, %i wide",
		async (language, colorScheme, width, height) => {
			const { page } = await visit(site.browser, site.url, {
				locale: language === "de" ? "de-DE" : "en-US",
				viewport: { width, height },
				colorScheme,
			});
			const sent = await answer(page, language);
			await page.reload();
			await page.waitForSelector(".gametile .face");
			expect(await page.textContent(".gametile p")).toBe("Two players take tricks for the stock.");
			expect(await audit(page)).toEqual([]);
			await page.click("[data-testid=play-made_up_whist]");
			await page.fill(".option input[type=number]", "6");
			await deal(page, "made_up_whist", { seat: "0" });
			await page.waitForSelector(".hand .card[data-can]");
			expect(await page.locator(".hand .card").count()).toBe(13);
			expect(await page.locator(".hand .card[data-can]").count()).toBe(5);
			expect(await page.locator(".anyboard .heap").count()).toBeGreaterThan(2);
			expect(await audit(page)).toEqual([]);
			await page.click(".tabs button:nth-child(3)");
			// Its rules show how to read a card, and nobody has written a lesson for it.
			await page.waitForSelector(".anatomy .leaders circle", { state: "attached" });
			expect(await page.locator("[data-testid^=learn-]").count()).toBe(0);
			expect(await audit(page)).toEqual([]);
			await page.click('.hand [data-key="card:17"]');
			await page.waitForFunction(() => document.querySelectorAll(".hand .card").length === 2);
			const [created, submitted] = sent as unknown as [
				{ ruleset: { game: { value: unknown } } },
				{ action: { game: { value: unknown } } },
			];
			expect(unpacked(created.ruleset.game.value)).toEqual({
				$typeName: "acme.whist.v1.WhistRuleset",
				tricks: 6,
				openStock: false,
			});
			expect(unpacked(submitted.action.game.value)).toMatchObject({
				$typeName: "acme.whist.v1.WhistAction",
				action: { case: "play", value: { card: 17 } },
			});
		},
	);

	it("is drawn by the script of its package, if there is one", async () => {
		const { page } = await visit(site.browser, site.url);
		await answer(page, "en");
		await page.route("**/games/drawings.json", (route) =>
			route.fulfill({ json: ["made_up_whist"] }),
		);
		await page.route("**/games/made_up_whist/drawing.js", (route) =>
			route.fulfill({
				contentType: "text/javascript",
				body: `export default ({ h, titleOf }, game) => ({
					...game,
					blurb: () => "Drawn by hand.",
					Board: ({ view, context }) =>
						h("p", { id: "drawn" }, titleOf(context, String(game.read(view).ledCard)), " was led."),
				});`,
			}),
		);
		await page.reload();
		await page.waitForSelector("text=Drawn by hand.");
		await deal(page, "made_up_whist", { seat: "0" });
		await page.waitForSelector("#drawn");
		expect(await page.textContent("#drawn")).toBe("5 of Diamonds was led.");
		expect(await page.locator(".hand .card").count()).toBe(13);
		// What happened is told by its phrases, and its cards can be asked.
		await page.keyboard.press("s"); // To the newest: it may be told one after the other.
		await page.waitForSelector("[data-testid=told] :text('The bot plays 5 of Diamonds')");
		expect(await page.locator("[data-testid=told] .face").count()).toBeGreaterThan(0);
		await page.locator(".hand .card").first().hover();
		await page.waitForSelector("[data-testid=asked] .face");
		expect(await audit(page)).toEqual([]);
	});

	it("has its board and both hands in its replay", async () => {
		const { page } = await visit(site.browser, site.url);
		await answer(page, "en");
		await page.reload();
		await deal(page, "made_up_whist", { seat: "0" });
		await page.waitForSelector(".hand .card");
		await page.evaluate(() => {
			location.hash = "#/replay/made1up";
		});
		const at = async (stock: number) => {
			expect(await page.locator(".smallhand li").count()).toBe(13 + 2);
			expect(await page.textContent(".anyboard")).toContain(`Stock${stock} cards`);
		};
		await page.waitForSelector("[data-testid=replay] .anyboard");
		await at(18);
		expect(await page.textContent(".log")).toContain("The bot plays 5 of Diamonds");
		// What is told of the last turn takes the table with it.
		await page.click(".toldsteps [aria-label='One on']");
		await page.click(".toldsteps [aria-label='One back']");
		await page.waitForSelector(".board.past");
		await at(19);
		await page.click(".toldsteps [aria-label='Skip to the end']");
		await at(18);
		await page.click("[aria-label='First step']");
		expect(await page.textContent("[data-testid=replay] .prompt")).toContain("Step 1 of 2");
		await at(19);
		expect(await verified(page)).not.toContain("derived again");
		expect(await audit(page)).toEqual([]);
	});

	// Where these packages are installed, as `make games` does.
	it.each(["german_whist", "gin_rummy"])("plays a whole match of %s", async (game) => {
		const { page } = await visit(site.browser, site.url);
		await page.waitForSelector(".gametile .face");
		if ((await page.locator(`[data-testid=play-${game}]`).count()) === 0) {
			expect(process.env.GAMES ?? "", "the game is not in the lobby").not.toContain(game);
			return;
		}
		await deal(page, game, { seat: "0" });
		let clicks = 0;
		await playWithMouse(page, chance(SEED), async () => ++clicks > 6);
		await page.click(".tabs button:nth-child(2)");
		await page.click("[data-testid=askhint]");
		await page.waitForSelector(".shares tbody tr");
		await page.waitForSelector(".heat li");
		expect(await audit(page)).toEqual([]);
		await page.keyboard.press("p");
		await page.waitForSelector(".shares", { state: "detached" });
		await page.click(".tabs button:nth-child(1)");
		await play(page, chance(SEED));
		expect(await page.textContent("[data-testid=outcome]")).toMatch(/You win!|You lose\.|A draw\./);
		await page.click("text=Replay");
		await page.waitForSelector("[data-testid=replay] .anyboard");
		expect(await verified(page)).toMatch(/✓.*this browser kept/);
	});
});
