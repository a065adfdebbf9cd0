"""Finds puzzles in matches: decisions with one clearly best action.

1. A quick search of each decision finds candidates: one action is played always, and seems to score
   more than any other.
2. A longer search with another seed must find the same action. As in a review, it is then compared
   with the second best one, both searched alone and equally long: their difference is the *gap*.
3. The same with many times the effort and another seed confirms it.
"""

import hashlib
import math
import random
from collections.abc import Callable
from functools import partial
from importlib import metadata
from typing import NamedTuple

import wire
from ai.last_look import SHARE
from ai.principal_lines import PrincipalLines
from ai.results import ActionResult, Parameters, Result, Standing
from ai.search import Search, search
from croupier.v1 import game_pb2, hint_pb2, match_pb2, puzzle_pb2
from engine.game import SeatView
from engine.model import learned
from engine.position import Position
from service.common.event_loop import finish_now
from service.hosting.entries import EntryKind
from service.hosting.match_state import MatchState
from service.hosting.records import write_record
from service.puzzles.packs import cut, name_of, replaying, theme_of
from service.reviewing.steps import Decision, reading_steps
from service.reviewing.verdicts import MIXED, SURE, derive, mean_deviation, runs_of
from service.searching.hints import write_hint
from service.store import Entry, Header

CONFIRMING = 20  # Times the effort.
QUICK_SHARE = 0.1  # Of the effort, for the search that finds candidates,
MIN_QUICK = 100  # iterations at least, so that it compares actions.
LOST, WON = 0.15, 0.9  # Outside of these expected scores a match is decided.
HOPELESS = 0.05  # If any other action scores less, the best one is too easy to find.
PER_MATCH = 2
TRIES = 6  # Candidates of a match that are looked at, first those with
MANY_ACTIONS = 4  # or more to choose from.
MOVE_ITERATIONS = 300  # Of the players of matches that are played for puzzles.
SLIPS = 0.1  # The share of their decisions that are random, so that there is something to punish.
KEPT_ACTIONS = 12  # Whose scores are kept, and those of
KEPT_LINES = 2  # with the expected line.
DIGITS = 4  # Of scores.
BOTS = (5, 5)  # In the header of a record: who plays is as strong as the search.

Choose = Callable[[Position, int, int], int]


class Options(NamedTuple):
    """What a puzzle is."""

    iterations: int
    gap: float
    seed: int


class Task(NamedTuple):
    """A match to look through: a record, or one that is to be played."""

    options: Options
    game_id: str
    number: int
    record: bytes = b""


class Gap(NamedTuple):
    """What one action scores more than another."""

    best: float  # The expected score of the better one.
    points: float
    deviation: float


class Answer(NamedTuple):
    """What searches found of a decision."""

    action: int
    gap: Gap
    hint: hint_pb2.Hint

    def is_clear(self, least: float, deviations: float) -> bool:
        """Whether the action is better than any other, in a match that is not decided."""
        lead = self.gap.points - deviations * self.gap.deviation
        return lead >= least and _is_open(self.gap.best, self.gap.best - self.gap.points)


def find(task: Task) -> list[bytes]:
    """The puzzles of a match, each as a serialized PackedPuzzle."""
    options = task.options
    seed = derive(options.seed, task.game_id, task.number)
    record = match_pb2.MatchRecord.FromString(task.record) if task.record else _played(task, seed)
    steps = finish_now(reading_steps(record))
    candidates = [each for each in steps.decisions if _is_candidate(each, options, seed)]
    random.Random(seed).shuffle(candidates)
    # Of few actions, guessing finds the best one too often.
    candidates.sort(key=lambda each: -min(len(each.position.legal(each.seat)), MANY_ACTIONS))
    puzzles: list[bytes] = []
    for decision in candidates[:TRIES]:
        own = derive(seed, decision.version, decision.seat)
        confirmed = None
        answer = solve(decision.view, options.iterations, derive(own, "first"))
        if answer is not None and answer.is_clear(options.gap, SURE):
            effort = CONFIRMING * options.iterations
            confirmed = solve(decision.view, effort, derive(own, "confirming"), answer.action)
        if confirmed is not None and confirmed.is_clear(options.gap, SURE):
            puzzles.append(_pack(record, decision, confirmed, options).SerializeToString())
            if len(puzzles) == PER_MATCH:
                break
    return puzzles


def check(puzzle: puzzle_pb2.PackedPuzzle, options: Options) -> bool:
    """Whether a search with the effort of a confirmation finds the answer again, and a gap."""
    state = finish_now(replaying(puzzle.record))
    view = state.dealt().view(puzzle.puzzle.origin.seat)
    expected = wire.read_action(state.game, puzzle.hint.action)
    seed = derive(options.seed, puzzle.puzzle.name, "check")
    answer = solve(view, CONFIRMING * options.iterations, seed, expected)
    return answer is not None and answer.is_clear(options.gap, 0.0)


def solve(view: SeatView, iterations: int, seed: int, expected: int | None = None) -> Answer | None:
    """The best action, and what it scores more than the second best.

    None for a mixture of actions, and if the best one is not the expected one.
    """
    running = Search(
        view,
        seed=seed,
        parameters=Parameters(last_look=SHARE),
        model=learned(view.game),
    )
    running.run(iterations=iterations)
    result = running.result()
    two = _best_two(result)
    if two is None or expected not in (None, two[0].action):
        return None
    best, second = two
    gap = compare(view, best.action, second.action, iterations, derive(seed, "gap"))
    hint = write_hint(view, 0, result, PrincipalLines(running))
    hint.action.CopyFrom(wire.write_action(view.game, best.action))
    return Answer(best.action, gap, hint)


def compare(view: SeatView, best: int, other: int, iterations: int, seed: int) -> Gap:
    """Searches two actions alone, as a review does."""
    runs = runs_of(iterations)
    scores, gaps, deviations = [], [], []
    for number in range(runs):
        running = Search(
            view,
            seed=derive(seed, number),
            parameters=Parameters(last_look=SHARE),
            root_actions=sorted((best, other)),
            model=learned(view.game),
        )
        running.run(iterations=iterations // runs)
        found = {each.action: each for each in running.result().actions}
        scores.append(found[best].expected_score)
        gaps.append(found[best].expected_score - found[other].expected_score)
        deviations.append(max(each.loss_deviation for each in found.values()))
    deviation = mean_deviation(gaps, deviations[0])
    return Gap(math.fsum(scores) / runs, math.fsum(gaps) / runs, deviation)


def _best_two(result: Result) -> tuple[ActionResult, ActionResult] | None:
    # The best action and the next one; None if that was not looked at, or for a mixture.
    best, second = result.actions[:2]
    if best.probability < 1 - MIXED or second.standing is Standing.UNEXAMINED:
        return None
    return best, second


def _played(task: Task, seed: int) -> match_pb2.MatchRecord:
    rng = random.Random(seed)

    def choose(position: Position, seat: int, version: int) -> int:
        legal = position.legal(seat)
        if len(legal) == 1 or rng.random() < SLIPS:
            return rng.choice(legal)
        return search(
            position.view(seat),
            iterations=MOVE_ITERATIONS,
            seed=rng.getrandbits(64),
            model=learned(position.game),
        ).action

    return play(task.game_id, f"{task.options.seed}p{task.number}", choose)


def play(game_id: str, number: int | str, choose: Choose) -> match_pb2.MatchRecord:
    """The record of a match; `choose` gets the position, the seat and the version."""
    game = wire.hosted_games()[game_id]()
    name = f"m{number}"
    header = Header(
        match_id=name,
        game=game_id,
        ruleset=wire.write_ruleset(game).SerializeToString(deterministic=True),
        rules_version=game.rules_version,
        secret=hashlib.sha256(f"{game_id}{number}".encode()).digest(),
        chance_id=name,
        bots=BOTS,
        created=0,
        hint_policy=1,
    )
    state = MatchState.begin(header)
    while not state.over:
        seat = state.deciders[0]
        chosen = choose(state.dealt().position, seat, state.version)
        action = wire.serialize_action(game, chosen)
        state = state.after(Entry(EntryKind.ACTION, seat, state.version, action, state.version))
    return write_record(state)


def _is_candidate(decision: Decision, options: Options, seed: int) -> bool:
    if len(decision.position.legal(decision.seat)) < 2:
        return False
    result = search(
        decision.view,
        iterations=max(MIN_QUICK, math.ceil(QUICK_SHARE * options.iterations)),
        seed=derive(seed, decision.version, decision.seat, "quick"),
        parameters=Parameters(last_look=SHARE),
        model=learned(decision.view.game),
    )
    two = _best_two(result)
    if two is None:
        return False
    scores = [each.expected_score for each in two]
    return scores[0] - scores[1] >= options.gap and _is_open(*scores)


def _is_open(best: float, second: float) -> bool:
    return LOST <= best <= WON and second >= HOPELESS


def _pack(
    record: match_pb2.MatchRecord, decision: Decision, answer: Answer, options: Options
) -> puzzle_pb2.PackedPuzzle:
    game = decision.view.game
    model = learned(game)
    origin = puzzle_pb2.PuzzleOrigin(
        release=metadata.version("croupier-server"),
        seed=options.seed,
        version=decision.version,
        seat=decision.seat,
        model="" if model is None else model.name,
        iterations=options.iterations,
        confirming_iterations=CONFIRMING * options.iterations,
    )
    puzzle = puzzle_pb2.Puzzle(
        name=name_of(decision.view),
        game=f"games/{game.id}",
        theme=theme_of(game_pb2.View.FromString(decision.message)),
        origin=origin,
    )
    return puzzle_pb2.PackedPuzzle(
        record=cut(record, decision.version), puzzle=puzzle, hint=_short(answer.hint, decision)
    )


def _short(hint: hint_pb2.Hint, decision: Decision) -> hint_pb2.Hint:
    # No more than is told, in few digits, so that many puzzles make a small file.
    to_digits = partial(round, ndigits=DIGITS)
    hint.version = decision.version
    actions = list(hint.actions)
    del hint.actions[:]
    for number, each in enumerate(actions[:KEPT_ACTIONS]):
        kept = hint.actions.add(
            action=each.action,
            standing=each.standing,
            probability=to_digits(each.probability),
        )
        for name in ("expected_score", "deviation", "loss", "loss_deviation"):
            if each.HasField(name):
                setattr(kept, name, to_digits(getattr(each, name)))
        if number < KEPT_LINES:
            kept.line.extend(each.line)
    for name in ("expected_score", "win", "draw", "loss"):
        setattr(hint, name, to_digits(getattr(hint, name)))
    for name in ("nodes", "full"):
        hint.ClearField(name)
    return hint
