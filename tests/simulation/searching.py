"""Searches of the simulation: what they find is drawn from their seeds; the servers that do them.

A search takes the way that it takes in the product: through the pool, its fair queue and its
quotas. Only the search itself is replaced, by a legal action that the seed and the view draw.
"""

import asyncio
import random

import wire
from croupier.v1 import hint_pb2
from service.common.errors import shutting_down
from service.searching.hints import _report, check
from service.searching.search_servers import NoSearchServerError
from service.searching.tasks import Kind
from tests.simulation.bots import Bots


def answer(task, job, every=0.0, report=None):
    """As `service.searching.hints.answer`, without a search."""
    if job.shutting_down:
        raise shutting_down()
    if job.abandoned:
        return _report(task, hint_pb2.Hint(), job)
    return _report(task, hint_of(check(task)), job)


def hint_of(request):
    """A hint that is the same wherever it is made."""
    view = request.task.view
    legal = sorted(request.actions or request.sampler.sample(0).legal(view.seat))
    chance = random.Random(f"{request.task.search.seed}/{bytes(view).hex()}")
    hint = hint_pb2.Hint(seat=view.seat, version=request.task.search.view.version)
    hint.stop_reason = hint_pb2.STOP_REASON_ITERATIONS
    for action in legal:
        hint.actions.add(
            action=wire.write_action(view.game, action),
            visits=10,
            availability=10,
            expected_score=chance.random(),
            deviation=0.01,
        )
    best = chance.choice(hint.actions)
    best.probability = 1.0
    hint.action.CopyFrom(best.action)
    hint.expected_score = best.expected_score
    return hint


class SimulatedSearchServers:
    """Search servers that answer late, refuse, and die with what they do."""

    state = None  # Of the world: what they do. Set by the world.

    def __init__(self, address, threads, metrics, security=None):
        self._metrics = metrics
        self._ending = False
        self._running = {}
        self.is_secure = True

    def open(self):
        pass

    async def wait_ready(self, seconds):
        return True

    async def reports(self, task):
        state = SimulatedSearchServers.state
        kind = task.requester.kind
        if self._ending:
            raise shutting_down()
        outcome = state.draw()
        if outcome == "none":
            await asyncio.sleep(0.01)
            self._metrics.search_server_calls.labels(kind, "unanswered").inc()
            raise NoSearchServerError
        seconds = state.seconds()
        with state.bots.searching(task):
            if outcome == "dies":  # And another one takes it over.
                await asyncio.sleep(seconds)
                self._metrics.search_server_calls.labels(kind, "lost").inc()
            try:
                await asyncio.sleep(seconds)
            finally:
                task.charge(seconds)
            if kind == Kind.BOT:
                await state.bots.think(task)
        if self._ending:
            raise shutting_down()
        report = task.response(hint=hint_of(check(task)))
        self._metrics.search_server_calls.labels(kind, "answered").inc()
        if task.every:
            report.final_report = True
        yield report, True

    def let_stop(self):
        pass

    def end_searches(self):
        self._ending = True

    async def close(self):
        self._ending = True


class SearchState:
    """How the search servers of a world do."""

    def __init__(self, world):
        self._rng = random.Random(f"searching/{world.seed}")
        self.bots = Bots(world)
        self.dead = 0.0  # The share of the searches that find no server,
        self.dying = 0.0  # and of those whose server dies.
        self.usual = self._rng.choice((0.05, 0.05, 1.0))  # Seconds of a search, on the average.
        self.mean = self.usual

    def draw(self):
        """What becomes of the next search."""
        chance = self._rng.random()
        if chance < self.dead:
            return "none"
        return "dies" if chance < self.dead + self.dying else "answers"

    def seconds(self):
        """How long it takes."""
        return self._rng.expovariate(1 / self.mean)
