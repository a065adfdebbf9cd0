"""The types of a hosted match; engine/match.pyx says what everything does."""

from engine.events import Event
from engine.game import Game, SeatView
from engine.position import Position

TAPE_BYTES: int

class Match:
    game: Game
    secret: bytes
    match_id: str
    position: Position
    version: int
    since: list[int]
    held: dict[int, int]
    events: list[Event]
    revealed: bool
    def __init__(
        self,
        game: Game,
        secret: bytes,
        match_id: str = "",
        version: int = 0,
        start: Position | None = None,
    ) -> None: ...
    @property
    def secret_hash(self) -> bytes: ...
    @property
    def deciders(self) -> tuple[int, ...]: ...
    @property
    def over(self) -> bool: ...
    @property
    def scores(self) -> tuple[float, float] | None: ...
    def legal(self, seat: int) -> tuple[int, ...]: ...
    def view(self, viewer: int) -> SeatView: ...
    def apply(self, seat: int, action: int) -> list[Event]: ...
    def copy(self) -> Match: ...
    def __bytes__(self) -> bytes: ...
    @staticmethod
    def from_bytes(game: Game, data: bytes) -> Match: ...
