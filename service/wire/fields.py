"""What the wire modules of the games share: between lists of messages and arrays of the engine.

The engine has arrays of a fixed size: counts of cards by type, and lists that are filled up behind
their end. A message lists what there is.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from google.protobuf.message import Message

from engine.errors import ViewError

_T = TypeVar("_T")


def options(message: Message, names: Iterable[str]) -> dict[str, Any]:
    """The fields that are set, by name, out of those that can be left out."""
    return {name: getattr(message, name) for name in names if message.HasField(name)}


def plain(message: Message, names: Iterable[str]) -> dict[str, Any]:
    """The fields of these names, as they are."""
    return {name: getattr(message, name) for name in names}


def counted(cards: Sequence[int], types: int, path: str) -> list[int]:
    """How many there are of each type, 0 to `types` - 1; raises ViewError."""
    counts = [0] * types
    for i, card in enumerate(cards):
        if not 0 <= card < types:
            raise ViewError(f"{path}[{i}]", f"must be 0 to {types - 1}")
        counts[card] += 1
    return counts


def filled(items: Sequence[_T], size: int, filler: _T, path: str) -> list[_T]:
    """A list of a fixed size, filled up; raises ViewError if there is too much."""
    if len(items) > size:
        raise ViewError(path, f"must have at most {size} items")
    return [*items, *[filler] * (size - len(items))]
