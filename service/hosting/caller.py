"""Callers of the methods about a match: a seat of it, or a spectator."""

from typing import NamedTuple

from croupier.v1.error_pb2 import ErrorReason
from engine.game import SPECTATOR
from service.errors import Refusal


class Caller(NamedTuple):
    """A caller of a method, and the match that its token is for."""

    match_id: str
    seat: int  # 0, 1 or SPECTATOR.
    generation: int = 0  # Of the token: how often the seat's token had been replaced before it.


def check_seat(caller: Caller) -> None:
    """Raises Refusal for a spectator."""
    if caller.seat == SPECTATOR:
        raise Refusal(ErrorReason.ERROR_REASON_SPECTATOR, "a spectator's token cannot do this")
