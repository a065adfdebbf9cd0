"""The types of a game and of what a seat knows; engine/game.pyx says what everything does."""

from collections.abc import Mapping
from typing import Any

SEATS: int
SPECTATOR: int
STATE_WORDS: int
STATE_BYTES: int
VIEW_WORDS: int
VIEW_BYTES: int
LEGAL_BITS: int
MAX_ACTIONS: int
MAX_PLACES: int
CARD_TYPES: int
NOBODY: int
BOTH: int
ABI: int
MAX_MIXED: int

class Game:
    id: str
    abi: int
    title: str
    summary: str
    rules_version: int
    seat_titles: tuple[str, str]
    event_kinds: dict[int, str]
    hidden_places: tuple[str, ...]
    phrases: dict[str, str]
    reference: bool
    sequential_regret: bool
    visits_before_mixing: int
    widening: float
    temperatures: dict[str, float]
    effective_rounds: int
    utility_range: float
    unseen_order: bool
    @property
    def max_mixed_actions(self) -> int: ...
    @property
    def most_legal(self) -> int: ...
    ruleset: dict[str, Any]
    def __init__(self, ruleset: Mapping[str, Any] | None = None) -> None: ...
    def under(self, rules_version: int) -> Game | None: ...
    def read_ruleset(self, given: dict[str, Any]) -> dict[str, Any]: ...
    def cards(self) -> list[dict[str, Any]]: ...
    def read_state(self, data: bytes) -> dict[str, Any]: ...
    def make_state(self, fields: Mapping[str, Any]) -> bytes: ...
    def read_view(self, data: bytes) -> dict[str, Any]: ...
    def make_view(self, fields: Mapping[str, Any]) -> bytes: ...
    def empty_view(self) -> dict[str, Any]: ...
    def read_action(self, action: int) -> dict[str, Any]: ...
    def make_action(self, fields: Mapping[str, Any]) -> int: ...
    def stand_in(self, name: str) -> Any: ...
    def explain(self, position: Any, seat: int, action: int) -> tuple[str, str]: ...

class SeatView:
    game: Game
    def __init__(self, game: Game, data: bytes) -> None: ...
    @staticmethod
    def from_fields(game: Game, fields: Mapping[str, Any]) -> SeatView: ...
    @property
    def fields(self) -> dict[str, Any]: ...
    @property
    def seat(self) -> int: ...
    def __bytes__(self) -> bytes: ...
