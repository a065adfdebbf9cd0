"""Matches of a log that nobody serves, and servers that act in those that are due."""

import asyncio
import gc

from croupier.v1.match_pb2 import BotStrength
from service.common.event_loop import BackgroundQuota
from service.hosting.bots import Bots
from service.hosting.clocks import Clock
from service.hosting.creation import NewMatch
from service.hosting.match_state import MatchState
from service.hosting.matches import Matches
from service.hosting.scheduler import Scheduler
from service.hosting.seats import Caller
from service.observability.metrics import Metrics
from tests.support.searching import bot_searches
from tests.support.serving import ruleset_of, view_of
from tests.support.stores import wait_past

RANDOM = BotStrength.BOT_STRENGTH_RANDOM
FAR = 10**15  # A time in milliseconds after everything that is due.


class ActingServer:
    """The parts of a server that act in due matches of a log."""

    def __init__(self, store, clock=None, bots=Bots, share=None):
        clock = clock or Clock()
        self.metrics = Metrics()
        self.matches = Matches(store, self.metrics, clock)
        searches, self.pool = bot_searches()
        self.scheduler = Scheduler(
            store,
            self.matches,
            bots(self.matches, searches),
            self.metrics,
            clock,
            share or BackgroundQuota(lambda: self.metrics.calls),
        )

    async def __aenter__(self):
        self.scheduler.start()
        return self

    async def rest(self):
        """Waits until the scheduler has no task left."""
        while tasks := [each.task for each in self.scheduler._known.values() if each.task]:
            await asyncio.wait(tasks)

    async def __aexit__(self, *_):
        await self.scheduler.close()
        self.pool.close()


async def ended(store, match_id):
    """Waits until a match is over, and returns its entries."""
    while True:
        stored = await store.load(match_id)
        if MatchState.load(stored).over:
            return stored.entries
        await wait_past(store, match_id, len(stored.entries))


def create(matches, game_id="skystones", bots=(RANDOM, RANDOM), time_control=None):
    """Creates a match, of two bots that play at random unless told otherwise."""
    return matches.create(NewMatch(ruleset_of(game_id), bots, time_control=time_control))


async def act(matches, match_id, request_id="", number=0):
    """Lets a seat that owes a decision make one, the first legal one unless told otherwise."""
    state = await matches.load(match_id)
    seat = state.deciders[0]
    legal = view_of(state, seat).legal_actions[number]
    await matches.submit(Caller(match_id, seat), state.version, legal, request_id)


class SlowBots(Bots):
    """Bots that decide only when `may_decide` is set."""

    def __init__(self, matches, searches):
        super().__init__(matches, searches)
        self.thinking = asyncio.Event()
        self.may_decide = asyncio.Event()
        self.times = 0

    async def _choose(self, state, seat):
        self.times += 1
        self.thinking.set()
        await self.may_decide.wait()
        return await super()._choose(state, seat)


def note_complaints():
    """Notes what asyncio complains of from now on; returns what returns it."""
    noted = []
    asyncio.get_running_loop().set_exception_handler(lambda _, why: noted.append(why))

    def complaints():
        gc.collect()  # A task complains of a failure that nobody has looked at when it goes.
        return noted

    return complaints
