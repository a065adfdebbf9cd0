"""The parts of a game. Each game has a folder with a module for each part.

No list names the games or their parts: the code here finds them by their modules.
"""

import importlib
import importlib.util
import pkgutil
from contextlib import suppress
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


def load_all(package: str) -> None:
    """Import every module of a package: one that is imported later may be of newer files.

    A module that cannot be imported is left out. Whoever needs it is told.
    """
    path = getattr(importlib.import_module(package), "__path__", ())
    for found in pkgutil.walk_packages(path, f"{package}.", onerror=lambda name: None):
        if not found.name.endswith(".__main__"):
            with suppress(Exception, SystemExit):
                importlib.import_module(found.name)


def subclasses(module: str, base: type[Part]) -> list[type[Part]]:
    """Return the subclasses of `base` in a module, `base` itself excluded."""
    return [
        value
        for value in vars(importlib.import_module(module)).values()
        if isinstance(value, type) and issubclass(value, base) and value is not base
    ]
