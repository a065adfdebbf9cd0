// The last turn, told step by step, and cards that are asked, on the tables of all games.
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { chance, clickOne, GAMES, play, playOn, READY } from "./players";
import { audit, CONFIRM_CHAMPION, deal, late, openSite, replay, visit } from "./visitor";

const SEED = Number(process.env.SEED ?? Date.now() % 100_000);
const ASKED = "[data-testid=asked]";
const MINE = "[data-can]:not(:disabled)";
// Enough happens, and it can be seen which part of it is told.
const TOLD = "[data-testid=told]:not([data-beats='0']):not([data-beats='1'])";

/** Without that a seat has decided, which can come at any time where both decide. */
const lasting = (lines: string[]) => lines.filter((line) => !line.endsWith(" decided"));

/** The lines that the strip tells, from its first beat to its last. */
async function told(page: Page): Promise<string[]> {
	await page.click(".toldsteps button:last-child"); // Skip what runs, or begin again.
	const all = page.evaluate(async () => {
		/** Whether there was a step to go in this direction: back or on. */
		const goes = async (at: 0 | 1) => {
			const step = document.querySelectorAll<HTMLButtonElement>(".toldsteps button")[at];
			if (!step || step.disabled) return false;
			step.click();
			await new Promise((drawn) => setTimeout(drawn));
			return true;
		};
		const lines: string[] = [];
		while (await goes(0));
		do
			for (const li of document.querySelectorAll(".toldlines li"))
				lines.push(li.textContent!.trim());
		while (await goes(1));
		return lines;
	});
	return lasting(await all);
}

const logged = async (page: Page) =>
	lasting(
		await page.$$eval(".log li:not(.part)", (lines) =>
			lines.map((each) => each.textContent!.trim()),
		),
	);

describe(`the last turn (SEED=${SEED})`, () => {
	const site = openSite();

	it.each(GAMES)("of %s is told in full, also after a reload and in a replay", async (game) => {
		const { page } = await visit(site.browser, site.url);
		const another = () => deal(page, game);
		await another();
		const random = chance(SEED);
		await playOn(page, random, another, { shows: `.match:has(${TOLD}) ${MINE}`, after: 12 });
		await page.waitForSelector(`${TOLD}`);
		const lines = await told(page);
		expect(lines.length).toBeGreaterThan(1);
		// Nothing since then is left out, and nothing else is told.
		expect((await logged(page)).slice(-lines.length)).toEqual(lines);
		expect(await audit(page)).toEqual([]);
		await page.reload();
		await page.waitForSelector(TOLD);
		expect(await told(page)).toEqual(lines);
		await play(page, random);
		await page.waitForSelector("[data-testid=told]");
		await replay(page);
		await page.click("[aria-label='One step back']");
		await page.click("[aria-label='One step forward']");
		await page.waitForSelector("[data-testid=told] .toldlines li");
		await page.setViewportSize({ width: 390, height: 844 });
		const cut = await page.$eval(".toldlines", (lines) => lines.scrollWidth - lines.clientWidth);
		expect(cut).toBeLessThanOrEqual(1);
		await page.setViewportSize({ width: 1280, height: 900 });
		const beats = Number(await page.getAttribute("[data-testid=told]", "data-beats"));
		if (beats < 2) return;
		const again = await told(page);
		expect((await logged(page)).slice(-again.length)).toEqual(again);
	});

	it.each(GAMES)("of %s is shown on the table as it was", async (game) => {
		const { page } = await visit(site.browser, site.url);
		// Whatever the table has shown of each version. The page does it all by itself: the other seat may
		// decide at any time.
		const walk = await page.evaluateHandle(() => {
			const shown = new Map<string, (string | null)[][]>();
			const look = () => {
				const board = document.querySelector<HTMLElement>(".board[data-shows]");
				const faces = [...(board?.querySelectorAll("svg.face") ?? [])];
				return {
					version: board?.dataset.shows ?? "",
					past: board?.matches(".past") ?? false,
					faces: faces.map((face) => face.getAttribute("aria-label")),
				};
			};
			const note = () => {
				const { version, past, faces } = look();
				if (!past) shown.set(version, [...(shown.get(version) ?? []), faces]);
			};
			const all = { subtree: true, childList: true, attributes: true };
			new MutationObserver(note).observe(document, all);
			const click = async (target: string) => {
				const found = document.querySelector<HTMLButtonElement>(target);
				if (!found || found.disabled) return false;
				found.click();
				await new Promise((drawn) => setTimeout(drawn));
				return true;
			};
			return async () => {
				const now = look();
				const pasts = [];
				while (await click(".toldsteps [aria-label='One back']")) pasts.push(look());
				// The end of what is told is the present, as is whatever is chosen from the hand.
				await click(".toldsteps [aria-label='Skip to the end']");
				const end = look();
				await click(".toldsteps [aria-label='One back']");
				const chosen = await click(".hand .card[data-can]");
				return {
					...{ now, end },
					chosen: chosen ? look() : undefined,
					pasts: pasts
						.filter(({ past, version }) => past && shown.has(version))
						.map((past) => ({ ...past, before: shown.get(past.version)! })),
				};
			};
		});
		await deal(page, game);
		let compared = 0;
		for (let rounds = 0; compared === 0 && rounds < 40; rounds++) {
			await play(page, chance(SEED), { shows: `.match:has(.toldsteps) ${MINE}`, after: 8 });
			const { now, end, chosen, pasts } = await page.evaluate((walk) => walk(), walk);
			for (const { version, faces, before } of pasts) {
				expect(Number(version)).toBeLessThan(Number(now.version));
				// Where something was chosen on the table, that was shown besides.
				expect(before.some((each) => faces.every((face) => each.includes(face)))).toBe(true);
				compared++;
			}
			for (const present of chosen ? [end, chosen] : [end]) {
				expect(present.past).toBe(false);
				expect(Number(present.version)).toBeGreaterThanOrEqual(Number(now.version));
			}
			if (await page.$("[data-testid=ending]")) {
				await page.click(".brand");
				await deal(page, game);
			}
		}
		expect(compared).toBeGreaterThan(0);
		expect(await audit(page)).toEqual([]);
	});

	it("passes at the pace of reading, unless it is skipped", async () => {
		const { page } = await visit(site.browser, site.url, { reducedMotion: "no-preference" });
		await deal(page, "castle_rampage");
		await page.evaluate(() => {
			const seen = new Set<string>();
			Object.assign(window, { seen });
			new MutationObserver(() => {
				for (const li of document.querySelectorAll(".toldlines li"))
					seen.add(li.textContent!.trim());
			}).observe(document.body, { subtree: true, childList: true, characterData: true });
		});
		const seen = () => page.evaluate(() => [...(window as unknown as { seen: Set<string> }).seen]);
		const end = `.actions.mine [data-key="do:end"]:not(:disabled)`;
		await play(page, chance(SEED), { shows: end });
		if (await page.$("[data-testid=ending]")) return; // One deal of thousands.
		await page.evaluate(() => (window as unknown as { seen: Set<string> }).seen.clear());
		const before = (await logged(page)).length;
		const version = await page.getAttribute("[data-testid=match]", "data-version");
		await page.click(end);
		await page.waitForSelector(`:is(${READY}):not([data-version="${version}"] *)`);
		if (await page.$("[data-testid=ending]")) return;
		// Nobody has clicked: the strip goes on to its end by itself.
		await page.waitForSelector(".toldsteps button:nth-child(3):disabled");
		const lines = await told(page);
		expect(await seen()).toEqual(expect.arrayContaining(lines));
		expect(lines).toEqual((await logged(page)).slice(before));
		await play(page, chance(SEED), { shows: end });
		if (await page.$("[data-testid=ending]")) return;
		await page.click(end);
		await page.keyboard.press("s");
		await page.waitForSelector(READY);
	});

	it("leaves the page whole when a card that is looked at was the last of the hand", async () => {
		const { page } = await visit(site.browser, site.url);
		await deal(page, "castle_rampage");
		// The card under the mouse is played whenever one can be, so that the hand runs out.
		const next = [
			"[data-confirm]:not(:disabled)",
			".actions [data-key='to:castle']:not(:disabled)",
			".actions .primary:not(:disabled)",
			".hand .card[data-can]:not(.chosen)",
			".actions [data-key]:not(:disabled)",
			".board [data-can]:not(:disabled)",
		];
		for (;;) {
			await page.waitForSelector(READY);
			if (await page.$("[data-testid=ending]")) break;
			if (await page.$(".tablearea:has(.actions.mine):not(:has(.hand .card))")) break;
			const found = await Promise.all(next.map((each) => page.$(each)));
			const target = found.find((each) => each !== null);
			if (await target?.evaluate((each) => each.matches(".card")))
				await target?.hover({ force: true });
			await target?.evaluate((each) => each.isConnected && (each as HTMLElement).click());
		}
		// What a test opens must have had nothing to complain about.
		expect(await page.$(".tablearea")).not.toBe(null);
	});
});

describe(`a card that is asked (SEED=${SEED})`, () => {
	const site = openSite();

	/** What the card says that is asked. */
	const says = async (page: Page) => {
		await page.waitForSelector(ASKED);
		return (await page.textContent(ASKED)) ?? "";
	};
	const closed = (page: Page) =>
		page.waitForFunction((asked) => !document.querySelector(asked), ASKED);

	it.each(GAMES)("answers wherever it lies, in %s", async (game) => {
		const { page } = await visit(site.browser, site.url);
		const another = () => deal(page, game);
		await another();
		const shows = `.match:has(.told [data-card], .board [data-card]):has(.log [data-card]) .hand ${MINE}`;
		await playOn(page, chance(SEED), another, { shows, after: 8 });
		await page.waitForSelector(READY);
		const active = () => page.evaluate(() => document.activeElement?.outerHTML.slice(0, 80));
		const focus = await active();
		for (const place of [".hand", ".board", ".told", ".log"]) {
			const card = page.locator(`${place} [data-card]`).first();
			if ((await card.count()) === 0) continue;
			const title = await card.evaluate((element) =>
				element.matches(".cardname")
					? element.textContent
					: element.getAttribute("aria-label")?.split(",")[0],
			);
			await card.hover({ position: { x: 4, y: 8 }, force: true });
			expect(await says(page)).toContain(title?.replace(/ \d+$/, "") ?? "");
			expect(await page.locator(`${ASKED} dt`).count()).toBeGreaterThan(0);
			expect(await active()).toBe(focus);
			expect(await audit(page)).toEqual([]);
			await page.keyboard.press("Escape");
			await closed(page);
			await page.mouse.move(1, 1);
		}
		// A badge on a card has words.
		const badge = page.locator(".hand .mark").first();
		if ((await badge.count()) > 0) {
			const words = await badge.getAttribute("title");
			await badge.hover();
			expect(await says(page)).toContain(words);
			await page.mouse.move(1, 1);
			await closed(page);
		}
	});

	it("leaves the cards beside it in sight", async () => {
		const { page } = await visit(site.browser, site.url);
		await deal(page, "champion_chess");
		await page.waitForSelector(".hand .card[data-can]");
		for (const card of await page.locator(".hand [data-card]").all()) {
			await card.hover({ force: true });
			await says(page);
			const covered = await page.evaluate((asked) => {
				const large = document.querySelector(asked)!.getBoundingClientRect();
				const all = [...document.querySelectorAll(".hand [data-card]")];
				return all.filter((each) => {
					const { left, right, top, bottom } = each.getBoundingClientRect();
					const beside = left >= large.right || right <= large.left;
					return !beside && top < large.bottom && bottom > large.top;
				}).length;
			}, ASKED);
			expect(covered).toBe(0);
			await page.mouse.move(1, 1);
			await closed(page);
		}
	});

	it("answers to the keyboard, and gives the focus back", async () => {
		const { page } = await visit(site.browser, site.url);
		await deal(page, "castle_rampage");
		await page.waitForSelector(".hand .card[data-can]");
		await page.keyboard.press("i");
		const first = await says(page);
		const titles = new Set([first]);
		for (let pressed = 0; pressed < 4; pressed++) {
			await page.keyboard.press("ArrowRight");
			titles.add(await says(page));
		}
		expect(titles.size).toBeGreaterThan(1);
		expect(await page.locator(".chosen").count()).toBe(0);
		// What has the focus is described by it.
		const described = await page.evaluate(() =>
			document.activeElement?.getAttribute("aria-describedby"),
		);
		expect(await page.locator(`#${described}`).textContent()).toBe(await says(page));
		expect(await audit(page)).toEqual([]);
		await page.keyboard.press("Escape");
		await closed(page);
		expect(await page.evaluate(() => document.activeElement?.matches("[data-ask]"))).toBe(true);
		// With the focus alone, too.
		await page.keyboard.press("ArrowDown");
		await page.locator(".hand .card[data-can]").first().focus();
		await page.keyboard.press("ArrowRight");
		await says(page);
	});

	it("answers to a key as soon as it is drawn", async () => {
		const { page } = await visit(site.browser, site.url);
		await late(page);
		await deal(page, "castle_rampage");
		await page.waitForSelector(".hand .card[data-can]");
		await page.keyboard.press("i");
		await says(page);
		expect(await page.locator("[aria-describedby=asked]").count()).toBe(1);
		await page.keyboard.press("Escape");
		await closed(page);
	});

	it("answers to a long touch, and to a tap after the button, without being chosen", async () => {
		const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
		const { page } = await visit(site.browser, site.url, phone);
		await deal(page, "castle_rampage");
		const card = page.locator(".hand .card[data-can]").first();
		await card.scrollIntoViewIfNeeded();
		const touch = { pointerType: "touch", pointerId: 5, bubbles: true, clientX: 9, clientY: 9 };
		await card.dispatchEvent("pointerdown", touch);
		await says(page);
		await card.dispatchEvent("pointerup", touch);
		await card.dispatchEvent("click");
		expect(await page.locator(".chosen").count()).toBe(0);
		expect(await audit(page)).toEqual([]);
		await page.locator(`${ASKED} button`).tap();
		await closed(page);
		await page.locator("[data-ask]").tap();
		await card.tap();
		await says(page);
		expect(await page.locator(".chosen").count()).toBe(0);
		await page.locator("[data-ask]").tap();
		await closed(page);
		await card.tap();
		await page.waitForSelector(".chosen");
	});
});

describe(`a table (SEED=${SEED})`, () => {
	const site = openSite();
	const LARGE = { viewport: { width: 1920, height: 1080 } };

	it.each(GAMES)("of %s keeps its place, and is large on a large screen", async (game) => {
		const { page } = await visit(site.browser, site.url, LARGE);
		const another = () => deal(page, game);
		await another();
		const random = chance(SEED);
		const places = new Set<string>();
		const small = new Set<string>();
		for (let clicks = 0; clicks < 60; clicks++) {
			const seen = await page.evaluate(() => {
				// The bot may end the match at any time, and the bar is another one then.
				if (document.querySelector("[data-testid=ending]")) return undefined;
				// While a hand is picked in Skystones, its pile takes the room.
				const picking = document.querySelector(".picking") ? "picking" : "";
				const place = (at: string) => document.querySelector(at)!.getBoundingClientRect();
				const texts = [...document.querySelectorAll<HTMLElement>(".match *")].filter(
					(each) =>
						!each.closest("svg, .sr") && [...each.childNodes].some((node) => node.nodeType === 3),
				);
				return {
					place: [picking, place(".board").height, place(".player.near").top].join(" "),
					small: texts
						.filter((each) => Number.parseFloat(getComputedStyle(each).fontSize) < 13)
						.map((each) => each.className || each.tagName),
					zeros: /\b0 (cards|stand)/.exec(document.body.innerText)?.[0],
				};
			});
			if (!seen) break;
			places.add(seen.place);
			for (const each of seen.small) small.add(each);
			expect(seen.zeros).toBeUndefined();
			await clickOne(page, random);
		}
		expect([...small]).toEqual([]);
		expect(places.size).toBeLessThanOrEqual(game === "skystones" ? 2 : 1);
	});

	it("can be scrolled by the keyboard, also if its room is taken after it was drawn", async () => {
		const { page } = await visit(site.browser, site.url);
		await deal(page, "castle_rampage");
		await page.waitForSelector(READY);
		const board = page.locator(".board");
		await board.evaluate((element) => {
			element.style.maxHeight = "40px";
		});
		await page.waitForSelector(".board[tabindex='0']", { state: "attached" });
		await board.evaluate((element) => {
			element.style.maxHeight = "";
		});
		await page.waitForSelector(".board:not([tabindex])", { state: "attached" });
	});

	it("tells only who can choose to go on choosing while the server is away", async () => {
		const { page } = await visit(site.browser, site.url);
		await deal(page, "champion_chess");
		await page.waitForSelector(".hand .card[data-can]");
		await page.context().setOffline(true);
		await page.locator(".hand .card[data-can]").first().click();
		await page.click(CONFIRM_CHAMPION);
		const status = page.locator("[data-testid=connection].connection");
		await status.waitFor();
		expect(await page.locator(".hand .card[data-can]").count()).toBe(0);
		expect(await status.textContent()).not.toContain("choosing");
		await page.context().setOffline(false);
	});
});
