"""How the benches compare and print figures, and print progress."""

import statistics
import sys
from collections.abc import Sequence


def ms(seconds: float) -> str:
    """Returns a time in milliseconds."""
    return f"{1e3 * seconds:.2f} ms"


def us(seconds: float) -> str:
    """Returns a time in microseconds."""
    return f"{1e6 * seconds:.0f} µs"


def progress(what: str) -> None:
    """Prints what begins now, apart from the figures."""
    print(f"... {what}", file=sys.stderr, flush=True)


def ratio(ones: Sequence[object], others: Sequence[object], name: str) -> float:
    """Returns the median, over the rounds, of the ratio of a figure of this name."""
    pairs = zip(ones, others, strict=True)
    ratios: list[float] = [getattr(one, name) / getattr(other, name) for one, other in pairs]
    return statistics.median(ratios)
