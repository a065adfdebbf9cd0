"""The types of Skystones' playout policy; engine/skystones/playout.pyx says what everything does."""

from engine.game import Game
from engine.playout_policy import PlayoutPolicy

def constants() -> tuple[int, int, list[int]]: ...

class SkystonesPlayoutPolicy(PlayoutPolicy):
    def __init__(self, game: Game) -> None: ...
