"""The bots: what a bot decides, by its strength and by what its seat knows."""

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

# Another server, or a clock, was first.
_DECIDED = (
    ErrorReason.ERROR_REASON_MATCH_OVER,
    ErrorReason.ERROR_REASON_STALE_VERSION,
    ErrorReason.ERROR_REASON_NOT_TO_DECIDE,
)


class Bots:
    """Decides for the bot seats of all matches."""

    def __init__(self, matches: Matches, pool: SearchPool) -> None:
        self._matches = matches
        self._pool = pool

    async def decide(self, state: MatchState, seat: int) -> None:
        """Decides for a bot, at once, also where the other seat has yet to decide.

        Whatever server does it, however often, the decision is the same, and it counts once.
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
        slipped = slip(strength, state.match.legal(seat), chance)
        if slipped is not None:
            return slipped
        # It is given what its seat knows, and nothing else.
        view = state.match.view(seat)
        result, _ = await self._pool.search(view, Limits(strength.iterations), chance % 2**64)
        return result.action


def _chance(state: MatchState, seat: int) -> int:
    # 256 bits that only the server knows, the same whenever this decision is made again: before the
    # other seat has decided at the same time, or after.
    header = state.header
    what = f"croupier/bot/v1\0{header.chance_id}\0{state.match.since[seat]}\0{seat}\0".encode()
    return int.from_bytes(hashlib.shake_256(what + header.secret).digest(32), "big")
