"""Plots by Matplotlib, as SVG without scripts; the page inverts them in its dark theme."""

import re
from collections.abc import Iterator, Sequence
from html import escape
from io import StringIO
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure as Canvas

from lab.arena import DRAW
from lab.balance.matches import GRID, Line
from lab.elo import POINTS, Interval

ARMS = FIRST, SECOND = "#1f6feb", "#c2410c"
FAINT = "#8a9099"
WIDTH = 5.2  # Inches: on a phone the text is as large as it is here.
BINS = 24
STYLE: Any = {
    "svg.fonttype": "none",  # Text stays text.
    "svg.hashsalt": "croupier",  # The same plot is the same file.
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
}


def course(arms: Sequence[Sequence[Line]]) -> str:
    """What winners expected from the deal to the end: the median, half of them, eight tenths."""
    canvas, axes = _canvas(2.8)
    x = np.linspace(0, 100, GRID + 1)
    for colour, lines in zip(ARMS, arms, strict=False):
        values = np.array([line["values"] for line in lines])
        scores = np.array([[line["score"]] for line in lines])
        won = np.where(scores > DRAW, values, 1 - values)[scores[:, 0] != DRAW]
        if len(won):
            bounds = POINTS * np.quantile(won, (0.1, 0.25, 0.5, 0.75, 0.9), axis=0)
            axes.fill_between(x, bounds[0], bounds[4], color=colour, alpha=0.15, linewidth=0)
            axes.fill_between(x, bounds[1], bounds[3], color=colour, alpha=0.25, linewidth=0)
            axes.plot(x, bounds[2], color=colour, linewidth=2)
    axes.axhline(POINTS / 2, color=FAINT, linewidth=1)
    axes.set(xlim=(0, 100), ylim=(0, POINTS), xlabel="part of the match, in percent")
    axes.set(ylabel="expected score", title="what winners expected: median, half, eight tenths")
    return _svg(canvas, axes.get_title())


def lengths(arms: Sequence[Sequence[Line]]) -> Iterator[str]:
    """How many turns matches have; nothing if all have as many."""
    turns = [[line["turns"] for line in lines] for lines in arms]
    first, last = min(map(min, turns)), max(map(max, turns))
    if first < last:
        canvas, axes = _canvas(2.2)
        bins = np.arange(first, last + 2 + (last - first) // BINS, 1 + (last - first) // BINS) - 0.5
        for colour, each in zip(ARMS, turns, strict=False):
            weights = np.full(len(each), 100 / len(each))
            axes.hist(each, bins, weights=weights, color=colour, alpha=0.6)
        axes.set(xlabel="turns", ylabel="matches, in percent")
        yield _svg(canvas, "How many turns matches have")


def intervals(rows: Sequence[tuple[str, Interval]], title: str) -> str:
    """Estimates with their intervals, one above the other; grey where they may be 0."""
    canvas, axes = _canvas(0.9 + 0.2 * len(rows))
    names, found = zip(*rows, strict=True)
    estimates, low, high = zip(*found, strict=True)
    colours = [FIRST if a > 0 or b < 0 else FAINT for a, b in zip(low, high, strict=True)]
    axes.hlines(range(len(rows)), low, high, colours, linewidth=2)
    axes.scatter(estimates, range(len(rows)), 25, colours)
    axes.axvline(0, color="black", linewidth=1)
    axes.grid(color=FAINT, alpha=0.2)
    axes.set_yticks(range(len(rows)), names)
    axes.set(ylim=(-0.7, len(rows) - 0.3), title=title)
    axes.tick_params(length=0, labeltop=True)
    return _svg(canvas, title)


def _canvas(height: float) -> tuple[Any, Any]:
    matplotlib.rcParams.update(STYLE)
    canvas = Canvas(figsize=(WIDTH, height), layout="constrained")
    return canvas, canvas.subplots()


def _svg(canvas: Any, title: str) -> str:
    out, nothing = StringIO(), dict.fromkeys(("Creator", "Date", "Format", "Type"))
    canvas.savefig(out, format="svg", transparent=True, metadata=nothing)
    # Ids are of the page, which has several plots; those that are used tell their contents.
    text = re.sub(r' id="[a-z0-9]+_\d+"', "", out.getvalue())
    told = f'<div><svg role="img" aria-label="{escape(title)}"'
    # A block of HTML in Markdown ends with an empty line.
    return re.sub(r"\n\s*\n", "\n", told + text.split("<svg", 1)[1]).strip() + "</div>"
