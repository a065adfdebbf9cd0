"""How right are hints: `python -m lab.search_bench.scores`.

`rows` compares the rows of hints with a search of many times the effort, in decisions of matches
that are played at random. That search has the same actions alone, and looks at each equally often:

- how many of the actions that a hint calls as good lose more than 0.03;
- how often the loss that a hint tells is within two deviations, those of both searches together;
- what the advised play loses against the answer of the larger search.

`matches` lets hints play each other, and compares the expected scores that they foretell with what
happens: of the n-th decisions of both seats, which must come to 1 together, and of all scores
between two tenths. All decisions count alike there. Were one of each match drawn, whoever foretells
the true probability would seem to be wrong: a seat that falls back for good passes through some
tenths once, and in matches that turn both seats pass through them often.

`aspects` compares what hints foretell of the aspects of the game, for the actions that they play in
such matches, with what happens up to the horizon.

`fit` lets hints play each other, too, and writes into the model of each game by how much what they
foretell is off (engine/calibration.py): a shift at each moment, and a stretch, by which the mean of
what they foretell is that of what happens at each moment, and so is its product with the lead. Two
seats of a match score 1 together whatever happens, so a shift needs few matches. The equations are
those of instrumental variables; each number is drawn to 0 as by PRIOR decisions.

Intervals have a probability of 95 %.
"""

import argparse
import math
import random
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ai.last_look import SHARE
from ai.results import Parameters, Result, Standing, StopReason
from ai.search import Search
from croupier.terminal.arguments import whole
from engine import games
from engine.aspects import Aspects
from engine.features import SCALE, Features
from engine.game import Game, SeatView
from engine.model import STRETCH, Model, file_of, learned
from engine.position import Position
from lab.workers import add_options, counting, in_order

LOST = 0.03  # An action that loses more was not as good.
SURE = 2.0  # Deviations.
WIDTH = 1.96  # Deviations of a mean, on both sides.
BINS = 10
PRIOR = 20.0  # Decisions by which each number of a calibration is drawn to 0.
POINTS = 11  # Decisions of each seat whose scores are added up.
ROW = "{:18}{:38}{:>8}  {}".format


class Task(NamedTuple):
    """One position or match to look at."""

    game_id: str
    seed: int
    number: int
    iterations: int
    times: int
    with_policy: bool
    calibrated: bool = True

    def chance(self) -> random.Random:
        """Its own chance."""
        return random.Random(f"{self.game_id}/{self.seed}/{self.number}")

    def hint(
        self, view: SeatView, chance: random.Random, actions: Sequence[int] | None = None
    ) -> Result:
        """What a hint finds or, of some actions, a search with many times the effort."""
        running = Search(
            view,
            seed=chance.getrandbits(64),
            parameters=Parameters(
                last_look=SHARE, playout_policy=self.with_policy, calibrated=self.calibrated
            ),
            root_actions=actions,
            model=learned(view.game) if self.with_policy else None,
        )
        running.run(iterations=self.iterations * (self.times if actions else 1))
        return running.result()


class Row(NamedTuple):
    """An action of a hint: what the hint says that it loses, and a larger search."""

    standing: Standing
    loss: float
    deviation: float
    true_loss: float
    true_deviation: float


class Foretold(NamedTuple):
    """The expected score that a seat had at its n-th decision, and its score in the end."""

    seat: int
    number: int
    foretold: float
    happened: float
    moment: str | None = None
    is_proven: bool = False


class OfAspect(NamedTuple):
    """What a hint foretold of an aspect of the game, and what happened."""

    name: str
    foretold: float
    happened: float


def random_decision(game_id: str, chance: random.Random) -> tuple[Position, int]:
    """A decision between several actions, and its seat, from a match that is played at random."""
    found: list[tuple[Position, int]] = []
    while not found:
        position = Position.deal(games()[game_id](), chance.getrandbits(64))
        while not position.over:
            legal = {seat: position.legal(seat) for seat in position.deciders}
            before = position.copy()
            found += [(before, seat) for seat in legal if len(legal[seat]) > 1]
            joint = {seat: chance.choice(actions) for seat, actions in legal.items()}
            position.apply(joint, chance.getrandbits(64))
    return chance.choice(found)


def rows(task: Task) -> list[Row]:
    """The rows of a hint; the last one is the advised play against the best of a larger search."""
    chance = task.chance()
    position, seat = random_decision(task.game_id, chance)
    view = position.view(seat)
    hint = task.hint(view, chance)
    examined = [each for each in hint.actions if each.standing is not Standing.UNEXAMINED]
    truth = task.hint(view, chance, [each.action for each in examined])
    true = {each.action: each for each in truth.actions}
    advised = [each for each in examined if each.standing is Standing.BEST]
    # By the scores, since the larger search may have another answer.
    score = math.fsum(each.probability * true[each.action].expected_score for each in advised)
    deviation = math.hypot(*(each.probability * true[each.action].deviation for each in advised))
    found = [
        Row(
            each.standing,
            each.loss,
            each.loss_deviation,
            score - true[each.action].expected_score,
            math.hypot(true[each.action].deviation, deviation),
        )
        for each in examined
        if each.standing is not Standing.BEST
    ]
    wide = task.hint(view, chance, position.legal(seat))
    best = max(wide.actions, key=lambda each: (each.probability, -each.action)).action
    lost = 0.0
    if best not in {each.action for each in advised}:
        pair = [best, *(each.action for each in advised)]
        compared = {each.action: each for each in task.hint(view, chance, pair).actions}
        lost = math.fsum(each.probability * compared[each.action].loss for each in advised)
        lost -= compared[best].loss
    return [*found, Row(Standing.BEST, 0.0, 0.0, lost, 0.0)]


class Decision(NamedTuple):
    """A decision in a match: before which position of the match, of whom, and the hint for it."""

    at: int
    seat: int
    hint: Result


def play(task: Task) -> tuple[list[Position], list[Decision]]:
    """The positions of a match that hints play against each other, and their decisions."""
    chance = task.chance()
    position = Position.deal(games()[task.game_id](), chance.getrandbits(64))
    positions = [position.copy()]
    decisions = []
    while not position.over:
        joint = {}
        for seat in position.deciders:
            legal = position.legal(seat)
            joint[seat] = legal[0]
            if len(legal) > 1:
                hint = task.hint(position.view(seat), chance)
                joint[seat] = hint.action
                decisions.append(Decision(len(positions) - 1, seat, hint))
        position.apply(joint, chance.getrandbits(64))
        positions.append(position.copy())
    return positions, decisions


def match(task: Task) -> list[Foretold]:
    """What hints foretell in a match that they play against each other."""
    positions, decisions = play(task)
    outcome = positions[-1].scores
    assert outcome is not None  # It is over.
    features = Features.of(positions[0].game)
    told = []
    decided = [0, 0]
    for at, seat, hint in decisions:
        moment = features.moment_of(positions[at], seat) if features else None
        proven = hint.stop_reason == StopReason.PROVEN
        told.append(
            Foretold(seat, decided[seat], hint.expected_score, outcome[seat], moment, proven)
        )
        decided[seat] += 1
    return told


def fit(moments: Sequence[str], matches: Iterable[Iterable[Foretold]]) -> dict[str, int]:
    """The calibration of a game, by what was foretold without one."""
    told = [each for match in matches for each in match if not each.is_proven]
    foretold = np.array([each.foretold for each in told])
    happened = np.array([each.happened for each in told])
    lead = 2 * foretold - 1
    factors = np.array([[each.moment == name for name in moments] for each in told], float)
    factors = np.column_stack([factors, lead])
    moves = factors * (1 - lead**2)[:, None]
    left = factors.T @ moves + PRIOR * np.eye(len(moments) + 1)
    numbers = np.linalg.solve(left, factors.T @ (happened - foretold))
    *shifts, stretch = (round(SCALE * each) for each in numbers)
    return {STRETCH: stretch, **dict(zip(moments, shifts, strict=True))}


def keep(game: Game, calibration: dict[str, int], made: dict[str, int]) -> None:
    """Writes a calibration into the model of a game, and how it was made."""
    model, path = learned(game), file_of(type(game))
    assert model is not None and path is not None
    provenance = {**model.provenance, "calibration": made}
    calibrated = Model(game, model.weights, model.uses, provenance, model.net, calibration)
    path.write_text(calibrated.write())


def aspects(task: Task) -> list[OfAspect]:
    """What hints foretell of each aspect, of the actions that they play in such a match."""
    positions, decisions = play(task)
    of_game = Aspects.of(positions[0].game)
    found = []
    for at, seat, hint in decisions:
        [chosen] = [each for each in hint.actions if each.action == hint.action]
        happened = of_game.measure(positions[at:], seat) if chosen.aspects else None
        for name, foretold in chosen.aspects.items():
            assert happened is not None  # The match is over.
            found.append(OfAspect(name, foretold.mean, happened[name]))
    return found


def show_rows(game_id: str, found: Iterable[Row]) -> None:
    """Prints the figures of the rows of a game."""
    by_standing: dict[Standing, list[Row]] = {each: [] for each in Standing}
    for row in found:
        by_standing[row.standing].append(row)
    good, worse = by_standing[Standing.AS_GOOD], by_standing[Standing.WORSE]
    lost = [row.true_loss for row in by_standing[Standing.BEST]]
    print(ROW(game_id, "as good, but loses more than 0.03", len(good), _share(good, _is_bad)))
    print(ROW("", "worse by what is told, within 95 %", len(worse), _share(worse, _is_within)))
    off = [row.true_loss - row.loss for row in worse]
    print(ROW("", "  its error", len(off), _mean(off)))
    print(ROW("", "the advised play loses", len(lost), _mean(lost)), flush=True)


def _is_bad(row: Row) -> bool:
    return row.true_loss > LOST


def _is_within(row: Row) -> bool:
    return abs(row.loss - max(0.0, row.true_loss)) <= SURE * math.hypot(
        row.deviation, row.true_deviation
    )


def _share(found: Sequence[Row], holds: Callable[[Row], bool]) -> str:
    count = sum(map(holds, found))
    return f"{count:>5}  {count / len(found):.1%}" if found else ""


def _mean(values: Sequence[float]) -> str:
    if len(values) < 2:
        return ""
    error = WIDTH * statistics.stdev(values) / math.sqrt(len(values))
    return f"{statistics.fmean(values):+.4f} ± {error:.4f}"


def show_matches(game_id: str, matches: Sequence[Sequence[Foretold]]) -> None:
    """Prints what was foretold, and by how much it was off, by number and by tenth."""
    for number in range(POINTS):
        some = [[each for each in match if each.number == number] for match in matches]
        _show_off(game_id, f"decision {number + 1} of both", some)
    for tenth in range(BINS):
        some = [
            [each for each in match if min(int(BINS * each.foretold), BINS - 1) == tenth]
            for match in matches
        ]
        _show_off(game_id, f"foretold {tenth / BINS:.1f} to {(tenth + 1) / BINS:.1f}", some)


def show_aspects(game_id: str, matches: Sequence[Sequence[OfAspect]]) -> None:
    """Prints what was foretold of each aspect of a game, and by how much it was off."""
    for name in dict.fromkeys(each.name for match in matches for each in match):
        some = [[each for each in match if each.name == name] for match in matches]
        _show_off(game_id, name, some)


def _show_off(game_id: str, name: str, matches: Sequence[Sequence[Foretold | OfAspect]]) -> None:
    told = [each for match in matches for each in match]
    if not told:
        return
    foretold = statistics.fmean(each.foretold for each in told)
    off = statistics.fmean(each.happened for each in told) - foretold
    # The decisions of one match depend on each other.
    error = math.hypot(
        *(math.fsum(each.happened - each.foretold - off for each in match) for match in matches)
    )
    what = f"{foretold:.4f}, what happened is off by {off:+.4f} ± {WIDTH * error / len(told):.4f}"
    print(ROW(game_id, name, len(told), what), flush=True)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        prog="lab.search_bench.scores", description=__doc__.split("\n\n")[0]
    )
    hosted = [game_id for game_id, game in games().items() if not game.reference]
    add = parser.add_argument
    add("what", choices=("rows", "matches", "aspects", "fit"))
    add("--games", metavar="GAME,...", help="default: all that are hosted")
    add("--number", metavar="N", type=whole(1), default=200, help="of positions or matches a game")
    add("--iterations", metavar="N", type=whole(1), default=1_000, help="of a hint")
    add("--times", metavar="N", type=whole(1), default=50, help="the effort of the larger search")
    add("--no-policy", action="store_true", help="random playouts, and no model")
    add("--seed", type=int, default=0, help="default: %(default)s")
    add_options(parser)
    chosen = parser.parse_args()
    game_ids = chosen.games.split(",") if chosen.games else hosted
    if unknown := set(game_ids) - set(games()):
        parser.error(f"there is no game {', '.join(sorted(unknown))}")
    if chosen.what == "fit":
        for game_id in game_ids:
            if learned(games()[game_id]()) is None:
                parser.error(f"nothing is learned of {game_id}")
    print(f"{chosen.number:,} of each game, {chosen.iterations:,} iterations, seed {chosen.seed}.")
    for game_id in game_ids:
        tasks = [
            Task(
                game_id,
                chosen.seed,
                number,
                chosen.iterations,
                chosen.times,
                not chosen.no_policy,
                chosen.what != "fit",
            )
            for number in range(chosen.number)
        ]
        tell = counting(len(tasks), f"of {game_id}")
        if chosen.what == "rows":
            rows_found: list[Row] = []
            with in_order(rows, tasks, chosen.workers) as results:
                for some in results:
                    rows_found += some
                    tell()
            show_rows(game_id, rows_found)
        elif chosen.what == "aspects":
            told: list[list[OfAspect]] = []
            with in_order(aspects, tasks, chosen.workers) as results:
                for each in results:
                    told.append(each)
                    tell()
            show_aspects(game_id, told)
        else:
            matches: list[list[Foretold]] = []
            with in_order(match, tasks, chosen.workers) as results:
                for one in results:
                    matches.append(one)
                    tell()
            if chosen.what == "matches":
                show_matches(game_id, matches)
            else:
                game = games()[game_id]()
                features = Features.of(game)
                assert features is not None  # It has a model.
                found = fit(features.moments, matches)
                made = {name: getattr(chosen, name) for name in ("number", "iterations", "seed")}
                keep(game, found, made)
                print(ROW(game_id, "calibration", len(matches), found), flush=True)


if __name__ == "__main__":
    main()
