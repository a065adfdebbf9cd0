// Takes the pictures of the documentation into build/pictures: screens in both themes, and each card.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chance, playOn, playWithMouse } from "../browser/players";
import { type Server, startServer } from "../browser/server";
import { deal, launch, replay, verified, visit } from "../browser/visitor";

// Of each game, what makes a picture worth looking at: so many cards in hand, or on the board.
const ENOUGH = {
	champion_chess: ".hand .card ~ .card ~ .card",
	skystones: ".squares :has(> .tile) ~ :has(> .tile) ~ :has(> .tile)",
	powershot_soccer: ".hand .card ~ .card ~ .card ~ .card",
	castle_rampage: ".hand .card ~ .card ~ .card ~ .card",
} as const;
const GAMES = Object.keys(ENOUGH) as (keyof typeof ENOUGH)[];
const OUT = process.env.PICTURES ?? "../build/pictures";
const SEED = Number(process.env.SEED ?? 7);
// What a standalone drawing needs of its style sheet.
const STYLES = [
	"fill",
	"fill-opacity",
	"stroke",
	"stroke-width",
	"stroke-linecap",
	"stroke-linejoin",
	"stroke-dasharray",
	"opacity",
	"font-family",
	"font-size",
	"font-weight",
	"font-style",
	"letter-spacing",
	"text-anchor",
	"dominant-baseline",
	"paint-order",
];

// Together, since most of the time goes into waiting.
describe("pictures", { concurrent: true }, () => {
	let server: Server;
	let browser: Browser;
	beforeAll(async () => {
		rmSync(OUT, { recursive: true, force: true });
		mkdirSync(OUT, { recursive: true });
		[server, browser] = await Promise.all([startServer(), launch()]);
	});
	afterAll(async () => {
		await browser?.close();
		await server?.stop();
	});

	/** Takes a picture of the window, in both themes. */
	async function take(page: Page, name: string) {
		for (const colorScheme of ["light", "dark"] as const) {
			await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
			await page.mouse.move(0, 0);
			await page.screenshot({ path: join(OUT, `${name}-${colorScheme}.png`) });
		}
		await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
	}

	async function open(options: BrowserContextOptions = {}) {
		const { page } = await visit(browser, server.url, {
			viewport: { width: 1180, height: 760 },
			deviceScaleFactor: 1.5,
			colorScheme: "light",
			...options,
		});
		await page.waitForSelector(".gametile:last-child .face");
		return page;
	}

	const HIGH = { viewport: { width: 1180, height: 1040 } };
	const PHONE = { viewport: { width: 390, height: 800 }, deviceScaleFactor: 2 };

	/** A match in which there is something to see, and this seat has to choose and has begun nothing. */
	async function reach(game: keyof typeof ENOUGH, options: BrowserContextOptions): Promise<Page> {
		const page = await open(options);
		const begin = () => deal(page, game, { strength: "CASUAL", seat: "0" });
		await begin();
		const fresh = ".tablearea:not(:has(.chosen)):has([data-can]:not(:disabled))";
		await playOn(page, chance(SEED), begin, { shows: `${fresh} ${ENOUGH[game]}`, after: 8 });
		await page.evaluate(() => scrollTo(0, 0));
		return page;
	}

	it("of the lobby and of a new match", async () => {
		const page = await open({ viewport: { width: 1180, height: 1130 } });
		await take(page, "lobby");
		await page.setViewportSize({ width: 1180, height: 760 });
		await page.click("[data-testid=play-skystones]");
		await page.waitForSelector("dialog[open]");
		await take(page, "new-match");
	});

	it.each([
		...GAMES.map((game) => [game, `${game}-board`, HIGH] as const),
		["skystones", "phone", PHONE] as const,
	])("of a board of %s, %s", async (game, name, options) => {
		await take(await reach(game, options), name);
	});

	it.each([
		["hint", "skystones", { viewport: { width: 1180, height: 1130 } }] as const,
		// The light one is docs/table.png.
		[
			"table",
			"champion_chess",
			{ viewport: { width: 1200, height: 750 }, deviceScaleFactor: 1 },
		] as const,
	])("of a hint, %s", async (name, game, options) => {
		const page = await reach(game, options);
		await page.click(".tabs button:nth-child(2)");
		await page.click("[data-testid=askhint]");
		await page.waitForSelector(".hintpanel:has(.shares) [data-testid=askhint]:not(:disabled)");
		await take(page, name);
	});

	it("of an invitation", async () => {
		const host = await open();
		await deal(host, "champion_chess", { opponent: "friend", seat: "0" });
		await host.waitForSelector(".invite [data-testid=link]");
		await take(host, "invitation");
		const link = await host.inputValue(".invite [data-testid=link]");
		const { page: guest } = await visit(browser, link, PHONE);
		await guest.waitForSelector("[data-testid=join]");
		await take(guest, "join");
	});

	it("of a replay and of a verified deal", async () => {
		const page = await open();
		await deal(page, "skystones", { strength: "RANDOM", seat: "0" });
		await playWithMouse(page, chance(SEED));
		await take(page, "ending");
		await replay(page);
		await verified(page);
		await page.click("[aria-label='One step back']");
		await page.locator("[data-testid=verdict]").scrollIntoViewIfNeeded();
		await take(page, "replay");
	});

	it.each(GAMES)("of the cards of %s", async (game) => {
		const page = await open();
		await page.click(`[data-testid=rules-${game}]`);
		await page.waitForSelector(".gallery svg.face");
		const drawings = await page.evaluate((styles) => {
			return [...document.querySelectorAll<SVGElement>(".gallery svg.face")].map((drawn) => {
				const copy = drawn.cloneNode(true) as SVGElement;
				const parts = [drawn, ...drawn.querySelectorAll<SVGElement>("*")];
				const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
				parts.forEach((part, index) => {
					const computed = getComputedStyle(part);
					const before = part.parentElement && getComputedStyle(part.parentElement);
					for (const name of styles) {
						const value = computed.getPropertyValue(name);
						// What is inherited is said once. Opacity is not inherited.
						const same = part !== drawn && before?.getPropertyValue(name) === value;
						if (value && (name === "opacity" ? value !== "1" : !same))
							copies[index]!.setAttribute(name, value);
					}
					copies[index]!.removeAttribute("class");
				});
				copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
				return new XMLSerializer().serializeToString(copy);
			});
		}, STYLES);
		const names = await page
			.locator(".gallery li")
			.evaluateAll((all) => all.map((each) => (each as HTMLElement).dataset.card!));
		expect(drawings.length).toBe(names.length);
		mkdirSync(join(OUT, "cards", game), { recursive: true });
		names.forEach((name, index) => {
			writeFileSync(join(OUT, "cards", game, `${name}.svg`), drawings[index]!);
		});
	});
});
