// The choice that the player is putting together, with the shares of the hint on what comes next.
import { useMemo, useState } from "preact/hooks";
import type { Action, Hint } from "../api/types";
import {
	type Choice,
	type Click,
	eachBeginsWithOne,
	identity,
	type Key,
	matching,
	nextKeys,
	sameOffer,
	without,
} from "../games/choices";
import type { Context, Picker } from "../games/module";
import { t } from "../i18n";
import { keptAhead } from "./session";

export interface Chooser extends Picker {
	/** The words on the button that submits what the clicks make up; undefined if that is nothing yet. */
	label: string | undefined;
	confirm(): void;
	/** What to say about decisions that the server keeps until they are due. */
	notice: string | undefined;
	/** The card of the hand that the player looks at. */
	looked: Key | undefined;
	look(key: Key | undefined): void;
	/** The keys that may come next. */
	keys: readonly string[];
	undo(): void;
	/** Submits an action at once, and says something about it. */
	play(action: Action, says?: string): void;
	/** The clicks that make up an action; none if it cannot be chosen now. */
	clicksOf(action: Action | undefined): Click[];
}

export function useChooser(
	context: Context,
	ready: boolean,
	hint: Hint | undefined,
	/** Submits an action, and what shall follow it. */
	submit: (action: Action, then?: Action[]) => void,
): Chooser {
	const { view } = context;
	const game = context.catalog.module;
	// What was chosen together and is not made yet: the server makes it without this page, too.
	const waiting = keptAhead(view);
	const [said, say] = useState("");
	const [looked, look] = useState<Key | undefined>();
	const [state, setState] = useState<{ choices: readonly Choice[]; clicks: Click[] }>({
		choices: [],
		clicks: [],
	});
	const choices = useMemo(() => (ready ? game.choices(view) : []), [game, view, ready]);
	// What was clicked belongs to one decision. The other seat may decide meanwhile, which makes a new
	// version of the match and changes nothing here.
	const kept = useMemo(
		() => state.clicks.length > 0 && sameOffer(state.choices, choices),
		[state, choices],
	);
	const clicks = kept ? state.clicks : NONE;
	const setClicks = (next: Click[]) => setState({ choices, clicks: next });

	const { next, complete, open } = useMemo(
		() => ({ next: nextKeys(choices, clicks), ...matching(choices, clicks) }),
		[choices, clicks],
	);
	// The first card may be exchanged for another as long as nothing was built on it.
	const first = useMemo(() => nextKeys(choices, NONE), [choices]);
	const shares = useMemo(() => {
		const found = new Map<Action, number>();
		if (hint) {
			const byIdentity = new Map(
				hint.actions.map((each) => [identity(each.action!), each.probability]),
			);
			for (const choice of choices)
				found.set(choice.action, byIdentity.get(identity(choice.action)) ?? 0);
		}
		return found;
	}, [hint, choices]);

	// Where each choice begins with one card, a second click on it plays it. Where several may be chosen
	// together, it takes the card back, however many there are now.
	const single = useMemo(() => eachBeginsWithOne(choices), [choices]);

	const together = ready || view.decisionsAhead ? game.series?.(view, context) : undefined;
	const series = ready ? together : undefined;
	const waits = waiting.map((each) => together?.keyOf(each));
	const full = series !== undefined && clicks.length === series.size;
	const joins = (key: Key) =>
		!full &&
		first.has(key) &&
		series!.allows(
			clicks.map((click) => click.key),
			key,
		);
	const action = complete[0]?.action;
	const offered = (wanted: Action | undefined) =>
		wanted && choices.find((choice) => identity(choice.action) === identity(wanted));
	return {
		clicks,
		can: (key) => (series ? joins(key) : next.has(key) || (clicks.length === 1 && first.has(key))),
		chosen: (key, instance) =>
			waits.includes(key) ||
			clicks.some(
				(click) => click.key === key && (instance === undefined || click.instance === instance),
			),
		share: (key) => {
			const leading = (series ? first : next).get(key);
			if (!leading || shares.size === 0) return undefined;
			return leading.reduce((sum, choice) => sum + (shares.get(choice.action) ?? 0), 0);
		},
		pick: (key, instance = 0) => {
			say("");
			const at = clicks.findIndex((click) => click.key === key && click.instance === instance);
			if (series) {
				if (at >= 0) setClicks(clicks.filter((_, index) => index !== at));
				else if (joins(key)) setClicks([...clicks, { key, instance }]);
				return;
			}
			if (at >= 0) {
				if (single && clicks.length === 1 && complete.length === 1 && open.length === 1) {
					setClicks([]);
					submit(complete[0]!.action);
					return;
				}
				setClicks(without(choices, clicks, at));
				return;
			}
			let before = clicks;
			// Another card in place of the first one: what was chosen for that one is dropped.
			while (before.length > 0 && !nextKeys(choices, before).has(key)) before = before.slice(0, -1);
			if (!nextKeys(choices, before).has(key)) return;
			const after = [...before, { key, instance }];
			const done = matching(choices, after);
			if (done.complete.length === 1 && done.open.length === 1 && game.atOnce(after)) {
				setClicks([]);
				submit(done.complete[0]!.action);
			} else setClicks(after);
		},
		label: series ? (full ? series.confirm : undefined) : action && game.confirm(action, context),
		confirm: () => {
			if (full) {
				const [one, ...then] = clicks.map((click) => first.get(click.key)![0]!.action);
				submit(one!, then);
			} else if (action && !series) submit(action);
			setClicks([]);
		},
		play: (wanted, says = "") => {
			const choice = offered(wanted);
			if (!choice) return;
			setClicks([]);
			say(says);
			submit(choice.action);
		},
		clicksOf: (wanted) => {
			const keys = offered(wanted)?.stages.flat() ?? [];
			return keys.map((key, at) => ({
				key,
				instance: keys.slice(0, at).filter((each) => each === key).length,
			}));
		},
		notice:
			waits.length > 0
				? (together?.waiting(waits.length) ?? t().keptAhead(waits.length))
				: said || (view.decisionsAhead?.endReason && together?.stopped) || undefined,
		looked,
		look,
		keys: [...next.keys()],
		undo: () => setClicks(clicks.slice(0, -1)),
	};
}

/** The table as it would look after other clicks than those that were made. */
export const showing = (chooser: Chooser, clicks: Click[]): Chooser => ({
	...chooser,
	clicks,
	chosen: (key, instance) =>
		clicks.some((each) => each.key === key && (instance ?? each.instance) === each.instance),
});

const NONE: Click[] = [];
