// Two people in two browsers: seats that nobody loses, invitations, consent, endings and rematches.
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { BrowserContextOptions, Page, Route } from "playwright-core";
import { describe, expect, it } from "vitest";
import { create, MatchService, OfferKind, SeatConfigSchema } from "../../src/api/types";
import { rulesetOf } from "../../src/games/module";
import { chance, play, READY } from "./players";
import {
	audit,
	CONFIRM_CHAMPION,
	deal,
	openSite,
	version,
	visit,
	waitForVersionAfter,
} from "./visitor";

const KEPT = '.notice:has-text("4 of your cards are kept")';
const CARD = ".hand .card[data-can]";
const text = (page: Page, name: string) => page.locator(`[data-testid=${name}]`).innerText();

/** Waits until a part of the page says something. */
const says = (page: Page, name: string, what: string) =>
	page.waitForSelector(`[data-testid=${name}]:has-text("${what}")`);

/** Chooses the cards of a hand of Skystones, and confirms. */
async function pick(page: Page, cards = 5) {
	for (let chosen = 0; chosen < cards; chosen++) await page.click(`${CARD}:not(.chosen)`);
	await page.click("[data-confirm]");
}

async function resign(page: Page) {
	await page.click(".more .danger");
	await page.click("dialog .primary.danger");
	await page.waitForSelector("[data-testid=ending]");
}

describe("friends", () => {
	const site = openSite();

	/** Anna creates a match and has its invitation. */
	async function invite(
		choices: Record<string, string> = {},
		options: BrowserContextOptions = {},
		game = "champion_chess",
	) {
		const anna = await visit(site.browser, site.url, options);
		await anna.page.evaluate(() => localStorage.setItem("name", "Anna"));
		await anna.page.reload();
		await deal(anna.page, game, { opponent: "friend", seat: "0", ...choices });
		return { anna, link: await anna.page.inputValue(".invite [data-testid=link]") };
	}

	/** Anna and Bert at the same table. */
	async function pair(choices: Record<string, string> = {}, options: BrowserContextOptions = {}) {
		const { anna, link } = await invite(choices, options);
		const bert = await visit(site.browser, link, options);
		await bert.page.fill("input[name=displayname]", "Bert <b>");
		await bert.page.click("[data-testid=join]");
		await Promise.all([anna, bert].map(({ page }) => page.waitForSelector("[data-testid=board]")));
		return { anna: anna.page, bert: bert.page };
	}

	it("take a hand that is confirmed though nobody has the page open", async () => {
		const { anna, link } = await invite({}, {}, "skystones");
		const bert = await visit(site.browser, link);
		await bert.page.click("[data-testid=join]");
		for (const { page } of [anna, bert]) {
			await pick(page);
			if (page === bert.page) break;
			await page.waitForSelector(KEPT);
			await page.reload();
			// Those that wait show again, and nothing can be chosen beside them.
			await page.waitForSelector(KEPT);
			expect(await page.locator(".hand .chosen").count()).toBe(4);
			expect(await page.locator(`${CARD}:not(.chosen)`).count()).toBe(0);
			await page.goto("about:blank");
		}
		await bert.page.waitForFunction(() => document.querySelectorAll(".hand .card").length === 5);
		await leave(anna.page, bert.page);
	});

	it("take back what is kept, in all their tabs, and nobody else notices", async () => {
		const { anna, link } = await invite({}, {}, "skystones");
		const bert = await visit(site.browser, link);
		await bert.page.click("[data-testid=join]");
		const { page } = anna;
		await pick(page);
		const other = await page.context().newPage();
		await other.goto(page.url());
		for (const each of [page, other]) await each.waitForSelector(KEPT);
		expect(await audit(page)).toEqual([]);
		await bert.page.waitForSelector(`${CARD}:not(.chosen)`);
		const table = () => bert.page.locator("[data-testid=board], .hands, .says").allInnerTexts();
		await bert.page.waitForSelector("[data-testid=there].here");
		const before = await table();
		await other.click("[data-testid=takeback]");
		for (const each of [page, other]) {
			await each.waitForSelector(KEPT, { state: "detached" });
			expect(await each.locator("[data-testid=takeback]").count()).toBe(0);
		}
		expect(await table()).toEqual(before);
		// What was taken back is chosen anew.
		await pick(bert.page);
		await pick(page, 4);
		await bert.page.waitForFunction(() => document.querySelectorAll(".hand .card").length === 5);
		await leave(page, bert.page);
	});

	it("can play a hint that comes after the other has decided", async () => {
		const { anna, bert } = await pair({ hints: "allowed" });
		let decided = () => {};
		const other = new Promise<void>((resolve) => {
			decided = resolve;
		});
		let found = () => {};
		const search = new Promise<void>((resolve) => {
			found = resolve;
		});
		const late = async (route: Route) => {
			const response = await route.fetch();
			found();
			await other;
			await route.fulfill({ response });
		};
		await anna.route("**/*AnalyzePosition", late, { times: 1 });
		await anna.waitForSelector(READY);
		await anna.keyboard.press("h");
		await search;
		await bert.locator(CARD).last().click();
		await bert.click(CONFIRM_CHAMPION);
		await waitForVersionAfter(anna, 0);
		decided();
		await anna.waitForSelector("[data-testid=playadvice]");
		await anna.waitForSelector(".hand .share");
		await anna.keyboard.press("p");
		await waitForVersionAfter(anna, 1);
		await leave(anna, bert);
	});

	it("are hinted anew where a move that led to the hint is taken back", async () => {
		const { anna, link } = await invite({ hints: "allowed" }, {}, "skystones");
		const bert = await visit(site.browser, link);
		await bert.page.click("[data-testid=join]");
		const { page } = anna;
		const hinted = async () => {
			await page.waitForSelector("[data-testid=playadvice]");
			return page.innerText("[data-testid=advice]");
		};
		await page.waitForSelector(CARD);
		await page.keyboard.press("h");
		await hinted();
		await page.keyboard.press("p");
		await pick(bert.page);
		await waitForVersionAfter(page, 1);
		await page.waitForSelector(CARD);
		await page.keyboard.press("h");
		await hinted();
		const before = Number(await version(page));
		await page.click("[data-testid=ask-takeback]");
		await bert.page.click("[data-testid=agree]");
		await waitForVersionAfter(page, before + 1);
		await hinted();
		await leave(page, bert.page);
	});

	it("take a move back and pause when both agree", async () => {
		const { anna, link } = await invite({ clock: "rapid" }, { locale: "de-DE" }, "skystones");
		const bert = await visit(site.browser, link);
		await bert.page.fill("input[name=displayname]", "Bert");
		await bert.page.click("[data-testid=join]");
		const { page } = anna;
		const offer = (of: Page) => of.waitForSelector("[data-testid=offer]");
		await page.waitForSelector(CARD);
		expect(await page.locator("[data-testid=ask-takeback]").count()).toBe(0);
		await pick(page);
		await page.click("[data-testid=ask-takeback]");
		for (const each of [page, bert.page]) {
			await offer(each);
			expect(await audit(each)).toEqual([]);
		}
		await bert.page.click("[data-testid=decline]");
		await page.waitForSelector("[data-testid=offer]", { state: "detached" });
		await page.click("[data-testid=ask-pause]");
		await bert.page.click("[data-testid=agree]");
		await page.waitForSelector("[data-testid=resume]");
		expect(await text(page, "prompt")).toContain("Die Partie pausiert");
		expect(await audit(page)).toEqual([]);
		expect(await bert.page.locator(CARD).count()).toBe(0);
		await page.reload();
		await bert.page.waitForSelector("[data-testid=resume]");
		await page.click("[data-testid=resume]");
		await bert.page.waitForSelector(`${CARD}:not(.chosen)`);
		await leave(page, bert.page);
	});

	it.each([[[]], [[OfferKind.PAUSE]], [[OfferKind.TAKEBACK, OfferKind.PAUSE]]])(
		"have no button for what their match forbids: %s",
		async (forbiddenOffers: OfferKind[]) => {
			const matches = createClient(MatchService, createConnectTransport({ baseUrl: site.url }));
			const seat = create(SeatConfigSchema, { occupant: { case: "invited", value: {} } });
			const { invitations } = await matches.createMatch({
				ruleset: rulesetOf("skystones", {}),
				seats: [seat, seat],
				timeControl: { perMatch: { seconds: 3600n } },
				forbiddenOffers,
			});
			const [page, other] = await Promise.all(
				invitations.map(async ({ invitation }) => {
					const { page } = await visit(site.browser, `${site.url}#/join/${invitation}`);
					await page.click("[data-testid=join]");
					return page;
				}),
			);
			await pick(page!);
			await page!.waitForSelector(KEPT);
			for (const [kind, button] of [
				[OfferKind.TAKEBACK, "ask-takeback"],
				[OfferKind.PAUSE, "ask-pause"],
			] as const) {
				const count = await page!.locator(`[data-testid=${button}]`).count();
				expect(count, button).toBe(forbiddenOffers.includes(kind) ? 0 : 1);
			}
			expect(await audit(page!)).toEqual([]);
			await leave(page!, other!);
		},
	);

	it("choose anew after a move that was taken back", async () => {
		const { anna, link } = await invite({}, {}, "skystones");
		const bert = await visit(site.browser, link);
		await bert.page.click("[data-testid=join]");
		const { page } = anna;
		await pick(page);
		await page.click("[data-testid=ask-takeback]");
		await bert.page.click("[data-testid=agree]");
		await page.waitForSelector(`${CARD}:not(.chosen)`);
		expect(await page.locator(".hand .chosen").count()).toBe(0);
		await pick(page);
		await page.waitForSelector(KEPT);
		await leave(page, bert.page);
	});

	it("are told who is at the table, unless one hides", async () => {
		const { anna, bert } = await pair({}, { locale: "de-DE" });
		const there = (of: Page) => of.innerText(".player.far [data-testid=there]");
		for (const page of [anna, bert])
			await page.waitForSelector(".player.far [data-testid=there].here");
		expect(await there(anna)).toContain("Bert <b> ist am Tisch");
		await audit(anna).then((found) => expect(found).toEqual([]));
		// Whoever hides is as good as gone, and is told nothing.
		await bert.evaluate(() => localStorage.setItem("presence", "off"));
		await bert.reload();
		await anna.waitForSelector(".player.far [data-testid=there]:not(.here) .label");
		expect(await there(anna)).toContain("Bert <b> ist nicht am Tisch");
		await bert.waitForSelector(".player.far");
		expect(await there(bert)).toBe("");
		await leave(anna, bert);
	});

	const leave = (...pages: Page[]) => Promise.all(pages.map((page) => page.context().close()));

	it("keep their seat when they close the tab", async () => {
		const { page } = await visit(site.browser, site.url);
		await deal(page, "skystones");
		await play(page, chance(1), { shows: "body", after: 12 });
		const before = await page.locator(".log li").count();
		const address = page.url();
		const context = page.context();
		await page.close();
		const again = await context.newPage();
		await again.goto(address);
		await again.waitForSelector("[data-testid=board]");
		await again.waitForFunction((n) => document.querySelectorAll(".log li").length >= n, before);
		// Another tab learns of a match that begins meanwhile.
		const lobby = await context.newPage();
		await lobby.goto(site.url);
		await lobby.waitForSelector(".mymatch");
		await again.goto(site.url);
		await deal(again, "champion_chess");
		await lobby.waitForFunction(() => document.querySelectorAll(".mymatch").length === 2);
		// A browser that does not play is told the truth, and not that there is no such match.
		const stranger = await visit(site.browser, address);
		expect(await text(stranger.page, "noseat")).toContain("This browser has no seat in this match");
		await leave(stranger.page, again);
	});

	it("drop a running match only when they mean it", async () => {
		const { page } = await visit(site.browser, site.url);
		await deal(page, "skystones");
		await page.waitForSelector("[data-testid=board]");
		await page.click(".brand");
		await page.click(".mymatch .quiet");
		await page.waitForSelector("dialog[open]");
		expect(await audit(page)).toEqual([]);
		await page.keyboard.press("Escape");
		expect(await page.locator(".mymatch").count()).toBe(1);
		await page.click(".mymatch .quiet");
		await page.click("[data-testid=remove]");
		await page.waitForSelector(".mymatch", { state: "detached" });
		await page.click(".removed button");
		await page.click(".mymatch a");
		await resign(page);
		await page.click(".brand");
		await page.waitForSelector('.mymatch .status:has-text("You lost")');
		expect(await page.locator(".mymatches h3").innerText()).toBe("Finished");
		await leave(page);
	});

	it("learn from an invitation what it is for", async () => {
		const { anna, link } = await invite({ clock: "blitz" });
		const bert = await visit(site.browser, link);
		expect(await text(bert.page, "invitation")).toBe(
			"Anna invites you to a match of Champion Chess",
		);
		const about = await bert.page.locator(".join dl").innerText();
		expect(about).toContain("5 minutes for each player, and 5 seconds more with each move");
		expect(about).toContain("Nobody gets hints during the match");
		expect(await audit(bert.page)).toEqual([]);
		// On a phone on its side, the seat can be taken without scrolling.
		for (const height of [390, 360]) {
			await bert.page.setViewportSize({ width: height === 390 ? 844 : 640, height });
			const { bottom } = await bert.page.$eval("[data-testid=join]", (button) =>
				button.getBoundingClientRect().toJSON(),
			);
			expect(bottom).toBeLessThanOrEqual(height);
		}
		await bert.page.setViewportSize({ width: 1280, height: 900 });
		await bert.page.click(".join button:has-text('Rules')");
		await bert.page.waitForSelector("dialog .gallery");
		await bert.page.keyboard.press("Escape");
		await bert.page.fill("input[name=displayname]", "Bert");
		await bert.page.click("[data-testid=join]");
		await anna.page.waitForSelector('.player.far:has-text("Bert")');
		await bert.page.waitForSelector('.player.far:has-text("Anna")');
		// The invitation is used; whoever used it is shown the way back.
		const late = await visit(site.browser, link);
		expect(await text(late.page, "closed")).toContain("This invitation has been used");
		await bert.page.goto(link);
		await bert.page.reload();
		expect(await text(bert.page, "ownseat")).toContain("already taken this seat");
		await anna.page.goto(link);
		await anna.page.reload();
		expect(await text(anna.page, "ownseat")).toContain("your own invitation");
		await leave(anna.page, bert.page, late.page);
	});

	it("withdraw an invitation, which loses no match, and hear that it has expired", async () => {
		const { anna, link } = await invite();
		const { page } = anna;
		expect(await page.innerText(".more .danger")).toBe("Withdraw the invitation");
		await resign(page);
		await page.waitForSelector("[data-testid=outcome]:has-text('Not played')");
		expect(await text(page, "why")).toContain("You called the match off");
		expect(await page.locator("[data-testid=ask]").count()).toBe(0);
		const bert = await visit(site.browser, link);
		expect(await text(bert.page, "closed")).toContain("ended before anybody took the seat");
		await page.click(".brand");
		expect(await page.innerText(".mymatch .status")).toBe("Not played");
		await leave(anna.page, bert.page);
	});

	it("get hints only if they were agreed on", async () => {
		const { anna, bert } = await pair();
		for (const page of [anna, bert]) {
			await page.click(".tabs button:nth-child(2)");
			expect(await text(page, "nohints")).toContain("There are no hints during this match");
			expect(await page.locator(".hintpanel button").count()).toBe(0);
		}
		expect(await audit(anna)).toEqual([]);
		await leave(anna, bert);
	});

	it("hear why a match ended, in their language", async () => {
		const { anna, bert } = await pair({}, { locale: "de-DE" });
		await resign(bert);
		await anna.waitForSelector("[data-testid=ending]");
		expect(await text(anna, "outcome")).toBe("Du gewinnst!");
		expect(await text(anna, "why")).toBe("Bert <b> hat aufgegeben.");
		expect(await text(bert, "why")).toBe("Du hast aufgegeben.");
		await anna.click(".ending a:has-text('Nachspielen')");
		await anna.waitForSelector("[data-testid=replay]");
		expect(await anna.locator(".log").innerText()).toContain("Bert <b>");
		await leave(anna, bert);
	});

	it("play a rematch that one offers and the other accepts", async () => {
		const { anna, bert } = await pair({}, { colorScheme: "dark" });
		await resign(bert);
		await anna.waitForSelector("[data-testid=ask]");
		const before = anna.url();
		await anna.click("[data-testid=ask]");
		await says(anna, "rematch", "Waiting for Bert <b>");
		await says(bert, "rematch", "Anna would like a rematch.");
		expect(await audit(bert)).toEqual([]);
		// It is told in the lobby as well.
		await bert.click(".brand");
		await bert.waitForSelector('.mymatch .status:has-text("Would like a rematch")');
		await bert.click('.mymatch:has-text("Would like a rematch") a');
		await bert.click("[data-testid=accept]");
		await Promise.all([anna, bert].map((page) => page.waitForSelector("[data-testid=board]")));
		await anna.waitForFunction((url) => location.href !== url, before);
		await bert.waitForURL(anna.url());
		// Whoever goes back stays there, and can follow.
		await anna.goBack();
		await anna.waitForSelector("[data-testid=enter]");
		await anna.click("[data-testid=enter]");
		await anna.waitForFunction((url) => location.href === url, bert.url());
		await leave(anna, bert);
	});

	it("hear that a rematch was declined, or taken back", async () => {
		const { anna, bert } = await pair();
		await resign(bert);
		await anna.click("[data-testid=ask]");
		await bert.click("[data-testid=decline]");
		await says(bert, "rematch", "You have declined the rematch.");
		await says(anna, "rematch", "Bert <b> has declined the rematch.");
		await leave(anna, bert);
		const second = await pair();
		await resign(second.bert);
		await second.anna.click("[data-testid=ask]");
		await says(second.bert, "rematch", "Anna would like a rematch.");
		await second.anna.click("[data-testid=takeback]");
		await says(second.anna, "rematch", "You have taken the offer of a rematch back.");
		await says(second.bert, "rematch", "Anna has taken the offer of a rematch back.");
		await leave(second.anna, second.bert);
	});

	it("are called when it is their turn", async () => {
		const { anna, link } = await invite();
		const { page } = anna;
		await page.context().grantPermissions(["notifications"]);
		// Both are off until they are wanted.
		await page.click("[data-testid=settings]");
		await page.waitForSelector("dialog[open]");
		expect(await audit(page)).toEqual([]);
		expect(await page.isChecked("input[name=sound]")).toBe(false);
		expect(await page.isChecked("input[name=notifications]")).toBe(false);
		await page.check("input[name=sound]");
		await page.check("input[name=notifications]");
		await page.keyboard.press("Escape");
		await page.evaluate(() => {
			const shown: string[] = [];
			const played: number[] = [];
			Object.assign(window, { shown, played });
			Object.defineProperty(document, "hidden", { get: () => true });
			window.Notification = class {
				constructor(title: string, options: NotificationOptions) {
					shown.push(`${title}: ${options.body}`);
				}
			} as unknown as typeof Notification;
			const start = OscillatorNode.prototype.start;
			OscillatorNode.prototype.start = function (when) {
				played.push(this.frequency.value);
				start.call(this, when);
			};
		});
		expect(await page.title()).toBe("Champion Chess – Croupier");
		expect(await page.getAttribute("link[rel=icon]", "href")).toBe("./icon.svg");
		const bert = await visit(site.browser, link);
		await bert.page.click("[data-testid=join]");
		await page.waitForSelector("[data-testid=board]");
		await page.waitForFunction(() => document.title === "Your turn – Champion Chess – Croupier");
		expect(await page.getAttribute("link[rel=icon]", "href")).toBe("./icon-turn.svg");
		const heard = await page.evaluate(() => {
			const { shown, played } = window as unknown as { shown: string[]; played: number[] };
			return { shown, played: played.length };
		});
		expect(heard).toEqual({ shown: ["Your turn: Champion Chess"], played: 2 });
		await leave(page, bert.page);
	});
});
