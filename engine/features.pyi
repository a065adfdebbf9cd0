"""The types of what a learned model looks at; see engine/features.pyx."""

from collections.abc import Mapping, Sequence

from engine.game import Game
from engine.net import Net
from engine.position import Position

SCALE: int

class Features:
    game: Game
    net: Net | None
    uses: tuple[str, ...]
    holding: tuple[str, ...]
    @staticmethod
    def of(
        game: Game,
        weights: Mapping[str, Sequence[int]] | None = None,
        net: Mapping[str, Sequence[int]] | None = None,
    ) -> Features | None: ...
    def __init__(
        self,
        game: Game,
        weights: Mapping[str, Sequence[int]] | None = None,
        net: Mapping[str, Sequence[int]] | None = None,
    ) -> None: ...
    @property
    def decisions(self) -> dict[str, tuple[str, ...]]: ...
    @property
    def moments(self) -> tuple[str, ...]: ...
    def moment_of(self, position: Position, seat: int) -> str | None: ...
    @property
    def inputs(self) -> tuple[str, ...]: ...
    def rows(self, position: Position, seat: int) -> tuple[str, bytes] | None: ...
    def row(self, position: Position) -> tuple[int, bytes]: ...
