"""Views as numbers of a fixed shape, and small numbers for actions: what learning libraries take.

Both are the same for all games. A view is flattened field by field, in the order of
`SeatView.fields`, whose lists have a fixed length under a ruleset. So the numbers say all that the
seat may know, and nothing else.

The code of an action has 64 bits. Libraries want numbers below a fixed one, and learners want a
number to mean the same everywhere. `Numbering` gives each code of a table its place in the table;
a legal action that the table lacks gets one of the spare numbers after it, in ascending order of
the codes. Without a table, so, the number of an action is its place in the list of legal actions.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from engine.game import Game
from engine.position import Position


def numbers(fields: Any) -> list[int]:
    """Returns the numbers of a view, or of any of its parts, in the order of the fields."""
    found: list[int] = []
    _collect(fields, found)
    return found


def _collect(fields: Any, found: list[int]) -> None:
    if isinstance(fields, int):
        found.append(fields)
    elif isinstance(fields, Mapping):
        for part in fields.values():
            _collect(part, found)
    elif fields and isinstance(fields[0], int):
        found.extend(fields)  # Most numbers are in such a list, so this is what costs time.
    else:
        for part in fields:
            _collect(part, found)


def labels(game: Game) -> list[str]:
    """Returns what each number of a view is, such as "common.sides[1].hand_size"."""
    return list(_labels(game.empty_view(), ""))


def _labels(fields: Any, path: str) -> Iterator[str]:
    if isinstance(fields, int):
        yield path
    elif isinstance(fields, Mapping):
        for name, part in fields.items():
            yield from _labels(part, f"{path}.{name}" if path else name)
    else:
        for place, part in enumerate(fields):
            yield from _labels(part, f"{path}[{place}]")


class Numbering:
    """Numbers from 0 to `size` - 1 for the actions of a game."""

    def __init__(self, table: Iterable[int], spare: int) -> None:
        """`table` are codes of actions; `spare` is how many legal actions at once it may lack.

        `Game.most_legal` is enough of them.
        """
        self.table = tuple(sorted(set(table)))
        self.size = len(self.table) + spare
        self._places = {code: place for place, code in enumerate(self.table)}

    def numbered(self, legal: Sequence[int]) -> dict[int, int]:
        """Returns the codes of the legal actions by their numbers, in ascending order of these.

        `legal` are codes in ascending order. Raises ValueError if the spare numbers do not suffice.
        """
        found = {self._places[code]: code for code in legal if code in self._places}
        others = [code for code in legal if code not in self._places]
        if len(self.table) + len(others) > self.size:
            raise ValueError(
                f"{len(others)} legal actions have no number of their own, and there are"
                f" {self.size - len(self.table)} spare ones: allow more"
            )
        found.update(enumerate(others, len(self.table)))
        return dict(sorted(found.items()))


def decisions(game: Game, matches: int, seed: int = 0) -> Iterator[dict[int, tuple[int, ...]]]:
    """Yields the legal codes of those who must decide, by seat, all through random matches."""
    rng = random.Random(seed)
    for _ in range(matches):
        position = Position.deal(game, rng.getrandbits(64))
        while not position.over:
            legal = {seat: position.legal(seat) for seat in position.deciders}
            yield legal
            joint = {seat: rng.choice(codes) for seat, codes in legal.items()}
            position.apply(joint, rng.getrandbits(64))


def survey(game: Game, matches: int = 100, seed: int = 0) -> list[int]:
    """Returns the codes of all actions that were legal in random matches, in ascending order.

    The same arguments give the same codes. In a game with few actions it finds all of them.
    """
    found = decisions(game, matches, seed)
    return sorted({code for legal in found for codes in legal.values() for code in codes})
