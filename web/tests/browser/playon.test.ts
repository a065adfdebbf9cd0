// Playing on from a moment of a match that is over, in a real browser.
import { describe, expect, it } from "vitest";
import { chance, GAMES, play } from "./players";
import { audit, deal, openSite, replay, verified, visit } from "./visitor";

const SEED = Number(process.env.SEED ?? Date.now() % 100_000);

describe(`playing on (SEED=${SEED})`, () => {
	const site = openSite();

	it.each(GAMES.filter((_, n) => !process.env.SHORT || n % 3 === 0))(
		"begins %s where the replay is",
		async (game) => {
			const { page } = await visit(site.browser, site.url);
			const random = chance(SEED);
			await deal(page, game, { seat: "0" });
			await play(page, random);
			await replay(page);
			expect(await page.isDisabled("[data-testid=playon]")).toBe(true);
			// A match of Champion Chess may have fewer steps.
			const back = page.locator("[aria-label='One step back']");
			for (let step = 0; step < 6 && (await back.isEnabled()); step++) await back.click();
			// With the version in which they are there: the other seat plays on meanwhile.
			const look = (place: string) =>
				page.evaluate((place) => {
					const faces = [...document.querySelectorAll(`${place} svg.face`)];
					return {
						version: document.querySelector<HTMLElement>("[data-testid=match]")?.dataset.version,
						names: faces.map((face) => face.getAttribute("aria-label")).sort(),
					};
				}, place);
			const names = async (place: string) => (await look(place)).names;
			const [board, hand] = [await names(".board"), await names(".board + .replayhand")];
			const step = () => page.getAttribute("[data-testid=replay]", "data-version");
			const from = await step();
			await page.click("[data-testid=playon]");
			await page.waitForSelector("dialog[open]");
			expect(await audit(page)).toEqual([]);
			await page.check("input[name=strength][value=RANDOM]", { force: true });
			await page.click("[data-testid=deal]");
			await page.waitForSelector("[data-testid=match]");
			expect(await page.textContent("[data-testid=practice]")).toContain("another match.");
			const now = await look(".hand");
			if (now.version === "0") expect(now.names).toEqual(hand);
			expect(await audit(page)).toEqual([]);

			// It leads back to the very same step, after reloads of either page, too.
			const address = page.url();
			await page.reload();
			await page.click("[data-testid=back]");
			expect(await step()).toBe(from);
			await page.reload();
			expect(await step()).toBe(from);
			// Also if the page was busy when it was left, and has yet to note its step.
			await page.evaluate((hash) => {
				setTimeout(() => {
					location.hash = hash;
				});
				for (const begun = performance.now(); performance.now() - begun < 1000; );
			}, new URL(address).hash);
			await page.waitForSelector("[data-testid=match]");
			await play(page, random);

			// Its replay begins at the same moment, and can be reviewed and verified like any other.
			await replay(page);
			await page.click("[aria-label='First step']");
			expect(await names(".board")).toEqual(board);
			expect(await verified(page)).toMatch(/^[^✗]*✓[^✗]*$/);
		},
	);

	it("invites a friend to the moment", async () => {
		const { page } = await visit(site.browser, site.url);
		await deal(page, "skystones", { seat: "0" });
		await page.waitForSelector(".card[data-can]");
		await page.click("text=Resign");
		await page.click("dialog .danger");
		await replay(page);
		await page.click("[data-testid=playon]");
		await page.check("input[name=opponent][value=friend]", { force: true });
		await page.click("[data-testid=deal]");
		const friend = await visit(site.browser, await page.inputValue(".invite [data-testid=link]"));
		await friend.page.waitForSelector("[data-testid=join]");
		expect(await friend.page.textContent(".notice")).toContain("Practice");
		await friend.page.click("[data-testid=join]");
		for (const each of [page, friend.page]) await each.waitForSelector(".card[data-can]");
		await friend.page.context().close();
	});
});
