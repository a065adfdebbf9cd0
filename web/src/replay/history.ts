// The views of this tab's matches in which a decision was due: for the graph of the score. They are
// kept in memory alone, since the record of a match holds no views.
import type { View } from "../api/types";

const MOST = 40; // Views that are kept, and so searches for one graph.
const views = new Map<string, View[]>();

export function remember(view: View) {
	if (view.seat === undefined || view.legalActions.length < 2) return;
	const known = views.get(view.name) ?? [];
	if (known.at(-1)?.version === view.version) return;
	known.push(view);
	// When there are too many, every second one goes.
	views.set(view.name, known.length > MOST ? known.filter((_, index) => index % 2 === 0) : known);
}

export const remembered = (match: string): readonly View[] => views.get(match) ?? [];
