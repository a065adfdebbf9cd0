// How a person plays: by what can be clicked, with the mouse or with the keyboard alone.
import type { Page } from "playwright-core";

const OURS = "champion_chess skystones powershot_soccer castle_rampage";
/** The four games, or those of packages that the server under test has. */
export const GAMES = (process.env.GAMES ?? OURS).split(" ");

/** A sequence of numbers from 0 to 1 that a seed determines. */
export function chance(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return state / 2 ** 32;
	};
}

const ENDING = "[data-testid=ending]";
const CAN = ".tablearea [data-can]:not(:disabled)";
const CONFIRM = "[data-confirm]:not(:disabled)";
/** The match is over, or there is something to click. */
export const READY = `${ENDING}, ${CONFIRM}, ${CAN}`;
const MOST_CLICKS = 4000;

/** A function of the page that chooses what to click: something more of a choice, or what completes it. */
const chooser = (page: Page) =>
	page.evaluateHandle(
		([can, confirm]) =>
			(luck: number) => {
				const open = [...document.querySelectorAll<HTMLElement>(can)].filter(
					(each) => !each.classList.contains("chosen"),
				);
				const last = document.querySelector<HTMLElement>(confirm);
				if (last && (open.length === 0 || luck < 0.6)) return last;
				return open[Math.floor(luck * 997) % open.length];
			},
		[CAN, CONFIRM] as const,
	);

/**
 * Clicks one thing after another until the match is over, or until the page shows something after so
 * many clicks; returns how many there were. The page does it by itself: what is to be clicked cannot
 * go before the click, and no click waits for the screen.
 */
export async function play(
	page: Page,
	random: () => number,
	{ shows = ENDING, after = 0 }: { shows?: string; after?: number } = {},
): Promise<number> {
	const made = await page.evaluate(
		async ({ choose, lucks, shows, after, ending }) => {
			const isThere = (selector: string) => document.querySelector(selector) !== null;
			for (const [made, luck] of lucks.entries()) {
				for (;;) {
					if (isThere(ending) || (made >= after && isThere(shows))) return made;
					const target = choose(luck);
					target?.click();
					// What a click leads to is drawn before the next one.
					if (target) break;
					await new Promise((changed) => {
						const all = { subtree: true, childList: true, attributes: true };
						new MutationObserver(changed).observe(document, all);
					});
				}
				await new Promise((drawn) => setTimeout(drawn));
			}
		},
		{
			choose: await chooser(page),
			lucks: Array.from({ length: MOST_CLICKS }, random),
			...{ shows, after, ending: ENDING },
		},
	);
	if (made === undefined) throw new Error("The match does not end.");
	return made;
}

/** Makes one click, once something can be clicked. */
export const clickOne = (page: Page, random: () => number) =>
	play(page, random, { shows: "body", after: 1 });

/** Plays with the mouse itself until the match is over, or until `until` says that it is enough. */
export async function playWithMouse(
	page: Page,
	random: () => number,
	until?: () => Promise<boolean>,
) {
	const choose = await chooser(page);
	for (let clicks = 0; clicks < MOST_CLICKS; clicks++) {
		if (until && (await until())) return clicks;
		await page.waitForSelector(READY);
		if (await page.$(ENDING)) return clicks;
		const chosen = await page.evaluateHandle(([choose, luck]) => choose(luck), [
			choose,
			random(),
		] as const);
		const target = chosen.asElement();
		if (!target) continue;
		// The other player may be quicker, and the target gone: then there is nothing to wait for.
		const gone = new AbortController();
		const { signal } = gone;
		const goes = page.waitForFunction(
			([target, can]) => !target.isConnected || !target.matches(can),
			[target, `${CAN}, ${CONFIRM}`] as const,
			{ signal },
		);
		goes.then(
			() => gone.abort(),
			() => undefined,
		);
		await target.click({ signal }).catch((error) => signal.aborted || Promise.reject(error));
		gone.abort();
	}
	throw new Error("The match does not end.");
}

/**
 * Plays in a match that has been dealt, and in others if it is over before the page shows something:
 * a King of Champion Chess can fall in the first round.
 */
export async function playOn(
	page: Page,
	random: () => number,
	another: () => Promise<void>,
	until: { shows: string; after?: number },
) {
	await play(page, random, until);
	while (await page.$(ENDING)) {
		await page.click(".brand");
		await another();
		await play(page, random, until);
	}
}

/** Plays with Tab, the arrows and Enter, until the page shows something. */
export async function playWithKeys(page: Page, random: () => number, shows = ".ending") {
	const keys = ["Tab", "Tab", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"];
	for (let pressed = 0; pressed < 4 * MOST_CLICKS; pressed++) {
		const state = await page.evaluate((shows) => {
			const active = document.activeElement;
			return {
				over: document.querySelector(shows) !== null,
				confirm: active?.matches("[data-confirm]:not(:disabled)") ?? false,
				can: active?.matches(".tablearea [data-can]:not(:disabled)") ?? false,
				chosen: active?.classList.contains("chosen") ?? false,
				// Elsewhere an arrow may choose another language.
				here: active?.closest(".tablearea") != null,
				confirmable: document.querySelector("[data-confirm]:not(:disabled)") !== null,
			};
		}, shows);
		if (state.over) return pressed;
		const luck = random();
		if (state.confirm || (state.can && !state.chosen && luck < 0.5))
			await page.keyboard.press("Enter");
		else if (state.confirmable || !state.here) await page.keyboard.press("Tab");
		else await page.keyboard.press(keys[Math.floor(luck * keys.length)] ?? "Tab");
	}
	throw new Error("The match does not end.");
}
