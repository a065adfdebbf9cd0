"""The bots: what a bot decides, from its strength and from what its seat knows."""

import hashlib

import wire
from ai.strengths import Strength, random_action
from croupier.v1 import game_pb2, hint_pb2
from croupier.v1.error_pb2 import ErrorReason
from croupier.v1.match_pb2 import BotStrength
from engine.model import learned
from service.hosting.match_state import MatchState
from service.hosting.matches import Matches
from service.hosting.seats import Caller
from service.hosting.views import serialize_position
from service.searching.options import BOT_STRENGTHS, name_opponent
from service.searching.pool import Limits
from service.searching.searches import Searches
from service.searching.tasks import Kind, Requester, SearchTask
from wire.errors import Refusal

# The reasons of a refusal when another server, a clock, or a pause was first.
_DECIDED = (
    ErrorReason.ERROR_REASON_MATCH_PAUSED,
    ErrorReason.ERROR_REASON_MATCH_OVER,
    ErrorReason.ERROR_REASON_STALE_VERSION,
    ErrorReason.ERROR_REASON_NOT_TO_DECIDE,
)
# The ranks of searches: a bot whose opponent is a person goes first.
_FOR_A_PERSON, _AMONG_BOTS = 0, 1


class Bots:
    """Decides for the bot seats of all matches, which share the search threads fairly."""

    def __init__(self, matches: Matches, searches: Searches) -> None:
        self._matches = matches
        self._searches = searches

    async def decide(self, state: MatchState, seat: int) -> bool:
        """Decides for a bot, also where the other seat has yet to decide at the same time.

        The decision is the same at every server and however often it is made, and counts once.
        Returns False if it does not count any more.
        """
        caller = Caller(state.header.match_id, seat)
        action = await self._choose(state, seat)
        try:
            await self._matches.submit(caller, state.version, action, "")
        except Refusal as refusal:
            if refusal.reason not in _DECIDED:
                raise
            return False
        return True

    async def _choose(self, state: MatchState, seat: int) -> game_pb2.MatchAction:
        strength = BOT_STRENGTHS[state.header.bots[seat]]
        chance = _chance(state, seat)
        if not strength.iterations:
            action = random_action(state.dealt().legal(seat), chance)
            return wire.write_action(state.game, action)
        report = await self._searches.report(_search_task(state, seat, strength, chance % 2**64))
        return report.hint.action


def _search_task(state: MatchState, seat: int, strength: Strength, seed: int) -> SearchTask:
    # The search is given what the seat knows, and nothing else.
    search = hint_pb2.Search(limits={"iterations": strength.iterations}, seed=seed)
    search.view.ParseFromString(serialize_position(state, seat))
    # Strengths were measured with bots that take every opponent for as good as the search.
    name_opponent(search.view, BotStrength.BOT_STRENGTH_EXPERT)
    rank = _AMONG_BOTS if state.header.bots[1 - seat] else _FOR_A_PERSON
    return SearchTask(
        Requester(Kind.BOT, state.header.match_id, rank),
        search,
        state.dealt().view(seat),
        Limits(strength.iterations),
        learned(state.game),
        details=False,
        temperature=strength.temperature(state.game),
    )


def _chance(state: MatchState, seat: int) -> int:
    # 256 bits that only the server knows. They are the same whenever this decision is made again,
    # be it before or after the other seat's decision at the same time.
    header, since = state.header, state.dealt().since[seat]
    what = f"croupier/bot/v1\0{header.chance_id}\0{since}\0{seat}\0".encode()
    return int.from_bytes(hashlib.shake_256(what + header.secret).digest(32), "big")
