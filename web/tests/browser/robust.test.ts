// What others do to the page: translators, damaged links and storage, a full disk, a newer version, a clock.
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { chance, clickOne, READY } from "./players";
import { deal, newContext, openSite, visit } from "./visitor";

const SEED = Number(process.env.SEED ?? Date.now() % 100_000);
const TRIES = process.env.TEST_LONG ? 300 : process.env.SHORT ? 25 : 60;
const CAN = ".hand .card[data-can]";
const WAY_OUT =
	".notice a, .notice button, .gametile .primary:not(:disabled), [data-testid=match], [data-testid=puzzle]";

/** Puts elements in the place of all texts, as the translators of browsers do, now and whenever one comes. */
const translate = (page: Page) =>
	page.evaluate(() => {
		const wrap = (text: Node) => {
			const parent = text.parentElement;
			if (!text.nodeValue?.trim() || !parent || parent.closest("font, script, style")) return;
			if (parent.closest("[translate=no], .notranslate")) return;
			const [outer, inner] = [document.createElement("font"), document.createElement("font")];
			inner.textContent = `«${text.nodeValue}»`;
			outer.append(inner);
			text.parentNode!.replaceChild(outer, text);
		};
		const all = (root: Node) => {
			const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
			const texts: Node[] = [];
			while (walker.nextNode()) texts.push(walker.currentNode);
			texts.forEach(wrap);
		};
		all(document.body);
		// A translator comes some time after the page.
		new MutationObserver(() => setTimeout(() => all(document.body))).observe(document.body, {
			...{ subtree: true, childList: true, characterData: true },
		});
	});

/** What the table says, without marks of the translator. */
const said = (page: Page) =>
	page.evaluate(() =>
		[".player", ".boardhead", ".prompt", ".actions .buttons", ".handtitle", ".log"].map((where) =>
			[...document.querySelectorAll(where)].map((each) =>
				each.textContent!.replace(/[«»]/g, "").replace(/\s+/g, " ").trim(),
			),
		),
	);

describe(`whatever others do to the page (SEED=${SEED})`, () => {
	const site = openSite();

	it.each(["skystones", "castle_rampage", "champion_chess"])(
		"%s says the same when a translator has been there",
		async (game) => {
			const { page } = await visit(site.browser, site.url);
			await deal(page, game, { seat: "0" });
			await page.waitForSelector(CAN);
			const untouched = await page.context().newPage();
			await translate(page);
			await untouched.goto(page.url());
			const versions = new Set<string | null>();
			for (let click = 0; versions.size < 4 && !(await page.$("[data-testid=ending]")); click++) {
				await clickOne(page, chance(SEED + click));
				await page.waitForSelector(READY);
				// What is chosen shows here alone.
				if (await page.$(".chosen, [data-confirm], .actions .quiet")) continue;
				const version = await page.getAttribute("[data-testid=match]", "data-version");
				if (versions.has(version)) continue;
				await untouched.reload();
				await untouched.waitForSelector("[data-testid=match]");
				// The other seat may decide at any time, which both say.
				await expect
					.poll(() => Promise.all([page, untouched].map(said)), { timeout: 600_000 })
					.toSatisfy(([one, other]) => JSON.stringify(one) === JSON.stringify(other));
				versions.add(version);
			}
			expect(await page.locator("font").count()).toBeGreaterThan(0);
		},
	);

	it("a damaged link always leads somewhere", async () => {
		const { page } = await visit(site.browser, site.url);
		await deal(page, "skystones", { opponent: "friend" });
		const links = [new URL(page.url()).hash];
		links.push(new URL(await page.inputValue(".invite [data-testid=link]")).hash);
		links.push("#/puzzles/skystones/x", `#/seat/${links[0]!.split("/")[2]}/token`, "#/replay/abc");
		const random = chance(SEED);
		const below = (n: number) => Math.floor(random() * n);
		const rubbish = [
			"%",
			"%E0%A4",
			"/",
			"#",
			"?",
			"é",
			"\u200b",
			"%00",
			"%0A",
			"..",
			"constructor",
			" ",
		];
		for (let attempt = 0; attempt < TRIES; attempt++) {
			let link = links[below(links.length)]!;
			for (let damage = 0; damage <= below(3); damage++) {
				const at = 1 + below(link.length);
				const [head, tail] = [link.slice(0, at), link.slice(at)];
				link = [
					head,
					head + rubbish[below(rubbish.length)] + tail,
					head + tail.slice(1 + below(5)),
				][below(3)]!;
			}
			await page.goto("about:blank");
			await page.goto(site.url + link);
			await page.waitForSelector(WAY_OUT).catch((error) => {
				throw new Error(`${link}: ${error}`);
			});
		}
	});

	it("whatever its storage holds, the lobby is there", async () => {
		const { page } = await visit(site.browser, site.url);
		await deal(page, "skystones");
		const seat = JSON.parse(
			(await page.evaluate(() => localStorage.getItem("croupier.seats")))!,
		)[0];
		const random = chance(SEED);
		const below = (n: number) => Math.floor(random() * n);
		const values = [
			null,
			0,
			-1,
			1e300,
			"",
			"x",
			"constructor",
			[],
			[null],
			{},
			true,
			"1",
			"matches/",
		];
		const odd = () => values[below(values.length)];
		const keys = ["language", "theme", "name", "sound", "notifications", "lessons", "puzzles"];
		for (let attempt = 0; attempt < TRIES; attempt++) {
			const fields = Object.keys({ ...seat, known: 0, lesson: 0, opponent: 0, bot: 0 });
			const damaged = { ...seat, [fields[below(fields.length)]!]: odd() };
			// As is kept of a match whose game the server did not list.
			if (attempt === 0) Object.assign(damaged, { game: "" });
			if (random() < 0.3) damaged.known = { turn: odd(), outcome: odd(), ended: odd() };
			const kept = [
				JSON.stringify([damaged, odd(), seat, seat]),
				JSON.stringify(odd()),
				"{",
				"[[[",
			];
			const stored = {
				"croupier.seats": kept[attempt && below(3) && below(kept.length)],
				[keys[below(keys.length)]!]: JSON.stringify([odd()]),
			};
			await page.evaluate((stored) => {
				localStorage.clear();
				for (const [key, value] of Object.entries(stored)) localStorage.setItem(key, value!);
			}, stored);
			await page.goto("about:blank");
			await page.goto(site.url);
			await page.waitForSelector(".gametile .primary:not(:disabled)").catch((error) => {
				throw new Error(`${JSON.stringify(stored)}: ${error}`);
			});
			// A seat that was stored beside rubbish is still there, and can be played.
			if (!stored["croupier.seats"]?.includes(seat.token)) continue;
			await page.click(`[data-match="${seat.match}"] a`);
			await page.waitForSelector("[data-testid=match], .notice a");
		}
	});

	it("a seat for which there is no room is told of, with the way back to it", async () => {
		const { page } = await visit(site.browser, site.url);
		await page.evaluate(() => {
			for (let size = 2 ** 22; size >= 1; )
				try {
					localStorage.setItem(`full${Math.random()}`, "x".repeat(size));
				} catch {
					size /= 2;
				}
		});
		await page.reload();
		await deal(page, "skystones");
		const link = await page.inputValue(".unkept [data-testid=link]");
		await page.waitForSelector(CAN);
		const other = await visit(site.browser, link);
		await other.page.waitForSelector(CAN);
		expect(await other.page.$(".unkept")).toBeNull();
		// The lobby still knows it, as long as this page is open.
		await page.click(".brand");
		await page.waitForSelector(".mymatch");
	});

	it("a page whose files are gone takes the new ones", async () => {
		const { page } = await visit(site.browser, site.url);
		await page.waitForSelector(".gametile .primary:not(:disabled)");
		let upgraded = false;
		await page.route(site.url, async (route) => {
			const response = await route.fetch();
			const body = (await response.text()).replace(/(assets\/index-)/, "$1NEW");
			await route.fulfill({ response, body });
			upgraded = true;
		});
		await page.route(/assets\/(indexNEW|index-NEW)/, (route) =>
			route.continue({ url: route.request().url().replace("index-NEW", "index-") }),
		);
		await page.route(/assets\/screen-.*js/, (route) =>
			upgraded ? route.continue() : route.fulfill({ status: 404 }),
		);
		await page.evaluate(() => {
			location.hash = "#/puzzles/skystones";
		});
		await page.waitForSelector(".puzzle, [data-testid=puzzle], .tablearea");
		expect(upgraded).toBe(true);
	});

	it("a clock of the device that is set during a match changes nothing", async () => {
		const context = await newContext(site.browser);
		await context.addInitScript(() => {
			const { now } = Date;
			let ahead = 0;
			Date.now = () => now() + ahead;
			Object.assign(window, { setAhead: (by: number) => (ahead = by) });
		});
		const page = await context.newPage();
		await page.goto(site.url);
		await deal(page, "skystones", { opponent: "friend", clock: "rapid", seat: "0" });
		const guest = await visit(site.browser, await page.inputValue(".invite [data-testid=link]"));
		await guest.page.click("[data-testid=join]");
		await page.waitForSelector(".clock.running");
		for (const hours of [1, -1, 24]) {
			await page.evaluate(
				(by) => (window as unknown as { setAhead(by: number): void }).setAhead(by),
				hours * 3_600_000,
			);
			// The clock is drawn again.
			const before = await page.textContent(".clock.running");
			await page.waitForFunction(
				(before) => document.querySelector(".clock.running")?.textContent !== before,
				before,
			);
			const clock = await page.textContent(".clock.running");
			expect(clock).toMatch(/^1[0-5]:\d\d$/);
		}
	});
});
