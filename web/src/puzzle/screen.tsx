// Puzzles: a position in which one move is the best, an attempt, and what the computer found.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getPuzzle, solvePuzzle } from "../api/calls";
import { type Refusal, refusalOf } from "../api/errors";
import {
	type Action,
	create,
	PlayerSchema,
	type SolvePuzzleResponse,
	type View,
} from "../api/types";
import { Glyph } from "../cards/glyphs";
import { classOf } from "../games";
import { under } from "../games/cardlist";
import type { Context } from "../games/module";
import { number, t } from "../i18n";
import { Rules } from "../lobby/rules";
import { ActionBar } from "../match/actions";
import { Hands } from "../match/hand";
import { Chances, Expected, Moves } from "../match/hintpanel";
import { useKeys } from "../match/keys";
import { identity, useChooser } from "../match/picker";
import { Player } from "../match/screen";
import { type Catalog, catalogOf } from "../state/catalog";
import { idOfPuzzle, puzzlesOf, solve, solved } from "../state/puzzles";
import { linkTo, replacePlace } from "../state/router";
import "../style/puzzle.css";

export function PuzzleScreen(props: { game: string; puzzle: string | undefined }) {
	const { game, puzzle } = props;
	const catalog = catalogOf(game);
	const all = puzzlesOf(game);
	const name = all?.find((each) => idOfPuzzle(each) === puzzle) ?? (all && nextOf(all, undefined));
	const [loaded, setLoaded] = useState<{ name: string; view: View }>();
	const [failed, setFailed] = useState<Refusal>();
	useEffect(() => {
		if (!name) return;
		if (idOfPuzzle(name) !== puzzle) replacePlace(linkTo.puzzles(game, idOfPuzzle(name)));
		const stop = new AbortController();
		setFailed(undefined);
		getPuzzle(name, stop.signal).then(
			(view) => setLoaded({ name, view }),
			(error) => stop.signal.aborted || setFailed(refusalOf(error)),
		);
		return () => stop.abort();
	}, [name]);
	if (all?.length === 0 || failed)
		return (
			<div class="notice">
				<p role="alert">{failed ? failureOf(failed) : t().puzzlesNone}</p>
				<a class="button" href={linkTo.lobby}>
					{t().back}
				</a>
			</div>
		);
	if (!all || !catalog || !loaded || loaded.name !== name)
		return (
			<p class="notice" role="status">
				{t().loading}
			</p>
		);
	return <Puzzle key={name} {...{ game, catalog, all, name }} view={loaded.view} />;
}

const failureOf = (refusal: Refusal) =>
	refusal.temporary ? t().notSent : (t().refused[refusal.reason] ?? refusal.message);

/** The next puzzle that is not solved; if all are, the next one. */
function nextOf(all: readonly string[], name: string | undefined): string | undefined {
	const at = name === undefined ? 0 : all.indexOf(name) + 1;
	const order = [...all.slice(at), ...all.slice(0, at)];
	return order.find((each) => each !== name && !solved.peek().includes(each)) ?? order[0];
}

interface Attempt {
	action: Action;
	response: SolvePuzzleResponse;
}

function Puzzle(props: {
	game: string;
	catalog: Catalog;
	all: readonly string[];
	name: string;
	view: View;
}) {
	const { all, name } = props;
	// What is chosen together in a match is one decision here.
	const module = useMemo(
		() => ({ ...props.catalog.module, series: undefined }),
		[props.catalog.module],
	);
	const me = props.view.seat ?? 0;
	const view = useMemo(() => {
		const other = create(PlayerSchema, { displayName: t().puzzleOther });
		return { ...props.view, players: [other, other] };
	}, [props.view, t()]);
	const context: Context = { catalog: under(props.catalog, view.ruleset), me, view };
	const [attempt, setAttempt] = useState<Attempt>();
	const [sending, setSending] = useState(false);
	const [failed, setFailed] = useState<Refusal>();
	const [panel, setPanel] = useState<"solution" | "rules">("solution");
	const root = useRef<HTMLDivElement>(null);
	const next = useRef<HTMLAnchorElement>(null);
	const submit = async (action: Action) => {
		setSending(true);
		setFailed(undefined);
		try {
			const response = await solvePuzzle(name, action);
			if (response.correct) solve(name);
			setAttempt({ action, response });
			setPanel("solution");
		} catch (error) {
			setFailed(refusalOf(error));
		}
		setSending(false);
		return true;
	};
	const ready = !attempt && !sending;
	const chooser = useChooser(module, view, context, ready, undefined, submit);
	useKeys(root, {
		undo: chooser.undo,
		hint: () => undefined,
		stamp: `${ready} ${chooser.clicks.length}`,
	});
	useEffect(() => {
		if (attempt) next.current?.focus({ preventScroll: true });
	}, [attempt]);
	const done = solved.value.includes(name);
	const titles = { solution: t().puzzleExplanation, rules: t().rules };
	return (
		<div class={`match puzzle ${classOf(props.game)}`} ref={root} data-testid="puzzle">
			<p class="sr" role="status">
				{attempt && verdictOf(attempt, context)}
			</p>
			<div class="tablearea">
				<Player {...{ context, view }} offset={0} at={1 - me} far />
				<div class="board" data-testid="board">
					<module.Board context={context} view={view} events={NONE} picker={chooser} near={me} />
				</div>
				<Player {...{ context, view }} offset={0} at={me} />
				<Hands game={module} context={context} picker={chooser} near={me} />
				{attempt ? (
					<section
						class={`ending ${attempt.response.correct ? "won" : ""}`}
						data-testid="verdict"
						data-correct={attempt.response.correct}
					>
						<p class="finale">{attempt.response.correct ? t().puzzleRight : t().puzzleWrong}</p>
						<p>{comparison(attempt, context)}</p>
						<div class="buttons next">
							<a
								class="button primary"
								ref={next}
								data-testid="next"
								href={linkTo.puzzles(props.game, idOfPuzzle(nextOf(all, name)!))}
							>
								{t().puzzleNext}
							</a>
							{!attempt.response.correct && (
								<button type="button" data-testid="again" onClick={() => setAttempt(undefined)}>
									{t().puzzleAgain}
								</button>
							)}
						</div>
					</section>
				) : (
					<ActionBar
						game={module}
						context={context}
						chooser={chooser}
						state={sending ? "submitting" : "ready"}
						message={failed && failureOf(failed)}
					/>
				)}
			</div>
			<aside class="side">
				<section class="task" aria-labelledby="puzzle">
					<h2 id="puzzle">
						{t().puzzleNumber(all.indexOf(name) + 1)}
						{done && <span class="done">✓ {t().puzzleDone}</span>}
					</h2>
					<p>{t().puzzleText}</p>
					<p class="muted" data-testid="solved">
						{t().puzzlesSolved(
							all.filter((each) => solved.value.includes(each)).length,
							all.length,
						)}
					</p>
				</section>
				<div class="tabs" role="group" aria-label={t().menu}>
					{(["solution", "rules"] as const).map((each) => (
						<button
							type="button"
							key={each}
							class={panel === each ? "current" : ""}
							aria-pressed={panel === each}
							onClick={() => setPanel(each)}
						>
							<Glyph name={each === "rules" ? "BOOK" : "BULB"} />
							{titles[each]}
						</button>
					))}
				</div>
				<section class="panel" tabIndex={0} aria-label={titles[panel]}>
					{panel === "rules" && <Rules catalog={context.catalog} />}
					{panel === "solution" &&
						(attempt?.response.hint ? (
							<Solution hint={attempt.response.hint} context={context} />
						) : (
							<p class="muted">{t().puzzleUnsolved}</p>
						))}
				</section>
				<div class="more">
					{!attempt && (
						<a
							class="button quiet"
							href={linkTo.puzzles(props.game, idOfPuzzle(nextOf(all, name)!))}
						>
							{t().puzzleNext}
						</a>
					)}
					<a class="button quiet" href={linkTo.lobby}>
						{t().back}
					</a>
				</div>
			</aside>
		</div>
	);
}

const NONE: never[] = [];

const verdictOf = (attempt: Attempt, context: Context) =>
	`${attempt.response.correct ? t().puzzleRight : t().puzzleWrong} ${comparison(attempt, context)}`;

/** What the answer and the move that was made are worth, in sentences. */
function comparison({ action, response }: Attempt, context: Context): string {
	const game = context.catalog.module;
	const title = (which: Action) => game.describeAction(which, context);
	const [best, second] = response.hint!.actions;
	const answer = t().hintWorth(t().points(best!.expectedScore));
	if (response.correct) {
		const other = t().puzzleSecond(title(second!.action!), t().points(second!.expectedScore));
		return `${answer} ${other}`;
	}
	const made = identity(action);
	const own = response.hint!.actions.find((each) => identity(each.action!) === made);
	const yours = own
		? t().puzzleYours(title(action), t().points(own.expectedScore))
		: t().puzzleYoursLow(title(action));
	return `${t().hintAlways(title(best!.action!))} ${answer} ${yours}`;
}

function Solution(props: { hint: NonNullable<SolvePuzzleResponse["hint"]>; context: Context }) {
	const { hint, context } = props;
	const game = context.catalog.module;
	return (
		<div class="hintpanel">
			<Chances win={hint.win} draw={hint.draw} loss={hint.loss} />
			<p class="muted">{t().hintPoints}</p>
			<Moves hint={hint} game={game} context={context} />
			{hint.actions[0]!.line.length > 0 && <h3>{t().hintLine}</h3>}
			<Expected seat={hint.seat} found={hint.actions[0]!} game={game} context={context} />
			<p class="muted">{t().puzzleSearched(number(hint.iterations))}</p>
		</div>
	);
}
