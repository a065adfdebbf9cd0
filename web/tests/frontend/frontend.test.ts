// Two accounts of the example front end challenge each other, play on the page, and see how it ended.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chance, play } from "../browser/players";
import { type Server, startServer } from "../browser/server";
import {
	audit,
	launch,
	newContext,
	tokensOf,
	version,
	waitForVersionAfter,
} from "../browser/visitor";
import { Frontend } from "./process";

const SEED = Number(process.env.SEED ?? 7);
const PASSWORD = "correct horse";

/** An account in a browser of its own, which notes all that the browser has received. */
class User {
	readonly complaints: string[] = [];
	private readonly received: Promise<string>[] = [];
	table!: Page;

	private constructor(
		readonly name: string,
		private readonly context: BrowserContext,
		readonly page: Page,
	) {}

	static async register(
		browser: Browser,
		url: string,
		name: string,
		options: BrowserContextOptions = {},
	) {
		const context = await newContext(browser, {
			viewport: { width: 1440, height: 900 },
			...options,
		});
		const user = new User(name, context, await context.newPage());
		user.listen();
		await user.page.goto(url);
		await user.page.fill("[name=name]", name);
		await user.page.fill("[name=password]", PASSWORD);
		await user.page.click("text=Create an account");
		await user.page.waitForSelector("text=Your matches");
		return user;
	}

	private listen() {
		this.context.on("weberror", (error) => this.complaints.push(error.error().message));
		this.context.on("console", (message) => {
			if (/Content.Security.Policy/i.test(message.text())) this.complaints.push(message.text());
		});
		this.context.on("response", (response) => {
			const head = `${response.url()} ${JSON.stringify(response.headers())}`;
			// A stream has no end to wait for; a redirect has no body, nor has what the browser has kept.
			const stream = /connect\+|event-stream/.test(response.headers()["content-type"] ?? "");
			const empty = [303, 304].includes(response.status());
			const body = stream || empty ? Promise.resolve("") : response.body();
			this.received.push(
				body.then(
					(bytes) => `${head}\n${bytes.toString()}`,
					(error) => `${head}\nNOT READ: ${error}`,
				),
			);
		});
	}

	/** All that the browser has received so far, but the streams. */
	everything = async () => (await Promise.all(this.received)).join("\n");

	async challenge(opponent: string, game: string) {
		await this.page.selectOption("[name=opponent]", { label: opponent });
		await this.page.selectOption("[name=game]", { label: game });
		await this.page.selectOption("[name=seconds]", { label: "A day a move" });
		await this.page.click("button:has-text('Challenge')");
	}

	/** Waits until the list, which nobody renews, says something of a match. */
	sees = (text: string) => this.page.waitForSelector(`#matches li:has-text("${text}")`);

	/** Opens the table of the only match. */
	async sit() {
		const opened = this.context.waitForEvent("page");
		await this.page.click("#matches li .button");
		this.table = await opened;
		await this.table.waitForSelector("[data-testid=board]");
	}
}

describe("the example front end", () => {
	const folder = mkdtempSync(join(tmpdir(), "frontend-"));
	let server: Server;
	let browser: Browser;
	let frontend: Frontend;
	let key = "";

	beforeAll(async () => {
		const croupier = process.env.CROUPIER ?? "../.venv/bin/croupier";
		const callers = execFileSync(croupier, ["key", "studio", "--names-players"], {
			encoding: "utf8",
		});
		key = /alone: (\S+)/.exec(callers)?.[1] ?? "";
		writeFileSync(join(folder, "callers.toml"), callers);
		[server, browser] = await Promise.all([
			startServer("--callers-file", join(folder, "callers.toml")),
			launch(),
		]);
		frontend = new Frontend(folder, {
			CROUPIER_SERVER: server.grpc,
			CROUPIER_PAGE: server.url,
			CROUPIER_API_KEY: key,
		});
		await frontend.start();
	});
	afterAll(async () => {
		await browser?.close();
		await frontend?.kill();
		await server?.stop();
		rmSync(folder, { recursive: true, force: true });
	});

	it("brings two accounts to the table, and tells both how the match ended", async () => {
		const anna = await User.register(browser, frontend.url, "Anna");
		const bert = await User.register(browser, frontend.url, "Bert");
		const carl = await User.register(browser, frontend.url, "Carl");
		await anna.page.reload(); // Bert has registered meanwhile.
		await anna.challenge("Bert", "Skystones");
		// The page of Bert is told of it, and is not loaded again.
		await Promise.all([anna.sees("Your turn"), bert.sees("Your turn")]);
		expect(await bert.page.innerText("#matches li")).toContain("Anna");
		for (const { page } of [anna, bert]) expect(await audit(page)).toEqual([]);

		await Promise.all([anna.sit(), bert.sit()]);
		const [annas, berts] = await Promise.all([anna, bert].map(({ table }) => tokensOf(table)));
		const id = anna.table.url().replace(/.*\//, "");
		expect([annas, berts].map((tokens) => tokens?.length)).toEqual([1, 1]);
		expect(annas).not.toEqual(berts);
		for (const { table } of [anna, bert]) expect(table.url()).toBe(`${server.url}#/match/${id}`);
		await anna.table.waitForSelector('.player.far:has-text("Bert")');

		// Nobody else gets to the table.
		const entrance = `${frontend.url}/matches/${id}/play`;
		const get = (user: User, address: string) =>
			user.page.evaluate(async (address) => {
				const answer = await fetch(address, { redirect: "manual" });
				return answer.type === "opaqueredirect" ? 303 : answer.status;
			}, address);
		expect([await get(anna, entrance), await get(carl, entrance)]).toEqual([303, 404]);
		expect(await carl.page.innerText("#matches")).toContain("None yet");

		// In the midst of the match, the front end is killed. What happens meanwhile is not lost.
		const over = Promise.all([play(anna.table, chance(SEED)), play(bert.table, chance(SEED + 1))]);
		await waitForVersionAfter(anna.table, 3);
		await frontend.kill();
		await waitForVersionAfter(anna.table, 7);
		await frontend.start();
		const clicks = await over;
		console.log(`${clicks.join(" and ")} clicks, version ${await version(anna.table)}`);

		// Both lists say how it ended, as the table does.
		const said = await anna.table.innerText("[data-testid=outcome]");
		const [forAnna, forBert] = /win/i.test(said)
			? ["You won", "You lost"]
			: /lo/i.test(said)
				? ["You lost", "You won"]
				: ["A draw", "A draw"];
		await Promise.all([anna.sees(forAnna), bert.sees(forBert)]);

		// No page of Anna has the token of Bert, and nobody has the key.
		const [annaGot, bertGot, carlGot] = await Promise.all(
			[anna, bert, carl].map((user) => user.everything()),
		);
		const has = (text = "?") => [annaGot, bertGot, carlGot].map((got) => got?.includes(text));
		expect(has(annas?.[0])).toEqual([true, false, false]);
		expect(has(berts?.[0])).toEqual([false, true, false]);
		expect(has(key)).toEqual([false, false, false]);
		// A page that is left while its list is renewed throws the answer away unread.
		const unread = [annaGot, bertGot, carlGot].flatMap((got) => got?.match(/.*\nNOT READ/g) ?? []);
		expect(unread.filter((each) => !/^\S+\/matches /.test(each))).toEqual([]);
		for (const { complaints } of [anna, bert, carl]) expect(complaints).toEqual([]);
	});

	it("lists a rematch that was begun at the table, and matches against bots", async () => {
		const dora = await User.register(browser, frontend.url, "Dora");
		const phone = { viewport: { width: 390, height: 844 }, colorScheme: "dark" as const };
		const emil = await User.register(browser, frontend.url, "Emil", phone);
		await dora.page.reload();
		await dora.challenge("Emil", "Champion Chess");
		await Promise.all([dora.sees("Your turn"), emil.sees("Your turn")]);
		await emil.sit();
		await emil.table.click(".more .danger");
		await emil.table.click("dialog .primary.danger");
		await Promise.all([dora.sees("You won by resignation"), emil.sees("You lost")]);
		await emil.table.click("[data-testid=ask]");
		await Promise.all(
			[dora, emil].map(({ page }) =>
				page.waitForFunction(() => document.querySelectorAll("#matches .yours").length === 1),
			),
		);
		expect(await dora.page.locator("#matches .over").count()).toBe(1);
		await dora.sit();
		await dora.table.waitForSelector('.player.far:has-text("Emil")');

		await dora.challenge("Random bot", "Skystones");
		await dora.sees("Random bot");
		await dora.challenge("Expert bot", "PowerShot Soccer");
		await dora.sees("Expert bot");
		for (const { page } of [dora, emil]) expect(await audit(page)).toEqual([]);
		for (const { complaints } of [dora, emil]) expect(complaints).toEqual([]);
	});

	it("answers nobody who has not signed in, and no form of another site", async () => {
		const post = (path: string, origin: string) =>
			fetch(frontend.url + path, {
				method: "POST",
				redirect: "manual",
				headers: { origin, "content-type": "application/x-www-form-urlencoded" },
				body: "name=Fred&password=correct+horse&new=1",
			});
		expect((await post("/enter", "https://elsewhere.example")).status).toBe(403);
		const entered = await post("/enter", frontend.url);
		expect(entered.status).toBe(303);
		expect(entered.headers.get("set-cookie")).toMatch(/HttpOnly;.*SameSite=lax/);
		expect((await post("/challenge", frontend.url)).status).toBe(401);
		for (const path of ["/matches", "/matches/x/play", "/events"])
			expect((await fetch(frontend.url + path)).status).toBe(401);
	});
});
