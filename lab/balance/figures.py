"""Figures with intervals: each is an estimate, and what each match has added to it.

An estimate is, but for terms that vanish, a mean of one number for each match, its *influence*: of
a ratio or a regression what the delta method says. So the errors of all figures, and of differences
over the same deals, where pairing takes luck away, follow in one way.

    Influence functions: F. R. Hampel, "The influence curve and its role in robust estimation",
    Journal of the American Statistical Association 69, 1974. Of a regression with leverage, HC3:
    J. G. MacKinnon, H. White, Journal of Econometrics 29, 1985.
    What has happened in no match may happen: as if there were two more, in which the figure is as
    wrong as it can be; after A. Agresti, B. A. Coull, The American Statistician 52, 1998.
    Of k figures that are looked at together, each has an interval of 1 - 5 %/k (Bonferroni).
    Intervals that hold however often somebody looks: I. Waudby-Smith, D. Arbour, R. Sinha, E. H.
    Kennedy, A. Ramdas, "Time-uniform central limit theory and asymptotic confidence sequences",
    Annals of Statistics 52, 2024, theorem 2.2. Asymptotic, so nobody looks before FIRST_LOOK.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.game import SEATS, Game
from lab.arena import DRAW
from lab.balance.matches import NOTED, Line
from lab.elo import POINTS, Interval, without_luck

Values = NDArray[np.float64]

RISK = 0.05
ALARM = 0.01  # The risk that a report says of anything at all that it surely is, and is wrong.
FIRST_LOOK = 64  # Matches; the sequence is narrowest at about four times as many.
LEAST = 8  # Matches of which a figure is made.
ENOUGH = 3  # Matches for each card of a regression.
NOTHING = 1e-9  # A variance that is only rounding.
COURSE = {
    "turns": ("turns; a decision of both seats at once is one", "turns"),
    "decisions": ("decisions of both seats", "decisions"),
    "minutes": ("length, if people think 8 s about each choice", "minutes"),
    "leads": ("how often the lead changes", "times"),
    "decided": ("part of the match at which it is decided", "%"),
    "forced": ("decisions without a choice", "%"),
}
# The regressions on cards, and how the report calls them.
EFFECTS = {
    "opening": "in the opening hand",
    "drawn": "drawn later",
    "played": "played",
    "left": "left in hand at the end",
}


class Figure(NamedTuple):
    """A figure of many matches, in its unit."""

    group: str
    key: str
    title: str
    unit: str  # "points" of a hundred, "%", or what is counted.
    estimate: float
    influence: Values  # One for each match, with a mean of 0.
    tests: int = 1  # How many figures are looked at together.
    spare: float = 0.0  # What is added to the squares of the influence.
    looked: bool = False  # Its intervals hold however often somebody looks.

    def half(self, risk: float) -> float:
        """How far an interval reaches to each side."""
        n = len(self.influence)
        if n < 2:
            return math.inf
        variance = (float(np.sum(self.influence**2)) + self.spare) / (n - 1)
        width = (mixture if self.looked else fixed)(n, risk)
        return width * math.sqrt(variance) if variance > NOTHING else 0.0

    @property
    def interval(self) -> Interval:
        """The interval of 95 %."""
        half = self.half(RISK / self.tests)
        return Interval(self.estimate, self.estimate - half, self.estimate + half)

    def sure(self, among: int) -> float:
        """How much of it is surely not 0, if any, as one of so many that might have stood out."""
        return abs(self.estimate) - self.half(ALARM / among)

    def change(self, other: "Figure", looked: bool = False) -> "Figure":
        """What `other` is more than this one, over the same deals."""
        n = min(len(self.influence), len(other.influence))
        return self._replace(
            estimate=other.estimate - self.estimate,
            influence=other.influence[:n] - self.influence[:n],
            tests=max(self.tests, other.tests),
            spare=max(self.spare, other.spare),
            looked=looked,
        )


def fixed(n: int, risk: float) -> float:
    """How wide the interval of a mean of n is to each side, in deviations of one match."""
    z = NormalDist().inv_cdf(1 - risk / 2)
    # Student's t, by the first term of its expansion.
    return (z + (z**3 + z) / (4 * max(n - 1, 1))) / math.sqrt(n)


def mixture(n: int, risk: float) -> float:
    """The same of an interval that holds for all n at once."""
    # With S the sum of n such normal numbers, exp(rho2 S² / 2m) / sqrt(m) is a martingale of mean
    # 1: it ever reaches 1/risk with no more than that risk (Ville), so |S| stays below this.
    if n < FIRST_LOOK:
        return math.inf
    spread = -2 * math.log(risk)
    rho2 = (spread + math.log(spread + 1)) / (4 * FIRST_LOOK)
    m = n * rho2 + 1
    return math.sqrt(2 * m / (n * n * rho2) * math.log(math.sqrt(m) / risk))


def figures(lines: Sequence[Line], pairs: Sequence[Line], game: Game) -> list[Figure]:
    """All figures of matches under one ruleset, and of pairs of a stronger player."""
    if len(lines) < LEAST:
        return []
    return [*_fairness(lines, pairs), *_course(lines), *_luck(lines), *_cards(lines, game)]


def first_seat(lines: Sequence[Line]) -> Figure:
    """The score of the first seat, without the luck of the deal and of what followed."""
    luck = [line["deal"] + line["sampled"] for line in lines]
    values = without_luck([line["score"] for line in lines], luck)
    return _mean("fairness", "first_seat", "score of the first seat", "points", values)


def _mean(
    group: str, key: str, title: str, unit: str, values: Any, per: Any = 1.0, tests: int = 1
) -> Figure:
    # A mean of values, one for each match; or their ratio to others.
    scale = POINTS if unit in ("points", "%") else 1
    above = scale * np.asarray(values, float)
    below = np.broadcast_to(per, above.shape)
    n, cases = len(above), float(below.sum())
    estimate = float(above.sum()) / cases
    # Of scores, and of shares of cases that are counted.
    rare = unit == "points" or (unit == "%" and np.asarray(values).dtype.kind in "bi")
    spare = 2 * (scale * n / cases) ** 2 if rare else 0.0
    influence = (above - estimate * below) * n / cases
    return Figure(group, key, title, unit, estimate, influence, tests, spare)


def _column(lines: Sequence[Line], key: str) -> Values:
    return np.array([line[key] for line in lines])


def _fairness(lines: Sequence[Line], pairs: Sequence[Line]) -> Iterator[Figure]:
    yield first_seat(lines)
    scores = [line["score"] for line in lines]
    if all(line["starter"] is not None for line in lines):
        # Without the luck that followed, but with that of who starts.
        values = without_luck(scores, [line["after_start"] for line in lines])
        own = [1 - v if line["starter"] else v for line, v in zip(lines, values, strict=True)]
        title = "score of whoever decides alone first"
        yield _mean("fairness", "starter", title, "points", own)
    yield _mean("fairness", "draws", "draws", "%", [score == DRAW for score in scores])
    if len(pairs) >= LEAST:
        won = _column(pairs, "score")
        yield _mean("fairness", "stronger", "score of the stronger player", "points", won)


def _course(lines: Sequence[Line]) -> Iterator[Figure]:
    for key, (title, unit) in COURSE.items():
        per = _column(lines, "decisions") if key == "forced" else 1.0
        yield _mean("course", key, title, unit, _column(lines, key), per)
    kinds = Counter(line["ending"] for line in lines if line["ending"])
    for kind in sorted(kinds, key=lambda each: (-kinds[each], each)):
        values, title = [line["ending"] == kind for line in lines], kind.replace("_", " ")
        yield _mean("endings", f"ending.{kind}", title, "%", values, tests=len(kinds))


def _luck(lines: Sequence[Line]) -> Iterator[Figure]:
    # The terms of a review add up to the result, so their covariances with it add up to its
    # variance.
    result, deal, later = (_column(lines, key) for key in ("score", "deal", "later"))
    spread = result - result.mean()
    for key, title, term in (
        ("luck_deal", "of the result: luck of the deal", -deal),
        ("luck_later", "of the result: later luck", -later),
        ("luck_none", "of the result: decisions, and what was hidden", result + deal + later),
    ):
        if spread.var() > NOTHING:
            yield _mean("luck", key, title, "%", (term - term.mean()) * spread, spread**2)


def _cards(lines: Sequence[Line], game: Game) -> Iterator[Figure]:
    cards = [(str(card["id"]), str(card["title"])) for card in game.cards()]
    counts = {group: np.zeros((SEATS, len(lines), len(cards)), int) for group in NOTED}
    for n, line in enumerate(lines):
        for group, found in counts.items():
            for seat, held in enumerate(line["cards"][group]):
                found[seat, n, [int(card) for card in held]] = list(held.values())
    counts["drawn"] -= counts["opening"]
    values = dict.fromkeys(EFFECTS, _column(lines, "score"))
    # Chance alone decides what is dealt and drawn, and its luck tells the worth. Not in one figure:
    # an opening hand may be for something else, as those that build a castle.
    values |= {"opening": -_column(lines, "deal"), "drawn": -_column(lines, "later")}
    for group, value in values.items():
        own, other = counts[group]
        if value.std() > NOTHING:
            yield from effects(group, cards, own - other, own + other, value)
    could, did = (counts[group].sum(axis=0) for group in ("could", "did"))
    for place in (seen := np.flatnonzero(could.any(axis=0))):
        name, title = cards[place]
        yield _mean("use", f"use.{name}", title, "%", did[:, place], could[:, place], len(seen))


def effects(
    group: str, cards: Sequence[tuple[str, str]], more: Values, both: Values, scores: Values
) -> Iterator[Figure]:
    """What a copy of each card adds to the score, in points, against an average card in its place.

    `cards` are their ids and titles. `more` has for each match how many more copies the first seat
    had, `both` those of both. It is a regression on all cards at once, so the rest of the hand is
    taken into account. Yields nothing if there are too few matches.
    """
    seen = np.flatnonzero(more.std(axis=0) > NOTHING)
    n = len(scores)
    if not len(seen) or n < ENOUGH * len(seen):
        return
    x = more[:, seen] - more[:, seen].mean(axis=0)
    inverse = np.linalg.pinv(x.T @ x, hermitian=True)
    slopes = inverse @ (x.T @ (scores - scores.mean()))
    leverage = np.einsum("ij,jk,ik->i", x, inverse, x) + 1 / n
    rest = (scores - scores.mean() - x @ slopes) / np.maximum(1 - leverage, 1 / n)
    influence = n * (x * rest[:, None]) @ inverse
    weights = both[:, seen].sum(axis=0) / both[:, seen].sum()
    slopes = POINTS * (slopes - weights @ slopes)
    influence = POINTS * (influence - (influence @ weights)[:, None])
    for place, (name, title) in enumerate(cards[int(card)] for card in seen):
        key, estimate = f"{group}.{name}", float(slopes[place])
        yield Figure(group, key, title, "points", estimate, influence[:, place], len(seen))
