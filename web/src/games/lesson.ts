// A match that teaches: what to tell the player next. Each game has its own tips, in games/<game>/web/guide.ts.

import { useEffect, useState } from "preact/hooks";
import { texts } from "../i18n";
import type { GameModule, Guide, IsCard, Moment, Part, Tip, TipText } from "./module";

/** A guide that has every text in both languages, or else it does not compile. */
export const guideOf = <Id extends string, Name extends string>(
	guide: Omit<Guide, "tips" | "words" | "anatomy" | "parts"> & {
		tips: Record<Id | "end", Tip>;
		words: Record<"en" | "de", Record<NoInfer<Id> | "end", TipText>>;
		anatomy: { is: IsCard; parts: Partial<Record<Name, Part>> }[];
		parts: Record<"en" | "de", Record<Name, string>>;
	},
): Guide => guide as unknown as Guide;

/** The guide of a game, which is loaded when it is needed; until then, and without one, undefined. */
export function useGuide(game: GameModule | undefined): Guide | undefined {
	const [guide, setGuide] = useState<Guide>();
	useEffect(() => {
		let current = true;
		setGuide(undefined);
		game?.guide?.().then(
			(loaded) => current && setGuide(loaded),
			() => undefined, // The server is away: the table and the rules do without it.
		);
		return () => {
			current = false;
		};
	}, [game]);
	return guide;
}

/** The events of a game: whose each is, if they say that beside all kinds, and what its kind tells. */
interface Happened {
	seat?: number;
	event: { case: string | undefined; value?: unknown };
}

/** What has happened of a kind, for the events of a game. */
export const happenings =
	<E extends Happened>() =>
	<K extends E["event"]["case"]>({ view, events }: Moment, kind: K) =>
		events.flatMap(({ event: outer }) => {
			if (outer.case !== view.game.case) return [];
			const { seat, event } = outer.value as unknown as E;
			type What = Extract<E["event"], { case: K }>["value"];
			return event.case === kind ? [{ seat, what: event.value as NonNullable<What> }] : [];
		});

export const decides = ({ view, me }: Moment) => view.deciders.includes(me);

/** The tip to be shown: the one that is open, or else the first that matters and was not seen. */
export function dueTip(
	guide: Guide,
	seen: readonly string[],
	now: Moment,
	open?: string,
): string | undefined {
	if (now.view.result) return seen.includes("end") ? undefined : "end";
	if (open !== undefined && open in guide.tips && !seen.includes(open)) return open;
	return Object.keys(guide.tips).find((id) => !seen.includes(id) && guide.tips[id]!.when(now));
}

/** The text of a tip in the visitor's language. */
export function textOf(guide: Guide, id: string, now: Moment): string {
	const words = texts(guide.words)()[id] ?? "";
	return typeof words === "string" ? words : words(now);
}

export function anchorOf(guide: Guide, id: string, now: Moment): string {
	const { anchor } = guide.tips[id]!;
	return typeof anchor === "string" ? anchor : anchor(now);
}
