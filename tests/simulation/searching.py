"""Searches of the simulation: what they find is drawn from their seeds; the servers that do them.

A search takes the way that it takes in the product: through the pool, its fair queue and its
quotas. Only the search itself is replaced, by a legal action that the seed and the view draw.
"""

import asyncio
import random
import time
from types import SimpleNamespace

import wire
from croupier.v1 import game_pb2, hint_pb2, match_pb2
from service.common.errors import shutting_down
from service.searching.hints import _report, check
from service.searching.pool import Limits
from service.searching.search_servers import NoSearchServerError
from service.searching.tasks import Kind, Requester
from tests.simulation import shown
from tests.simulation.bots import Bots
from tests.simulation.clients import ATTEMPT_SECONDS

ROUNDING_SECONDS = 0.001
LONGEST_SECONDS = 5.0  # Of a search while all is well.
# Of a hint without an effort, and the iterations of one with a strength, as the API has them.
HINT_SECONDS, ANALYSIS_SECONDS, REPORT_SECONDS = 1.0, 10.0, 0.2
ITERATIONS = {"BEGINNER": 200, "CASUAL": 400, "REGULAR": 1000, "SKILLED": 3000, "EXPERT": 10000}


def answer(task, job, every=0.0, report=None):
    """As `service.searching.hints.answer`, without a search."""
    if job.shutting_down:
        raise shutting_down()
    if job.abandoned:
        return _report(task, hint_pb2.Hint(), job)
    report = _report(task, hint_of(check(task)), job)
    state = SimulatedSearchServers.state
    state.note(task, report, 0.0, job.queue_seconds, job.paused_seconds)
    return report


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
        seconds, job = state.seconds(), state.job()
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
        report = _report(task, hint_of(check(task)), job)
        seconds = time.monotonic() - job.began
        state.note(task, report, seconds, job.queue_seconds, job.paused_seconds)
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


def _wrong_task(task, request, paths, asked):
    # Each option of a request has reached the search; a view takes the place of a match. `asked`
    # has when that was, and who has asked.
    search, analyzed = request.search, isinstance(request, hint_pb2.AnalyzePositionRequest)
    since, who = asked
    right = hint_pb2.Search()
    right.CopyFrom(search)
    right.view.CopyFrom(task.search.view if search.HasField("match_name") else search.view)
    if not search.HasField("seed"):
        right.seed = task.search.seed
    if wrong := shown.wrong(shown.sent(task.search), shown.sent(right)):
        return f"search, by another {wrong}"
    limits = search.limits
    limits = Limits(
        limits.iterations,
        limits.time.ToMilliseconds() / 1000,
        max(limits.threads, 1),
        limits.nodes,
    )
    if search.HasField("strength"):
        strength = match_pb2.BotStrength.Name(search.strength).removeprefix("BOT_STRENGTH_")
        limits = Limits(ITERATIONS[strength])
    elif not search.HasField("limits"):
        limits = Limits(seconds=ANALYSIS_SECONDS if analyzed else HINT_SECONDS)
    right = task._replace(
        requester=Requester(Kind.HINT, who),
        limits=limits,
        details=not paths or "hint" in paths or "hint.actions" in paths,
        every=(request.report_interval.ToMilliseconds() / 1000 or REPORT_SECONDS)
        if analyzed
        else 0.0,
        temperature=0.0,
    )
    told = [name for name in task._fields if getattr(task, name) != getattr(right, name)]
    in_time = since <= task.deadline - ATTEMPT_SECONDS + ROUNDING_SECONDS <= time.monotonic()
    return ", ".join(told) or ("" if in_time else "deadline")


def _of_opponent(view):
    # A search is told of a bot in the other seat, and of nobody else.
    told, other = game_pb2.View(), 1 - view.seat
    told.CopyFrom(view)
    told.ClearField("players")
    if view.players[other].HasField("bot"):
        told.players.extend((game_pb2.Player(), game_pb2.Player()))
        told.players[other].bot.CopyFrom(view.players[other].bot)
    return told


class SearchState:
    """How the search servers of a world do."""

    def __init__(self, world):
        self._rng = random.Random(f"searching/{world.seed}")
        self.bots = Bots(world)
        self.dead = 0.0  # The share of the searches that find no server,
        self.dying = 0.0  # and of those whose server dies.
        self.usual = self._rng.choice((0.05, 0.05, 1.0))  # Seconds of a search, on the average.
        self.mean = self.usual
        self._found = {}  # For each hint: what was searched, and the seconds that it took.

    def job(self):
        """A search that begins now, and that has waited."""
        queue, paused = self._rng.random(), self._rng.random()
        return SimpleNamespace(began=time.monotonic(), queue_seconds=queue, paused_seconds=paused)

    def note(self, task, report, *seconds):
        """Notes what a search has found, and for how long it has searched, waited and paused."""
        found = report.hint.SerializeToString(deterministic=True)
        self._found[found] = task, seconds

    def wrong(self, response, view, request, asked):
        """What is wrong in the answer to the request of a player who had a view when it asked."""
        paths = request.read_mask.paths if hasattr(request, "read_mask") else ()
        noted = [self._found.get(response.hint.SerializeToString(deterministic=True))]
        if paths:
            # Some of what one search or another has found.
            noted = [
                each
                for found, each in self._found.items()
                if shown.masked(type(response)(hint=hint_pb2.Hint.FromString(found)), paths).hint
                == response.hint
            ]
        found = [
            self._wrong(response, view, request, paths, asked, *each) for each in noted if each
        ]
        return min(found, key=len, default="hint, which no search has found")

    def _wrong(self, response, view, request, paths, asked, task, seconds):
        searched = task.search.view
        for name, right in zip(("search_time", "queue_time", "paused_time"), seconds, strict=True):
            told = getattr(response, name).ToNanoseconds() / 1e9
            if (not paths or name in paths) and abs(told - right) > ROUNDING_SECONDS:
                return f"{name}, {told}, not {right}"
        if wrong := _wrong_task(task, request, paths, asked):
            return wrong
        if searched.version != view.version:
            return ""
        search = request.search
        if view.legal_actions and (not paths or "hint.actions" in paths):
            chosen = search.include_actions or view.legal_actions
            chosen = [each for each in chosen if each not in search.exclude_actions]
            told = [each.action for each in response.hint.actions]
            if len(told) != len(chosen) or any(each not in chosen for each in told):
                return "choice of actions"
        if search.HasField("view"):
            searched, view = shown.sent(searched), shown.sent(view)
        else:
            view = _of_opponent(view)
        names = {"players", *(each.name for each, _ in searched.ListFields())}
        names = sorted(name for name in names if getattr(searched, name) != getattr(view, name))
        return f"search, by other {', '.join(names)}" if names else ""

    def draw(self):
        """What becomes of the next search."""
        chance = self._rng.random()
        if chance < self.dead:
            return "none"
        return "dies" if chance < self.dead + self.dying else "answers"

    def seconds(self):
        """How long it takes."""
        seconds = self._rng.expovariate(1 / self.mean)
        return min(seconds, LONGEST_SECONDS) if self.mean == self.usual else seconds
