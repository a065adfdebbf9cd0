// The choice that the player is putting together, with the shares of the hint on what comes next.
import { useMemo, useState } from "preact/hooks";
import type { Action, Hint, View } from "../api/types";
import type { Context, GameModule, Picker } from "../games/module";
import { type Choice, type Click, matching, nextKeys, sameOffer, without } from "./choices";

export interface Chooser extends Picker {
	/** The one action that the clicks make up, if any. */
	complete: Action | undefined;
	/** Whether more clicks could make another action of it. */
	extendable: boolean;
	/** The keys that may come next. */
	keys: readonly string[];
	undo(): void;
	reset(): void;
}

export function useChooser(
	game: GameModule,
	view: View,
	_context: Context,
	enabled: boolean,
	hint: Hint | undefined,
	submit: (action: Action) => void,
): Chooser {
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

	return {
		clicks,
		can: (key) => next.has(key) || (clicks.length === 1 && first.has(key)),
		chosen: (key, instance) =>
			clicks.some(
				(click) => click.key === key && (instance === undefined || click.instance === instance),
			),
		share: (key) => {
			const leading = next.get(key);
			if (!leading || shares.size === 0) return undefined;
			return leading.reduce((sum, choice) => sum + (shares.get(choice.action) ?? 0), 0);
		},
		pick: (key, instance = 0) => {
			const at = clicks.findIndex((click) => click.key === key && click.instance === instance);
			if (at >= 0) {
				// A second click on the only card of a complete choice confirms it.
				if (clicks.length === 1 && complete.length === 1 && open.length === 1) {
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
		complete: complete[0]?.action,
		extendable: open.length > complete.length,
		keys: [...next.keys()],
		undo: () => setClicks(clicks.slice(0, -1)),
		reset: () => setClicks([]),
	};
}

const NONE: Click[] = [];

/** Equal for equal actions. */
export function identity(action: Action): string {
	return JSON.stringify(action.game, (key, value) =>
		key.startsWith("$") ? undefined : typeof value === "bigint" ? `${value}` : value,
	);
}
