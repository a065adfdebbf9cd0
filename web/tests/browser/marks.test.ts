// What a board says by itself: what is new, what counts, what can be played, and why something cannot.
import { describe, expect, it } from "vitest";
import { chance, clickOne, playOn } from "./players";
import { deal, joinedBy, openSite, visit } from "./visitor";

const SEED = Number(process.env.SEED ?? 7);
const CAN = ".hand .card[data-can]";

describe(`the marks of a board (SEED=${SEED})`, () => {
	const site = openSite();

	/** A match against a bot, played until the page shows something. */
	async function playUntil(game: string, selector: string) {
		const { page } = await visit(site.browser, site.url);
		const begin = () => deal(page, game);
		await begin();
		await playOn(page, chance(SEED), begin, { shows: selector });
		return page;
	}

	it.each([
		["skystones", ".tile .newest"],
		["powershot_soccer", ".exchange.latest"],
		["castle_rampage", ".standing .added:has(.sr)"], // Others have held.
	])("the newest card of %s is marked and named", async (game, selector) => {
		const page = await playUntil(game, selector);
		// The other seat may decide at any time, and something else be the newest then.
		const unnamed = await page.evaluate((marks) => {
			const names = "[title*='newest'], [aria-label*='newest']";
			return [...document.querySelectorAll(marks)].filter((mark) => !mark.closest(names)).length;
		}, selector);
		expect(unnamed).toBe(0);
	});

	it("a card in the Castle or the Gate shows the number that counts there, and one is the top", async () => {
		const page = await playUntil("castle_rampage", ".standing .counts");
		const shown = await page.$$eval(".standing svg[aria-label]:has(.counts)", (cards) =>
			cards.map((card) => ({
				label: card.getAttribute("aria-label")!,
				counts: card.querySelector(".counts")!.textContent!.trim(),
				structure: card.closest("[aria-label*='Castle:']") ? "castle" : "gate",
			})),
		);
		expect(shown.length).toBeGreaterThan(0);
		for (const { label, counts, structure } of shown) {
			expect(label.toLowerCase()).toMatch(structure);
			expect(label.split(" ").at(-1)).toBe(counts);
		}
		const stacks = await page.$$eval("ol.standing", (all) =>
			all
				.filter((stack) => stack.children.length > 0)
				.map((stack) => [
					stack.querySelectorAll(".toptag").length,
					stack.lastElementChild!.querySelectorAll(".toptag").length,
				]),
		);
		for (const stack of stacks) expect(stack).toEqual([1, 1]);
		// The top card lies leftmost, as the set-up and the terminal name it first.
		const tops = await page.$$eval("ol.standing", (all) =>
			all.map((stack) => {
				const lefts = [...stack.children].map((card) => card.getBoundingClientRect().left);
				return lefts.at(-1) === (lefts.length > 0 ? Math.min(...lefts) : undefined);
			}),
		);
		expect(tops).not.toContain(false);
	});

	it("the cards of a round are chosen together, taken back, and sent together, again if they are refused", async () => {
		const { page } = await visit(site.browser, site.url);
		await deal(page, "skystones", { seat: "0" });
		await page.waitForSelector(CAN);
		let sent = 0;
		await page.route("**/croupier.v1.MatchService/SubmitAction", async (route) => {
			sent += 1;
			// As the server answers a card that is gone.
			if (sent === 1)
				await route.fulfill({
					status: 400,
					contentType: "application/json",
					body: JSON.stringify({ code: "failed_precondition", message: "the card is gone" }),
				});
			else await route.continue();
		});
		for (let chosen = 0; chosen < 5; chosen++) {
			await page.click(`${CAN}:not(.chosen)`);
			await page.waitForFunction(
				(count) => document.querySelectorAll(".hand .chosen").length > count,
				chosen,
			);
		}
		await page.locator(".hand .chosen").first().click();
		expect(await page.locator(".hand .chosen").count()).toBe(4);
		expect(await page.$("[data-confirm]")).toBeNull();
		await page.click(`${CAN}:not(.chosen)`);
		expect(sent).toBe(0);
		await page.click("[data-confirm]");
		await page.waitForSelector(".actions .refusal");
		for (let chosen = 0; chosen < 5; chosen++) await page.click(`${CAN}:not(.chosen)`);
		await page.click("[data-confirm]");
		await page.waitForFunction(() => document.querySelectorAll(".hand .card").length === 5);
		expect(sent).toBe(2);
	});

	it("a set-up keeps the table still, and shows which card goes where until both have chosen", async () => {
		const anna = await visit(site.browser, site.url, {
			viewport: { width: 390, height: 844 },
		});
		const { page } = anna;
		await deal(page, "castle_rampage", { opponent: "friend", seat: "0" });
		const bert = await joinedBy(site.browser, page);
		await page.waitForSelector(CAN);
		const places = () =>
			page.$$eval(".fort, .setup li, .hands, .player", (all) =>
				all.map((each) => {
					const { left, top, width, height } = each.getBoundingClientRect();
					return [left, top + scrollY, width, height].map(Math.round);
				}),
			);
		const named = (selector: string) =>
			page.$$eval(`${selector} svg[aria-label]`, (cards) =>
				cards.map((card) => card.getAttribute("aria-label")),
			);
		const before = await places();
		for (let chosen = 0; chosen < 4; chosen++) {
			await page.locator(`${CAN}:not(.chosen)`).last().click();
			expect(await places()).toEqual(before);
		}
		// The fifth is the one that is left.
		const hand = await named(".hand .card");
		expect(await named(".slotcard")).toEqual(hand.reverse());
		await page.click("[data-confirm]");
		await page.waitForSelector("[data-testid=prompt]:has-text('is choosing')");
		expect(await named(".slotcard")).toEqual(hand);
		expect(await places()).toEqual(before);
		// In the next set-up the places are empty.
		await bert.page.waitForSelector(CAN);
		for (let chosen = 0; chosen < 4; chosen++)
			await bert.page.locator(`${CAN}:not(.chosen)`).last().click();
		await bert.page.click("[data-confirm]");
		await page.waitForSelector(CAN);
		expect(await named(".slotcard")).toEqual([]);
	});

	it.each([
		["castle_rampage", "Red", [240, 102, 90]],
		["champion_chess", "White", [255, 255, 255]],
		["skystones", "First", [255, 207, 115]],
	])("the dot of a seat of %s, %s, has the colour of its name", async (game, name, colour) => {
		const { page } = await visit(site.browser, site.url);
		await deal(page, game, { seat: "0" });
		const near = page.locator(".player.near");
		expect(await near.locator(".name b").innerText()).toBe(name);
		const seen = await near
			.locator(".seatmark")
			.evaluate((dot) => getComputedStyle(dot).backgroundColor.match(/\d+/g)!.map(Number));
		expect(seen).toEqual(colour);
	});

	it("a second Enter plays the card that is the whole choice, and takes back one of several", async () => {
		const { page } = await visit(site.browser, site.url);
		await page.click("[data-testid=play-champion_chess]");
		// A King who may castle leaves another choice.
		await page.uncheck("[data-testid=newmatch] .option input");
		await page.click("[data-testid=deal]");
		const press = async () => {
			await page.waitForSelector(CAN);
			await page.locator(CAN).first().focus();
			await page.keyboard.press("Enter");
			await page.waitForSelector(".hand .chosen");
			await page.keyboard.press("Enter");
		};
		await press();
		await page.waitForSelector("[data-testid=prompt]:has-text('Add aid')");
		// A hand may have no aid at all.
		while (!(await page.$("[data-testid=prompt]:has-text('Add aid')")) || !(await page.$(CAN)))
			await clickOne(page, chance(SEED));
		let sent = 0;
		page.on("request", (request) => {
			if (request.url().endsWith("/SubmitAction")) sent++;
		});
		await press();
		await page.waitForSelector(".hand .chosen", { state: "detached" });
		expect(sent).toBe(0);
	});

	it("no button is the main one before anything is chosen", async () => {
		const open = `.match:not(:has(.hand .chosen)):has(${CAN}) [data-confirm]:not(:disabled)`;
		const page = await playUntil("champion_chess", open);
		expect(await page.locator(".actions .primary").count()).toBe(0);
		await page.locator(CAN).first().click();
		await page.waitForSelector(".actions .primary[data-confirm]");
	});

	it("the cards that can challenge are marked, and no others", async () => {
		const page = await playUntil("powershot_soccer", ".hand .card.marked[data-can]");
		const labels = await page.$$eval(".hand .card.marked .mark", (marks) =>
			marks.map((mark) => mark.getAttribute("title")),
		);
		expect(labels.every(Boolean)).toBe(true);
		const prompt = await page.textContent("[data-testid=prompt]");
		const all = await page.locator(".hand .card").count();
		expect(labels.length).toBeLessThan(all);
		expect(prompt).not.toMatch(/None of your cards/);
	});

	it("a pile that is opened hides the table behind it", async () => {
		const page = await playUntil("champion_chess", ".tablearea .pile:not(:disabled)");
		await page.locator(".tablearea .pile:not(:disabled)").first().click();
		const behind = await page
			.locator("dialog[open]")
			.evaluate((dialog) => getComputedStyle(dialog).backgroundColor);
		expect(behind).toMatch(/^(rgb\(|color\((?!.*\/))/);
	});

	it.each(["champion_chess", "skystones", "castle_rampage"])(
		"a card of %s that cannot be chosen says why",
		async (game) => {
			const turn = game === "castle_rampage" ? "[data-key='do:end']" : "[data-testid=prompt]";
			const closed = `.match:has(.actions.mine ${turn}) .hand .card[aria-disabled=true]`;
			const page = await playUntil(game, closed);
			await page.locator(closed).first().focus();
			const why = await page.textContent(".actions .why");
			expect(why?.trim().length).toBeGreaterThan(10);
		},
	);
});
