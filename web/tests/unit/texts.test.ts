import { describe, expect, it } from "vitest";
import { de } from "../../src/i18n/de";
import { en } from "../../src/i18n/en";

/** The paths of all texts, down to the keys of tables. */
function paths(value: unknown, at = ""): string[] {
	if (typeof value !== "object" || value === null) return [at];
	return Object.entries(value).flatMap(([key, each]) => paths(each, `${at}.${key}`));
}

describe("texts", () => {
	it("are complete in German, tables included", () => {
		expect(paths(de).sort()).toEqual(paths(en).sort());
	});

	it("say where a match began, and whether its deal may be made up", () => {
		for (const [texts, doubt] of [
			[en, "made up"],
			[de, "ausgedacht"],
		] as const) {
			expect(texts.practiceNote(true)).not.toContain(doubt);
			expect(texts.practiceNote(false)).toContain(doubt);
		}
	});

	it("say in German what each bot does, and call none an opportunity", () => {
		for (const note of Object.values(de.strengthNotes)) expect(note).toMatch(/Zug/);
		expect(JSON.stringify(de)).not.toContain("Gelegenheit");
	});

	const games = import.meta.glob<{ en: object; de: object }>("../../../games/*/web/texts.ts", {
		eager: true,
		import: "all",
	});
	it.each(Object.entries(games))("of %s are complete in German", (_path, texts) => {
		expect(paths(texts.de).sort()).toEqual(paths(texts.en).sort());
	});
});
