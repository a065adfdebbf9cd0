"""Erases the names of players, in one match or in all matches of a player.

Each match is one transaction, which also marks its head: servers that have the match in memory find
that they must read it anew, as they find a new version. The names enter the chain as a salted hash,
and without the salt nothing leads from that to a name, so nothing else changes.
"""

from typing import NamedTuple

from croupier.v1.error_pb2 import ErrorReason
from service.hosting.matches import Matches
from service.store import Store
from service.store.chain import Damaged
from wire.errors import Refusal

PAGE = 50  # Matches of a player, in each of which one commit may be needed.
FIRST = (-1, "")  # Before all matches.
BOTH = 0b11  # Seats.


class Erased(NamedTuple):
    """What was done in a part of the matches of a player."""

    matches: int  # In how many of them there were names.
    errors: list[tuple[str, Refusal]]  # By the ids of matches in which it could not be done.
    end: tuple[int, str] | None  # After which match the next part begins; None if there is none.


class Erasing:
    """Erases names in a log."""

    def __init__(self, store: Store, matches: Matches) -> None:
        self._store = store
        self._matches = matches

    async def in_match(self, match_id: str, seats: int) -> bool:
        """Erases the names that seats, the bits of a number, have; returns whether there were any.

        Raises Refusal, also for a match that is damaged.
        """
        try:
            return await self._store.erase_names(match_id, seats)
        except Damaged as damage:
            raise self._matches.damaged(damage) from None

    async def of_player(self, player: str, after: tuple[int, str]) -> Erased:
        """Erases the names of the seats of a player in the next PAGE matches after one.

        The oldest come first, so that a rematch that is made meanwhile is not missed.
        """
        held = await self._store.list_seats(player, after, PAGE)
        count, errors = 0, []
        for created, match_id, seats, damaged in held:
            try:
                if damaged:
                    what = "what lists tell of its players was changed"
                    raise self._matches.damaged(Damaged(match_id, 0, what))
                count += await self.in_match(match_id, seats or BOTH)
            except Refusal as refusal:
                if refusal.reason != ErrorReason.ERROR_REASON_MATCH_DAMAGED:
                    raise  # The caller tries again.
                errors.append((match_id, refusal))
            after = created, match_id
        return Erased(count, errors, after if len(held) == PAGE else None)
