"""Rulesets: options and their checks, and the default card list of a game, in a CSV file."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from engine.errors import RulesetError

Ranges = Mapping[str, tuple[int, int]]
KINDS = {bool: "true or false", int: "a whole number", str: "text", list: "a list", dict: "a card"}


def read_csv(path: Path, numbers: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rows of a CSV file with a header, the columns in `numbers` as integers."""
    with path.open(newline="") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    for row in rows:
        row.update({column: int(row[column]) for column in numbers})
    return rows


def read_options(
    given: Mapping[str, Any], defaults: Mapping[str, Any], title: str
) -> dict[str, Any]:
    """Return all options of a game, by default those of `defaults`; raise RulesetError."""
    for option, value in given.items():
        if option not in defaults:
            raise RulesetError(option, f"is not an option of {title}", "UNKNOWN_OPTION")
        _check_kind(option, value, type(defaults[option]) if defaults[option] is not None else list)
        for n, card in enumerate(value if isinstance(value, list) else ()):
            _check_kind(f"{option}[{n}]", card, dict)
            for field, number in card.items():
                _check_kind(f"{option}[{n}].{field}", number, str if field == "title" else int)
    return {**defaults, **given}


def check_ranges(values: Mapping[str, int], ranges: Ranges, at: str = "") -> None:
    """Raise RulesetError for the first field that is not in its range, ends included.

    `at` is the path of the message that has the fields.
    """
    for field, (least, most) in ranges.items():
        path = f"{at}.{field}" if at else field
        _check_kind(path, values.get(field), int)
        if not least <= values[field] <= most:
            raise RulesetError(path, f"must be {least} to {most}", "OUT_OF_RANGE")


def _check_kind(path: str, value: object, kind: type) -> None:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RulesetError(path, f"must be {KINDS[kind]}, not {value!r:.40}")


def copies(cards: Iterable[Mapping[str, int]]) -> int:
    """Return how many cards a list has with all copies."""
    return sum(card["copies"] for card in cards)
