// What is shown belongs to one moment: a hint to one view, and the time left to the servers' clock.
import { describe, expect, it } from "vitest";
import { chance, play } from "./players";
import { browserIsHere, deal, joinedBy, openSite, version, visit } from "./visitor";

const HOUR_MS = 3_600_000;

describe.skipIf(!browserIsHere)("the moment that is shown", () => {
	const site = openSite();

	it("a hint goes when the view goes that it was for", async () => {
		const { page } = await visit(site.browser, site.url);
		await deal(page, "champion_chess", { opponent: "friend", hints: "allowed" });
		const friend = await joinedBy(site.browser, page);
		await page.waitForSelector(".card[data-can]");
		await page.click(".tabs button:nth-child(2)");
		await page.click(".hintpanel .primary");
		await page.waitForSelector(".hintpanel .shares");
		const now = await version(page);
		const next = `[data-testid=match]:not([data-version='${now}'])`;
		await play(friend.page, chance(1), { shows: next, after: 1 });
		await page.waitForSelector(next);
		await page.waitForSelector(".hintpanel .shares", { state: "detached" });
	});

	it.each([-HOUR_MS, HOUR_MS])("a page whose clock is %i ms ahead counts down", async (ahead) => {
		const { page } = await visit(site.browser, site.url);
		await page.clock.install({ time: Date.now() + ahead });
		await page.reload();
		await page.click("[data-testid=play-skystones]");
		await page.locator("input[name=clock][value=own]").check({ force: true });
		await page.fill("input[name=clocktime]", "2");
		await page.selectOption(".ownclock select", "days");
		await page.click("[data-testid=deal]");
		await page.waitForSelector(".player .clock.running");
		const left = page.locator(".player .clock.running").first();
		expect(await left.innerText()).toMatch(/^4[78]:\d\d:\d\d$/);
	});
});
