"""What spectators are told of a match whose creator lets them wait: nothing that is too young."""

import math
from bisect import bisect_right
from collections import OrderedDict
from typing import NamedTuple

from service.common.event_loop import LongWork
from service.hosting.clocks import Clock
from service.hosting.match_cache import SetBack, Watch
from service.hosting.match_state import MatchState, Written

MAX_CACHED = 256  # Matches, as spectators are told them last.
_LONG = 10.0**6  # Seconds, where nothing is to come.


class Untold(MatchState):
    """A match of which spectators are not even told yet how it was dealt."""

    __slots__ = ()


class Told(NamedTuple):
    """Up to which version spectators are told of a match."""

    version: int  # -1: not even the deal.
    until: int | None  # When they are told the next version; None if there is none.


class Delayed:
    """The matches of a server as their spectators are told them."""

    def __init__(self, clock: Clock, long_work: LongWork) -> None:
        self.clock = clock
        self._long_work = long_work
        self._shown: OrderedDict[str, MatchState] = OrderedDict()

    def told(self, state: MatchState) -> Told:
        """Up to which version spectators are told of a match now."""
        delay = state.header.spectator_delay
        versions = range(state.version + 1)
        version = bisect_right(versions, self.clock.now() - delay, key=state.time_of) - 1
        newest = version == state.version
        return Told(version, None if newest else state.time_of(version + 1) + delay)

    async def shown(self, state: MatchState) -> MatchState:
        """A match as its spectators are told it now."""
        if not state.header.spectator_delay:
            return state
        version, match_id = self.told(state).version, state.header.match_id
        if version == state.version:
            return state
        known = self._shown.get(match_id)
        if (
            known is None
            or known.version > version
            or not state.follows(known)
            or state.lacks_names_of(known)
        ):
            known = await self._long_work.finish(MatchState.beginning(state.header))
        if version < 0:
            return Untold(*known._replace(match=None, deciders=(), over=False, written=Written()))
        later = state.entries[known.version : version]
        shown = await self._long_work.finish(known.replaying(later))
        self._shown[match_id] = shown
        self._shown.move_to_end(match_id)
        if len(self._shown) > MAX_CACHED:
            self._shown.popitem(last=False)
        return shown


class DelayedWatch:
    """As `Watch`, for a spectator who has to wait."""

    def __init__(self, delayed: Delayed, watch: Watch) -> None:
        self._delayed = delayed
        self._watch = watch
        self.seat: int | None = None  # Nothing concerns spectators alone.

    def newest(self, state: MatchState) -> MatchState:
        """The state itself: what is newer comes by `newer`."""
        return state

    next = refreshed = newest

    async def newer(self, state: MatchState, timeout: float | None = None) -> MatchState:
        """As that of a `Watch`."""
        return await self._newer(state, timeout) or state

    async def any(self, timeout: float | None = None) -> MatchState | None:
        """As that of a `Watch`."""
        return await self._newer(None, timeout)

    async def _newer(self, state: MatchState | None, timeout: float | None) -> MatchState | None:
        clock, watch = self._delayed.clock, self._watch
        known = None if isinstance(state, Untold) else state
        # By a clock that nobody sets: else a reader might wait for hours.
        ends = clock.steady() + (_LONG if timeout is None else timeout)
        while True:
            watch.changed.clear()
            if watch.closed:
                return None
            until = None
            if watch.handed is not None:
                until = self._delayed.told(watch.handed).until
                shown = await self._delayed.shown(watch.handed)
                if not isinstance(shown, Untold) and (known is None or not known.follows(shown)):
                    if known is None or shown.follows(known):
                        return shown
                    raise SetBack(shown)
            left = ends - clock.steady()
            if left <= 0:
                return None
            wake = clock.now() + math.ceil(1000 * left)
            await clock.sleep(wake if until is None else min(wake, until), watch.changed)
            await watch.crowd.turn(self.seat)
