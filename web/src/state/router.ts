// Where the visitor is: the fragment of the address, which no browser sends to a server.
import { signal } from "@preact/signals";

export type Place =
	| { at: "lobby" }
	| { at: "match"; id: string }
	| { at: "replay"; id: string; version?: string }
	| { at: "puzzles"; game: string; puzzle?: string; theme?: string }
	| { at: "join"; invitation: string }
	| { at: "watch" | "seat"; id: string; token: string }
	/** The address is none of ours: a link was cut, or changed on its way. */
	| { at: "nowhere" };

function decoded(part: string): string {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

const TOKEN = /^[!-~]+$/; // What a header can carry.

function read(): Place {
	const [at, first, second, third] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
	if (at === "match" && first) return { at, id: first };
	if (at === "replay" && first) return { at, id: first, version: second };
	if (at === "puzzles" && first) return { at, game: first, puzzle: second, theme: third };
	if (at === "join" && first) return { at, invitation: first };
	// A link for spectators, or one by which a front end sends its player to a seat.
	if ((at === "watch" || at === "seat") && first && second && TOKEN.test(second))
		return { at, id: first, token: second };
	return { at: at ? "nowhere" : "lobby" };
}

export const place = signal<Place>(read());
addEventListener("hashchange", () => {
	place.value = read();
	scrollTo(0, 0);
});

export const linkTo = {
	lobby: "#/",
	match: (id: string) => `#/match/${id}`,
	replay: (id: string, version?: bigint) =>
		`#/replay/${[id, version].filter((part) => part !== undefined).join("/")}`,
	puzzles: (game: string, id?: string, theme?: string) =>
		`#/puzzles/${[game, id, theme].filter(Boolean).join("/")}`,
	join: (invitation: string) => `#/join/${encodeURIComponent(invitation)}`,
	seat: (id: string, token: string) => `#/seat/${id}/${encodeURIComponent(token)}`,
	watch: (id: string, token: string) => `#/watch/${id}/${encodeURIComponent(token)}`,
};

/** The full address of a link, to be sent to somebody. */
export const addressOf = (link: string) => location.href.replace(/#.*$/, "") + link;

/** The address of an invitation: what comes before the fragment tells a preview which game it is. */
export const inviteTo = (game: string, invitation: string) =>
	`${addressOf("").replace(/\?.*$/, "")}i/${game}${linkTo.join(invitation)}`;

/** Goes to a place and leaves no trace of the present one, whose address may hold a secret. */
export function replacePlace(link: string) {
	history.replaceState(null, "", link);
	place.value = read();
}
