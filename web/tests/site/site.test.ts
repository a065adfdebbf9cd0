// The built site of the documentation in a browser, from the file system and without a network.
import { existsSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, newContext } from "../browser/visitor";

const SITE = resolve(process.env.SITE ?? "../build/site");
const PAGES = readdirSync(SITE, { recursive: true, encoding: "utf8" })
	.filter((path) => path.endsWith(".html") && path !== "404.html")
	.sort();

const LANES = 4;

describe("the site", () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await launch();
	});
	afterAll(() => browser?.close());

	it.each([
		{ width: 1280, height: 900, colorScheme: "light" },
		{ width: 390, height: 844, colorScheme: "dark" },
	] as const)("loads nothing from elsewhere and fits, $width wide", async (window) => {
		const { colorScheme, ...viewport } = window;
		const context = await newContext(browser, { viewport, colorScheme });
		const faults: string[] = [];
		// Some pages at a time, since most of the time goes into waiting.
		const lanes = [...Array(LANES).keys()].map(async (lane) => {
			const page = await context.newPage();
			let at = "";
			page.on("request", (request) => {
				if (/^(https?|wss?):/.test(request.url())) faults.push(`${at}: asks for ${request.url()}`);
			});
			page.on("requestfailed", (request) => {
				// What is under way when the next page is opened is given up.
				if (request.failure()?.errorText !== "net::ERR_ABORTED")
					faults.push(`${at}: no ${request.url()}`);
			});
			page.on("pageerror", (error) => faults.push(`${at}: ${error.message}`));
			for (at of PAGES.filter((_, index) => index % LANES === lane)) {
				await page.goto(pathToFileURL(`${SITE}/${at}`).href);
				const wider = await page.evaluate(() => document.body.scrollWidth - innerWidth);
				if (wider > 0) faults.push(`${at}: ${wider} pixels wider than the window`);
			}
		});
		await Promise.all(lanes);
		expect(faults).toEqual([]);
		expect(PAGES.length).toBeGreaterThan(30);
		await context.close();
	});

	it("finds words, and draws the diagrams", async () => {
		const page = await (await newContext(browser)).newPage();
		await page.goto(pathToFileURL(`${SITE}/architecture.html`).href);
		// The theme draws them where nobody can look, in closed shadow roots.
		if (existsSync(`${SITE}/mermaid.min.js`))
			await page.waitForFunction(() => {
				const drawn = [...document.querySelectorAll<HTMLElement>("div.mermaid")];
				return drawn.length > 0 && drawn.every((each) => each.offsetHeight > 100);
			});
		await page.keyboard.press("Control+k");
		await page.keyboard.type("invitation");
		await page.getByText("SeatInvitation").first().waitFor();
		await page.close();
	});
});
