"""The functions of mathematics are accurate, and their bits are the same on every machine."""

import itertools
import math
import random
import struct
import zlib
from collections.abc import Callable, Iterator

import pytest

from engine.numerics import evaluate

SEED = 20_240
POINTS = 20_000

# Of the bits of all values at the points below. Any build on any machine must give these.
CHECKSUMS = {
    "exp": 1_200_856_573,
    "log": 1_904_547_715,
    "erf": 3_608_494_263,
    "to_the_power": 714_252_198,
}


def points(function: str) -> Iterator[tuple[float, float]]:
    """Yield arguments of every magnitude, without a function that may differ between machines."""
    chance = random.Random(SEED)
    for _ in range(POINTS):
        scale = math.ldexp(chance.uniform(1, 2), chance.randrange(-40, 4))
        if function == "exp":
            yield chance.choice((1, -1)) * scale * chance.choice((1, 40)), 1
        elif function == "erf":
            yield chance.choice((1, -1)) * scale, 1
        elif function == "log":
            yield chance.choice((1 + scale, math.ldexp(scale, chance.randrange(-900, 900)))), 1
        else:
            yield scale, chance.uniform(0.1, 3)


@pytest.mark.parametrize(
    ("function", "exact", "tolerance"),
    [
        ("exp", math.exp, {"rel_tol": 1e-14}),
        ("log", math.log, {"rel_tol": 1e-14}),
        ("erf", math.erf, {"rel_tol": 1e-14, "abs_tol": 1e-14}),
    ],
)
def test_it_is_accurate(
    function: str, exact: Callable[[float], float], tolerance: dict[str, float]
) -> None:
    for x, _ in points(function):
        assert math.isclose(evaluate(function, x), exact(x), **tolerance), f"{function}({x!r})"


def test_powers_are_accurate() -> None:
    for x, y in points("to_the_power"):
        assert math.isclose(evaluate("to_the_power", x, y), math.pow(x, y), rel_tol=1e-13), (
            f"{x!r}^{y!r}"
        )


@pytest.mark.parametrize("function", CHECKSUMS)
def test_its_bits_are_the_same_everywhere(function: str) -> None:
    values = [evaluate(function, x, y) for x, y in points(function)]
    assert zlib.crc32(struct.pack(f"<{POINTS}d", *values)) == CHECKSUMS[function]


def test_it_has_limits() -> None:
    assert evaluate("exp", -1e9) == 0
    assert evaluate("exp", 1e9) == math.inf
    assert evaluate("exp", 0) == 1
    assert evaluate("log", 1) == 0
    assert [evaluate("erf", x) for x in (-100.0, 0.0, 100.0)] == [-1, 0, 1]
    assert evaluate("to_the_power", 0, 0.5) == 0
    assert all(math.isnan(evaluate(function, math.nan)) for function in ("exp", "erf"))


def test_erf_is_odd_and_rises() -> None:
    chance = random.Random(SEED)
    values = sorted(chance.uniform(0, 6.5) for _ in range(POINTS))
    for x in values:
        assert evaluate("erf", -x) == -evaluate("erf", x), x
    for low, high in itertools.pairwise(values):
        assert evaluate("erf", low) <= evaluate("erf", high) + 2e-15, (low, high)
        assert evaluate("erf", high) <= 1, high
