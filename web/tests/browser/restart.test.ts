// Servers that go and come back while people sit at the table, and nothing else happens.
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { chance, clickOne, GAMES } from "./players";
import {
	CONFIRM_CHAMPION,
	deal,
	joinedBy,
	openServer,
	openSite,
	visit,
	waitForVersionAfter,
} from "./visitor";

const SEED = Number(process.env.SEED ?? Date.now() % 100_000);
// The long form restarts the server at each kind of decision; the short ones at the first.
const RESTARTS = process.env.TEST_LONG ? 30 : process.env.SHORT ? 1 : 2;
const CLICKS = 400;

// What has been chosen can still be clicked, but it waits for the confirmation or the server.
const CAN = ".tablearea [data-can]:not(:disabled):not(.chosen), [data-confirm]:not(:disabled)";

/** What is due from the players; undefined while something is chosen or still to be shown. */
async function decision(pages: Page[]): Promise<string | undefined> {
	const due = await Promise.all(
		pages.map((page) =>
			page.evaluate((can) => {
				if (document.querySelector("[data-testid=ending]")) return "over";
				if (document.querySelector(".chosen, [data-confirm]")) return undefined;
				const prompt = document.querySelector("[data-testid=prompt]")?.textContent ?? "";
				return document.querySelector(can) ? prompt.replace(/\d+/g, "N") : "waits";
			}, CAN),
		),
	);
	return due.includes(undefined) || due.every((each) => each === "waits")
		? undefined
		: due.join(" / ");
}

const version = async (page: Page) =>
	Number(await page.getAttribute("[data-testid=match]", "data-version"));

const waitFor = (page: Page, connection: string) =>
	page.waitForSelector(`[data-testid=match][data-connection=${connection}]`);

describe(`a restart of the server (SEED=${SEED})`, () => {
	const site = openSite();
	const own = openServer();

	it.each(GAMES)("leaves both players of %s at the table", async (game) => {
		const random = chance(SEED);
		const seen = new Set<string>();
		// A match may end with its first decision.
		while (seen.size < Math.min(2, RESTARTS)) await playWithRestarts(game, random, seen);
	});

	/** Plays a match, and restarts the server at each kind of decision that was not seen yet. */
	async function playWithRestarts(game: string, random: () => number, seen: Set<string>) {
		const host = await visit(site.browser, own.way.url);
		await deal(host.page, game, { opponent: "friend", seat: "0" });
		const guest = await joinedBy(site.browser, host.page);
		const pages = [host.page, guest.page];
		await Promise.all(pages.map((page) => page.waitForSelector("[data-testid=board]")));
		for (let click = 0; click < CLICKS && seen.size < RESTARTS; click++) {
			await Promise.any(pages.map((page) => page.waitForSelector(`${CAN}, [data-testid=ending]`)));
			const kind = await decision(pages);
			if (kind?.includes("over")) break;
			if (kind && !seen.has(kind)) {
				await own.server.kill((GAMES.indexOf(game) + seen.size) % 2 === 0 ? "SIGTERM" : "SIGKILL");
				seen.add(kind);
				await Promise.all(pages.map((page) => waitFor(page, "lost")));
				expect(await host.page.textContent("[data-testid=connection]")).toContain("lost");
				await own.server.again();
				await Promise.all(pages.map((page) => waitFor(page, "live")));
			}
			const able: Page[] = [];
			for (const page of pages) if (await page.$(CAN)) able.push(page);
			const page = able[Math.floor(random() * able.length)];
			if (page) await clickOne(page, random);
		}
		await Promise.all(pages.map((page) => page.context().close()));
	}

	it("sends a decision that was made while the server was away", async () => {
		const { page } = await visit(site.browser, own.way.url);
		await deal(page, "champion_chess");
		await page.waitForSelector(CAN);
		await own.server.kill("SIGKILL");
		await waitFor(page, "lost");
		const before = await version(page);
		await page.locator(".hand .card[data-can]").first().click();
		await page.click(CONFIRM_CHAMPION);
		await page.waitForFunction(() =>
			/Sending/.test(document.querySelector("[data-testid=prompt]")?.textContent ?? ""),
		);
		await own.server.again();
		await waitForVersionAfter(page, before);
	});

	it("plays on from what a restored backup has", async () => {
		const { page } = await visit(site.browser, own.way.url);
		await deal(page, "skystones");
		await page.waitForSelector(CAN);
		await own.server.kill("SIGTERM");
		own.server.backUp();
		await own.server.again();
		await waitFor(page, "live");
		const kept = await version(page);
		while ((await version(page)) < kept + 2) await clickOne(page, chance(SEED));
		await own.server.kill("SIGKILL");
		own.server.restore();
		await own.server.again();
		await page.waitForFunction(
			(known) =>
				Number(document.querySelector<HTMLElement>("[data-testid=match]")?.dataset.version) ===
				known,
			kept,
		);
		await waitFor(page, "live");
		while ((await version(page)) < kept + 2) await clickOne(page, chance(SEED));
	});

	it("notices a connection that dies without a word, and finds another one", async () => {
		const { page } = await visit(site.browser, own.way.url);
		await page.clock.install();
		await deal(page, "skystones");
		await waitFor(page, "live");
		own.way.fallSilent();
		// Nothing is heard for so long; then nothing answers.
		await page.clock.runFor("00:26");
		await page.clock.runFor("00:06");
		await waitFor(page, "lost");
		own.way.speak();
		await waitFor(page, "live");
	});
});
