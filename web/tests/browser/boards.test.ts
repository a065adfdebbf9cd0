// What is needed lies under nothing: the browser is asked which element is on top, on screens of all sizes.
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { faultsAt } from "./layout";
import { chance, GAMES, play, playOn } from "./players";
import { audit, deal, openSite, visit } from "./visitor";

const LONG = Boolean(process.env.TEST_LONG); // Both languages and both themes of each game.
const SEED = Number(process.env.SEED ?? 7);

describe(`boards (SEED=${SEED})`, () => {
	const site = openSite();

	/** The faults at all sizes, each with where it was found. */
	async function look(page: Page, when: string): Promise<string[]> {
		const all: string[] = [];
		for (const colorScheme of LONG ? (["light", "dark"] as const) : (["light"] as const)) {
			await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
			all.push(...(await faultsAt(page, `${when}, ${colorScheme}`)));
			all.push(...(await audit(page)).map((each) => `${when}, ${colorScheme}: ${each}`));
		}
		return all;
	}

	const all = GAMES.flatMap((game) => (LONG ? ["de", "en"] : ["de"]).map((each) => [game, each]));
	it.each(all)("of %s cover nothing that is needed, %s", async (game, language) => {
		const { page } = await visit(site.browser, site.url, {
			locale: language,
			viewport: { width: 1440, height: 900 },
		});
		const free = ".tablearea:not(:has(.chosen)) .hand .card[data-can]";
		const random = chance(SEED);
		const begin = async () => {
			await deal(page, game, { strength: "RANDOM", seat: "0" });
			await page.waitForSelector(free);
		};
		await begin();
		const found = await look(page, "start");
		// What is begun stays, whatever the other seat does meanwhile.
		for (let after = 12; (await page.locator(".hand .chosen").count()) === 0; after = 0) {
			await playOn(page, random, begin, { shows: free, after });
			await page.evaluate(
				(free) => [...document.querySelectorAll<HTMLElement>(free)].at(-1)?.click(),
				free,
			);
		}
		found.push(...(await look(page, "a card chosen")));
		await page.keyboard.press("Backspace");
		found.push(...(await look(page, "middle")));
		// There may be nothing to choose from the hand yet, such as at the end of a turn.
		await playOn(page, random, begin, { shows: free });
		await page.keyboard.press("h");
		await page.waitForSelector(".hintpanel .shares");
		found.push(...(await look(page, "hint")));
		await page.click(".tabs button:nth-child(1)");
		await play(page, random);
		found.push(...(await look(page, "end")));
		expect(found).toEqual([]);
	});

	it("show the end of an attack that is as long as few are", async () => {
		const { page } = await visit(site.browser, site.url, { locale: "de-DE" });
		const random = chance(SEED);
		const begin = () => deal(page, "powershot_soccer", { strength: "RANDOM", seat: "0" });
		await begin();
		const free = ".match:has(.exchange) .hand .card[data-can]:not(:disabled)";
		while ((await page.locator(".hand .chosen").count()) === 0) {
			await playOn(page, random, begin, { shows: free });
			await page.evaluate((free) => document.querySelector<HTMLElement>(free)?.click(), free);
		}
		await page.$eval(".exchanges", (list) => {
			while (list.children.length < 16) list.append(list.lastElementChild!.cloneNode(true));
			document.styleSheets[0]!.insertRule(".exchanges { --n: 16 !important }"); // Also drawn again.
		});
		expect(await faultsAt(page, "a long attack")).toEqual([]);
	});
});
