// Moves that are tried at a decision of a match that is over: what each would have led to, and how good it was.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { compareActions, tryActions, viewAt } from "../api/calls";
import { refusalOf } from "../api/errors";
import {
	type Action,
	type ActionEvaluation,
	create,
	type DecisionReview,
	type MatchRecord,
	PlayerSchema,
	type View,
} from "../api/types";
import { identity } from "../games/choices";
import type { Catalog, Context } from "../games/module";
import { describeAction, nameOfSeat } from "../games/sentences";
import { inWords, t } from "../i18n";
import { ActionBar } from "../match/actions";
import { compared } from "../match/advice";
import { Moves } from "../match/hintpanel";
import { useKeys } from "../match/keys";
import { useChooser } from "../match/picker";
import { type Panel, rulesPanel, Table } from "../match/table";
import type { Passed } from "../match/told";
import type { Seat } from "../state/seats";
import { Button } from "../ui/button";
import { Loading } from "../ui/notice";
import { Refused } from "../ui/refused";
import "../style/puzzle.css";

interface Shared {
	seat: Seat;
	record: MatchRecord;
	catalog: Catalog;
	decision: DecisionReview;
	/** Goes back to the review. */
	leave: () => void;
	playOnFrom: (version: bigint, seat: number, onClose: () => void) => preact.JSX.Element;
}

export function Try(props: Shared) {
	const { seat, decision } = props;
	const [view, setView] = useState<View>();
	const [failed, setFailed] = useState<string>();
	useEffect(() => {
		const stop = new AbortController();
		viewAt(seat, decision.version, decision.seat, stop.signal).then(
			setView,
			(error) => stop.signal.aborted || setFailed(inWords(refusalOf(error))),
		);
		return () => stop.abort();
	}, [decision]);
	if (view) return <Trying {...props} view={view} />;
	return failed ? <Refused says={failed} /> : <Loading />;
}

/** A move that was tried. */
interface Tried {
	action: Action;
	steps: Passed[];
	/** How it compares with the best one; undefined until that is known. */
	found?: ActionEvaluation;
	failed?: string;
}

function Trying(props: Shared & { view: View }) {
	const { seat, record, decision, leave } = props;
	const me = decision.seat;
	// What is chosen together in a match is one decision here.
	const catalog = useMemo(
		() => ({ ...props.catalog, module: { ...props.catalog.module, series: undefined } }),
		[props.catalog],
	);
	// Whoever tries takes the seat, whosever it was.
	const other = create(PlayerSchema, { displayName: t().puzzleOther });
	const players = [other, other];
	const view = useMemo(() => ({ ...props.view, players }), [props.view, t()]);
	const context: Context = { catalog, me, view };
	const [tried, setTried] = useState<Tried>();
	const [underway, setUnderway] = useState(false);
	const [failed, setFailed] = useState<string>();
	const [playingOn, setPlayingOn] = useState(false);
	const [panel, setPanel] = useState<"moves" | "rules">();
	const stop = useRef<AbortController>(undefined);
	useEffect(() => () => stop.current?.abort(), []);
	/** Says how good a move is: as the review does, or by a search of its own. */
	const judge = async (action: Action, signal: AbortSignal) => {
		const known = rowOf(decision.hint?.actions, action);
		if (known?.loss !== undefined) return known;
		const hint = await compareActions(props.view, [action, decision.bestAction!], signal);
		return rowOf(hint.actions, action);
	};
	const submit = async (action: Action) => {
		stop.current?.abort();
		stop.current = new AbortController();
		const { signal } = stop.current;
		setUnderway(true);
		setFailed(undefined);
		try {
			// Where both decide at once, the other one does what it did.
			const others = record.entries.find(
				({ version, entry }) =>
					version > decision.version && entry.case === "action" && entry.value.seat !== me,
			)?.entry;
			const both = view.deciders.includes(1 - me) && others?.case === "action";
			const then = both ? [{ seat: 1 - me, action: others.value.action! }] : [];
			const actions = [{ seat: me, action }, ...then];
			const found = await tryActions(seat, decision.version, actions, me, signal);
			const steps = found.map(({ version, events, views }, at) => ({
				...{ version, events },
				view: { ...views[0]!, players },
				own: at === 0,
			}));
			setTried({ action, steps });
			setPanel("moves");
			judge(action, signal).then(
				(row) => signal.aborted || setTried({ action, steps, found: row }),
				(error) => signal.aborted || setTried({ action, steps, failed: inWords(refusalOf(error)) }),
			);
		} catch (error) {
			if (!signal.aborted) setFailed(inWords(refusalOf(error)));
		}
		setUnderway(false);
	};
	const ready = !tried && !underway;
	const chooser = useChooser(context, ready, undefined, (action) => void submit(action));
	const root = useRef<HTMLDivElement>(null);
	const goOn = useRef<HTMLDivElement>(null);
	useKeys(root, {
		undo: chooser.undo,
		hint: () => undefined,
		play: () => undefined,
		stamp: `${ready} ${chooser.clicks.length}`,
	});
	useLayoutEffect(() => {
		if (tried) goOn.current?.querySelector("button")?.focus();
	}, [tried?.steps]);
	const said = tried && verdictOf(tried, context);
	const panels: Panel<NonNullable<typeof panel>>[] = [
		{
			name: "moves",
			title: t().reviewTitle,
			glyph: "BULB",
			show: () => (
				<div class="hintpanel">
					<h2>{t().reviewMoves}</h2>
					{decision.hint && <Moves hint={decision.hint} context={context} />}
				</div>
			),
		},
		rulesPanel(catalog),
	];
	const back = (
		<Button class="quiet" data-testid="untry" onClick={leave}>
			{t().backTo.replay}
		</Button>
	);
	return (
		<Table
			{...{ root, context, chooser, panels }}
			kind="puzzle"
			data-testid="trying"
			events={tried?.steps.flatMap(({ events }) => events) ?? NONE}
			tale={tried && { steps: tried.steps, title: t().tryLeads }}
			near={me}
			bar={
				tried ? (
					<section class="ending" data-testid="verdict">
						<p data-testid="judged" data-known={tried.found !== undefined}>
							{said}
						</p>
						<div class="buttons next" ref={goOn}>
							<Button class="primary" data-testid="again" onClick={() => setTried(undefined)}>
								{t().tryMove}
							</Button>
							<Button data-testid="playon" onClick={() => setPlayingOn(true)}>
								{t().playOn}
							</Button>
							{back}
						</div>
					</section>
				) : (
					<ActionBar
						{...{ context, chooser }}
						state={underway ? "submitting" : "ready"}
						message={failed}
					/>
				)
			}
			head={
				<section class="task" aria-labelledby="trying">
					<h2 id="trying">
						{t().tryTitle(nameOfSeat({ ...context, me: seat.seat, view: props.view }, me))}
					</h2>
					<p>{t().tryText(describeAction(decision.action!, context))}</p>
				</section>
			}
			more={!tried && back}
			open={panel}
			setOpen={setPanel}
		>
			<p class="sr" role="status">
				{said}
			</p>
			{playingOn && props.playOnFrom(decision.version, me, () => setPlayingOn(false))}
		</Table>
	);
}

const NONE: never[] = [];

/** What a search has found of an action. */
const rowOf = (rows: readonly ActionEvaluation[] | undefined, action: Action) =>
	rows?.find((row) => identity(row.action!) === identity(action));

/** How good the move was, in a sentence. */
function verdictOf({ action, found, failed }: Tried, context: Context): string {
	if (failed) return failed;
	if (!found) return t().tryComparing;
	return t().puzzleYours(describeAction(action, context), compared(found));
}
