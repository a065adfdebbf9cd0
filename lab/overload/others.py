"""The others: people who play each other and bots, and ask for hints, each by a connection."""

import asyncio
import itertools
import math
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import grpc

from croupier.v1 import game_pb2, hint_pb2, hint_pb2_grpc, match_pb2, match_pb2_grpc
from lab.overload.places import Metadata, Place, channel, relayed

GAMES = ("champion_chess", "skystones", "powershot_soccer", "castle_rampage")
THINK_SECONDS = 0.1
LAG_SECONDS = 0.01
HINT_SECONDS = 0.1
TIMEOUT = 30.0
SUBMIT, BOT, HINT = "SubmitAction", "bot's move", "hint"
KINDS = (SUBMIT, BOT, HINT)


class Latencies(NamedTuple):
    """How long calls of one kind took, in seconds, in ascending order."""

    taken: tuple[float, ...]
    failed: int

    @property
    def p50(self) -> float:
        """The median; infinite if no call was answered."""
        return statistics.median(self.taken) if self.taken else math.inf

    @property
    def p99(self) -> float:
        """99 of 100 calls were no slower; infinite if no call was answered."""
        return self.taken[int(0.99 * len(self.taken))] if self.taken else math.inf


def merge(several: Iterable[Latencies]) -> Latencies:
    """Several measurements of one kind of calls, as one."""
    several = list(several)
    taken = sorted(seconds for each in several for seconds in each.taken)
    return Latencies(tuple(taken), sum(each.failed for each in several))


class Others:
    """Plays until it is closed, and keeps how long everything took."""

    def __init__(self, place: Place, seed: int) -> None:
        self._place = place
        self._rng = random.Random(seed)
        self._taken: dict[str, list[float]] = defaultdict(list)
        self._failed: dict[str, int] = defaultdict(int)
        self._tasks: list[asyncio.Task[None]] = []
        self._stack = AsyncExitStack()
        self._ids = itertools.count()
        self.longest_lag = 0.0  # Of the event loop of the others, in the last measurement.

    async def start(self, address: str) -> None:
        """Sits down at the tables: for each game one of two people, and one with a bot."""
        near = await self._stack.enter_async_context(relayed(address, self._place))
        self._begin(self._watch_own_loop())
        for game in GAMES:
            self._begin(self._play_on(near, game, False))
            self._begin(self._play_on(near, game, True))
            self._begin(self._ask_on(near, game))

    async def close(self) -> None:
        """Leaves."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stack.aclose()
        self._tasks.clear()

    async def measure(self, seconds: float) -> dict[str, Latencies]:
        """Returns how long each kind of call took that ended in the next seconds."""
        self._taken.clear()
        self._failed.clear()
        self.longest_lag = 0.0
        await asyncio.sleep(seconds)
        return {
            kind: Latencies(tuple(sorted(self._taken[kind])), self._failed[kind]) for kind in KINDS
        }

    def _begin(self, work: Any) -> None:
        self._tasks.append(asyncio.create_task(work))

    async def _watch_own_loop(self) -> None:
        # What the others themselves wait for is no fault of the server.
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LAG_SECONDS
            await asyncio.sleep(LAG_SECONDS)
            self.longest_lag = max(self.longest_lag, loop.time() - due)

    async def _again(self, kind: str, work: Callable[[], Any]) -> None:
        # A call that fails is counted, and the person sits down anew.
        while True:
            try:
                await work()
            except grpc.RpcError:
                self._failed[kind] += 1
                await asyncio.sleep(THINK_SECONDS)

    async def _play_on(self, address: str, game: str, with_bot: bool) -> None:
        async def play() -> None:
            async with AsyncExitStack() as stack:
                creating = await stack.enter_async_context(channel(address))
                match = await self._create(creating, game, with_bot)
                people = []
                for each in match.seat_tokens:
                    own = await stack.enter_async_context(channel(address))
                    people.append(self._person(own, match.name, each, with_bot))
                await asyncio.gather(*people)

        await self._again(BOT if with_bot else SUBMIT, play)

    async def _create(
        self, own: grpc.aio.Channel, game: str, with_bot: bool
    ) -> match_pb2.CreateMatchResponse:
        person = match_pb2.SeatConfig(open=match_pb2.OpenSeat())
        bot = match_pb2.SeatConfig(bot=match_pb2.Bot(strength=match_pb2.BOT_STRENGTH_CASUAL))
        request = match_pb2.CreateMatchRequest(
            ruleset=_ruleset(game),
            seats=[person, bot if with_bot else person],
            hint_policy="HINT_POLICY_ALLOWED",
        )
        stub = match_pb2_grpc.MatchServiceStub(own)
        response: match_pb2.CreateMatchResponse = await stub.CreateMatch(
            request, metadata=self._place.metadata, timeout=TIMEOUT
        )
        return response

    async def _person(
        self, own: grpc.aio.Channel, match: str, token: match_pb2.SeatToken, with_bot: bool
    ) -> None:
        # Watches the match, and decides a moment after each decision is owed.
        metadata: Metadata = (*self._place.metadata, ("authorization", f"Bearer {token.token}"))
        stub = match_pb2_grpc.MatchServiceStub(own)
        decided = None
        async for response in stub.WatchMatch(
            match_pb2.WatchMatchRequest(name=match), metadata=metadata
        ):
            if not response.HasField("view"):
                continue
            view = response.view
            if decided is not None and with_bot and response.version > decided[0]:
                self._taken[BOT].append(time.perf_counter() - decided[1])
                decided = None
            if not view.legal_actions:
                continue
            await asyncio.sleep(THINK_SECONDS * self._rng.uniform(0.5, 1.5))
            began = time.perf_counter()
            try:
                answer = await stub.SubmitAction(
                    match_pb2.SubmitActionRequest(
                        name=match,
                        expected_version=view.version,
                        action=self._rng.choice(view.legal_actions),
                        request_id=f"overload {next(self._ids)}",
                    ),
                    metadata=metadata,
                    timeout=TIMEOUT,
                )
            except grpc.RpcError as error:
                if error.code() in (
                    grpc.StatusCode.ABORTED,
                    grpc.StatusCode.FAILED_PRECONDITION,
                ):
                    continue  # The other seat was quicker.
                raise
            self._taken[SUBMIT].append(time.perf_counter() - began)
            if not answer.view.legal_actions and answer.view.deciders:
                decided = answer.view.version, time.perf_counter()

    async def _ask_on(self, address: str, game: str) -> None:
        async def ask() -> None:
            async with channel(address) as own:
                match = await self._create(own, game, False)
                matches = match_pb2_grpc.MatchServiceStub(own)
                hints = hint_pb2_grpc.HintServiceStub(own)
                views = []
                for each in match.seat_tokens:
                    metadata = (
                        *self._place.metadata,
                        ("authorization", f"Bearer {each.token}"),
                    )
                    request = match_pb2.GetViewRequest(name=match.name)
                    response = await matches.GetView(request, metadata=metadata, timeout=TIMEOUT)
                    if response.view.legal_actions:
                        views.append(each)
                metadata = (
                    *self._place.metadata,
                    ("authorization", f"Bearer {views[0].token}"),
                )
                limits = hint_pb2.SearchLimits()
                limits.time.FromMilliseconds(round(1000 * HINT_SECONDS))
                while True:
                    began = time.perf_counter()
                    await hints.SuggestAction(
                        hint_pb2.SuggestActionRequest(
                            search=hint_pb2.Search(match_name=match.name, limits=limits)
                        ),
                        metadata=metadata,
                        timeout=TIMEOUT,
                    )
                    self._taken[HINT].append(time.perf_counter() - began)
                    await asyncio.sleep(1.0)

        await self._again(HINT, ask)


def _ruleset(game: str) -> game_pb2.Ruleset:
    ruleset = game_pb2.Ruleset()
    getattr(ruleset, game).SetInParent()
    return ruleset
