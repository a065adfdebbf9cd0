"""A plot of results: Elo over the pairs played, with its confidence interval."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from lab import elo
from lab.arena import Result

MAX_POINTS = 400  # More would not be visible.


def draw(results: Sequence[Result], path: Path) -> None:
    """Draws a line for each result, with its interval behind it, and writes the plot to a file."""
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    axes = figure.add_subplot(xlabel="pairs", ylabel="Elo of the first, 95 % interval")
    axes.axhline(0, color="grey", linewidth=0.8)
    for result in results:
        pairing = result.pairing
        pairs, curve = _curve(result)
        line, *_ = axes.plot(
            pairs,
            [point.estimate for point in curve],
            label=f"{pairing.game_id}: {pairing.first} against {pairing.second}",
        )
        axes.fill_between(
            pairs,
            [point.low for point in curve],
            [point.high for point in curve],
            color=line.get_color(),
            alpha=0.15,
            linewidth=0,
        )
    axes.legend(fontsize="small")
    figure.savefig(path)


def _curve(result: Result) -> tuple[list[int], list[elo.Interval]]:
    every = math.ceil(len(result.pairs) / MAX_POINTS)
    outcomes: Counter[float] = Counter()
    pairs, curve = [], []
    for number, pair in enumerate(result.pairs, 1):
        outcomes[pair.score] += 1
        if number % every == 0 or number == len(result.pairs):
            pairs.append(number)
            # The line leaves out infinite values.
            known = (x if math.isfinite(x) else math.nan for x in elo.elo(outcomes))
            curve.append(elo.Interval(*known))
    return pairs, curve
