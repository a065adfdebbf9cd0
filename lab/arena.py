"""Matches between two configurations, in pairs of games with the same chance and seats exchanged.

Both games of a pair have one secret: the same deal, and the same chance afterwards as long as the
players do the same. The first configuration has seat 0 in the first game and seat 1 in the second.
A player's own chance depends only on the pair, the seat and the version of the position, so a
configuration that meets itself scores exactly half of every pair.

Pairs are played in processes (lab/workers.py), and are counted in their order,
not in the order in which they finish. With limits in iterations on one thread, the result is a
function of the configurations, the game, the seed and the number of games, wherever an SPRT stops
it. Limits in milliseconds depend on the machine.

*AIVAT* takes luck out of the scores (ai/luck.pyx). A step of a match is corrected by what its
chance was worth, and by what the sampled decisions were worth of players that tell their
distribution: a search tells the one that it samples its answer from, and a random bot chooses
uniformly. That a search found this distribution and no other is not corrected, since nobody knows
how likely that was. The deal is not corrected either: in the second game of the pair it is worth as
much to the other configuration, and cancels. So does all other chance as long as both games are
alike, for they share the random numbers of the corrections too.
"""

import dataclasses
import hashlib
import json
import math
import platform
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ai.luck import Luck
from croupier.files import write_whole
from engine import games
from engine.errors import RulesetError
from engine.events import Event
from engine.game import Game
from engine.match import Match
from engine.model import VALUE, Model, learned
from engine.position import Position
from lab import elo
from lab.player import ConfigurationError, Player, Share
from lab.players import Configuration
from lab.workers import in_order, processors

FORMAT = "croupier-arena/1"
DRAW = 0.5
PENTANOMIAL = (0.0, 0.25, 0.5, 0.75, 1.0)
FIRST, SECOND = 0, 1  # Configurations.
Events = Sequence[Event]
SAMPLES = 8  # Other draws of a step for AIVAT.
PLAYOUTS = 64  # Of each position, unless AIVAT is told otherwise.


class Effort(NamedTuple):
    """What one configuration spent on its decisions among several actions."""

    decisions: int = 0
    iterations: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Effort") -> "Effort":  # type: ignore[override]
        return Effort(
            self.decisions + other.decisions,
            self.iterations + other.iterations,
            self.seconds + other.seconds,
        )


class Task(NamedTuple):
    """One pair to be played; `first` and `second` are the texts of configurations."""

    game_id: str
    first: str
    second: str
    seed: int
    pair: int
    # For AIVAT, in the playouts of a position; 0: without corrections.
    playouts: int = 0
    # Options that differ from the default, as JSON, and the version of the rules among them.
    ruleset: str = "{}"
    # Whether a net estimates what a position is worth, as far as one was learned.
    by_net: bool = True


class Pair(NamedTuple):
    """A pair that was played."""

    number: int
    # Of the first configuration: from seat 0, and from seat 1.
    scores: tuple[float, float]
    # How many were applied in each game.
    actions: tuple[int, int]
    # By configuration.
    efforts: tuple[Effort, Effort]
    # What AIVAT adds to each of the scores.
    corrections: tuple[float, float] = (0.0, 0.0)
    # The processor time of the pair, and the part of it that the corrections took.
    processor_seconds: float = 0.0
    correction_seconds: float = 0.0

    @property
    def correction(self) -> float:
        """What AIVAT adds to the score."""
        return sum(self.corrections) / 2

    @property
    def score(self) -> float:
        """The mean score of the first configuration."""
        return sum(self.scores) / 2


# Playing


def secret_of(task: Task) -> bytes:
    """The secret of both matches of a pair, from which all their chance comes."""
    return _derive(f"deal\0{task.game_id}\0{task.seed}\0{task.pair}")


def play_pair(task: Task) -> Pair:
    """Plays the two games of a pair."""
    configurations = task.first, task.second
    scores, actions, corrections = [], [], []
    efforts = [Effort(), Effort()]
    started, corrected = time.process_time(), 0.0
    for by_seat in ((FIRST, SECOND), (SECOND, FIRST)):
        match = Match(game_of(task.game_id, task.ruleset), secret_of(task))
        players = [player_of(configurations[which]) for which in by_seat]
        steps = Steps(match, task)
        for seat, effort in enumerate(play(match, players, task, steps)):
            efforts[by_seat[seat]] += effort
        assert match.scores is not None
        scores.append(match.scores[by_seat.index(FIRST)])
        actions.append(match.version)
        corrections.append(steps.correction if by_seat[0] == FIRST else -steps.correction)
        corrected += steps.seconds
    return Pair(
        task.pair,
        (scores[0], scores[1]),
        (actions[0], actions[1]),
        (efforts[0], efforts[1]),
        (corrections[0], corrections[1]),
        time.process_time() - started,
        corrected,
    )


class Steps:
    """The steps of a match, and what AIVAT adds to the score of seat 0 for them."""

    def __init__(self, match: Match, task: Task) -> None:
        self._match = match
        self._task = task
        self._before = match.position
        self._shares: list[Sequence[Share]] = [(), ()]
        self._joint: dict[int, int] = {}
        self.correction = 0.0
        self.seconds = 0.0

    def decided(self, seat: int, action: int, shares: Sequence[Share], happened: Events) -> None:
        """Notes a decision that was applied, and the step that it ends, if it does."""
        self._shares[seat] = shares
        self._joint[seat] = action
        if self._match.held:
            return
        self.stepped(self._before, self._joint, self._match.position, happened)
        self._before = self._match.position
        self._shares = [(), ()]
        self._joint = {}

    def stepped(
        self, before: Position, joint: Mapping[int, int], after: Position, happened: Events
    ) -> None:
        """Corrects a step; a subclass may note something else of it."""
        if self._task.playouts:
            start = time.process_time()
            luck = luck_of(self._task, SAMPLES)
            self.correction += luck.correction(before, self._shares, after, self.chance("luck"))
            self.seconds += time.process_time() - start

    def chance(self, what: str) -> int:
        """A seed for whatever is measured after this step."""
        task = self._task
        number = _derive(f"{what}\0{task.seed}\0{task.pair}\0{self._match.version}")
        return int.from_bytes(number[:8], "big")


def play(
    match: Match, players: Sequence[Player], task: Task, steps: Steps
) -> tuple[Effort, Effort]:
    """Plays a match to its end and returns what each seat spent. Players see only their views."""
    efforts = [Effort(), Effort()]
    while not match.over:
        seat = match.deciders[0]
        legal = match.legal(seat)
        action = legal[0]
        shares: Sequence[Share] = ()
        if len(legal) > 1:
            chance = _derive(f"choice\0{task.seed}\0{task.pair}\0{seat}\0{match.since[seat]}")
            start = time.perf_counter()
            choice = players[seat].choose(match.view(seat), legal, int.from_bytes(chance, "big"))
            efforts[seat] += Effort(1, choice.iterations, time.perf_counter() - start)
            action, shares = choice.action, choice.shares
        happened = match.apply(seat, action)
        steps.decided(seat, action, shares or ((action, 1.0),), happened)
    return efforts[0], efforts[1]


def _derive(what: str) -> bytes:
    return hashlib.shake_256(f"croupier/arena/v1\0{what}".encode()).digest(32)


@cache
def game_of(game_id: str, ruleset: str = "{}") -> Game:
    """The game of a task; raises RulesetError."""
    options = json.loads(ruleset)
    version = options.pop("rules_version", None)
    game = games()[game_id](options)
    kept = game if version is None else game.under(version)
    if kept is None:
        raise RulesetError("rules_version", f"{version} is not kept: it is {game.rules_version}")
    return kept


def luck_of(task: Task, samples: int) -> Luck:
    """What measures luck in the matches of a task, with so many other draws of a chance."""
    return _luck(task.game_id, task.ruleset, samples, task.playouts, task.by_net)


@cache
def _luck(game_id: str, ruleset: str, samples: int, playouts: int, by_net: bool) -> Luck:
    game = game_of(game_id, ruleset)
    model = None if by_net else learned(game)
    if model is not None:
        model = Model(game, model.weights, set(model.uses) - {VALUE})
    return Luck(game, samples, playouts, model)


@cache
def player_of(text: str) -> Player:
    """The player of a configuration; raises ConfigurationError."""
    return Configuration.read(text).player()


# Pairings and their results


class Pairing(NamedTuple):
    """Two configurations and the game that they play."""

    game_id: str
    first: Configuration
    second: Configuration


def pairings(
    game_ids: Sequence[str], configurations: Sequence[Configuration], ladder: bool
) -> list[Pairing]:
    """All pairs of configurations, or on a ladder each with the one before it, in each game."""
    if ladder:
        couples = [(upper, lower) for lower, upper in pairwise(configurations)]
    else:
        couples = [(a, b) for i, a in enumerate(configurations) for b in configurations[i + 1 :]]
    return [Pairing(game_id, *couple) for game_id in game_ids for couple in couples]


@dataclasses.dataclass
class Result:
    """The pairs of a pairing that were played, and why it ended.

    `ended` is "games" when all were played, "elo0" or "elo1" when the test has accepted that
    hypothesis, and "interrupted" until then.
    """

    pairing: Pairing
    seed: int
    sprt: elo.Sprt | None = None
    pairs: list[Pair] = dataclasses.field(default_factory=list)
    outcomes: Counter[float] = dataclasses.field(default_factory=Counter)
    ended: str = "interrupted"
    playouts: int = 0

    def add(self, pair: Pair) -> None:
        """Counts one more pair."""
        self.pairs.append(pair)
        self.outcomes[pair.score] += 1

    def wins_draws_losses(self) -> tuple[int, int, int]:
        """The games of the first configuration; it won those in which it scored more than half."""
        scores = [score for pair in self.pairs for score in pair.scores]
        won, drawn = sum(score > DRAW for score in scores), scores.count(DRAW)
        return won, drawn, len(scores) - won - drawn

    def efforts(self) -> tuple[Effort, Effort]:
        """What each configuration spent."""
        first, second = Effort(), Effort()
        for pair in self.pairs:
            first, second = first + pair.efforts[FIRST], second + pair.efforts[SECOND]
        return first, second

    def corrected(self) -> elo.Corrected:
        """The score by AIVAT."""
        return elo.Corrected.of(
            [pair.score for pair in self.pairs], [pair.correction for pair in self.pairs]
        )

    def correction_share(self) -> float:
        """The share of the processor time that went into corrections."""
        spent = sum(pair.processor_seconds for pair in self.pairs)
        return sum(pair.correction_seconds for pair in self.pairs) / spent if spent else 0.0

    def statistics(self) -> dict[str, Any]:
        """The figures as JSON; an infinite figure is null."""
        won, drawn, lost = self.wins_draws_losses()
        figures: dict[str, Any] = {
            "pairs": len(self.pairs),
            "games": 2 * len(self.pairs),
            "wins": won,
            "draws": drawn,
            "losses": lost,
            "outcomes": {str(score): n for score, n in sorted(self.outcomes.items())},
            "score": _interval(elo.score(self.outcomes)),
            "elo": _interval(elo.elo(self.outcomes)),
        }
        if set(self.outcomes) <= set(PENTANOMIAL):
            figures["pentanomial"] = [self.outcomes[score] for score in PENTANOMIAL]
        if self.pairs:
            figures["normalized_elo"] = _finite(elo.normalized_elo(self.outcomes))
            figures["score_by_seat"] = [
                sum(pair.scores[seat] for pair in self.pairs) / len(self.pairs) for seat in (0, 1)
            ]
        if self.playouts and self.pairs:
            corrected = self.corrected()
            figures["aivat"] = {
                "score": _interval(corrected.score),
                "elo": _interval(corrected.elo),
                "variance_ratio": corrected.variance_ratio,
                "coefficient": corrected.coefficient,
                "playouts": self.playouts,
                "processor_share": self.correction_share(),
            }
        if self.sprt:
            figures["sprt"] = {
                **self.sprt._asdict(),
                "llr": self.sprt.llr(self.outcomes),
                "bounds": self.sprt.bounds,
                "verdict": self.sprt.verdict(self.outcomes) or None,
            }
        return figures

    def as_json(self) -> dict[str, Any]:
        """The whole result as JSON."""
        game = game_of(self.pairing.game_id)
        return {
            "game": game.id,
            "rules_version": game.rules_version,
            "first": self.pairing.first.text,
            "second": self.pairing.second.text,
            "seed": self.seed,
            "ended": self.ended,
            "statistics": self.statistics(),
            "efforts": [effort._asdict() for effort in self.efforts()],
            "pairs": [
                {"pair": pair.number, "scores": pair.scores, "actions": pair.actions}
                | ({"corrections": pair.corrections} if self.playouts else {})
                for pair in self.pairs
            ],
        }


def run(
    pairing: Pairing,
    *,
    pairs: int,
    seed: int = 0,
    sprt: elo.Sprt | None = None,
    playouts: int = 0,
    workers: int | None = 1,
    on_pair: Callable[[Result], None] = lambda result: None,
    result: Result | None = None,
) -> Result:
    """Plays a pairing to the end of its pairs, or until the SPRT decides.

    `result` is filled with each pair, so that a caller who passes one keeps what was played if this
    is interrupted; pairs that it has already are not played again. `playouts` are those of AIVAT
    (0: without).
    """
    result = result or Result(pairing, seed, sprt)
    result.playouts = playouts
    tasks = [
        Task(pairing.game_id, pairing.first.text, pairing.second.text, seed, number, playouts)
        for number in range(len(result.pairs), pairs)
    ]
    with in_order(play_pair, tasks, workers) as played:
        for pair in played:
            result.add(pair)
            verdict = sprt.verdict(result.outcomes) if sprt else ""
            if verdict:
                result.ended = verdict
            elif len(result.pairs) == pairs:
                result.ended = "games"
            on_pair(result)
            if verdict:
                break
    return result


# The machine and the results


def workers_for(configurations: Sequence[Configuration], wanted: int | None) -> int:
    """How many processes to play in: `wanted`, or as many as there are processors for.

    Raises ConfigurationError if players with limits in milliseconds would share processors.
    """
    threads = max(each.threads for each in configurations)
    max_workers = max(1, processors() // threads)
    if wanted is None:
        return max_workers
    timed = next((each for each in configurations if each.timed), None)
    if timed and wanted > max_workers:
        raise ConfigurationError(
            f"{timed}: limits in milliseconds need a processor for each thread; "
            f"with {threads} threads a player there is room for {max_workers} workers, not {wanted}"
        )
    return wanted


def document(results: Sequence[Result]) -> dict[str, Any]:
    """The results as one JSON document, with the versions that they depend on."""
    return {
        "format": FORMAT,
        "versions": versions(),
        "results": [result.as_json() for result in results],
    }


def write_json(results: Sequence[Result], path: Path) -> None:
    """Writes the results to a file as one JSON document."""
    text = json.dumps(document(results), indent=1, allow_nan=False)
    write_whole(path, (text + "\n").encode())


def versions() -> dict[str, Any]:
    """The versions and the machine that the results depend on."""
    return {
        "croupier": metadata.version("croupier-server"),
        "revision": _revision(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "processors": processors(),
    }


def _revision() -> str | None:
    # Of git; None where this is not a clone.
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _interval(interval: elo.Interval) -> dict[str, float | None]:
    return {name: _finite(value) for name, value in interval._asdict().items()}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
