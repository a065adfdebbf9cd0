// The web app in a real browser against a real server.
import { describe, expect, it } from "vitest";
import { chance, GAMES, playWithKeys, playWithMouse, READY } from "./players";
import {
	audit,
	CONFIRM_CHAMPION,
	deal,
	openSite,
	replay,
	tabTo,
	tokensOf,
	verified,
	version,
	visit,
	waitForVersionAfter,
} from "./visitor";

const SHORT = process.env.SHORT === "1"; // One whole match of a game instead of all.
const SEED = Number(process.env.SEED ?? Date.now() % 100_000);

describe(`the web app (SEED=${SEED})`, () => {
	const site = openSite();

	it.each(SHORT ? ["champion_chess"] : GAMES)(
		"plays a whole match of %s with the mouse",
		async (game) => {
			const { page } = await visit(site.browser, site.url);
			await deal(page, game);
			const random = chance(SEED);
			// What a table says besides what is printed on cards.
			const told = () =>
				page.evaluate(() => {
					const { version } = document.querySelector<HTMLElement>("[data-version]")!.dataset;
					const board = document.querySelector(".board")!.cloneNode(true) as HTMLElement;
					for (const drawing of board.querySelectorAll("svg")) drawing.remove();
					return { version: Number(version), text: board.textContent };
				});
			let [seen, clicks] = [await told(), 0];
			clicks = await playWithMouse(page, random, async () => {
				await page.waitForSelector(READY);
				if (++clicks < 20 && !(await page.$(".chosen"))) seen = await told();
				return false;
			});
			expect(clicks).toBeGreaterThan(0);
			expect(await page.textContent("[data-testid=outcome]")).toMatch(
				/You win!|You lose\.|A draw\./,
			);
			// The game tells what decided it.
			const why = await page.textContent("[data-testid=why]");
			expect(why).toMatch(/\.$/);
			expect(why).not.toContain("played to its end");
			expect(await page.locator("[data-testid=board] .face").count()).toBeGreaterThan(0);
			expect(await audit(page)).toEqual([]);
			// The replay shows both hands step by step, and the browser verifies the deal.
			const atTheEnd = await told();
			await replay(page);
			// At the end and at another moment, it says what was said then.
			expect(await told()).toEqual(atTheEnd);
			while ((await told()).version > seen.version)
				await page.click("[aria-label='One step back']");
			expect((await told()).text).toBe(seen.text);
			expect(await verified(page)).toMatch(/✓.*this browser kept.*✓.*equal/);
			expect(await audit(page)).toEqual([]);
			await page.click("[aria-label='First step']");
			await page.click("[aria-label='One step forward']");
			expect(await page.textContent("[data-testid=replay] .prompt")).toContain("Step 2 of");
			await page.goBack();
			await page.waitForSelector("[data-testid=ending]");
			// The rematch has the seats exchanged, and new cards.
			const before = page.url();
			await page.click("[data-testid=ask]");
			await page.waitForFunction((url) => location.href !== url, before);
			await page.waitForSelector("[data-testid=board]");
		},
	);

	it.each(SHORT ? ["champion_chess"] : GAMES)(
		"plays a whole match of %s with the keyboard alone",
		async (game) => {
			const { page } = await visit(site.browser, site.url);
			// From the lobby on: Tab to the game, Enter, and Enter in the form.
			await page.waitForSelector(`[data-testid=play-${game}]:not(:disabled)`);
			await tabTo(page, `[data-testid=play-${game}]`);
			await page.keyboard.press("Enter");
			await page.waitForSelector("dialog[open]");
			await tabTo(page, "input[name=strength]");
			await page.keyboard.press("ArrowLeft");
			await page.keyboard.press("ArrowLeft");
			await page.keyboard.press("Enter");
			await page.waitForSelector("[data-testid=match]");
			await playWithKeys(page, chance(SEED));
			expect(await page.textContent("[data-testid=outcome]")).toMatch(/\S/);
		},
	);

	it("has no barrier on any screen, in both themes", async () => {
		const { page } = await visit(site.browser, site.url);
		const barriers = async () => {
			const found: string[] = [];
			for (const colorScheme of ["light", "dark"] as const) {
				await page.emulateMedia({ colorScheme });
				found.push(...(await audit(page)).map((each) => `${colorScheme}: ${each}`));
			}
			return found;
		};
		await page.waitForSelector(".gametile .face");
		expect(await barriers()).toEqual([]);
		for (const game of GAMES) {
			await page.click(`[data-testid=play-${game}]`);
			await page.waitForSelector("dialog[open]");
			expect(await barriers()).toEqual([]);
			await page.keyboard.press("Escape");
			await deal(page, game);
			await page.waitForSelector("[data-can]");
			let clicks = 0;
			await playWithMouse(page, chance(SEED), async () => ++clicks > 8);
			await page.click(".tabs button:nth-child(3)");
			expect(await barriers()).toEqual([]);
			await page.click(".tabs button:nth-child(2)");
			expect(await barriers()).toEqual([]);
			await page.click(".brand");
			await page.waitForSelector(".mymatch");
			expect(await barriers()).toEqual([]);
		}
	});

	it("keeps a dialog that opens right after another was closed", async () => {
		const { page } = await visit(site.browser, site.url);
		await page.click("[data-testid=play-skystones]");
		await page.waitForSelector("dialog[open]");
		const open = await page.evaluate(async () => {
			const click = (where: string) => document.querySelector<HTMLElement>(where)!.click();
			const closed = new Promise((resolve) =>
				document.querySelector("dialog")!.addEventListener("close", resolve),
			);
			click("dialog header button");
			// Tasks of the browser wait meanwhile; the table draws itself between them.
			while (document.querySelector("dialog")) await Promise.resolve();
			click("[data-testid=play-skystones]");
			await closed;
			await new Promise(requestAnimationFrame);
			return document.querySelectorAll("dialog[open]").length;
		});
		expect(open).toBe(1);
	});

	it("takes two people from an invitation to the first decisions", async () => {
		const host = await visit(site.browser, site.url);
		await deal(host.page, "champion_chess", { opponent: "friend", seat: "0" });
		const link = await host.page.inputValue(".invite [data-testid=link]");
		expect(new URL(link).hash).toMatch(/^#\/join\//);
		const guest = await visit(site.browser, link);
		expect(await audit(guest.page)).toEqual([]);
		// The swiftest player clicks before the table is painted; the choice stays.
		await host.page.evaluate(() => {
			new MutationObserver((_changes, observer) => {
				const card = document.querySelector<HTMLElement>(".card[data-can]");
				if (!card) return;
				observer.disconnect();
				card.click();
			}).observe(document.body, { subtree: true, childList: true, attributes: true });
		});
		await guest.page.click("[data-testid=join]");
		await Promise.all([host, guest].map(({ page }) => page.waitForSelector(".card[data-can]")));
		expect(guest.page.url()).not.toContain(new URL(link).hash.slice(7));
		// What the other has chosen by then stays, although the match gets a new version.
		await guest.page.locator(".card[data-can]").first().click();
		const before = Number(await version(guest.page));
		// The first to decide waits for the other, and sees nothing of their decision.
		await host.page.click(CONFIRM_CHAMPION);
		await host.page.waitForFunction(() =>
			/Waiting|choosing/.test(document.querySelector("[data-testid=prompt]")?.textContent ?? ""),
		);
		expect(await host.page.locator("[data-testid=champion] .face:not(.back)").count()).toBe(0);
		await waitForVersionAfter(guest.page, before);
		await guest.page.click(CONFIRM_CHAMPION);
		await Promise.all(
			[host, guest].map(({ page }) =>
				page.waitForFunction(
					() => document.querySelectorAll("[data-testid=champion] .face:not(.back)").length === 2,
				),
			),
		);
		// A spectator sees the same board, and no hand.
		await host.page.click(".more summary");
		const watcher = await visit(
			site.browser,
			await host.page.inputValue(".more [data-testid=link]"),
		);
		await watcher.page.waitForSelector("[data-testid=board]");
		expect(await watcher.page.locator(".hand").count()).toBe(0);
		expect(await watcher.page.locator("[data-testid=champion] .face:not(.back)").count()).toBe(2);
		for (const { page, addresses } of [host, guest, watcher]) {
			const tokens = await tokensOf(page);
			expect(tokens.length).toBeGreaterThan(0);
			expect(addresses.filter((each) => tokens.some((token) => each.includes(token)))).toEqual([]);
			expect(tokens.filter((token) => page.url().includes(token))).toEqual([]);
			expect(await page.context().cookies()).toEqual([]);
			expect(await page.evaluate(() => Object.keys(localStorage))).toEqual(["croupier.seats"]);
		}
	});
});
