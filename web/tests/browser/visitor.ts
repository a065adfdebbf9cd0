// A visitor with a browser of their own, who notes everything that the page should not do.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";
import { type Server, startServer, startWay } from "./server";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
if (!existsSync(CHROMIUM)) throw new Error(`There is no browser at ${CHROMIUM}.`);

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FOREVER = 3_600_000; // No wait has a limit of its own: that of every test ends it.
const FLAGS = [
	"--no-sandbox",
	"--disable-gpu",
	"--no-first-run",
	"--disable-background-networking",
];
export const LAUNCH = {
	executablePath: CHROMIUM,
	args: [...FLAGS, "--disable-component-update", "--disable-sync"],
	timeout: FOREVER,
};

export const launch = (): Promise<Browser> => chromium.launch(LAUNCH);

/** Errors of the pages of a test, violations of the content security policy, requests elsewhere. */
const complaints: string[] = [];

/**
 * The server and the browser of all tests; what a test opens in the browser is closed after it, and
 * must have had nothing to complain about.
 */
export function openSite(): { url: string; browser: Browser } {
	const site = {} as { url: string; browser: Browser };
	beforeAll(async () => {
		site.url = inject("url");
		site.browser = await chromium.connect(inject("browser"), { timeout: FOREVER });
	});
	afterEach(async ({ task }) => {
		for (const context of site.browser.contexts()) {
			if (task.result?.state === "fail") {
				const [error] = task.result.errors!;
				error!.message += (await Promise.all(context.pages().map(shown))).join("");
				// Of a try that is followed by another one nothing else is told.
				console.error(`A try has failed, ${task.name}: ${error!.message.replaceAll("\n", " | ")}`);
			}
			await context.close();
		}
		expect(complaints.splice(0)).toEqual([]);
	});
	afterAll(() => site.browser?.close());
	return site;
}

/** A server of the tests of a file alone, with a way to it; both end after them. */
export function openServer() {
	const own = {} as { server: Server; way: Awaited<ReturnType<typeof startWay>> };
	beforeAll(async () => {
		own.server = await startServer();
		own.way = await startWay(own.server);
	});
	afterAll(async () => {
		own.way?.stop();
		await own.server?.stop();
	});
	return own;
}

/** Where a page is, and what it shows: for a test that waited for something else. */
const shown = async (page: Page) =>
	`\n${page.url()}: ${await page.evaluate(() => document.body.innerText.replace(/\s+/g, " ").slice(0, 600))}`;

/** A visitor's own window and storage. */
export async function newContext(browser: Browser, options: BrowserContextOptions = {}) {
	const context = await browser.newContext({
		reducedMotion: "reduce",
		locale: "en-US",
		...options,
	});
	context.setDefaultTimeout(FOREVER);
	return context;
}

export interface Visitor {
	page: Page;
	/** Where it sent requests to. */
	addresses: string[];
}

/** The tokens that this browser keeps. */
export const tokensOf = (page: Page): Promise<string[]> =>
	page.evaluate(() =>
		(
			JSON.parse(localStorage.getItem("croupier.seats") ?? "[]") as Record<string, string>[]
		).flatMap(({ token, spectatorToken }) => [token ?? "", spectatorToken ?? ""].filter(Boolean)),
	);

export async function visit(
	browser: Browser,
	url: string,
	options: BrowserContextOptions = {},
): Promise<Visitor> {
	const context = await newContext(browser, {
		viewport: { width: 1280, height: 900 },
		...options,
	});
	const page = await context.newPage();
	page.on("pageerror", (error) => complaints.push(`error: ${error.stack}`));
	page.on("console", (message) => {
		if (/Content.Security.Policy/i.test(message.text())) complaints.push(message.text());
	});
	const origin = new URL(url).origin;
	page.on("request", (request) => {
		if (!request.url().startsWith(origin)) complaints.push(`request to ${request.url()}`);
		addresses.push(request.url().replace(/#.*/, ""));
		if (request.headers().cookie) complaints.push("a cookie was sent");
	});
	const addresses: string[] = [];
	await page.goto(url);
	return { page, addresses };
}

/** From now on, what the page leaves for after a frame comes late, as on a busy machine. */
export const late = (page: Page) =>
	page.evaluate(() => {
		const { setTimeout: after } = window;
		const late = (run: TimerHandler, ms = 0) => after(run, ms < 50 ? 400 : ms);
		Object.assign(window, { setTimeout: late });
	});

/** What axe finds on the present screen, and what the panel beside the table has no room for: a line each. */
export async function audit(page: Page): Promise<string[]> {
	if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
	return page.evaluate(async () => {
		const { axe } = window as unknown as {
			axe: {
				run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
			};
		};
		const { violations } = await axe.run({ resultTypes: ["violations"] });
		const wide = [...document.querySelectorAll(".side > *")].filter(
			(part) =>
				part.getBoundingClientRect().right > part.parentElement!.getBoundingClientRect().right,
		);
		return [
			...violations.flatMap(({ id, nodes }) =>
				nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`),
			),
			...wide.map((part) => `wider than the panel: ${part.outerHTML.slice(0, 160)}`),
		];
	});
}

/** Starts a match from the lobby and waits for the table. */
export async function deal(page: Page, game: string, choices: Record<string, string> = {}) {
	if (!(await page.$("dialog[open]"))) await page.click(`[data-testid=play-${game}]`);
	await page.waitForSelector("dialog[open]");
	for (const [name, value] of Object.entries({ strength: "RANDOM", ...choices })) {
		const radio = page.locator(`input[name="${name}"][value="${value}"]`);
		if ((await radio.count()) > 0) await radio.check({ force: true });
	}
	await page.click("[data-testid=deal]");
	await page.waitForSelector("[data-testid=match]");
}

/** A second visitor, who takes the seat to which the first one has the invitation. */
export async function joinedBy(browser: Browser, host: Page, options?: BrowserContextOptions) {
	const link = await host.inputValue(".invite [data-testid=link]");
	const guest = await visit(browser, link, options);
	await guest.page.click("[data-testid=join]");
	return guest;
}

/** Moves the focus with the keyboard until it is there. */
export async function tabTo(page: Page, selector: string) {
	while (!(await page.evaluate((sought) => document.activeElement?.matches(sought), selector)))
		await page.keyboard.press("Tab");
}

/** Opens the replay of a match that is over. */
export async function replay(page: Page) {
	await page.click("text=Replay and review");
	await page.waitForSelector("[data-testid=replay]");
}

/** What the check of the deal says in a replay. */
export async function verified(page: Page) {
	await page.click(".replay .more summary");
	await page.click("[data-testid=verify]");
	return page.textContent("[data-testid=verdict]");
}

/**
 * What completes the choice of a champion: a King who is the only noble in the hand, as in one deal
 * of thirty, may castle, and is asked for that in place of a confirmation.
 */
export const CONFIRM_CHAMPION = "[data-confirm], [data-key='do:stay']";

export const version = (page: Page) => page.getAttribute("[data-testid=match]", "data-version");

/** Waits until the table shows a later version than this one. */
export const waitForVersionAfter = (page: Page, known: number) =>
	page.waitForFunction(
		(before) =>
			Number(document.querySelector<HTMLElement>("[data-testid=match]")?.dataset.version) > before,
		known,
	);
