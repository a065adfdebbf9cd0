// Puzzles in a real browser: wrong and right attempts, by mouse and by keyboard, and what is remembered.
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { chance, GAMES, play, playWithKeys } from "./players";
import { audit, openSite, visit } from "./visitor";

const SEED = Number(process.env.SEED ?? Date.now() % 100_000);
const VERDICT = "[data-testid=verdict]";
/** A puzzle without a verdict: the page may still show the last one where the next was asked for. */
const UNTRIED = `[data-testid=puzzle]:not(:has(${VERDICT}))`;

/** Clicks until a move is made; says whether it was the right one. */
async function attempt(page: Page, random: () => number): Promise<boolean> {
	await page.waitForSelector(UNTRIED);
	await play(page, random, { shows: VERDICT });
	return (await page.getAttribute(VERDICT, "data-correct")) === "true";
}

/** Clicks what leads to another puzzle, and waits until the page shows that one. */
async function goOn(page: Page, link: string) {
	const before = await page.textContent(".task h2");
	await page.click(link);
	await page.waitForFunction((before) => {
		const task = document.querySelector(".task h2");
		return task && task.textContent !== before;
	}, before);
}

const solved = (page: Page) => page.textContent("[data-testid=solved]");

describe(`puzzles (SEED=${SEED})`, () => {
	const site = openSite();

	it.each(GAMES)(
		"of %s are tried again until they are solved, which is remembered",
		async (game) => {
			const random = chance(SEED);
			const { page } = await visit(site.browser, site.url);
			await page.click(`[data-testid=puzzles-${game}]`);
			await page.waitForSelector("[data-testid=puzzle]");
			expect(await solved(page)).toMatch(/^0 of \d{3} solved$/);
			expect(await audit(page)).toEqual([]);
			const seen = new Set<boolean>();
			// A puzzle after the other, until one was tried wrongly and at last rightly.
			while (seen.size < 2) {
				seen.clear();
				while (!seen.has(true)) {
					seen.add(await attempt(page, random));
					const right = seen.has(true);
					const words = (await page.textContent(VERDICT))!;
					expect(words).toMatch(right ? /^Right!/ : /^There is something better\./);
					// A wrong move tells nothing of the right one.
					expect(words).not.toContain("Best move");
					expect((await page.locator(".shares tbody tr").count()) > 1).toBe(right);
					// The keyboard goes on with the next puzzle, or tries this one again.
					await page.waitForSelector(`[data-testid=${right ? "next" : "again"}]:focus`);
					if (!right) await page.keyboard.press("Enter");
				}
				expect(await page.textContent(".task h2")).toContain("Solved");
				if (seen.size < 2) await page.keyboard.press("Enter");
			}
			expect(await audit(page)).toEqual([]);
			const count = await solved(page);
			expect(count).not.toMatch(/^0 /);
			const address = page.url();

			// The next one is another; what is solved outlasts the page, and the lobby counts it.
			await goOn(page, "[data-testid=next]");
			expect(page.url()).not.toBe(address);
			expect(await page.textContent(".task h2")).not.toContain("Solved");
			await page.goto(address);
			await page.reload();
			await page.waitForSelector("[data-testid=puzzle]");
			expect(await page.textContent(".task h2")).toContain("Solved");
			expect(await solved(page)).toBe(count);
			await page.click("text=Back to the lobby");
			const [done, all] = /(\d+) of (\d+)/.exec(count!)!.slice(1);
			expect(await page.textContent(`[data-testid=puzzles-${game}]`)).toContain(`${done}/${all}`);
		},
	);

	it.each(GAMES)("of %s show on the table what the solution leads to, and go on", async (game) => {
		const { page } = await visit(site.browser, `${site.url}#/puzzles/${game}`);
		const shows = async () => Number(await page.getAttribute("[data-testid=board]", "data-shows"));
		const random = chance(SEED);
		await page.waitForSelector("[data-testid=puzzle]");
		const before = await shows();
		const hand = () =>
			page.locator(".hand .card").evaluateAll((all) => all.map((each) => each.dataset.key));
		const held = await hand();
		// A move that was not the best leaves the table as it is, until the solution is shown.
		if (!(await attempt(page, random))) {
			expect(await page.locator("[data-testid=told]").count()).toBe(0);
			expect(await shows()).toBe(before);
			await page.click("[data-testid=show]");
		}
		const line = await page.locator(".line li").count();
		const told = page.locator("[data-testid=told]");
		await told.waitFor();
		expect(await told.locator(".toldlines").textContent()).toContain("You");
		const on = page.locator(".toldsteps [aria-label='One on']");
		const seen = [await shows()];
		for (; (await on.count()) > 0 && (await on.isEnabled()); seen.push(await shows()))
			await on.click();
		expect(seen).toEqual([...seen].sort((one, other) => one - other));
		expect(seen[0]).toBeGreaterThan(before);
		// The last of its decisions may be one that nobody is told of, such as a held one.
		expect(seen.at(-1)).toBeLessThanOrEqual(before + Math.max(line, 1));
		expect(seen.at(-1)).toBeGreaterThanOrEqual(before + line - 2);
		expect(await audit(page)).toEqual([]);

		// From the position itself, against the computer alone; the match leads back to the puzzle.
		const address = page.url();
		await page.click("[data-testid=playon]");
		await page.waitForSelector("dialog[open]");
		expect(await page.locator("input[name=opponent]").count()).toBe(0);
		expect(await audit(page)).toEqual([]);
		await page.check("input[name=strength][value=RANDOM]", { force: true });
		await page.click("[data-testid=deal]");
		await page.waitForSelector("[data-testid=match] [data-testid=board]");
		if ((await shows()) === 0) expect(await hand()).toEqual(held);
		await page.reload();
		await page.click("[data-testid=back]");
		await page.waitForSelector("[data-testid=puzzle]");
		expect(page.url()).toBe(address);
		await page.goBack();
		await page.waitForSelector("[data-testid=match] [data-testid=board]");
		await play(page, random);
		expect(await page.textContent(".ending [data-testid=back]")).toBe("Back to the puzzle");
	});

	it("of one theme alone are set if that is chosen, which the address remembers", async () => {
		const { page } = await visit(site.browser, `${site.url}#/puzzles/powershot_soccer`);
		const theme = page.locator("[data-testid=theme]");
		await theme.waitFor();
		const words = (await theme.locator("option").allTextContents()).join();
		const counts = /^All themes \((\d+)\),Attack \((\d+)\),Defence \((\d+)\)$/.exec(words);
		const [all, attack, defence] = counts!.slice(1).map(Number) as [number, number, number];
		expect(attack + defence).toBe(all);

		// The keyboard stays in the list, also when what it has chosen is another puzzle.
		await theme.focus();
		for (const [key, prompt, count] of [
			["End", "You defend", defence],
			["Home", "One move is", all],
			["ArrowDown", "You attack", attack],
		] as const) {
			const before = page.url();
			await page.keyboard.press(key);
			await page.waitForFunction((before) => location.href !== before, before);
			await page.waitForSelector(`[data-testid=puzzle]:has-text("${prompt}")`);
			expect(await solved(page)).toBe(`0 of ${count} solved`);
			expect(await theme.evaluate((list) => list === document.activeElement)).toBe(true);
		}
		expect(await audit(page)).toEqual([]);

		// One after the other, all of them and no others, until the first one comes again.
		const seen = new Set<string>();
		while (!seen.has(page.url())) {
			seen.add(page.url());
			await goOn(page, ".more >> text=Next puzzle");
			expect(await page.textContent(".tablearea .prompt")).toContain("You attack");
		}
		expect(seen.size).toBe(attack);

		const random = chance(SEED);
		while (!(await attempt(page, random))) await page.click("[data-testid=again]");
		expect(await solved(page)).toBe(`1 of ${attack} solved`);
		await page.reload();
		await theme.waitFor();
		expect(await solved(page)).toBe(`1 of ${attack} solved`);
		await page.selectOption("[aria-label=Language]", "de");
		expect(await theme.textContent()).toContain(`Angriff (${attack})`);
		await theme.selectOption("");
		expect(await solved(page)).toBe(`1 von ${all} gelöst`);

		// Where all puzzles have the same theme, there is nothing to choose.
		await page.goto(`${site.url}#/puzzles/skystones`);
		await page.waitForSelector(".game-skystones [data-testid=solved]");
		expect(await theme.count()).toBe(0);
	});

	it("are solved on a phone with the keyboard alone, in German and in the dark", async () => {
		const { page } = await visit(site.browser, `${site.url}#/puzzles/champion_chess`, {
			viewport: { width: 390, height: 844 },
			locale: "de-DE",
			colorScheme: "dark",
		});
		await page.waitForSelector("[data-testid=puzzle]");
		await playWithKeys(page, chance(SEED));
		expect(await page.textContent(VERDICT)).toMatch(/^(Richtig!|Es gibt etwas Besseres\.)/);
		expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
		expect(await audit(page)).toEqual([]);
		// A key that was pressed while the answer was on its way may have moved on from the first button.
		while (!(await page.$("[data-testid=again]:focus, [data-testid=next]:focus")))
			await page.keyboard.press("Tab");
		await page.keyboard.press("Enter");
		await page.waitForSelector(UNTRIED);
	});

	it("show their solution to whoever asks for it, and do not count as solved then", async () => {
		const random = chance(SEED);
		const { page } = await visit(site.browser, `${site.url}#/puzzles/castle_rampage`);
		while (await attempt(page, random)) await page.click("[data-testid=next]");
		const before = await solved(page);
		await page.click("[data-testid=show]");
		expect(await page.textContent(VERDICT)).toContain("Best move");
		expect(await page.locator(".shares tbody tr").count()).toBeGreaterThan(1);
		expect(await page.locator("[data-testid=again]").count()).toBe(0);
		expect(await audit(page)).toEqual([]);
		await goOn(page, "[data-testid=next]");
		expect(await solved(page)).toBe(before);
	});

	it("that do not exist, and games without any, say so", async () => {
		const { page } = await visit(site.browser, site.url);
		await page.route("**/*ListPuzzles*", (route) => route.fulfill({ status: 404 }));
		await page.reload();
		await page.waitForSelector("[data-testid=play-skystones]:not(:disabled)");
		expect(await page.locator("[data-testid=puzzles-skystones]").count()).toBe(0);
		await page.goto(`${site.url}#/puzzles/skystones`);
		expect(await page.textContent(".notice [role=alert]")).toContain("no puzzles");
	});
});
