"""Callers who ask for more than they may have, and are let in again: what budgets promise.

Each keeps to one connection, as each server counts for itself. Nobody else has their keys.
"""

import asyncio
import math
import random
from collections import deque

from google.protobuf.message_factory import GetMessageClass

from croupier.v1 import catalog_pb2, feed_pb2, hint_pb2, match_pb2, puzzle_pb2, review_pb2
from tests.simulation.clients import RESPONSES, Client, new_id
from tests.simulation.loop import LOOK_SECONDS
from tests.simulation.network import CallError
from tests.support.serving import ruleset_of

LIST_GAMES = "/croupier.v1.CatalogService/ListGames"
FEED = "/croupier.v1.FeedService/WatchMatches"
REVIEW = "/croupier.v1.ReviewService/ReviewMatch"
BATCH = "/croupier.v1.FeedService/BatchGetViews"
# All calls with one answer, and their requests.
_UNARY = [
    (f"/{service.full_name}/{each.name}", GetMessageClass(each.input_type)())
    for schema in (catalog_pb2, feed_pb2, hint_pb2, match_pb2, puzzle_pb2)
    for service in schema.DESCRIPTOR.services_by_name.values()
    for each in service.methods
    if not each.server_streaming
]
_UNARY.append((BATCH, feed_pb2.BatchGetViewsRequest(tokens=["none"] * 5)))
OVER = "BUDGET_EXHAUSTED"
CALLS = 6  # Of the one that `calls_per_second` allows at once.
SEARCH_SECONDS = 60  # A minute, of each player.
LIVE_MATCHES = 3  # Those of the key, as the callers file has it.
STREAMS = 3  # The same of another key, whose players share them.
HOUR, MATCHES_PER_HOUR = 3600.0, 3
MISERLY = 0.01  # Milliseconds of the processor that it may have each second,
BURST_SECONDS = 0.2  # and those of so many seconds at once.
REVIEWS = 4  # Of one caller at a time, as the server has it.
LATE_SECONDS = 2.0  # By which an answer may be late.
LONG_SECONDS = 30.0  # So long a call waits for an answer: refusals of some take ten seconds.
# The callers file of every world.
CALLERS = """
require_key = []
[keys.front]
sha256 = "{front}"
names_players = true
[keys.front.budgets]
live_matches = {live}
[keys.house]
sha256 = "{house}"
names_players = true
[keys.hasty]
sha256 = "{hasty}"
[keys.hasty.budgets]
calls_per_second = 1
[keys.club]
sha256 = "{club}"
[keys.club.budgets]
live_matches = 3
[keys.crowd]
sha256 = "{crowd}"
names_players = true
[keys.crowd.budgets]
streams = 3
[keys.miser]
sha256 = "{miser}"
[keys.miser.budgets]
processor_milliseconds_per_second = {miserly}
[keys.thrifty]
sha256 = "{thrifty}"
[keys.thrifty.budgets]
matches_per_hour = 3
"""


class Greedy:
    """A caller who now and then asks for too much."""

    def __init__(self, inhabitants):
        self.inhabitants = inhabitants
        self.world = inhabitants.world
        self.rng = random.Random(f"greedy/{self.world.seed}")
        self._hasty = Client(inhabitants, self.rng, key="hasty")
        self._club = Client(inhabitants, self.rng, key="club")
        self._miser = Client(inhabitants, self.rng, key="miser")
        self._thrifty = Client(inhabitants, self.rng, key="thrifty")
        self._calls = []  # What it calls too often next, so that each comes as often as any other.
        self._late = 0  # How often in a row all calls at once were answered too late.
        self._spent = {}  # When its matches of an hour are there again, by server and run.
        self._crowd = [Client(inhabitants, self.rng, key="crowd") for _ in range(STREAMS + 2)]
        # Nobody plays its matches: the server ends them, though not so soon.
        self._idle = self.world.end_idle * 2 / 3
        self._unsure = []  # When others were asked for, of which it does not know whether they run.
        self._opened = {}  # Tokens of the matches of the club, and when it was given them, by name.
        self._ended = deque(maxlen=LIVE_MATCHES + 1)  # The names of those that it has ended.

    async def live(self):
        """Asks for too much until this is cancelled."""
        while True:
            await asyncio.sleep(self.rng.expovariate(1 / 30))
            await self._call_too_often()
            await self._open_too_many()
            await self._watch_too_much()
            await self._think_too_much()
            await self._create_too_often()

    async def _all(self, client, calls, connection):
        # Begins calls at once; returns what each was answered, or its error.
        begun = [
            client.begin(method, request, token, LONG_SECONDS, connection=connection)
            for method, request, token in calls
        ]
        return await asyncio.gather(*map(_answer, begun), return_exceptions=True)

    async def _call_too_often(self):
        # When the time has come that a refusal tells, the next call is answered. After too many at
        # once, refusals come late. Any call counts, whatever it asks for, and a batch as many.
        world, connection = self.world, self._hasty.connect()
        self._calls = self._calls or self.rng.sample(_UNARY, len(_UNARY))
        path, request = self._calls.pop()
        call, cost = (path, request, ""), max(1, len(getattr(request, "tokens", ())))
        paid = -math.inf  # When what was let in last is paid for.
        for _ in range(CALLS):
            called = world.now
            [answer] = await self._all(self._hasty, [call], connection)
            if not _is_let_in(answer):
                break
            paid = called + cost - 1
        else:
            return  # Answers took their time.
        if answer.retry_seconds and world.now + answer.retry_seconds < paid:
            world.fail(f"who has called {path}, which counts as {cost} calls, is told {answer}")
        await asyncio.sleep(answer.retry_seconds + 0.01)
        [again] = await self._all(self._hasty, [call], connection)
        if isinstance(again, CallError) and again.reason == OVER:
            world.fail(f"a caller who has waited as long as it was told is refused: {again}")
        called = world.now
        answers = await self._all(self._hasty, [call] * CALLS, connection)
        refused, waited = [each for each in answers if not _is_let_in(each)], world.now - called
        self._judge(refused, "calls_per_second")
        refused = len(refused)
        world.counts["calls over a budget"] += refused
        if CALLS - refused > 2 + waited:
            world.fail(f"of {CALLS} calls at once, {refused} are refused after {waited:.1f} s")
        # One is refused each second. A message may be slow, but not each time.
        late = waited > CALLS + LATE_SECONDS and world.troubles.is_well(60.0 + waited)
        self._late = self._late + 1 if late else 0
        if self._late == 2:
            world.fail(f"{CALLS} calls at once are answered after {waited:.1f} s")
        # Who leaves instead is not counted for ever.
        left = self._hasty.begin(*call, connection=connection)
        await asyncio.sleep(self.rng.random())
        left.cancel()

    async def _think_too_much(self):
        # Of calls at once, only the first find something left of the processor's time: who has
        # been let in finds out when its request has come.
        world, connection = self.world, self._miser.connect()
        call = (LIST_GAMES, catalog_pb2.ListGamesRequest(), "")
        await asyncio.sleep(1.0)
        called = world.now
        answers = await self._all(self._miser, [call] * CALLS, connection)
        told = [each for each in answers if isinstance(each, CallError)]
        # A call looks at the clock of the processor at least once, and the next one pays for that.
        most = 1 + (BURST_SECONDS + world.now - called) * MISERLY / (1000 * LOOK_SECONDS)
        if len(answers) - len(told) > most and world.troubles.is_well(60.0):
            world.fail(f"of {CALLS} calls at once, {len(told)} find no time of the processor")
        self._judge(told, "processor_milliseconds_per_second")

    async def _create_too_often(self):
        # As many as the budget of an hour has at once, and what has come since; all over again
        # where the server has begun anew.
        world, machine = self.world, self.rng.choice(self.world.machines)
        connection = self._thrifty.connect(machine.address)
        key, now = (machine.name, machine.runs), world.now
        # With what was certainly counted, and with what may have been.
        least, most = self._spent.get(key, (0.0, 0.0))
        request = match_pb2.CreateMatchRequest(ruleset=ruleset_of("champion_chess"))
        [answer] = await self._all(self._thrifty, [("CreateMatch", request, "")], connection)
        if isinstance(answer, CallError) and answer.reason == "BUDGET_EXHAUSTED":
            if max(most, now) + HOUR / MATCHES_PER_HOUR - world.now < HOUR - LATE_SECONDS:
                world.fail(f"who may create {MATCHES_PER_HOUR} matches an hour is told {answer}")
            self._judge([answer], "matches_per_hour")
            return
        most = max(most, world.now) + HOUR / MATCHES_PER_HOUR
        if not isinstance(answer, CallError):
            least = max(least, now) + HOUR / MATCHES_PER_HOUR
            if least - world.now > HOUR + LATE_SECONDS and machine.runs == key[1]:
                world.fail(f"who may create {MATCHES_PER_HOUR} matches an hour creates another one")
        self._spent[key] = least, most

    def _judge(self, refused, budget):
        # Each says which budget is used up, and when there is something again.
        for each in refused:
            limit = each.metadata.get("budget"), each.metadata.get("principal")
            wrong = limit != (budget, "key") or each.retry_seconds <= 0
            if each.reason == "BUDGET_EXHAUSTED" and wrong:
                self.world.fail(f"a key without {budget} is told {each.metadata}: {each}")

    async def _watch_too_much(self):
        # Each player of the key has a stream at one server. When one leaves, there is room again.
        world, address = self.world, self.rng.choice(self.world.machines).address
        request, calls = feed_pb2.WatchMatchesRequest(), []
        request.heartbeat_interval.FromSeconds(1)
        for client in self._crowd:
            connection = client.connect(address)
            calls.append(client.begin(FEED, request, "", None, streams=True, connection=connection))
        try:
            told = await asyncio.gather(*(_first(call) for call in calls))
            spare = told.count("BUDGET_EXHAUSTED") - (len(calls) - STREAMS)
            # A stream that the log has failed gives its place to another.
            wrong = spare if world.troubles.is_well(60.0) else spare > 0
            if wrong and "" not in told:
                world.fail(f"of {len(calls)} streams of a key that may have {STREAMS}: {told}")
        finally:
            for call in calls:
                call.cancel()

    async def _open_too_many(self):
        # All at once, beside those that it has.
        world, connection = self.world, self._club.connect()
        rng = self.rng
        for name, (token, at) in list(self._opened.items()):
            if rng.random() < 0.5 or world.now - at > self._idle / 2:
                await self._end(name, token)
        # Some of many at once, and one alone.
        for number in (LIVE_MATCHES + 1, 1):
            refused = await self._open(number, connection)
            self._unsure = [at for at in self._unsure if world.now - at < 3 * self._idle]
            most = len(self._opened) + len(self._unsure)
            if refused and most < LIVE_MATCHES:
                ended = ", ".join(self._ended)
                what = f"a caller has {most} matches, has ended {ended}, and is refused another"
                world.fail(f"{what} of {number}")
        running = [at for _, at in self._opened.values() if world.now - at < self._idle]
        world.counts["matches of the club"] += len(running)
        if len(running) > LIVE_MATCHES:
            world.fail(f"a caller has {len(running)} matches, and may have {LIVE_MATCHES}")

    async def _open(self, number, connection):
        # Asks for so many matches at once; returns whether one was refused.
        world, refused, calls = self.world, False, []
        for _ in range(number):
            ruleset = ruleset_of("champion_chess")
            request = match_pb2.CreateMatchRequest(ruleset=ruleset, request_id=new_id(self.rng))
            calls.append(("CreateMatch", request, ""))
        for answer in await self._all(self._club, calls, connection):
            if not isinstance(answer, CallError):
                created = RESPONSES["CreateMatch"].FromString(answer)
                self._opened[created.name] = created.seat_tokens[0].token, world.now
            elif answer.reason == "BUDGET_EXHAUSTED":
                refused = True
            elif answer.unanswered or answer.reason == "STORE_FULL":
                self._unsure.append(world.now)
            else:
                world.fail(f"a club cannot create a match: {answer}")
        return refused

    async def _end(self, name, token):
        try:
            request = match_pb2.AbortMatchRequest(name=name)
            await self._club.call("AbortMatch", request, token)
        except CallError as error:
            if error.reason != "MATCH_OVER":
                raise
        del self._opened[name]
        self._ended.append(name)


def _is_let_in(answer):
    # Whether it was answered, if only with what is wrong in the request.
    return not isinstance(answer, CallError) or not (answer.unanswered or answer.reason == OVER)


async def _first(call):
    # How a stream begins; empty if nobody knows.
    try:
        async with asyncio.timeout(LONG_SECONDS):
            return "well" if await call.read() is not None else ""
    except CallError as error:
        return error.reason if error.reason == "BUDGET_EXHAUSTED" else ""
    except TimeoutError:
        return ""


async def leave_reviews(table):
    """Begins reviews of a match that is over and leaves them, one after the other."""
    world, client = table.world, table.client(key="front", web="")
    connection = client.connect()
    request = review_pb2.ReviewMatchRequest(match_name=table.name, iterations=100)
    for _ in range(REVIEWS + 1):
        call = client.begin(
            REVIEW, request, table.spectator_token, streams=True, connection=connection
        )
        try:
            await call.read()
        except CallError as error:
            if error.reason == "TOO_MANY_SEARCHES" and world.troubles.is_well(60.0):
                world.fail(f"{table}: a caller who has left its reviews gets no other: {error}")
            return
        finally:
            call.cancel()
        world.counts["reviews left"] += 1
        await asyncio.sleep(5)


async def _answer(call):
    try:
        data = await call.read()
        if data is not None:
            await call.read()  # The status.
        return data
    finally:
        call.cancel()
