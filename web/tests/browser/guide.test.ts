// Lessons: every tip comes up in real matches, and no tip is in the way.
import { Code, type ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";
import {
	BotStrength,
	CatalogService,
	create,
	type Event,
	MatchService,
	SeatConfigSchema,
} from "../../src/api/types";
import { under } from "../../src/games/cardlist";
import { textOf } from "../../src/games/lesson";
import {
	type Catalog,
	type GameModule,
	type Guide,
	type Moment,
	rulesetOf,
} from "../../src/games/module";
import { Words } from "../../src/games/words";
import { language } from "../../src/state/settings";
import { chance, GAMES, play, playWithKeys, READY } from "./players";
import { audit, CONFIRM_CHAMPION, late, openSite, tabTo, visit } from "./visitor";

const LONG = process.env.TEST_LONG === "1"; // Every lesson on a phone as well.
const SEED = Number(process.env.SEED ?? Date.now() % 100_000);
const MOST_MATCHES = 150; // A tip that none of so many matches needs is one too many.
const MOST_WORDS = 45;

const guides = import.meta.glob<Guide>("../../../games/*/web/guide.ts", {
	eager: true,
	import: "guide",
});
const guideFor = (game: string) => guides[`../../../games/${game}/web/guide.ts`]!;

describe(`the tips of a lesson (SEED=${SEED})`, () => {
	it.each(GAMES)("all come up in %s, in both languages", async (id) => {
		const guide = guideFor(id);
		const random = chance(SEED);
		const transport = createConnectTransport({ baseUrl: inject("url").replace(/\/$/, "") });
		const matches = createClient(MatchService, transport);
		const catalogs = createClient(CatalogService, transport);
		const both = await Promise.all(
			(["en", "de"] as const).map(async (languageCode) => {
				const { game } = await catalogs.getGame({ name: `games/${id}`, languageCode });
				const cards = new Map(game!.cards.map((card) => [card.id, card]));
				const words = new Words(game!);
				const catalog: Catalog = { game: game!, cards, words, module: {} as GameModule };
				return { languageCode, catalog };
			}),
		);
		const standard = both[0]!.catalog.game.defaultRuleset!;
		const missing = new Set(Object.keys(guide.tips));
		for (let match = 0; missing.size > 0 && match < MOST_MATCHES; match++) {
			const created = await matches.createMatch({
				ruleset: guide.ruleset?.(standard) ?? rulesetOf(id, {}),
				seats: [
					create(SeatConfigSchema, { occupant: { case: "open", value: {} } }),
					create(SeatConfigSchema, {
						occupant: { case: "bot", value: { strength: BotStrength.RANDOM } },
					}),
				],
				seed: BigInt(SEED + match),
			});
			const headers = { authorization: `Bearer ${created.seatTokens[0]!.token}` };
			const name = created.name;
			const events: Event[] = [];
			for await (const step of matches.watchMatch({ name }, { headers })) {
				events.push(...step.events);
				const { view } = step;
				if (!view) continue;
				for (const { languageCode, catalog } of both) {
					language.value = languageCode;
					const context = { catalog: under(catalog, view.ruleset), me: 0, view };
					const now: Moment = { view, events, clicks: [], context, me: 0 };
					const due = (tip: string) =>
						tip === "end" ? view.result !== undefined : guide.tips[tip]!.when(now);
					for (const tip of [...missing].filter((each) => due(each))) {
						const text = textOf(guide, tip, now);
						expect(text, tip).not.toMatch(/undefined|NaN|^$/);
						expect(text.split(/\s+/).length, text).toBeLessThanOrEqual(MOST_WORDS);
						if (languageCode === "de") missing.delete(tip);
					}
				}
				const { legalActions } = view;
				if (!view.deciders.includes(0)) continue;
				const action = legalActions[Math.floor(random() * legalActions.length)]!;
				const requestId = crypto.randomUUID();
				const request = { name, expectedVersion: view.version, action, requestId };
				await matches.submitAction(request, { headers }).catch((error: ConnectError) => {
					// The match has gone on meanwhile: the next view comes on the stream.
					if (![Code.Aborted, Code.FailedPrecondition].includes(error.code)) throw error;
				});
			}
		}
		language.value = "en";
		expect([...missing]).toEqual([]);
	});

	it.each(GAMES)("have texts of the same kind in both languages in %s", (id) => {
		const { words, parts, terms, tips } = guideFor(id);
		expect(Object.keys(words.de).sort()).toEqual(Object.keys(tips).sort());
		expect(Object.keys(words.en).sort()).toEqual(Object.keys(tips).sort());
		expect(Object.keys(parts.de).sort()).toEqual(Object.keys(parts.en).sort());
		expect(terms.de.length).toBe(terms.en.length);
	});
});

const DESKTOP = { viewport: { width: 1440, height: 900 } };
const PHONE = { viewport: { width: 360, height: 640 } };

describe(`a lesson in a browser (SEED=${SEED})`, () => {
	const site = openSite();

	const begin = async (page: Page, game: string) => {
		await page.click(`[data-testid=learn-${game}]`);
		await page.waitForSelector("[data-testid=coach][data-tip]");
	};

	const SCREENS = GAMES.flatMap((game, index) => [
		{ game, screen: "desktop", options: DESKTOP },
		...(LONG || index === 3 ? [{ game, screen: "phone", options: PHONE }] : []),
	]);
	it.each(SCREENS)("plays $game to its end on a $screen", async ({ game, screen, options }) => {
		const { page } = await visit(site.browser, site.url, options);
		await begin(page, game);
		expect(await audit(page)).toEqual([]);
		const tips = await playLesson(page, chance(SEED), screen === "phone");
		// How many come up is chance: a match may be short.
		expect(tips.length).toBeGreaterThan(2);
		expect(tips.at(-1)).toBe("end");
		expect(new Set(tips).size).toBe(tips.length);
		// The lobby remembers it, in this site.browser.
		await page.click(".brand");
		await page.waitForSelector(`[data-testid=learn-${game}]:has-text("✓")`);
		await page.reload();
		await page.waitForSelector(`[data-testid=learn-${game}]:has-text("✓")`);
	});

	it("is remembered, however soon it is left", async () => {
		const { page } = await visit(site.browser, site.url, DESKTOP);
		await begin(page, "champion_chess");
		await late(page);
		await page.evaluate(() => {
			const leave = () =>
				document.querySelector("[data-testid=ending]") &&
				document.querySelector<HTMLElement>(".brand")!.click();
			new MutationObserver(leave).observe(document, { subtree: true, childList: true });
		});
		await play(page, chance(SEED), { shows: "[data-testid=learn-champion_chess]" });
		await page.waitForSelector("[data-testid=learn-champion_chess]:has-text('✓')");
	});

	it("can be skipped, and the match goes on", async () => {
		const { page } = await visit(site.browser, site.url, DESKTOP);
		await begin(page, "champion_chess");
		await page.click("[data-testid=skiplesson]");
		await page.waitForSelector("[data-testid=coach]", { state: "detached" });
		await page.reload();
		await page.locator(".hand .card[data-can]").first().click();
		await page.click(CONFIRM_CHAMPION);
		await page.waitForSelector(".hand .card[data-can]");
		expect(await page.locator("[data-testid=coach]").count()).toBe(0);
		expect(await page.evaluate(() => localStorage.getItem("lessons"))).toBeNull();
	});

	it("works with the keyboard alone, and never takes the focus", async () => {
		const { page } = await visit(site.browser, site.url, DESKTOP);
		await page.waitForSelector("[data-testid=learn-champion_chess]");
		await tabTo(page, "[data-testid=learn-champion_chess]");
		await page.keyboard.press("Enter");
		await page.waitForSelector("[data-testid=coach][data-tip]");
		const first = await tipOf(page);
		expect(await page.evaluate(() => document.activeElement?.closest(".coach"))).toBeNull();
		await tabTo(page, "[data-testid=gotit]");
		await page.keyboard.press("Enter");
		await page.waitForFunction(changed, first);
		const second = await tipOf(page);
		// What was read stays read over a reload.
		await page.reload();
		await page.waitForSelector(`[data-testid=coach][data-tip="${second}"]`);
		// Escape closes a tip from anywhere: from a card, which keeps the focus.
		await tabTo(page, ".hand .card");
		await page.keyboard.press("Escape");
		await page.waitForFunction(changed, second);
		expect(await page.evaluate(() => document.activeElement?.matches(".hand .card"))).toBe(true);
		// The text is announced by a status that was there before.
		expect(await page.getAttribute(".coach .coachtext", "role")).toBe("status");
		await tabTo(page, "[data-testid=gotit]");
		while (await page.locator("[data-testid=gotit]").count()) await page.keyboard.press("Enter");
		expect(await page.evaluate(() => document.activeElement?.matches("[data-can]"))).toBe(true);
		await playWithKeys(page, chance(SEED), "[data-testid=coach][data-tip]");
		await page.keyboard.press("Escape");
		await play(page, chance(SEED));
		await page.waitForSelector("[data-testid=coach][data-tip=end]");
	});
});

const tipOf = (page: Page) => page.getAttribute("[data-testid=coach]", "data-tip");
const changed = (before: string | null) =>
	document.querySelector<HTMLElement>("[data-testid=coach]")?.dataset.tip !== before;

/** Plays on by chance, reads every tip, and returns the tips in their order. */
async function playLesson(page: Page, random: () => number, scrolls: boolean): Promise<string[]> {
	const tips: string[] = [];
	for (;;) {
		await play(page, random, { shows: `.match:has(${READY}) [data-testid=coach][data-tip]` });
		const tip = await tipOf(page);
		if (tip === null) throw new Error("The lesson ends without a word.");
		tips.push(tip);
		expect(await page.textContent(".coachtext"), tip).toMatch(/\S+ \S+/);
		expect(await page.locator("[data-coached]").count(), `the anchor of ${tip}`).toBe(1);
		if (tip !== "end") await page.waitForFunction(inSight); // It scrolls there.
		expect(await page.evaluate(covered, scrolls), `covered by ${tip}`).toEqual([]);
		if (tip === "end") {
			expect(await audit(page)).toEqual([]);
			return tips;
		}
		if (scrolls) {
			// Wherever the player is on the page, the next tip comes into sight.
			await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
			await page.keyboard.press("Escape");
		} else await page.click("[data-testid=gotit]");
		await page.waitForFunction(changed, tip);
	}
}

/** Whether all of the coach can be read at once. */
function inSight(): boolean {
	const { left, top, width, height } = document.querySelector(".coach")!.getBoundingClientRect();
	return [0.05, 0.5, 0.95].every((x) =>
		[0.05, 0.5, 0.95].every((y) =>
			document.elementFromPoint(left + x * width, top + y * height)?.closest(".coach"),
		),
	);
}

/** What the coach covers of all that a player needs now. */
function covered(scrolls: boolean): string[] {
	const needed = document.querySelectorAll<HTMLElement>(
		".tablearea [data-can], [data-confirm], .actions button, .ending button, .ending a, .tabs button",
	);
	return [...needed].flatMap((each) => {
		if (scrolls) each.scrollIntoView({ block: "center" });
		const { left, top, width, height } = each.getBoundingClientRect();
		const corners = [0.1, 0.5, 0.9].flatMap((x) => [0.1, 0.5, 0.9].map((y) => [x, y] as const));
		const hidden = corners.some(([x, y]) =>
			document.elementFromPoint(left + x * width, top + y * height)?.closest(".coach"),
		);
		return hidden ? [each.outerHTML.slice(0, 90)] : [];
	});
}
