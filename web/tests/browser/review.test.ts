// The review of a match in a real browser, with the searches of a real server.
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { ReviewMatchRequestSchema } from "../../src/gen/croupier/v1/review_pb";
import { chance, GAMES, play, playWithKeys } from "./players";
import { audit, deal, openSite, replay, visit } from "./visitor";
import { frame, unframed } from "./wire";

const SEED = Number(process.env.SEED ?? Date.now() % 100_000);

/** Has every decision judged in no time, and then searched again with so many iterations. */
async function search(page: Page, deepIterations: number, deepenAbove = 0) {
	await page.unroute("**/*ReviewMatch");
	await page.route("**/*ReviewMatch", (route) => {
		const asked = fromBinary(ReviewMatchRequestSchema, unframed(route.request().postDataBuffer()!));
		const request = { ...asked, iterations: 300, deepIterations, deepenAbove };
		return route.continue({ postData: frame(toBinary(ReviewMatchRequestSchema, request)) });
	});
}

describe(`the review (SEED=${SEED})`, () => {
	const site = openSite();

	it.each(GAMES)("of %s tries other moves, and says how good each is", async (game) => {
		const { page } = await visit(site.browser, site.url);
		const random = chance(SEED);
		await deal(page, game, { seat: "0" });
		await play(page, random);
		await replay(page);
		await search(page, 300, 1);
		await page.click("[data-testid=review]");
		await page.waitForSelector("[data-testid=terms]");
		await page.selectOption("[data-testid=size]", "all");
		await page.click("[aria-label='First step']");
		// Nothing can be tried where only one move is legal.
		const canTry = async () => (await page.locator("[data-testid=try]").count()) > 0;
		const goes = async (button: string) => {
			if (!(await page.isEnabled(`[data-testid=${button}]`))) return false;
			await page.click(`[data-testid=${button}]`);
			await page.evaluate(() => new Promise((drawn) => setTimeout(drawn)));
			return true;
		};
		let times = 1 + Math.floor(4 * random());
		while ((times-- > 0 || !(await canTry())) && (await goes("nextmistake")));
		while (!(await canTry()) && (await goes("lastmistake")));
		const step = await page.getAttribute("[data-testid=replay]", "data-version");
		await page.locator("[data-testid=try]").first().click();
		await page.waitForSelector("[data-testid=trying]");
		await page.setViewportSize({ width: 1280, height: 900 }); // Here the panel is narrow.
		expect(await audit(page)).toEqual([]);
		const shows = async () => Number(await page.getAttribute("[data-testid=board]", "data-shows"));
		const begin = await shows();
		const TRIED = "[data-testid=verdict]";
		for (const way of [play, playWithKeys]) {
			await page.waitForSelector(`[data-testid=trying]:not(:has(${TRIED}))`);
			if (way === play) await play(page, random, { shows: TRIED });
			else await playWithKeys(page, random, TRIED);
			await page.waitForSelector("[data-known=true]");
			expect(await page.textContent("[data-testid=judged]")).toMatch(
				/^Your move, “.+”: (best|as good|worse by \d+.*|no difference seen .*|not examined)\.$/,
			);
			// A decision that nobody is told of shows nothing.
			const led = await shows();
			if (await page.$("[data-testid=told] .toldlines li")) expect(led).toBeGreaterThan(begin);
			expect(led).toBeLessThanOrEqual(begin + 2);
			expect(await audit(page)).toEqual([]);
			if (way === play) await page.click("[data-testid=again]");
		}
		await page.click("[data-testid=untry]");
		expect(await page.getAttribute("[data-testid=replay]", "data-version")).toBe(step);
	});

	it("judges a match, explains each decision, and says how the result came about", async () => {
		const { page } = await visit(site.browser, site.url);
		await deal(page, "skystones");
		await play(page, chance(SEED));
		await replay(page);

		// It begins when it is asked for, says how far it is, and can be stopped and taken up again.
		await search(page, 10_000_000); // It is stopped long before that.
		await page.click("[data-testid=review]");
		await page.waitForSelector("[data-testid=progress]");
		expect(await page.textContent("[data-testid=progress]")).toMatch(/\d+ of \d+.*left/);
		await page.waitForSelector("[data-testid=decisions]");
		await page.click(".reviewprogress button:has-text('Stop')");
		await page.waitForSelector("[data-testid=review]:has-text('Go on')");
		await search(page, 3000);
		await page.click("[data-testid=review]");
		await page.waitForSelector("[data-testid=terms]");
		expect(await page.locator("[data-testid=progress]").count()).toBe(0);
		expect(await audit(page)).toEqual([]);

		// The terms add up to the result.
		const terms = await page
			.locator("[data-testid=terms] [data-value]")
			.evaluateAll((cells) => cells.map((cell) => Number((cell as HTMLElement).dataset.value)));
		expect(terms).toHaveLength(6);
		const result = await page.getAttribute("[data-testid=terms] [data-result]", "data-result");
		expect(terms.reduce((sum, each) => sum + each, 50)).toBe(Number(result));

		// With all decisions let through, N leads to each of them in turn; P leads back.
		await page.selectOption("[data-testid=size]", "all");
		const listed = await page.locator("[data-testid=decisions] .num.muted").allTextContents();
		const steps = [...new Set(listed.map(Number))].sort((a, b) => a - b);
		await page.click("[aria-label='First step']");
		const stepNow = async () =>
			Number(/\d+/.exec((await page.textContent("[data-testid=replay] .prompt"))!)![0]);
		const visited = [await stepNow()].filter((step) => steps.includes(step));
		const said = new Set<string>();
		await page.locator("[data-testid=graph]").scrollIntoViewIfNeeded();
		while (await page.isEnabled("[data-testid=nextmistake]")) {
			await page.keyboard.press("n");
			visited.push(await stepNow());
			for (const verdict of await page.locator("[data-testid=verdictof]").allTextContents())
				said.add(verdict);
		}
		expect(visited).toEqual(steps);
		expect(said.size).toBeGreaterThan(1);
		expect(await audit(page)).toEqual([]);
		await page.keyboard.press("p");
		expect(await stepNow()).toBe(steps.at(-2));

		// Errors alone: the same keys lead to no other decision.
		await page.selectOption("[data-testid=size]", "mistakes");
		await page.click("[aria-label='First step']");
		while (await page.isEnabled("[data-testid=nextmistake]")) {
			await page.click("[data-testid=nextmistake]");
			const verdicts = await page
				.locator("[data-testid=verdictof]")
				.evaluateAll((all) => all.map((each) => Number((each as HTMLElement).dataset.verdict)));
			expect(verdicts.some((verdict) => verdict === 5 || verdict === 6)).toBe(true);
		}

		// A click on the graph goes to its step.
		const box = (await page.locator("[data-testid=graph]").boundingBox())!;
		await page.mouse.click(box.x + box.width - 3, box.y + box.height - 8);
		expect(await page.textContent("[data-testid=replay] .prompt")).toMatch(/Step (\d+) of \1/);

		// The same in German, and in the dark.
		await page.selectOption("[aria-label=Language]", "de");
		await page.emulateMedia({ colorScheme: "dark" });
		await page.click("[data-testid=tab-match]");
		expect(await page.textContent("[data-testid=terms]")).toContain("Ergebnis");
		await page.click("[data-testid=tab-step]");
		await page.keyboard.press("p");
		expect(await audit(page)).toEqual([]);

		// A server that cannot be reached is said so.
		await page.unroute("**/*ReviewMatch");
		await page.route("**/*ReviewMatch", (route) => route.fulfill({ status: 503 }));
		await page.reload();
		await page.click("[data-testid=review]");
		expect(await page.textContent(".reviewprogress [role=alert]")).toContain("nicht erreichbar");
	});
});
