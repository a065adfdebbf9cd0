"""A study: matches under one ruleset or two, kept in a folder, so that it can be continued."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine.model import learned
from lab import arena, workers
from lab.arena import Task
from lab.balance import matches
from lab.balance.figures import FIRST_LOOK, Figure, figures
from lab.balance.matches import Line, Order
from lab.training.state import State

FORMAT = "croupier-balance/1"
PLAYOUTS = 32  # Of each position, for luck and expected scores.
STRONGER_EVERY = 8  # Matches for one pair of a stronger player.
LOOK_EVERY = 16  # Matches, once a comparison is looked at.
LINES = "matches.jsonl"
HEAD = ("kind", "arm", "match", "score")  # Of each line.


class Settings(NamedTuple):
    """What a study depends on, but for how long it lasts."""

    game_id: str
    player: str
    stronger: str  # Empty: without.
    seed: int
    rulesets: tuple[str, ...]  # One, or two that are compared; see lab/balance/rulesets.py.
    playouts: int = PLAYOUTS

    def order(self, kind: str, arm: int, number: int) -> Order:
        """What to play of a number."""
        first = self.stronger if kind == "pair" else self.player
        task = Task(
            self.game_id,
            first,
            self.player,
            self.seed,
            number,
            self.playouts,
            self.rulesets[arm],
        )
        return Order(kind, arm, task)

    def orders(self, count: int) -> Iterator[Order]:
        """What to play, in order; that of a longer study begins with that of a shorter one."""
        for number in range(count):
            for arm in range(len(self.rulesets)):
                yield self.order("match", arm, number)
            if self.stronger and number % STRONGER_EVERY == 0:
                yield self.order("pair", 0, number)

    def document(self) -> dict[str, Any]:
        """The settings with what else decides what is played, as JSON."""
        game = arena.game_of(self.game_id, self.rulesets[0])
        model = learned(game)
        versions = arena.versions()
        return {
            "format": FORMAT,
            **self._asdict(),
            "rulesets": list(self.rulesets),
            "rules_version": game.rules_version,
            "model": model.name if model else None,
            "croupier": versions["croupier"],
            "revision": versions["revision"],
        }


class Study:
    """The matches of a study so far."""

    def __init__(self, settings: Settings, folder: Path | None, processes: int | None) -> None:
        """Continues what the folder has; without a folder nothing is kept. Raises StateError."""
        self.settings = settings
        self.processes = processes
        self.provenance = settings.document()
        self._state = State(folder, self.provenance) if folder else None
        if self._state is not None:
            self._state.lock()
        noted = self._state.lines(LINES, HEAD) if self._state else ()
        # Once each: two runs at once, before there was a lock, have noted a match twice.
        once = {str([line[key] for key in HEAD]): line for line in noted}
        self.lines: list[Line] = list(once.values())
        self.games = [arena.game_of(settings.game_id, each) for each in settings.rulesets]
        self.stopped = False

    def play(
        self, count: int, until: float = 0.0, tell: Callable[[str], None] = lambda text: None
    ) -> None:
        """Plays until there are so many matches of each ruleset.

        With `until` it stops as soon as the difference of the first seat's score is known to so
        many points, by an interval that allows for looking often.
        """
        orders = list(self.settings.orders(count))
        left = orders[len(self.lines) :]
        begun, before = time.monotonic(), len(self.lines)
        self.stopped = self._known(until)
        if self.stopped:
            return
        with workers.in_order(matches.play, left, self.processes) as played:
            for line in played:
                self.lines.append(line)
                if self._state:
                    self._state.add_line(LINES, line)
                done = len(self.lines) - before
                rest = (time.monotonic() - begun) / done * (len(left) - done)
                tell(f"{len(self.lines)} of {len(orders)} matches, {duration(rest)} left")
                if self._due(until) and self._known(until):
                    self.stopped = True
                    break

    def _due(self, until: float) -> bool:
        last = self.lines[-1]
        whole = last["kind"] == "match" and last["arm"] == len(self.settings.rulesets) - 1
        return until > 0 and whole and (last["match"] + 1) % LOOK_EVERY == 0

    def _known(self, until: float) -> bool:
        if not until or self.count < FIRST_LOOK or len(self.games) < 2:
            return False
        found = next(each for each in self.changes() if each.key == "first_seat")
        interval = found.interval(looked=True)
        return interval.estimate - interval.low <= until

    @property
    def count(self) -> int:
        """How many matches there are of each ruleset."""
        return min(len(self.of(arm)) for arm in range(len(self.games)))

    def of(self, arm: int, kind: str = "match") -> list[Line]:
        """The lines of a ruleset."""
        return [line for line in self.lines if line["arm"] == arm and line["kind"] == kind]

    def figures(self, arm: int = 0) -> list[Figure]:
        """The figures of a ruleset."""
        return figures(self.of(arm), self.of(arm, "pair"), self.games[arm])

    def changes(self) -> list[Figure]:
        """What the second ruleset changes, of the figures that there are of both."""
        # Ids may be places in the list, which move when a card is left out; titles stay then.
        same = len(self.games[0].cards()) == len(self.games[1].cards())
        after = {each.key if same else each[:3:2]: each for each in self.figures(1)}
        before = [(each.key if same else each[:3:2], each) for each in self.figures(0)]
        return [figure.change(after[name]) for name, figure in before if name in after]


def duration(seconds: float) -> str:
    """A duration in words."""
    if not math.isfinite(seconds):
        return "unknown time"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def same_deals(first: Sequence[Line], second: Sequence[Line]) -> int:
    """In how many matches both rulesets dealt the same opening hands."""
    both = zip(first, second, strict=False)
    return sum(a["cards"]["opening"] == b["cards"]["opening"] for a, b in both)
