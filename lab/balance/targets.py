"""Targets: what figures should be, what stands out of them, and which few changes would mend it.

    first_seat=49..51     a figure by its key
    cards=-5..5           what each card adds, in the opening hand and drawn later
    use=10..90            how often each card is played when it could be; likewise drawn, ...

The search for changes races all small changes of one number on the same deals, gives more matches
to the better half until few are left (successive halving), takes the best if it is better than
none, and begins again until the targets hold or nothing helps. They hold if nothing stands out, and
what once did seems to be inside. Then each change is made smaller, or taken back, as far as nothing
more is outside.

    Z. Karnin, T. Koren, O. Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013.
"""

import contextlib
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from engine.errors import RulesetError
from engine.game import Game
from lab import arena
from lab.balance.figures import ALARM, COURSE, EFFECTS, ENOUGH, FIRST_LOOK, Figure, figures
from lab.balance.study import Study
from lab.rulesets import changed, numbers, titles

CARDS = ("opening", "drawn")
KEYS = ("cards", "first_seat", "starter", "draws", "stronger", *COURSE)
KEYS += ("luck_deal", "luck_later", "luck_none")
SMALL = 0.3  # A small change is at most so much of a number, or 1.
RIVALS = 2  # How many are left when a race ends.
Changes = dict[str, int]  # New numbers, by the paths of lab/rulesets.py.


class Target(NamedTuple):
    """The range that a figure should be in."""

    key: str
    low: float
    high: float

    def aims_at(self, figure: Figure) -> bool:
        """Whether it is about this figure."""
        return self.key in (figure.key, figure.group, "cards" if figure.group in CARDS else "")

    def miss(self, value: float) -> float:
        """How far a value is outside, in half widths of the range."""
        return max(self.low - value, value - self.high, 0.0) / ((self.high - self.low) / 2)


def read(text: str, games: Sequence[Game] = ()) -> Target:
    """Reads a target of a figure that the games can have; raises ValueError."""
    number = r"(-?(?:\d+(?:\.\d+)?|\.\d+))"
    found = re.fullmatch(rf"\s*(\w[\w. ]*)={number}\.\.{number}\s*", text)
    if not found or not float(found[2]) < float(found[3]):
        raise ValueError(f"{text!r} is not KEY=LOW..HIGH, as first_seat=49..51")
    groups, (group, dot, of) = (*EFFECTS, "use"), found[1].partition(".")
    cards = {str(card["id"]) for game in games for card in game.cards()}
    if games and not (of in cards or group == "ending" if dot else group in (*KEYS, *groups)):
        known = ", ".join([*KEYS, "ending.KIND", *groups, *(f"{each}.CARD" for each in groups)])
        raise ValueError(f"{found[1]} is no figure: there are {known}")
    return Target(found[1], float(found[2]), float(found[3]))


def findings(all_: Sequence[Figure], targets: Sequence[Target]) -> list[tuple[Figure, Target]]:
    """What stands out: figures that are surely outside of their target, the worst first.

    Surely: the risk that any is named wrongly is ALARM, of which each target has an equal part.
    """
    found = []
    for target in targets:
        aimed = [each for each in all_ if target.aims_at(each)]
        for figure in aimed:
            half = figure.half(ALARM / len(targets) / len(aimed))
            low, high = figure.estimate - half, figure.estimate + half
            if low > target.high or high < target.low:
                found.append((min(target.miss(low), target.miss(high)), figure, target))
    return [each[1:] for each in sorted(found, key=lambda each: -each[0])]


class Proposal(NamedTuple):
    """The fewest changes that were found, and what stands out with them."""

    changes: Changes
    findings: list[tuple[Figure, Target]]
    tried: int  # Rulesets that were played.
    study: Study  # Compares the proposal with what there is, if it changes anything.


@dataclass
class Search:
    """A search for what to change, from the first ruleset of a study on."""

    begun: Study
    targets: Sequence[Target]
    count: int  # Matches of a ruleset that is judged; races begin with fewer.
    folder: Path  # Each ruleset that is tried has a folder in it, where the same search continues.
    tell: Callable[[str], None] = lambda text: None
    studies: dict[str, Study] = field(default_factory=dict)
    wanted: set[str] = field(default_factory=set)  # Keys of what has stood out.

    def run(self) -> Proposal:
        """Searches until the targets hold, or nothing helps. Raises StateError."""
        made: Changes = {}
        self.studies[self.begun.settings.rulesets[0]] = self.begun
        while self._outside(made) and (better := self._best(made)):
            made = better
        first, left = numbers(self.begun.games[0]), self._outside(made)
        for path in list(made):
            fails = first[path] - (1 if made[path] > first[path] else -1)
            while abs(made[path] - fails) > 1:
                middle = (made[path] + fails) // 2
                more = self._outside(made | {path: middle}) - left
                fails, made[path] = (middle, made[path]) if more else (fails, middle)
        made = {path: number for path, number in made.items() if number != first[path]}
        found = findings(self._figures(made, self.count), self.targets)
        return Proposal(made, found, len(self.studies), self._compared(made))

    def _outside(self, made: Changes) -> set[str]:
        # The keys of what stands out, and of what did so in the search and still seems outside.
        all_ = self._figures(made, self.count)
        self.wanted |= {each.key for each, _ in findings(all_, self.targets)}
        aims = [(each, target) for each in all_ for target in self.targets if target.aims_at(each)]
        return {each.key for each, of in aims if each.key in self.wanted and of.miss(each.estimate)}

    def _compared(self, made: Changes) -> Study:
        # No match is played for it: both rulesets were judged.
        if not made:
            return self.begun
        rulesets = self._ruleset({}), self._ruleset(made)
        compared = Study(self.begun.settings._replace(rulesets=rulesets, stronger=""), None, 1)
        for arm, ruleset in enumerate(rulesets):
            played = self.studies[ruleset].of(0)[: self.count]
            compared.lines += [line | {"arm": arm} for line in played]
        return compared

    def _best(self, made: Changes) -> Changes | None:
        # Numbers of the cards that stand out, and if something else does of the options; then any.
        game = arena.game_of(self.begun.settings.game_id, self._ruleset(made))
        # Changes are of the ruleset that it began with, where a card may be called otherwise.
        called = titles(self.begun.games[0])
        stand_out = {called.get(key.partition(".")[2]) for key in self._outside(made)}
        all_ = numbers(game, self.begun.games[0])
        of = {path: path.split(".")[1] if "." in path else None for path in all_}
        near = {path: number for path, number in all_.items() if of[path] in stand_out}
        return self._race(made, near) or self._race(made, all_)

    def _race(self, made: Changes, of: Changes) -> Changes | None:
        rivals = []
        for path, number in of.items():
            most = max(1, round(SMALL * abs(number)))
            for step in sorted({-most, -1, 1, most}):
                with contextlib.suppress(RulesetError):
                    self._ruleset(made | {path: number + step})
                    if number + step or not path.endswith(".copies"):  # No card is left out.
                        rivals.append(made | {path: number + step})
        # Fewer matches have no figures of cards, by which rivals could be told apart.
        least = max(FIRST_LOOK, ENOUGH * len(self.begun.games[0].cards()))
        count = max(self.count >> max(len(rivals) // RIVALS, 1).bit_length(), least)
        while rivals and count < self.count:
            rivals.sort(key=lambda each: self._miss(each, count))
            rivals = rivals[: max(len(rivals) // 2, RIVALS)]
            count *= 2
        best = min([made, *rivals], key=lambda each: self._miss(each, self.count))
        return best if best is not made else None

    def _ruleset(self, made: Changes) -> str:
        texts = [f"{path}={number}" for path, number in made.items()]
        return changed(self.begun.settings.game_id, texts, self.begun.settings.rulesets[0])

    def _figures(self, made: Changes, count: int) -> list[Figure]:
        ruleset = self._ruleset(made)
        if ruleset not in self.studies:
            folder = self.folder / hashlib.sha256(ruleset.encode()).hexdigest()[:16]
            settings = self.begun.settings._replace(rulesets=(ruleset,), stronger="")
            self.studies[ruleset] = Study(settings, folder, self.begun.processes)
        study = self.studies[ruleset]
        named = ", ".join(f"{path}={number}" for path, number in made.items()) or "no change"
        study.play(count, tell=lambda text: self.tell(f"{named}: {text}"))
        # Not of more, which an earlier search may have played.
        return figures(study.of(0)[:count], (), study.games[0])

    def _miss(self, made: Changes, count: int) -> float:
        # What is to be mended counts as it seems; all else as far as it is surely outside.
        missed = 0.0
        for figure in self._figures(made, count):
            estimate, low, high = figure.interval
            for target in self.targets:
                if target.aims_at(figure):
                    nearest = min(max((target.low + target.high) / 2, low), high)
                    missed += target.miss(estimate if figure.key in self.wanted else nearest)
        return missed
