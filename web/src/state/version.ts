// Whether the server has meanwhile got another version of the page, which lacks the files of this one.
import { unkept } from "./seats";

const nameOf = (page: Document) =>
	page.querySelector("script[type=module]")?.getAttribute("src")?.split("/").at(-1);

/** The name of the script of the page that the server has now; undefined if it does not answer. */
async function offered(): Promise<string | undefined> {
	try {
		const text = await (await fetch("./", { cache: "no-cache" })).text();
		return nameOf(new DOMParser().parseFromString(text, "text/html"));
	} catch {
		return undefined;
	}
}

const KEY = "croupier.renewed";

/**
 * Loads the page again if the server has another one: once for each, lest servers of two versions send
 * it round, and not while a reload would lose a seat.
 */
async function renew() {
	const name = await offered();
	if (!name || name === nameOf(document) || unkept.value) return;
	try {
		if (sessionStorage.getItem(KEY) === name) return;
		sessionStorage.setItem(KEY, name);
	} catch {
		return;
	}
	location.reload();
}

// A part of the page that was to be loaded has not come.
addEventListener("vite:preloadError", () => void renew());
