"""The bots: what a bot decides, from its strength and from what its seat knows."""

import hashlib

from ai.strengths import slip
from croupier.v1.error_pb2 import ErrorReason
from service import wire
from service.errors import Refusal
from service.hosting.caller import Caller
from service.hosting.match_state import MatchState
from service.hosting.matches import Matches
from service.searching.bot_strengths import BOT_STRENGTHS
from service.searching.pool import Limits, SearchPool

# The reasons of a refusal when another server, or a clock, was first.
_DECIDED = (
    ErrorReason.ERROR_REASON_MATCH_OVER,
    ErrorReason.ERROR_REASON_STALE_VERSION,
    ErrorReason.ERROR_REASON_NOT_TO_DECIDE,
)
# The ranks of searches: a bot whose opponent is a person goes first.
_FOR_A_PERSON, _AMONG_BOTS = 0, 1


class Bots:
    """Decides for the bot seats of all matches, which share the search threads fairly."""

    def __init__(self, matches: Matches, pool: SearchPool) -> None:
        self._matches = matches
        self._pool = pool

    async def decide(self, state: MatchState, seat: int) -> None:
        """Decides for a bot, also where the other seat has yet to decide at the same time.

        The decision is the same at every server and however often it is made, and counts once.
        """
        caller = Caller(state.header.match_id, seat)
        action = wire.write_action(state.game, await self._choose(state, seat))
        try:
            await self._matches.submit(caller, state.version, action, "")
        except Refusal as refusal:
            if refusal.reason not in _DECIDED:
                raise

    async def _choose(self, state: MatchState, seat: int) -> int:
        strength = BOT_STRENGTHS[state.header.bots[seat]]
        chance = _chance(state, seat)
        match = state.dealt()
        slipped = slip(strength, match.legal(seat), chance)
        if slipped is not None:
            return slipped
        # The search is given what the seat knows, and nothing else.
        view = match.view(seat)
        result, _ = await self._pool.search(
            view,
            Limits(strength.iterations),
            chance % 2**64,
            owner=state.header.match_id,
            rank=_AMONG_BOTS if state.header.bots[1 - seat] else _FOR_A_PERSON,
        )
        return result.action


def _chance(state: MatchState, seat: int) -> int:
    # 256 bits that only the server knows. They are the same whenever this decision is made again,
    # be it before or after the other seat's decision at the same time.
    header, since = state.header, state.dealt().since[seat]
    what = f"croupier/bot/v1\0{header.chance_id}\0{since}\0{seat}\0".encode()
    return int.from_bytes(hashlib.shake_256(what + header.secret).digest(32), "big")
