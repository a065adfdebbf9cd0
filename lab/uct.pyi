"""The types of plain UCT; lab/uct.pyx says what everything does."""

from engine.game import SeatView

def uct(
    view: SeatView,
    *,
    iterations: int = 0,
    seconds: float = 0.0,
    seed: int = 0,
    exploration: float = 0.5,
) -> tuple[int, int]: ...
