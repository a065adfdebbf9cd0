// Matches by correspondence: two friends look once a day, some days with the page; the server ends at night.
import { randomUUID } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { SubmitActionRequestSchema } from "../../src/gen/croupier/v1/match_pb";
import { chance, GAMES, play } from "./players";
import { deal, joinedBy, openServer, openSite, visit } from "./visitor";

const SEED = Number(process.env.SEED ?? Date.now() % 100_000);
const PLAYED = process.env.SHORT ? [GAMES[SEED % GAMES.length]!] : GAMES;
// The server ends in the nights until the last of these.
const DAYS_WITH_PAGE = [0, 1, 3];
const LAST_DAY_WITH_PAGE = 3;
const LONGEST = 200;
// Or what it owes was decided ahead, and nothing can be chosen.
const OWES_NOTHING = ".player.near:not(.deciding), .actions .notice";

/** What the calls answer, as far as it matters here. */
interface Answer {
	view: { version?: string; legalActions?: object[]; decisionsAhead?: object; result?: object };
	record: { entries: { action?: { seat?: number } }[] };
}

/** A player with a browser, who also knows how to do without. */
interface Friend {
	page: Page;
	address: string;
	match: string;
	token: string;
	/** By the request: how many decisions it was for. */
	sent: Map<string, number>;
}

describe(`correspondence (SEED=${SEED})`, () => {
	const site = openSite();
	const own = openServer();

	it.each(PLAYED)("asks nobody twice and loses nothing in %s", async (game) => {
		const random = chance(SEED);
		// A King of Champion Chess may fall on the first day.
		while (!(await playOverDays(game, random)));
	});

	async function friendAt(page: Page): Promise<Friend> {
		await page.waitForSelector("[data-testid=board]");
		const [{ match, token }] = await page.evaluate(() =>
			JSON.parse(localStorage.getItem("croupier.seats")!),
		);
		const sent = new Map<string, number>();
		page.on("request", (request) => {
			if (!request.url().endsWith("/SubmitAction")) return;
			const bytes = new Uint8Array(request.postDataBuffer()!);
			const { requestId, thenActions } = fromBinary(SubmitActionRequestSchema, bytes);
			sent.set(requestId, 1 + thenActions.length);
		});
		return { page, address: page.url(), match, token, sent };
	}

	async function call({ match, token }: Friend, method: string, more = {}): Promise<Answer> {
		const answer = await fetch(`${own.way.url}croupier.v1.MatchService/${method}`, {
			method: "POST",
			headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
			body: JSON.stringify({ name: match, ...more }),
		});
		if (!answer.ok) throw new Error(`${method}: ${await answer.text()}`);
		return (await answer.json()) as Answer;
	}

	/** Decides all that is owed, without a page; returns whether the match is over. */
	async function look(friend: Friend, random: () => number): Promise<boolean> {
		let { view } = await call(friend, "GetView");
		while (view.legalActions?.length) {
			expect(view.decisionsAhead).toBeUndefined();
			const requestId = randomUUID();
			friend.sent.set(requestId, 1);
			const action = view.legalActions[Math.floor(random() * view.legalActions.length)];
			const decided = { requestId, action, expectedVersion: view.version ?? "0" };
			({ view } = await call(friend, "SubmitAction", decided));
		}
		return view.result !== undefined;
	}

	async function lookWithPage({ page, address }: Friend, random: () => number): Promise<boolean> {
		await page.goto("about:blank");
		await page.goto(address);
		await page.waitForSelector("[data-testid=board]");
		await play(page, random, { shows: OWES_NOTHING });
		const over = (await page.$("[data-testid=ending]")) !== null;
		await page.goto("about:blank");
		return over;
	}

	/** Plays a match to its end; returns whether it went on for longer than the days with the page. */
	async function playOverDays(game: string, random: () => number) {
		const host = await visit(site.browser, own.way.url);
		await deal(host.page, game, { opponent: "friend", seat: "0", clock: "daily" });
		const guest = await joinedBy(site.browser, host.page);
		const friends = await Promise.all([host.page, guest.page].map(friendAt));
		let [day, over] = [0, false];
		for (; !over; day++) {
			expect(day).toBeLessThan(LONGEST);
			for (const friend of friends)
				over = DAYS_WITH_PAGE.includes(day)
					? await lookWithPage(friend, random)
					: await look(friend, random);
			if (day > LAST_DAY_WITH_PAGE) continue;
			await own.server.kill(random() < 0.5 ? "SIGTERM" : "SIGKILL");
			await own.server.again();
		}
		const { record } = await call(friends[0]!, "GetRecord");
		for (const [seat, { sent }] of friends.entries()) {
			const made = record.entries.filter(({ action }) => action && (action.seat ?? 0) === seat);
			expect(made.length).toBe([...sent.values()].reduce((sum, each) => sum + each));
		}
		await Promise.all(friends.map(({ page }) => page.context().close()));
		return day > LAST_DAY_WITH_PAGE;
	}
});
