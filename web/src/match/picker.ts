// The choice that the player is putting together, with the shares of the hint on what comes next.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Action, Hint } from "../api/types";
import {
	type Choice,
	type Click,
	eachBeginsWithOne,
	type Key,
	matching,
	nextKeys,
	sameOffer,
	without,
} from "../games/choices";
import type { Context, Picker } from "../games/module";

export interface Chooser extends Picker {
	/** The words on the button that submits what the clicks make up; undefined if that is nothing yet. */
	label: string | undefined;
	confirm(): void;
	/** What to say about decisions that were chosen together and are sent one by one. */
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
	/** Submits an action; says whether it was accepted. */
	submit: (action: Action) => Promise<boolean>,
): Chooser {
	const { view } = context;
	const game = context.catalog.module;
	// What was chosen together and is not submitted yet, and the version in which the last one was.
	const [queue, setQueue] = useState<{ keys: Key[]; version?: bigint } | undefined>();
	const [said, say] = useState("");
	const [looked, look] = useState<Key | undefined>();
	const enabled = ready && !queue;
	const [state, setState] = useState<{ choices: readonly Choice[]; clicks: Click[] }>({
		choices: [],
		clicks: [],
	});
	const choices = useMemo(() => (enabled ? game.choices(view) : []), [game, view, enabled]);
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
		if (hint && hint.version === view.version) {
			const byIdentity = new Map(
				hint.actions.map((each) => [identity(each.action!), each.probability]),
			);
			for (const choice of choices)
				found.set(choice.action, byIdentity.get(identity(choice.action)) ?? 0);
		}
		return found;
	}, [hint, choices, view.version]);

	// Where each choice begins with one card, a second click on it plays it. Where several may be chosen
	// together, it takes the card back, however many there are now.
	const single = useMemo(() => eachBeginsWithOne(choices), [choices]);

	const series = ready ? game.series?.(view, context) : undefined;
	useEffect(() => {
		if (!queue || !ready || view.version === queue.version) return;
		const stop = () => {
			setQueue(undefined);
			say(series?.stopped ?? "");
		};
		const [key = "", ...rest] = queue.keys;
		const action = nextKeys(game.choices(view), NONE).get(key)?.[0]?.action;
		// The server may have decided meanwhile, for a player whose time was up.
		if (!action || series?.size !== queue.keys.length) return stop();
		setQueue(rest.length > 0 ? { keys: rest, version: view.version } : undefined);
		void submit(action).then((accepted) => accepted || stop());
	}, [queue, ready, view]);

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
			(queue?.keys.includes(key) ?? false) ||
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
					void submit(complete[0]!.action);
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
				void submit(done.complete[0]!.action);
			} else setClicks(after);
		},
		label: series ? (full ? series.confirm : undefined) : action && game.confirm(action, context),
		confirm: () => {
			if (full) setQueue({ keys: clicks.map((click) => click.key) });
			else if (action && !series) void submit(action);
			setClicks([]);
		},
		play: (wanted, says = "") => {
			const choice = offered(wanted);
			if (!choice) return;
			setClicks([]);
			say(says);
			void submit(choice.action);
		},
		clicksOf: (wanted) => {
			const keys = offered(wanted)?.stages.flat() ?? [];
			return keys.map((key, at) => ({
				key,
				instance: keys.slice(0, at).filter((each) => each === key).length,
			}));
		},
		notice: queue ? game.series?.(view, context)?.sending(queue.keys.length) : said || undefined,
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

/** Equal for equal actions. */
export function identity(action: Action): string {
	return JSON.stringify(action.game, (key, value) =>
		key.startsWith("$") ? undefined : typeof value === "bigint" ? `${value}` : value,
	);
}
