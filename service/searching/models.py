"""What was learned of the games, as a server uses it."""

from collections.abc import Callable

from engine.game import Game
from engine.model import Model, learned, nothing
from service import wire

# What was learned of a game under its ruleset, if anything.
Models = Callable[[Game], Model | None]


def open_models(used: bool) -> Models:
    """The models of all games, or none. Raises ValueError if one is broken, with its file."""
    models = learned if used else nothing
    for game in wire.hosted_games().values():
        models(game())
    return models
