// Puzzles: a position in which one move is the best, an attempt, and what the computer found.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { getPuzzle, solvePuzzle } from "../api/calls";
import { type Refusal, refusalOf } from "../api/errors";
import {
	type Action,
	create,
	type Puzzle as Listed,
	PlayerSchema,
	type SolvePuzzleResponse,
	type View,
} from "../api/types";
import { under } from "../games/cardlist";
import { catalogOf } from "../games/catalog";
import { identity } from "../games/choices";
import type { Catalog, Context, GameModule } from "../games/module";
import { spaced } from "../games/schema";
import { describeAction } from "../games/sentences";
import { inWords, number, points, t } from "../i18n";
import { NewMatchDialog } from "../lobby/newmatch";
import { ActionBar } from "../match/actions";
import { compared } from "../match/advice";
import { Chances, Expected, Moves } from "../match/hintpanel";
import { useKeys } from "../match/keys";
import { useChooser } from "../match/picker";
import { type Panel, rulesPanel, Table } from "../match/table";
import { Why } from "../match/why";
import { countSolved, idOfPuzzle, puzzlesOf, solve, solved } from "../state/puzzles";
import { linkTo, replacePlace } from "../state/router";
import { Button } from "../ui/button";
import { Loading, Notice } from "../ui/notice";
import "../style/puzzle.css";

export function PuzzleScreen(props: { game: string; puzzle?: string; theme?: string }) {
	const { game, theme = "" } = props;
	const catalog = catalogOf(game);
	const every = puzzlesOf(game);
	const themed = every?.filter((each) => each.theme === theme);
	const all = themed?.length ? themed : every;
	const puzzle =
		all?.find((each) => idOfPuzzle(each) === props.puzzle) ?? (all && nextOf(all, undefined));
	const name = puzzle?.name;
	const [loaded, setLoaded] = useState<{ name: string; view: View }>();
	const [failed, setFailed] = useState<Refusal>();
	const chosen = useRef(false);
	useEffect(() => {
		if (!puzzle || !name) return;
		const id = idOfPuzzle(puzzle);
		if (id !== props.puzzle) replacePlace(linkTo.puzzles(game, id, theme));
		const stop = new AbortController();
		setFailed(undefined);
		getPuzzle(name, stop.signal).then(
			(view) => setLoaded({ name, view }),
			(error) => stop.signal.aborted || setFailed(refusalOf(error)),
		);
		return () => stop.abort();
	}, [name]);
	if (every?.length === 0 || failed)
		return <Notice says={failed ? inWords(failed) : t().puzzlesNone} />;
	if (!every || !all || !puzzle || !catalog || !loaded || loaded.name !== name) return <Loading />;
	const themes = [...new Set(every.map((each) => each.theme))].filter(Boolean).sort();
	return (
		<Puzzle
			key={name}
			{...{ game, catalog, puzzle, theme, view: loaded.view }}
			number={every.indexOf(puzzle) + 1}
			solved={t().puzzlesSolved(countSolved(all), all.length)}
			next={linkTo.puzzles(game, idOfPuzzle(nextOf(all, puzzle)!), theme)}
		>
			{themes.length > 1 && (
				<select
					// The next puzzle has a list of its own, from which whoever uses the keyboard goes on.
					ref={(select) => {
						if (select && chosen.current) select.focus({ preventScroll: true });
						if (select) chosen.current = false;
					}}
					aria-label={t().puzzleTheme}
					data-testid="theme"
					value={all === every ? "" : theme}
					onChange={({ currentTarget: { value } }) => {
						chosen.current = true;
						replacePlace(linkTo.puzzles(game, idOfPuzzle(puzzle), value));
					}}
				>
					{["", ...themes].map((each) => {
						const of = every.filter((one) => !each || one.theme === each).length;
						const word = each
							? (catalog.module.theme?.(each) ?? spaced(each))
							: t().puzzleAllThemes;
						return <option key={each} value={each}>{`${word} (${of})`}</option>;
					})}
				</select>
			)}
		</Puzzle>
	);
}

/** The next puzzle that is not solved; if all are, the next one. */
function nextOf(all: readonly Listed[], puzzle: Listed | undefined): Listed | undefined {
	const at = puzzle === undefined ? 0 : all.indexOf(puzzle) + 1;
	const order = [...all.slice(at), ...all.slice(0, at)];
	return order.find((each) => each !== puzzle && !solved.peek().includes(each.name)) ?? order[0];
}

interface Attempt {
	action: Action;
	response: SolvePuzzleResponse;
	/** Whether the solution is shown: after a wrong move only when it is asked for. */
	shown: boolean;
}

function Puzzle(props: {
	game: string;
	catalog: Catalog;
	puzzle: Listed;
	view: View;
	theme: string;
	number: number;
	/** How many are solved, in words. */
	solved: string;
	/** The link to the next puzzle. */
	next: string;
	/** What chooses the theme. */
	children: ComponentChildren;
}) {
	const { name } = props.puzzle;
	const me = props.view.seat ?? 0;
	const catalog = useMemo((): Catalog => {
		const { module } = props.catalog;
		const posed: GameModule = {
			...module,
			// What is chosen together in a match is one decision here.
			series: undefined,
			// On a phone the task is below the table.
			prompt: (view, clicks, context) =>
				`${clicks.length > 0 ? "" : t().puzzleFind} ${module.prompt(view, clicks, context)}`,
		};
		return { ...under(props.catalog, props.view.ruleset), module: posed };
	}, [props.catalog, props.view]);
	const view = useMemo(() => {
		const other = create(PlayerSchema, { displayName: t().puzzleOther });
		return { ...props.view, players: [other, other] };
	}, [props.view, t()]);
	const context: Context = { catalog, me, view };
	const [attempt, setAttempt] = useState<Attempt>();
	const [sending, setSending] = useState(false);
	const [failed, setFailed] = useState<Refusal>();
	const [panel, setPanel] = useState<"solution" | "rules">();
	const [playingOn, setPlayingOn] = useState(false);
	// A solution is shown as a turn is.
	const shown = attempt?.shown ? attempt.response : undefined;
	const steps = useMemo(
		() =>
			shown?.steps.map((step, at) => ({
				...step,
				view: { ...step.view!, players: view.players },
				own: at === 0,
			})) ?? NONE,
		[shown, view],
	);
	const root = useRef<HTMLDivElement>(null);
	const goOn = useRef<HTMLAnchorElement & HTMLButtonElement>(null);
	const submit = async (action: Action) => {
		setSending(true);
		setFailed(undefined);
		try {
			const response = await solvePuzzle(name, action);
			if (response.correct) solve(name);
			setAttempt({ action, response, shown: response.correct });
			setPanel("solution");
		} catch (error) {
			setFailed(refusalOf(error));
		}
		setSending(false);
	};
	const ready = !attempt && !sending;
	const chooser = useChooser(context, ready, undefined, submit);
	useKeys(root, {
		undo: chooser.undo,
		hint: () => undefined,
		play: () => undefined,
		stamp: `${ready} ${chooser.clicks.length}`,
	});
	useLayoutEffect(() => {
		if (attempt) goOn.current?.focus();
	}, [attempt]);
	const done = solved.value.includes(name);
	const panels: Panel<NonNullable<typeof panel>>[] = [
		{
			name: "solution",
			title: t().puzzleExplanation,
			glyph: "BULB",
			show: () =>
				shown ? (
					<Solution hint={shown.hint!} context={context} />
				) : (
					<p class="muted">{t().puzzleUnsolved}</p>
				),
		},
		rulesPanel(context.catalog),
	];
	return (
		<Table
			{...{ root, context, chooser, panels }}
			kind="puzzle"
			data-testid="puzzle"
			events={steps.flatMap(({ events }) => events)}
			tale={steps.length > 0 ? { steps, title: t().puzzleLine } : undefined}
			near={me}
			bar={
				attempt ? (
					<section
						class={`ending ${attempt.response.correct ? "won" : ""}`}
						data-testid="verdict"
						data-correct={attempt.response.correct}
					>
						<p class="finale">{attempt.response.correct ? t().puzzleRight : t().puzzleWrong}</p>
						<p>{comparison(attempt, context)}</p>
						<div class="buttons next">
							{attempt.shown ? (
								<>
									<a class="button primary" ref={goOn} data-testid="next" href={props.next}>
										{t().puzzleNext}
									</a>
									<Button data-testid="playon" onClick={() => setPlayingOn(true)}>
										{t().playOn}
									</Button>
								</>
							) : (
								<>
									<button
										type="button"
										class="primary"
										ref={goOn}
										data-testid="again"
										onClick={() => setAttempt(undefined)}
									>
										{t().puzzleAgain}
									</button>
									<Button
										data-testid="show"
										onClick={() => setAttempt({ ...attempt, shown: true })}
									>
										{t().puzzleShow}
									</Button>
								</>
							)}
						</div>
					</section>
				) : (
					<ActionBar
						{...{ context, chooser }}
						state={sending ? "submitting" : "ready"}
						message={failed && inWords(failed)}
					/>
				)
			}
			head={
				<section class="task" aria-labelledby="puzzle">
					<h2 id="puzzle">
						{t().puzzleNumber(props.number)}
						{done && <span class="done">✓ {t().puzzleDone}</span>}
					</h2>
					<p>{t().puzzleText}</p>
					<p class="muted" data-testid="solved">
						{props.solved}
					</p>
					{props.children}
				</section>
			}
			more={
				<>
					{!attempt?.shown && (
						<a class="button quiet" href={props.next}>
							{t().puzzleNext}
						</a>
					)}
					<a class="button quiet" href={linkTo.lobby}>
						{t().back}
					</a>
				</>
			}
			open={panel}
			setOpen={setPanel}
		>
			<p class="sr" role="status">
				{attempt && verdictOf(attempt, context)}
			</p>
			{playingOn && (
				<NewMatchDialog
					id={props.game}
					from={{
						source: { case: "puzzleName", value: name },
						version: 0n,
						ruleset: props.view.ruleset!,
						seat: me as 0 | 1,
						back: linkTo.puzzles(props.game, idOfPuzzle(props.puzzle), props.theme),
					}}
					onClose={() => setPlayingOn(false)}
				/>
			)}
		</Table>
	);
}

const NONE: never[] = [];

const verdictOf = (attempt: Attempt, context: Context) =>
	`${attempt.response.correct ? t().puzzleRight : t().puzzleWrong} ${comparison(attempt, context)}`;

/** What the answer and the move that was made are worth, in sentences. */
function comparison({ action, response, shown }: Attempt, context: Context): string {
	const title = (which: Action) => describeAction(which, context);
	const [best, second] = response.hint!.actions;
	const answer = t().hintWorth(points(response.hint!.expectedScore));
	if (response.correct) {
		return `${answer} ${t().puzzleSecond(title(second!.action!), compared(second!))}`;
	}
	const made = identity(action);
	const own = response.hint!.actions.find((each) => identity(each.action!) === made);
	const yours =
		own?.loss === undefined
			? t().puzzleYoursLow(title(action))
			: t().puzzleYours(title(action), compared(own));
	return shown ? `${t().hintAlways(title(best!.action!))} ${answer} ${yours}` : yours;
}

function Solution(props: { hint: NonNullable<SolvePuzzleResponse["hint"]>; context: Context }) {
	const { hint, context } = props;
	return (
		<div class="hintpanel">
			<Why hint={hint} context={context} />
			<Chances hint={hint} />
			<p class="muted">{t().hintPoints}</p>
			<Moves hint={hint} context={context} />
			{hint.actions[0]!.line.length > 0 && <h3>{t().hintLine}</h3>}
			<Expected seat={hint.seat} found={hint.actions[0]!} context={context} />
			<p class="muted">{t().puzzleLineNote}</p>
			<p class="muted">{t().puzzleSearched(number(hint.iterations))}</p>
		</div>
	);
}
