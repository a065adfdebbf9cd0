"""The types of events; engine/events.pyx says what everything does."""

from typing import NamedTuple

TO_SEAT_0: int
TO_SEAT_1: int
TO_SPECTATORS: int
TO_RECORD: int
TO_PUBLIC: int
NO_SEAT: int
ANY_SEAT: int

class Event(NamedTuple):
    kind: str
    seat: int
    values: tuple[int, ...]
    audience: int
    def seen_by(self, viewer: int) -> bool: ...
    def tells(self, seat: int) -> bool: ...
    @property
    def recorded(self) -> bool: ...
