"""The types of the playout policy of Skystones; see engine/skystones/playout.pyx."""

from engine.game import Game
from engine.model import Model
from engine.playout_policy import PlayoutPolicy

class SkystonesPlayoutPolicy(PlayoutPolicy):
    def __init__(self, game: Game, model: Model | None = None) -> None: ...
