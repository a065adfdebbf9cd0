"""The caller of a method: a seat of a match, or a spectator."""

from typing import NamedTuple

from croupier.v1.error_pb2 import ErrorReason
from engine.game import SPECTATOR
from service.errors import Refusal


class Caller(NamedTuple):
    """Who calls, and about which match."""

    match_id: str
    seat: int  # 0, 1 or SPECTATOR.


def check_seat(caller: Caller) -> None:
    """Raises Refusal for a spectator."""
    if caller.seat == SPECTATOR:
        raise Refusal(ErrorReason.ERROR_REASON_SPECTATOR, "a spectator's token cannot do this")
