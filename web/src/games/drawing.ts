// The drawing that the package of a game brings with it; web/README.md describes the contract.

import { Fragment, h } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { CardBack, CardFrame, Title } from "../cards/frame";
import { addGlyphs, Glyph, GlyphAt } from "../cards/glyphs";
import { list, number, percent, texts } from "../i18n";
import { Dialog } from "../ui/dialog";
import { Share } from "../ui/share";
import { cardKey, cardOf, type GameModule, titleOf } from "./module";
import { Pile } from "./pile";
import { spaced } from "./schema";

const parts = {
	...{ h, Fragment, useEffect, useMemo, useRef, useState },
	...{ CardBack, CardFrame, Title, Glyph, GlyphAt, addGlyphs, Dialog, Pile, Share },
	...{ list, number, percent, texts, cardKey, cardOf, spaced, titleOf },
};

/** What a drawing works with, besides the module that it changes. */
export type App = typeof parts & {
	/** Adds a style sheet of the folder. */
	style(file: string): void;
};

let listed: Promise<string[]> | undefined;

/** Which games have a drawing of their own: asked once, and only where a game may have one. */
function drawings(): Promise<string[]> {
	const read = async () => {
		const response = await fetch(addressOf("drawings.json"));
		return response.ok ? ((await response.json()) as string[]) : [];
	};
	listed ??= read().catch(() => []);
	return listed;
}

const addressOf = (path: string) => new URL(`games/${path}`, document.baseURI).href;

/** The module as the drawing of its package changes it; unchanged if it has none, or one that fails. */
export async function drawn(module: GameModule): Promise<GameModule> {
	if (!(await drawings()).includes(module.id)) return module;
	const app: App = {
		...parts,
		style: (file) => {
			const link = document.createElement("link");
			link.rel = "stylesheet";
			link.href = addressOf(`${module.id}/${file}`);
			document.head.append(link);
		},
	};
	try {
		const { default: draw } = await import(/* @vite-ignore */ addressOf(`${module.id}/drawing.js`));
		return draw(app, module);
	} catch (error) {
		console.error(`The drawing of ${module.id} fails:`, error);
		return module;
	}
}
