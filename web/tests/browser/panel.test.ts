// What the page explains: hints in words, the log, the form for a new match, and what is installed.
import { fromBinary, toJsonString } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Standing, SubmitActionRequestSchema } from "../../src/api/types";
import { chance, GAMES, play, READY } from "./players";
import { audit, deal, openSite, visit } from "./visitor";

const HOUR_MS = 3_600_000;

describe("the page explains itself", () => {
	const site = openSite();

	it.each([
		[
			"en-US",
			/^(Best move: |Choose )?“.+”.* worth about \d+ of 100 points/,
			/^(best|as good|worse by \d+( \(± \d+\))?|no difference seen \(± \d+\)|not examined)$/,
			"Figures of the search",
			"You:",
		],
		[
			"de-DE",
			/^(Bester Zug: |In \d von 10 Fällen )?„.+“.* etwa \d+ von 100 Punkten/,
			/^(bester Zug|genauso gut|um \d+( \(± \d+\))? schlechter|kein Unterschied gesehen \(± \d+\)|nicht untersucht)$/,
			"Zahlen der Suche",
			"Du:",
		],
	])("a hint says in words what to do, %s", async (locale, sentence, word, figures, me) => {
		const { page } = await visit(site.browser, site.url, { locale });
		await deal(page, "champion_chess");
		await page.waitForSelector(".card[data-can]");
		// The search of a hand with one noble ends with its first report, and has no graph.
		const nobles = () =>
			page.$$eval(".card[data-can]", (all) => new Set(all.map((each) => each.textContent)).size);
		while ((await nobles()) < 2) {
			await page.click(".brand");
			await deal(page, "champion_chess");
			await page.waitForSelector(".card[data-can]");
		}
		await page.click(".tabs button:nth-child(2)");
		await page.click("[data-testid=askhint]");
		await page.waitForSelector("[data-testid=advice]");
		// The cards that it would play have their shares, and a graph comes with the reports.
		for (const shown of [".card .share", ".heat li", ".sparkline .curve"])
			await page.waitForSelector(shown, { state: "attached" });
		if (locale === "de-DE") await page.click(".hintpanel button:has-text('Anhalten')");
		await page.waitForSelector(".hintpanel:has([data-testid=advice]) [data-testid=askhint]"); // The search is over.
		const advice = await page.locator("[data-testid=advice]").innerText();
		expect(advice).toMatch(sentence);
		// Each move is called what it is, in order: the best, as good, worse, not examined.
		const standings = await page.$$eval(".shares tbody tr", (rows) =>
			rows.map((row) => Number(row.dataset.standing)),
		);
		expect(standings[0]).toBe(Standing.BEST);
		expect(standings).toEqual([...standings].sort());
		const called = await page.locator(".shares td:last-child").allInnerTexts();
		for (const each of called) expect(each).toMatch(word);
		// What is shown adds up: wins and half of the draws are the points.
		const [win, draw, loss] = await page
			.locator(".chancesbox li")
			.allInnerTexts()
			.then((all) => all.map((text) => Number(/\p{L}+ (\d+)\s?%/u.exec(text)![1])));
		expect(win! + draw! + loss!).toBe(100);
		expect(advice).toMatch(new RegExp(` ${win! + draw! / 2} (of|von) 100 `));
		expect(await page.locator(".hintpanel abbr").count()).toBe(0);
		// The expected line begins with the move that the hint plays most often; a short search has none.
		const [first] = await page.locator(".hintpanel .line li").allInnerTexts();
		const best = await page.locator(".shares tbody th").first().innerText();
		if (first) expect(first).toBe(`${me} ${best}`);
		// Figures and jargon are for those who ask for them.
		expect(await page.locator(".hintpanel").innerText()).not.toMatch(/playouts|Durchläufe/);
		const details = page.locator("details.figures");
		expect(await details.locator("p").first().isVisible()).toBe(false);
		await details.locator(`summary:has-text("${figures}")`).click();
		expect(await details.locator("p").first().isVisible()).toBe(true);
		expect(await audit(page)).toEqual([]);
	});

	it.each(GAMES)("one click or one key plays the advice, %s", async (game) => {
		const { page } = await visit(site.browser, site.url);
		const sent: string[] = [];
		page.on("request", (request) => {
			if (!request.url().endsWith("/SubmitAction")) return;
			const { action } = fromBinary(SubmitActionRequestSchema, request.postDataBuffer()!);
			sent.push(
				toJsonString(SubmitActionRequestSchema.field.action!.message!, action!, {
					alwaysEmitImplicit: true,
				}),
			);
		});
		const rows = `.shares tbody tr[data-standing="${Standing.BEST}"]`;
		const begin = async () => {
			await deal(page, game, { seat: "0" });
			await page.waitForSelector(READY);
		};
		const ask = async () => {
			await page.keyboard.press("h");
			await page.waitForSelector("[data-testid=playadvice]");
			// That is enough; the search may be over, too.
			await page.evaluate(() =>
				[...document.querySelectorAll<HTMLElement>(".hintpanel .buttons button")]
					.find((each) => each.textContent === "Stop")
					?.click(),
			);
		};
		await begin();
		for (const mouse of [true, false]) {
			await ask();
			// Where both decide at the same time, there is a mixture in most deals.
			while (game === "champion_chess" && (await page.locator(rows).count()) < 2) {
				await page.click(".brand");
				await begin();
				await ask();
			}
			// A row shows on the table which cards its move uses, as long as one looks at it.
			const cards = new Map<string, string[]>();
			for (const row of await page.locator(rows).all()) {
				await (mouse ? row.hover() : row.focus());
				const marked = await page.$$eval(
					".hand .chosen[data-key], .board .shown[data-key]",
					(all) => all.map((each) => each.dataset.key!.split(":")[1]!),
				);
				cards.set(await row.locator("th").innerText(), marked);
			}
			expect([...cards.values()].flat()).not.toEqual([]);
			if (mouse) await page.mouse.move(0, 0);
			else await page.locator(".panel").focus();
			expect(await page.locator(".hand .chosen").count()).toBe(0);
			const before = sent.length;
			if (mouse) await page.click("[data-testid=playadvice]");
			else await page.keyboard.press("p");
			await page.waitForSelector(".hintpanel .shares", { state: "detached" });
			await page.waitForSelector(READY);
			expect(sent).toHaveLength(before + 1);
			const [only, other] = cards.keys();
			const notice = page.locator(".actions .notice");
			const drawn = other && /^Drawn: “(.*)”\.$/.exec(await notice.innerText())![1];
			const used = cards.get(drawn ?? only!)!;
			for (const card of used) expect(sent.at(-1)).toMatch(new RegExp(`["_:]${card}["},]`));
		}
	});

	it("the log is a list without gaps, by rounds, with the newest entries marked", async () => {
		const { page } = await visit(site.browser, site.url, { locale: "de-DE" });
		expect(await page.getAttribute("html", "lang")).toBe("de");
		await deal(page, "skystones", { seat: "0" });
		await page.waitForSelector(".log li");
		// From the top of one entry to the top of the next: at most three lines.
		const steps = () =>
			page.evaluate(() => {
				const boxes = [...document.querySelectorAll(".log li:not(.part)")].map((each) => ({
					...each.getBoundingClientRect().toJSON(),
					part: each.previousElementSibling?.classList.contains("part"),
				}));
				return boxes.slice(1).map((box, at) => (box.part ? 0 : box.top - boxes[at].top));
			});
		expect(Math.max(...(await steps()))).toBeLessThan(75);
		await play(page, chance(1), { shows: ".log .part", after: 24 });
		expect(await page.locator(".log .part").first().innerText()).toBe("Runde 1");
		// Nobody is called by their place in the order.
		expect(await page.locator(".log .who.theirs").first().innerText()).toBe("Der Bot");
		await page.waitForSelector("[data-testid=prompt]:has-text('ist dran')");
		expect(await page.locator(".log li").last().getAttribute("class")).toContain("newest");
		expect(Math.max(...(await steps()))).toBeLessThan(75);
	});

	it("the form for a new match begins with its first field", async () => {
		const { page } = await visit(site.browser, site.url);
		await page.click("[data-testid=play-skystones]");
		await page.waitForSelector("dialog[open]");
		const focused = () => page.evaluate(() => document.activeElement?.getAttribute("name"));
		expect(await focused()).toBe("opponent");
		await page.keyboard.press("Enter");
		await page.waitForSelector("[data-testid=match]");
		// What cannot be undone is not done by the next Enter.
		await page.click(".more .danger");
		await page.waitForSelector("dialog[open]");
		await page.keyboard.press("Enter");
		await page.waitForSelector("dialog[open]", { state: "detached" });
		expect(await page.locator("[data-testid=ending]").count()).toBe(0);
	});

	it("a phone shows the way to what lies below the table", async () => {
		const viewport = { width: 390, height: 844 };
		const { page } = await visit(site.browser, site.url, { viewport });
		await deal(page, "skystones");
		await page.waitForSelector(".card[data-can]");
		const inSight = (selector: string) =>
			page.$eval(selector, (element) => {
				const { left, top, width, height } = element.getBoundingClientRect();
				const hit = document.elementFromPoint(left + width / 2, top + height / 2);
				return element.contains(hit);
			});
		expect(await inSight(".tabs .current")).toBe(false);
		for (const [name, shown] of [
			["Rules", ".panel .gallery"],
			["Hint", ".panel .hintpanel"],
			["What happened", ".panel .log"],
		]) {
			await page.evaluate(() => scrollTo(0, 0));
			const way = `.jump button[aria-label="${name}"]`;
			expect(await inSight(way)).toBe(true);
			await page.click(way);
			await page.waitForSelector(shown!);
			expect(await inSight(".tabs .current")).toBe(true);
		}
		expect(await audit(page)).toEqual([]);
		await page.setViewportSize({ width: 1440, height: 900 });
		expect(await page.locator(".jump").isVisible()).toBe(false);
	});

	it("a clock of one's own, within the limits of the server", async () => {
		const { page } = await visit(site.browser, site.url);
		await page.click("[data-testid=play-skystones]");
		await page.locator("input[name=opponent][value=friend]").check({ force: true });
		await page.locator("input[name=clock][value=own]").check({ force: true });
		await page.fill("input[name=clocktime]", "31");
		await page.selectOption(".ownclock select", "days");
		await page.click("[data-testid=deal]");
		// The browser refuses what is too long, as the server would.
		expect(await page.locator("input[name=clocktime]:invalid").count()).toBe(1);
		await page.selectOption(".ownclock select", "minutes");
		await page.fill("input[name=clocktime]", "7");
		await page.fill("input[name=clockincrement]", "3");
		expect(await audit(page)).toEqual([]);
		await page.click("[data-testid=deal]");
		await page.waitForSelector(".invite .qr path");
		expect(await page.locator(".player .clock").first().innerText()).toBe("7:00");
		expect(await page.locator(".invite").innerText()).toContain(
			"7 minutes for each player, and 3 seconds more with each move.",
		);
		// The QR code is the invitation.
		const { encode } = await import("uqr");
		const link = await page.inputValue(".invite [data-testid=link]");
		const dark = encode(link, { border: 2 }).data.flat().filter(Boolean).length;
		const path = await page.getAttribute(".qr path", "d");
		expect(path?.split("M").length).toBe(dark + 1);
		expect(await audit(page)).toEqual([]);
	});

	it("can be installed, and tells what it is", async () => {
		const { page } = await visit(site.browser, site.url);
		const href = await page.getAttribute("link[rel=manifest]", "href");
		const response = await page.request.get(new URL(href!, site.url).href);
		expect(response.headers()["content-type"]).toContain("application/manifest+json");
		const manifest = await response.json();
		for (const { src, type } of manifest.icons as { src: string; type: string }[]) {
			const icon = await page.request.get(new URL(src, site.url).href);
			expect(icon.headers()["content-type"]).toContain(type);
		}
		for (const property of ["og:title", "og:description"])
			expect(await page.getAttribute(`meta[property="${property}"]`, "content")).toMatch(/\S/);
	});

	// What is shown belongs to one moment: a hint to one view, and the time left to the servers' clock.
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
