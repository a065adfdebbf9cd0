"""The others: people who play each other and bots, and ask for hints, each by a connection."""

import asyncio
import contextlib
import math
import random
import statistics
import time
from collections.abc import Iterable
from typing import NamedTuple

from cli.load_players import Caller, Figures, Load, open_channel, playing
from croupier.client import HINT_POLICIES, OPEN, bot
from croupier.errors import CroupierError
from croupier.transport import CLEARTEXT
from croupier.v1 import game_pb2, hint_pb2, hint_pb2_grpc, match_pb2, match_pb2_grpc
from lab.overload.places import Place, relayed

GAMES = ("champion_chess", "skystones", "powershot_soccer", "castle_rampage")
THINK_SECONDS = 0.1
HINT_SECONDS = 0.1
SUBMIT, BOT, HINT = "SubmitAction", "bot's move", "hint"
KINDS = (SUBMIT, BOT, HINT)


class Latencies(NamedTuple):
    """How long calls of one kind took, in seconds, in ascending order."""

    taken: tuple[float, ...]
    failed: int  # Also what was then repeated.

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
        self._seed = seed
        self._noticed = {kind: Figures() for kind in KINDS}
        self._stack = contextlib.AsyncExitStack()
        self.longest_lag = 0.0  # Of the event loop of the others, in the last measurement.

    async def start(self, address: str) -> None:
        """Sits down at the tables: for each game one of two people, and one with a bot."""
        near = await self._stack.enter_async_context(relayed(address, self._place))
        rulesets = [game_pb2.Ruleset(**{game: {}}) for game in GAMES]
        for kind, seats in ((SUBMIT, (OPEN, OPEN)), (BOT, (OPEN, bot("casual")))):
            load = Load(
                near,
                CLEARTEXT,
                rulesets,
                matches=len(GAMES),
                pace=THINK_SECONDS,
                seconds=math.inf,
                seats_a_connection=1,
                api_key=self._place.key,
                players=0,
                seats=seats,
            )
            chance = random.Random(self._seed)
            await self._stack.enter_async_context(
                playing(load, self._noticed[kind], chance, lambda text: None)
            )
        asking = [asyncio.create_task(self._ask_on(near, ruleset)) for ruleset in rulesets]
        self._stack.push_async_callback(_end, asking)

    async def close(self) -> None:
        """Leaves."""
        await self._stack.aclose()

    async def measure(self, seconds: float) -> dict[str, Latencies]:
        """Returns how long each kind of call took that ended in the next seconds."""
        taken = {
            SUBMIT: self._noticed[SUBMIT].answered,
            BOT: self._noticed[BOT].replied,
            HINT: self._noticed[HINT].answered,
        }
        begun = {kind: len(each) for kind, each in taken.items()}
        failed = {kind: _failed(each) for kind, each in self._noticed.items()}
        lags = self._noticed[SUBMIT].lag
        lag = len(lags)
        await asyncio.sleep(seconds)
        self.longest_lag = max(lags[lag:], default=0.0)
        return {
            kind: Latencies(
                tuple(sorted(each[begun[kind] :])), _failed(self._noticed[kind]) - failed[kind]
            )
            for kind, each in taken.items()
        }

    async def _ask_on(self, near: str, ruleset: game_pb2.Ruleset) -> None:
        # Who is refused for good begins anew.
        while True:
            try:
                await self._ask(near, ruleset)
            except CroupierError as error:
                self._noticed[HINT].failed[error.reason or error.code.name] += 1
                await asyncio.sleep(THINK_SECONDS)

    async def _ask(self, near: str, ruleset: game_pb2.Ruleset) -> None:
        # Asks for hints in a match in which nobody decides.
        figures = self._noticed[HINT]
        async with open_channel(near, CLEARTEXT) as own:
            matches = match_pb2_grpc.MatchServiceStub(own)
            caller = Caller(matches, self._place.key, "", figures)
            match = await caller.call(
                matches.CreateMatch,
                match_pb2.CreateMatchRequest(
                    ruleset=ruleset, seats=(OPEN, OPEN), hint_policy=HINT_POLICIES["allowed"]
                ),
            )
            for seat in match.seat_tokens:
                request = match_pb2.GetViewRequest(name=match.name)
                response = await caller.call(matches.GetView, request, seat.token)
                if response.view.legal_actions:
                    break
            search = hint_pb2.Search(match_name=match.name)
            search.limits.time.FromMilliseconds(round(1000 * HINT_SECONDS))
            suggest = hint_pb2_grpc.HintServiceStub(own).SuggestAction
            while True:
                began = time.monotonic()
                await caller.call(suggest, hint_pb2.SuggestActionRequest(search=search), seat.token)
                figures.answered.append(time.monotonic() - began)
                await asyncio.sleep(1.0)


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _failed(figures: Figures) -> int:
    return (figures.repeated + figures.resumed + figures.failed).total()
