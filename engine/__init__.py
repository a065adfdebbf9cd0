"""The rules of the games. `games()` finds them: each folder here is one."""

import importlib
import pkgutil
from functools import cache

from engine.game import Game


@cache
def games() -> dict[str, type[Game]]:
    """Every game by its id, in the order of the ids; reference games too."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        if not module.ispkg:
            continue
        for value in vars(importlib.import_module(f"{__name__}.{module.name}.rules")).values():
            if isinstance(value, type) and issubclass(value, Game) and value.id:
                found[value.id] = value
    return dict(sorted(found.items()))
