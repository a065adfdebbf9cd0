"""The parts of a game. Each game has a folder with a module for each part.

No list names the games or their parts: the code here finds them by their modules.
"""

import importlib
import importlib.util
from functools import cache
from typing import TypeVar

Part = TypeVar("Part")


@cache
def part(game: type, module: str, base: type[Part]) -> type[Part]:
    """Return the subclass of `base` in a module of the game's folder; `base` without the module."""
    name = f"{game.__module__.rpartition('.')[0]}.{module}"
    if importlib.util.find_spec(name) is None:
        return base
    [found] = subclasses(name, base)
    return found


def subclasses(module: str, base: type[Part]) -> list[type[Part]]:
    """Return the subclasses of `base` in a module, `base` itself excluded."""
    return [
        value
        for value in vars(importlib.import_module(module)).values()
        if isinstance(value, type) and issubclass(value, base) and value is not base
    ]
