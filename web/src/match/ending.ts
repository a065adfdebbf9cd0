// What decided a match, in a sentence.
import type { Ending } from "../api/types";
import { type Context, titleOf } from "../games/module";

/** What decided a match, in the language of the catalog; in English if that has no such phrase. */
export function sentence(context: Context, ending: Ending): string {
	const { phrases, seatTitles } = context.catalog.game;
	const words = new Map<string, string>();
	for (const { field, value } of ending.values) {
		if (value.case === "seat") words.set(field, seatTitles[value.value] ?? `${value.value}`);
		else if (value.case === "card") words.set(field, titleOf(context, value.value));
		else words.set(field, `${value.value ?? ""}`);
	}
	let complete = true;
	const said = phrases[`ending.${ending.id}`]?.replace(/\{(\w+)\}/g, (_braced, name: string) => {
		complete &&= words.has(name);
		return words.get(name) ?? "";
	});
	// The catalog may be that of a server of another version.
	return said && complete ? said : ending.text;
}
