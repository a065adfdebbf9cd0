"""The types of a step of a particle filter; lab/particles.pyx says what everything does."""

from collections.abc import Iterable

from engine.game import SeatView
from engine.position import Position

def after(
    world: Position,
    seat: int,
    own: int,
    actions: Iterable[int],
    key: int,
    view: SeatView,
    most: int,
    seed: int,
) -> list[tuple[int, Position]]: ...
