"""Targets: what figures should be, what stands out of them, and which few changes would mend it.

    first_seat=49..51     a figure by its key
    turns=20..30
    cards=-5..5           what each card adds, in the opening hand and ever in hand

The search for changes knows nothing of the game but its numbers. It races all small changes of one
number on the same deals, and gives more matches to the half that misses the targets least, as often
as there are rivals (successive halving); takes the best one, if it is better than no change; and
begins again from there, until the targets hold or nothing helps. In the end it takes back each
change without which they hold too.

    Z. Karnin, T. Koren, O. Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from engine.errors import RulesetError
from engine.game import Game
from lab import arena
from lab.balance.figures import EFFECTS, FIRST_LOOK, Figure
from lab.balance.rulesets import changed, numbers
from lab.balance.study import Settings, Study

CARDS = ("opening", "held")
GROUPS = (*EFFECTS, "use")
KEYS = (
    "cards first_seat starter draws stronger turns decisions minutes leads decided comeback forced "
    "luck_deal luck_later luck_none"
)
_TARGET = re.compile(r"(\w[\w. ]*)=(-?[\d.]+?)\.\.(-?[\d.]+)")
MOST_CHANGES = 6
SMALL = 0.3  # A small change is at most so much of a number, or 1.
RIVALS = 2  # How many are left when a race ends.


class Target(NamedTuple):
    """The range that a figure should be in."""

    key: str
    low: float
    high: float

    def aims_at(self, figure: Figure) -> bool:
        """Whether it is about this figure."""
        return figure.key == self.key or (self.key == "cards" and figure.group in CARDS)

    def miss(self, value: float) -> float:
        """How far a value is outside, in half widths of the range."""
        return max(self.low - value, value - self.high, 0.0) / ((self.high - self.low) / 2)


class Finding(NamedTuple):
    """A figure that is surely outside of its target."""

    figure: Figure
    target: Target
    miss: float  # Of that end of the interval that is nearer to the target.


def read(text: str, games: Sequence[Game] = ()) -> Target:
    """Reads a target of a figure that the games can have; raises ValueError."""
    found = _TARGET.fullmatch(text.strip())
    if not found or not float(found[2]) < float(found[3]):
        raise ValueError(f"{text!r} is not KEY=LOW..HIGH, as first_seat=49..51")
    group, _, of = found[1].partition(".")
    cards = {str(card["id"]) for game in games for card in game.cards()}
    known = of in cards if group in GROUPS else found[1] in KEYS.split() or group == "ending"
    if games and not known:
        more = ", ".join(f"{each}.CARD" for each in GROUPS)
        raise ValueError(f"{found[1]} is no figure: there are {KEYS}, ending.KIND, {more}")
    return Target(found[1], float(found[2]), float(found[3]))


def findings(figures: Sequence[Figure], targets: Sequence[Target]) -> list[Finding]:
    """What stands out: figures whose interval lies outside of the target, the worst first."""
    found = []
    for figure in figures:
        for target in targets:
            if target.aims_at(figure):
                _, low, high = figure.interval()
                miss = max(0.0, min(target.miss(low), target.miss(high)))
                inside = low <= target.high and high >= target.low
                if miss and not inside:
                    found.append(Finding(figure, target, miss))
    return sorted(found, key=lambda each: -each.miss)


class Change(NamedTuple):
    """One number of a ruleset, changed."""

    path: str
    before: int
    after: int

    @property
    def text(self) -> str:
        """The change, as `changed` reads it."""
        return f"{self.path}={self.after}"


class Proposal(NamedTuple):
    """The fewest changes that were found, and whether all targets hold with them."""

    changes: tuple[Change, ...]
    ruleset: str
    findings: list[Finding]
    tried: int  # Rulesets that were played.


class Search:
    """A search for what to change."""

    def __init__(
        self,
        settings: Settings,
        targets: Sequence[Target],
        count: int,
        processes: int | None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`count` are the matches of a ruleset that is judged; races begin with fewer."""
        self._settings = settings
        self._targets = targets
        self._count = count
        self._processes = processes
        self._tell = tell
        self._studies: dict[str, Study] = {}

    def run(self) -> Proposal:
        """Searches until the targets hold, or nothing helps."""
        made: tuple[Change, ...] = ()
        while len(made) < MOST_CHANGES and self._findings(made):
            change = self._best(made)
            if change is None:
                break
            made += (change,)
        for change in made if len(made) > 1 else ():
            fewer = tuple(each for each in made if each != change)
            if not self._findings(fewer):
                made = fewer
        return Proposal(made, self._ruleset(made), self._findings(made), len(self._studies))

    def _best(self, made: tuple[Change, ...]) -> Change | None:
        rivals = [each for each in self._rivals(made) if self._is_ruleset((*made, each))]
        count = max(self._count >> max(len(rivals) // RIVALS, 1).bit_length(), FIRST_LOOK)
        while rivals:
            missed = {each: self._miss((*made, each), count) for each in rivals}
            rivals.sort(key=lambda each: missed[each])
            if count >= self._count:
                break
            rivals = rivals[: max(len(rivals) // 2, RIVALS)]
            count = min(2 * count, self._count)
        if rivals and missed[rivals[0]] < self._miss(made, self._count):
            return rivals[0]
        return None

    def _rivals(self, made: tuple[Change, ...]) -> Iterator[Change]:
        # Small changes: of the cards that stand out; if something else does, of the options; if
        # there are none of both, of everything.
        game = arena.game_of(self._settings.game_id, self._ruleset(made))
        stand_out = {each.figure.title for each in self._findings(made)}
        all_ = list(numbers(game))
        near = [each for each in all_ if "." in each.path and each.path.split(".")[1] in stand_out]
        if not stand_out <= {str(card["title"]) for card in game.cards()}:
            near += [each for each in all_ if "." not in each.path]
        for path, value in near or all_:
            steps = {1, max(1, round(SMALL * abs(value)))}
            for step in sorted({*steps, *(-each for each in steps)}):
                yield Change(path, value, value + step)

    def _is_ruleset(self, made: tuple[Change, ...]) -> bool:
        try:
            self._ruleset(made)
        except RulesetError:
            return False
        return True

    def _ruleset(self, made: tuple[Change, ...]) -> str:
        texts = [change.text for change in made]
        return changed(self._settings.game_id, texts, self._settings.rulesets[0])

    def _played(self, made: tuple[Change, ...], count: int) -> Study:
        ruleset = self._ruleset(made)
        study = self._studies.get(ruleset)
        if study is None:
            settings = self._settings._replace(rulesets=(ruleset,), stronger="")
            study = self._studies[ruleset] = Study(settings, None, self._processes)
        named = ", ".join(change.text for change in made) or "no change"
        study.play(count, tell=lambda text: self._tell(f"{named}: {text}"))
        return study

    def _findings(self, made: tuple[Change, ...]) -> list[Finding]:
        return findings(self._played(made, self._count).figures(), self._targets)

    def _miss(self, made: tuple[Change, ...], count: int) -> float:
        figures = self._played(made, count).figures()
        return sum(
            target.miss(figure.estimate)
            for figure in figures
            for target in self._targets
            if target.aims_at(figure)
        )
