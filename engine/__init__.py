"""The rules of the games. Each folder here is one game, and `games()` finds them all."""

import pkgutil
from functools import cache

from engine.game import Game
from engine.parts import subclasses


@cache
def games() -> dict[str, type[Game]]:
    """Return every game by its id, in the order of the ids, reference games included."""
    found = {
        game.id: game
        for folder in pkgutil.iter_modules(__path__)
        if folder.ispkg
        for game in subclasses(f"{__name__}.{folder.name}.rules", Game)
    }
    return dict(sorted(found.items()))
