"""The values of an enum of the API as words."""

import re
from functools import cache
from typing import Any

from google.protobuf.descriptor import EnumDescriptor


@cache
def words(enum: EnumDescriptor) -> dict[int, str]:
    """Returns each value but the unspecified one as a word, such as "long_range_shot", by number.

    The names of the values begin with that of the enum: BOT_STRENGTH_CASUAL of BotStrength.
    """
    prefix = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", enum.name).upper() + "_"
    return {
        value.number: value.name.removeprefix(prefix).lower()
        for value in enum.values
        if value.number
    }


def number(enum: EnumDescriptor, word: str) -> Any:
    """Returns the value of a word; raises ValueError, which names all words, if it is none."""
    known = numbers(enum)
    if word not in known:
        raise ValueError(f"{word!r} is none of {', '.join(known)}")
    return known[word]


def numbers(enum: EnumDescriptor) -> dict[str, Any]:
    """Returns the numbers of the values by their words."""
    return {word: number for number, word in words(enum).items()}
