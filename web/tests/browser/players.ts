// How a person plays: by what can be clicked, with the mouse or with the keyboard alone.
import type { Page } from "playwright-core";

/** A sequence of numbers from 0 to 1 that a seed determines. */
export function chance(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return state / 2 ** 32;
	};
}

const READY =
	"[data-testid=ending], [data-confirm]:not(:disabled), .tablearea [data-can]:not(:disabled)";
const MOST_CLICKS = 4000;

/** Clicks, with the mouse, something that continues a choice, or the button that completes it. */
export async function clickOne(page: Page, luck: number) {
	const target = await page.evaluateHandle((luck) => {
		const can = [
			...document.querySelectorAll<HTMLElement>(".tablearea [data-can]:not(:disabled)"),
		].filter((each) => !each.classList.contains("chosen"));
		const confirm = document.querySelector<HTMLElement>("[data-confirm]:not(:disabled)");
		if (confirm && (can.length === 0 || luck < 0.6)) return confirm;
		return can[Math.floor(luck * 997) % can.length] ?? confirm;
	}, luck);
	await target
		.asElement()
		?.click({ timeout: 2000 })
		.catch(() => undefined); // It may have gone because the other player was quicker.
}

/** Makes one click at a time until the match is over, or `until` says that it is enough. */
export async function playWithMouse(
	page: Page,
	random: () => number,
	until?: () => Promise<boolean>,
) {
	for (let clicks = 0; clicks < MOST_CLICKS; clicks++) {
		if (until && (await until())) return clicks;
		await page.waitForSelector(READY, { timeout: 60_000 });
		if (await page.$("[data-testid=ending]")) return clicks;
		await clickOne(page, random());
	}
	throw new Error("The match does not end.");
}

/**
 * The same in a match that has been dealt, and in others if it is over before `until` says that it
 * is enough: a King of Champion Chess can fall in the first round.
 */
export async function playOn(
	page: Page,
	random: () => number,
	another: () => Promise<void>,
	until: () => Promise<boolean>,
) {
	await playWithMouse(page, random, until);
	while (await page.$("[data-testid=ending]")) {
		await page.click(".brand");
		await another();
		await playWithMouse(page, random, until);
	}
}

/** The same with Tab, the arrows and Enter. */
export async function playWithKeys(page: Page, random: () => number) {
	const keys = ["Tab", "Tab", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"];
	for (let pressed = 0; pressed < 4 * MOST_CLICKS; pressed++) {
		const state = await page.evaluate(() => {
			const active = document.activeElement;
			return {
				over: document.querySelector(".ending") !== null, // Of a match, or of a puzzle.
				confirm: active?.matches("[data-confirm]:not(:disabled)") ?? false,
				can: active?.matches(".tablearea [data-can]:not(:disabled)") ?? false,
				chosen: active?.classList.contains("chosen") ?? false,
				confirmable: document.querySelector("[data-confirm]:not(:disabled)") !== null,
			};
		});
		if (state.over) return pressed;
		const luck = random();
		if (state.confirm || (state.can && !state.chosen && luck < 0.5))
			await page.keyboard.press("Enter");
		else if (state.confirmable) await page.keyboard.press("Tab");
		else await page.keyboard.press(keys[Math.floor(luck * keys.length)] ?? "Tab");
	}
	throw new Error("The match does not end.");
}
