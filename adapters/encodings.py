"""The numbers of a view as a learner's network takes them: as they are, scaled, or one-hot.

    from adapters import encodings

    encoding = encodings.survey(game_id)

All environments take one as `encoding`.

What range a number has is met in random matches, so every game has an encoding without a line of
its own. `labels` name the columns: "common.sides[0].hand_size" for a number that is scaled, and
"common.turn=1" for one value of it, one-hot.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from engine import games
from engine.batch import Batch
from engine.encoding import Numbering
from engine.game import SEATS, Game

ONE_HOT = 16  # Values of a number: cards, seats and phases have few.


def random_numbers(mask: Any, rng: np.random.Generator) -> Any:
    """The number of a legal action for each row of a mask, each as likely as any other."""
    counts = np.cumsum(mask, axis=-1, dtype=np.int64)
    drawn = (rng.random(counts.shape[:-1]) * counts[..., -1]).astype(np.int64)
    return (counts <= drawn[..., None]).sum(-1)


def game_of(game: str, ruleset: Mapping[str, Any] | None) -> Game:
    """A game by its id, under the options of a ruleset. Raises ValueError and RulesetError."""
    if game not in games():
        raise ValueError(f"there is no game {game!r}, only {', '.join(games())}")
    return games()[game](ruleset)


class Plain:
    """The numbers of a view as they are: counts, and indices of cards and of seats."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = list(labels)
        whole = np.iinfo(np.int64)
        self.space = spaces.Box(whole.min, whole.max, (len(self.labels),), dtype=np.int64)

    def __call__(self, numbers: Any) -> Any:
        """The array itself, whose last axis are the numbers of a view."""
        return numbers


class Encoding:
    """Numbers from 0 to 1: each column says how large a number is, or whether it has a value."""

    def __init__(
        self, labels: Sequence[str], low: Sequence[int], high: Sequence[int], one_hot: int = ONE_HOT
    ) -> None:
        """`low` and `high` are the least and the largest that each number can be, by `labels`.

        A number with at most `one_hot` values has a column for each of them, any other a single
        one; a number with one value alone tells nothing and has none. Out of its range, a number is
        as far as the range goes, or has none of the values.
        """
        columns = []
        for place, (label, least, most) in enumerate(zip(labels, low, high, strict=True)):
            if 0 < most - least < one_hot:
                values = range(least, most + 1)
                columns += [(f"{label}={value}", place, value, 0) for value in values]
            elif least < most:
                columns.append((label, place, least, most - least))
        self.numbers = list(labels)
        self.labels = [label for label, *_ in columns]
        self._places, self._from, self._range = (
            np.array([column[1:] for column in columns], np.int64).reshape(-1, 3).T
        )
        self.space = spaces.Box(0, 1, (len(columns),), dtype=np.float32)

    def __call__(self, numbers: Any) -> Any:
        """The columns of an array whose last axis are the numbers of a view, as float32."""
        past = np.asarray(numbers)[..., self._places] - self._from
        scaled = np.clip(past / np.maximum(self._range, 1), 0, 1)
        return np.where(self._range > 0, scaled, past == 0).astype(np.float32)


def fitting(encoding: Encoding | None, labels: Sequence[str]) -> Plain | Encoding:
    """An encoding of numbers with these labels. Raises ValueError for one of other numbers."""
    if encoding is None:
        return Plain(labels)
    if encoding.numbers != list(labels):
        raise ValueError("the encoding is of the views of another game or ruleset")
    return encoding


def observation_space(encoding: Plain | Encoding, size: int) -> spaces.Dict:
    """What a seat observes that chooses among `size` numbers of actions."""
    return spaces.Dict(
        {
            "observation": encoding.space,
            "action_mask": spaces.Box(0, 1, (size,), dtype=np.int8),
            "actions": spaces.Box(0, 255, (size, 8), dtype=np.uint8),
        }
    )


def survey(
    game: str,
    ruleset: Mapping[str, Any] | None = None,
    *,
    matches: int = 1000,
    seed: int = 0,
    one_hot: int = ONE_HOT,
) -> Encoding:
    """An encoding by the views that deciders had in random matches. The same seed gives the same.

    `one_hot` is as for `Encoding`; 1 has every number scaled. Raises as `game_of`.
    """
    made = game_of(game, ruleset)
    batch = Batch(made, matches, Numbering((), made.most_legal))
    batch.deal(seed)
    rng = np.random.default_rng(seed)
    seen, deciders = np.asarray(batch.observations), np.asarray(batch.deciders)
    lows, highs = [], []
    while deciders.any():
        for seat in range(SEATS):
            views = seen[deciders >> seat & 1 != 0, seat]
            if len(views):
                lows.append(views.min(0))
                highs.append(views.max(0))
        numbers = random_numbers(np.asarray(batch.mask), rng)
        batch.step(numbers, (deciders > 0).astype(np.uint8))
    return Encoding(batch.layout.labels, np.min(lows, 0), np.max(highs, 0), one_hot)
