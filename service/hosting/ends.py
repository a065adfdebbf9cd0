"""What the end of a match says: the scores of an early one, and the words of its game."""

from collections.abc import Sequence
from typing import NamedTuple

import wire
from croupier.v1 import game_pb2
from engine.events import Event
from engine.game import SPECTATOR
from engine.match import Match
from service.common.errors import log_failure


class EarlyEnd(NamedTuple):
    """An end of a match that the rules of the game did not bring."""

    reason: game_pb2.EndReason
    losers: tuple[int, ...]  # If both seats lose, or none does, the match is a draw.
    outcome: str  # How the metrics name it.

    @property
    def scores(self) -> tuple[float, ...]:
        """The score of each seat; empty where there is no result."""
        if len(self.losers) != 1:
            return () if self.reason == game_pb2.EndReason.END_REASON_ABORTED else (0.5, 0.5)
        return float(self.losers[0] != 0), float(self.losers[0] != 1)


def tell_ending(match: Match, happened: Sequence[Event]) -> game_pb2.Ending | None:
    """What in the game decided a match, of whose last version all events are given."""
    try:
        return wire.write_ending(match.view(SPECTATOR), happened)
    # A sentence is not worth a match, and the code may be that of a package.
    except Exception as error:
        log_failure(f"telling the ending of a match of {match.game.id}", error)
        return None
