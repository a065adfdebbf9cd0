"""A study: matches under one ruleset or two, kept in a folder, so that it can be continued."""

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from engine.model import learned
from lab import arena, workers
from lab.arena import Task
from lab.balance import matches
from lab.balance.figures import FIRST_LOOK, RISK, Figure, figures, first_seat
from lab.balance.matches import Line, Order
from lab.training.state import State

FORMAT = "croupier-balance/1"
PLAYOUTS = 32  # Of each position, for luck and expected scores.
STRONGER_EVERY = 8  # Matches for one pair of a stronger player.
LOOK_EVERY = 16  # Matches, once a comparison is looked at.
LINES = "matches.jsonl"
KEYS = ("kind", "arm", "match", "score")  # Of each line.


class Settings(NamedTuple):
    """What a study depends on, but for how long it lasts."""

    game_id: str
    player: str
    stronger: str  # Empty: without.
    seed: int
    rulesets: tuple[str, ...]  # One, or two that are compared; see lab/rulesets.py.
    playouts: int = PLAYOUTS
    by_net: bool = True  # Not for other rulesets: the nets of some games do not see numbers.

    def orders(self, count: int) -> Iterator[Order]:
        """What to play, in order; that of a longer study begins with that of a shorter one."""
        for number in range(count):
            kinds = [("match", self.player, arm) for arm in range(len(self.rulesets))]
            if self.stronger and number % STRONGER_EVERY == 0:
                kinds.append(("pair", self.stronger, 0))
            for kind, first, arm in kinds:
                chance = self.seed, number, self.playouts, self.rulesets[arm], self.by_net
                yield kind, arm, Task(self.game_id, first, self.player, *chance)

    def document(self) -> dict[str, Any]:
        """The settings with what else decides what is played, as JSON."""
        game = arena.game_of(self.game_id, self.rulesets[0])
        model = learned(game)
        told = {"format": FORMAT, **self._asdict(), "rulesets": list(self.rulesets)}
        told |= {"rules_version": game.rules_version, "model": model.name if model else None}
        versions = arena.versions()
        return told | {name: versions[name] for name in ("croupier", "revision")}


class Study:
    """The matches of a study so far."""

    def __init__(self, settings: Settings, folder: Path | None, processes: int | None) -> None:
        """Continues what the folder has; without a folder nothing is kept. Raises StateError."""
        self.settings = settings
        self.processes = processes
        self.provenance = settings.document()
        self.games = [arena.game_of(settings.game_id, each) for each in settings.rulesets]
        self.lines: list[Line] = []
        self._state = State(folder, self.provenance) if folder else None
        if self._state is not None:
            self._state.lock()
            self.lines += self._state.lines(LINES, KEYS)

    def play(
        self, count: int, until: float = 0.0, tell: Callable[[str], None] = lambda text: None
    ) -> None:
        """Plays until there are so many matches of each ruleset, or, with `until`, the change of
        the first seat's score is known to so many points, by an interval that allows for looking.
        """
        orders = list(self.settings.orders(count))
        left = orders[len(self.lines) :]
        begun = time.monotonic()
        with workers.in_order(matches.play, left, self.processes) as played:
            for done, line in enumerate(() if self._known(until) else played, 1):
                self.lines.append(line)
                if self._state:
                    self._state.add_line(LINES, line)
                rest = (time.monotonic() - begun) / done * (len(left) - done)
                time_left = timedelta(seconds=round(rest))
                tell(f"{len(self.lines)} of {len(orders)} matches, {time_left} left")
                if self._known(until):
                    break

    def _known(self, until: float) -> bool:
        if not until or self.count < FIRST_LOOK or self.count % LOOK_EVERY:
            return False
        before, after = (first_seat(self.of(arm)) for arm in (0, 1))
        return before.change(after, looked=True).half(RISK) <= until

    @property
    def count(self) -> int:
        """How many matches there are of each ruleset."""
        return len(self.of(len(self.games) - 1))

    def of(self, arm: int, kind: str = "match") -> list[Line]:
        """The lines of a ruleset."""
        return [line for line in self.lines if (line["arm"], line["kind"]) == (arm, kind)]

    def figures(self, arm: int = 0) -> list[Figure]:
        """The figures of a ruleset."""
        return figures(self.of(arm), self.of(arm, "pair"), self.games[arm])

    def changes(self, looked: bool = False) -> list[Figure]:
        """What the second ruleset changes, of the figures that there are of both."""
        # Ids may be places in the list, which move when a card is left out; titles stay then.
        same = len(self.games[0].cards()) == len(self.games[1].cards())
        before, after = (
            {each.key if same else (each.group, each.title): each for each in self.figures(arm)}
            for arm in (0, 1)
        )
        return [before[name].change(after[name], looked) for name in before if name in after]
