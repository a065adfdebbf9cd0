// What must hold of a table at every size of the window: what is needed is in sight, and lies under nothing.
import type { Page } from "playwright-core";

const SIZES: [number, number][] = [
	[1920, 1080],
	[1366, 768],
	[820, 1180],
	[844, 390],
	[360, 640],
];
if (!process.env.SHORT)
	SIZES.push(
		...([
			[2560, 1440],
			[1440, 900],
			[1024, 768],
			[900, 700],
			[1024, 600],
			[640, 360],
			[390, 844],
			[320, 568],
			[320, 256],
		] as [number, number][]),
	);

/**
 * Whatever a player needs to decide that is not in sight without scrolling, or too small: the hand, the
 * prompt, and on the board what is played at. The lowest window has room for the prompt alone.
 */
function unseen(): string[] {
	scrollTo(0, 0);
	// The browser remembers how far it was scrolled when it had another size.
	document.querySelector(".hands")?.scrollTo(0, 0);
	const found: string[] = [];
	const isSeen = (element: Element) => {
		const { left, top, width, height } = element.getBoundingClientRect();
		const hit = document.elementFromPoint(left + width / 2, top + height / 2);
		return hit !== null && (element.contains(hit) || hit.contains(element));
	};
	const prompt = document.querySelector(".actions .prompt");
	if (prompt && !isSeen(prompt)) found.push("the prompt is out of sight");
	for (const text of document.querySelectorAll(
		".prompt, .inspected, .why, .boardhead, .handtitle, .player .name, .stack h2",
	)) {
		const size = Number.parseFloat(getComputedStyle(text).fontSize);
		if (size < 12) found.push(`${text.className} is written ${size} px high`);
	}
	// A match that is over is decided: what came of it stands first.
	if (innerHeight < 300 || document.querySelector(".ending")) return found;
	const cards = [...document.querySelectorAll(".hand .card")].filter((card) =>
		[...card.querySelectorAll("text")].every(isSeen),
	);
	const all = document.querySelectorAll(".hand .card").length;
	if (cards.length < Math.min(all, 4)) found.push(`${cards.length} cards of the hand are in sight`);
	let targets = ".squares, .pitch, .slot, .fort:first-of-type .stack";
	// Of a long attack, the smallest phone shows the end when its board is scrolled.
	if (innerWidth >= 360) targets += ", .exchange:last-child";
	for (const target of document.querySelectorAll(`.board :is(${targets})`)) {
		const { width, height } = target.getBoundingClientRect();
		if (!isSeen(target)) found.push(`${target.getAttribute("class")} is out of sight`);
		if (Math.min(width, height) < 24)
			found.push(`${target.getAttribute("class")} is ${width.toFixed(0)} by ${height.toFixed(0)}`);
	}
	return found;
}

/** Whatever is covered, cut, too small to be hit, or outside a window that has room for everything. */
function faults(roomy: boolean): string[] {
	const found: string[] = [];
	const named = (element: Element) =>
		element.closest("[aria-label]")?.getAttribute("aria-label")?.slice(0, 40) ??
		element.textContent?.slice(0, 40);
	// What lies on a card must not lie on what the card says.
	const ON_TOP = ".share, .order, .verdict, .chip, .mark, .newest, .toptag";
	const check = (element: Element, owner: Element) => {
		const place = element.getBoundingClientRect();
		if (place.width === 0 || getComputedStyle(element).visibility === "hidden") return;
		// The lowest window has room for no board beside what is chosen.
		if (innerHeight < 300 && element.closest(".board")) return;
		element.scrollIntoView({ block: "nearest" });
		const { left, top, width, height } = element.getBoundingClientRect();
		const hit = document.elementFromPoint(left + width / 2, top + height / 2);
		const cover = hit?.closest(ON_TOP);
		if (hit && owner.contains(hit) && (!cover || cover.contains(element))) return;
		const what = `${element.tagName} "${element.textContent?.trim().slice(0, 20)}" of ${named(owner)}`;
		found.push(
			`${what} lies under ${hit ? `${hit.tagName}.${hit.getAttribute("class")}` : "nothing"}`,
		);
	};
	const each = (selector: string, then: (element: Element) => void) => {
		for (const element of document.querySelectorAll(selector)) then(element);
	};
	each(".hand .face, .slot .face, .mini .face, .tile .face, .playcard .face", (face) => {
		for (const text of face.querySelectorAll("text")) check(text, face.closest(".card") ?? face);
	});
	each(".standing .counts", (text) => check(text, text.closest("li")!));
	each(".standing li:last-child text", (text) => check(text, text.closest("li")!));
	each(
		".actions button, .ending .button, .ending button, .tablearea .pile, .jump button",
		(button) => check(button, button),
	);
	each(
		".prompt, .why, .finale, .player .name, .boardhead span, .handtitle",
		(text) => getComputedStyle(text).clipPath === "none" && check(text, text),
	);
	// A seat is called in full, and nothing that is told is cut.
	each(".player .name b", (title) => {
		const over =
			title.getBoundingClientRect().right - title.parentElement!.getBoundingClientRect().right;
		if (over > 1) found.push(`the name "${title.textContent}" is cut`);
	});
	each(".toldlines", (told) => {
		const { scrollWidth, clientWidth, scrollHeight, clientHeight } = told;
		if (scrollWidth > clientWidth + 1) found.push("what is told is cut");
		// One sentence may be too long for its place; more are told one after the other.
		if (told.childElementCount > 1 && clientHeight > 0 && scrollHeight > clientHeight + 2)
			found.push(`of what is told the end is out of sight: "${told.textContent}"`);
	});
	// No text of a card is cut, and none is too small to be read.
	each(".tablearea .face text", (text) => {
		const face = text.closest("svg")!.getBoundingClientRect();
		const place = text.getBoundingClientRect();
		const out = Math.max(face.left - place.left, place.right - face.right);
		if (face.width > 0 && out > 1.5) found.push(`"${text.textContent}" of ${named(text)} is cut`);
	});
	each(".hand .face text", (text) => {
		const face = text.closest("svg")!;
		const scale = face.getBoundingClientRect().width / face.viewBox.baseVal.width;
		const size = scale * Number.parseFloat(getComputedStyle(text).fontSize);
		// What a number of a drawing without a hand of its own counts, its label says as well.
		if (size > 0 && size < 6 && !text.matches(".what"))
			found.push(`"${text.textContent}" of ${named(text)} is written ${size.toFixed(1)} px high`);
	});
	each(".tablearea button, .tablearea a, .side button, .side summary", (target) => {
		const { width, height } = target.getBoundingClientRect();
		if (width > 0 && (width < 24 || height < 24))
			found.push(`${named(target)} is ${width.toFixed(0)} by ${height.toFixed(0)} to be hit`);
	});
	scrollTo(0, 0);
	if (document.documentElement.scrollWidth > innerWidth)
		found.push(
			`the page scrolls sideways: ${[...document.querySelectorAll(".match *")]
				.filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
				.map((each) => each.getAttribute("class"))
				.slice(0, 4)}`,
		);
	if (roomy)
		each(".hand .card, .actions, .ending, .player", (element) => {
			const { bottom, right } = element.getBoundingClientRect();
			if (bottom > innerHeight + 1 || right > innerWidth + 1)
				found.push(`${named(element)} lies outside the window`);
		});
	return [...new Set(found)];
}

/** The faults of the page at all sizes, each with where it was found. */
export async function faultsAt(page: Page, when: string): Promise<string[]> {
	const all: string[] = [];
	for (const [width, height] of SIZES) {
		await page.setViewportSize({ width, height });
		// The page measures its bar when a frame is drawn.
		await page.evaluate(
			() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
		);
		const here = await page.evaluate(unseen);
		here.push(...(await page.evaluate(faults, width >= 800 && height >= 600)));
		all.push(...here.map((each) => `${when}, ${width}x${height}: ${each}`));
	}
	await page.setViewportSize({ width: 1440, height: 900 });
	return all;
}
