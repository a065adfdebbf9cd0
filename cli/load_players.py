"""The players of `croupier load` and of the benches, and what they notice.

Each seat follows its match by a stream, thinks for a while when it owes a decision, plays a random
legal action, and begins another match when one is over. What a loss of the connection or of a
server interrupts is repeated or resumed, as every client should do it.
"""

import asyncio
import contextlib
import itertools
import random
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import grpc
from google.protobuf.duration_pb2 import Duration

from croupier.client import OPEN
from croupier.errors import CroupierError
from croupier.retry import MAX_PAUSE, Retry, Tally
from croupier.transport import Security, bearer, channel_credentials, channel_options, identity
from croupier.v1 import game_pb2, match_pb2, match_pb2_grpc
from service.common.tasks import Tasks, together

CREATED_AT_ONCE = 16
CALL_SECONDS = 30.0
PATIENCE = 60.0  # Seconds for which a call or a stream is tried again after a loss.
HEARTBEAT = Duration(seconds=10)
LAG_SECONDS = 0.1  # Between two looks at how late this program's own timers are.
TELL_EVERY = 10.0  # Seconds.
# Another decision, or a clock, was first. The next view tells.
_OVERTAKEN = ("STALE_VERSION", "NOT_TO_DECIDE", "MATCH_OVER")
# The log has lost versions, as after a restore; the match goes on from what it has.
_SET_BACK = "VERSION_IN_FUTURE"


class Load(NamedTuple):
    """What to play, and how."""

    server: str
    security: Security
    rulesets: Sequence[game_pb2.Ruleset]
    matches: int  # At a time.
    pace: float  # Seconds that a seat thinks, on average.
    seconds: float
    seats_a_connection: int
    api_key: str
    players: int  # Names of players that the key calls for; 0: none.
    seats: tuple[match_pb2.SeatConfig, ...] = (OPEN, OPEN)  # Players take those that are open.
    seeded: bool = False  # The same matches at each server that allows seeds.
    think: Callable[[], Awaitable[object]] | None = None  # What seats wait for, in place of a pace.


class Figures:
    """What the players noticed. Times are in seconds."""

    def __init__(self) -> None:
        self.created: list[float] = []  # From asking for a match until it is there.
        self.opened: list[float] = []  # From opening a stream to its first view.
        self.answered: list[float] = []  # From sending an action to its response.
        self.seen: list[float] = []  # From sending it until the other seat sees it.
        self.replied: list[float] = []  # From its response until the other seat has decided.
        self.lag: list[float] = []  # By how much this program's timers were late.
        self.ended: Counter[str] = Counter()  # Matches, by how they ended.
        self.repeated: Counter[str] = Counter()  # Calls, by what had happened to them.
        self.resumed: Counter[str] = Counter()  # Streams, by what had ended them.
        self.overtaken: Counter[str] = Counter()  # Actions that came too late.
        self.failed: Counter[str] = Counter()  # Calls and streams that were given up.


def open_channel(server: str, security: Security) -> grpc.aio.Channel:
    """A channel of its own to the server."""
    credentials = channel_credentials(security)
    own = (("grpc.use_local_subchannel_pool", 1), ("grpc.max_reconnect_backoff_ms", 1000))
    options = channel_options(server, own)
    if credentials is None:
        return grpc.aio.insecure_channel(server, options)
    return grpc.aio.secure_channel(server, credentials, options)


async def play(
    load: Load, figures: Figures, chance: random.Random, tell: Callable[[str], None]
) -> None:
    """Seats all players, and lets them play for the time of the load."""
    async with playing(load, figures, chance, tell):
        end = time.monotonic() + load.seconds
        while (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(left, TELL_EVERY))
            tell(f"{len(figures.answered)} actions, {max(0, end - time.monotonic()):.0f} s left")


@contextlib.asynccontextmanager
async def playing(
    load: Load, figures: Figures, chance: random.Random, tell: Callable[[str], None]
) -> AsyncIterator[None]:
    """Lets players play, from when all of them are seated on."""
    seats = 2 * load.matches
    shared = load.seats_a_connection
    async with contextlib.AsyncExitStack() as stack:
        channels = [
            await stack.enter_async_context(open_channel(load.server, load.security))
            for _ in range(-(-seats // shared))
        ]
        slots = asyncio.Semaphore(CREATED_AT_ONCE)
        tables = [
            Table(
                load,
                figures,
                random.Random(chance.getrandbits(64)),
                number,
                [channels[(2 * number + seat) // shared] for seat in (0, 1)],
                slots,
            )
            for number in range(load.matches)
        ]
        background = Tasks(("table", "lag", "seating"))
        tasks = [background.spawn("table", table.play) for table in tables]
        watch = background.spawn("lag", _measure_lag, figures)
        try:
            seated = background.spawn("seating", _seated, tables, asyncio.Event())
            await _until(seated, tasks, lambda: tell(f"{len(figures.opened)} of {seats} seats"))
            yield
        finally:
            for task in (*tasks, watch):
                task.cancel()
            await asyncio.wait((*tasks, watch))


async def _seated(all_of: "Sequence[Table | Player]", seated: asyncio.Event) -> None:
    for each in all_of:
        await each.seated.wait()
    seated.set()


async def _until(
    done: "asyncio.Task[None]", tasks: Sequence["asyncio.Task[None]"], tell: Callable[[], None]
) -> None:
    # Waits until it is done; raises what a task has failed with.
    while not done.done():
        await asyncio.wait((done, *tasks), timeout=TELL_EVERY, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                done.cancel()
                task.result()
        tell()


async def _measure_lag(figures: Figures) -> None:
    while True:
        began = time.monotonic()
        await asyncio.sleep(LAG_SECONDS)
        figures.lag.append(time.monotonic() - began - LAG_SECONDS)


class Table:
    """Two players, who play one match after the other."""

    def __init__(
        self,
        load: Load,
        figures: Figures,
        chance: random.Random,
        number: int,
        channels: Sequence[grpc.aio.Channel],
        slots: asyncio.Semaphore,
    ) -> None:
        """`channels` are by seat, and `slots` bound how many matches are created at once."""
        self._load = load
        self._figures = figures
        self._chance = chance
        self._seed = chance.getrandbits(32)
        self._number = number
        self._callers = [
            Caller(
                match_pb2_grpc.MatchServiceStub(channel),
                load.api_key,
                f"load-{(2 * number + seat) % load.players}" if load.players else "",
                figures,
            )
            for seat, channel in enumerate(channels)
        ]
        self._slots = slots
        self.seated = asyncio.Event()  # A match is there, and both seats have their first view.

    async def play(self) -> None:
        """Plays until it is cancelled; raises CroupierError if its first match is refused."""
        for match in itertools.count():
            ruleset = self._load.rulesets[(self._number + match) % len(self._load.rulesets)]
            seed = self._seed << 16 | match
            try:
                created = await self._create(ruleset, seed if self._load.seeded else None)
            except CroupierError as error:
                if not self.seated.is_set():
                    raise
                self._figures.failed[_name(error)] += 1
                await asyncio.sleep(MAX_PAUSE)
                continue
            marks = Marks(self._figures)
            players = [
                Player(
                    self._callers[token.seat],
                    created.name,
                    token,
                    marks,
                    self._think,
                    random.Random(f"{seed} {token.seat}"),
                )
                for token in created.seat_tokens
            ]
            try:
                # A player who gives up leaves the table, and the other one with it.
                await together(
                    *(player.play() for player in players), _seated(players, self.seated)
                )
            except ExceptionGroup as group:
                failed, others = group.split(CroupierError)
                if failed is None or others is not None:
                    raise
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    # Players gave up in the moment in which the load ended.
                    raise asyncio.CancelledError from None
                errors = _leaves(failed)
                if not self.seated.is_set():
                    raise errors[0] from None
                self._figures.failed.update(map(_name, errors))

    async def _create(
        self, ruleset: game_pb2.Ruleset, seed: int | None
    ) -> match_pb2.CreateMatchResponse:
        request = match_pb2.CreateMatchRequest(
            ruleset=ruleset, seats=self._load.seats, seed=seed, request_id=str(uuid.uuid4())
        )
        async with self._slots:
            began = time.monotonic()
            first = self._callers[0]
            created: match_pb2.CreateMatchResponse = await first.call(
                first.stub.CreateMatch, request
            )
            self._figures.created.append(time.monotonic() - began)
        return created

    async def _think(self) -> None:
        if self._load.think is not None:
            await self._load.think()
            return
        # Mostly short, now and then long, as people do.
        await asyncio.sleep(self._chance.expovariate(1) * self._load.pace)


class Caller:
    """Who calls, and over which connection."""

    def __init__(self, stub: Any, api_key: str, player: str, figures: Figures) -> None:
        self.stub = stub
        self.figures = figures
        self._identity = identity(api_key, player)

    def metadata(self, token: str = "") -> tuple[tuple[str, str], ...]:
        """The metadata of a call with a token, or without one."""
        return (*self._identity, bearer(token)) if token else self._identity

    async def call(self, rpc: Callable[..., Awaitable[Any]], request: Any, token: str = "") -> Any:
        """Calls until there is an answer; raises CroupierError."""
        retry = Retry(PATIENCE, Tally())
        while True:
            try:
                return await rpc(request, timeout=CALL_SECONDS, metadata=self.metadata(token))
            except grpc.RpcError as error:
                await _wait(retry, CroupierError.from_call(error), self.figures.repeated)


class Marks:
    """When each version of a match was sent and seen, to tell how long it was on its way."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._sent: dict[int, tuple[int, float]] = {}
        self._seen: dict[tuple[int, int], float] = {}

    def sent(self, version: int, seat: int, at: float) -> None:
        """The action of a seat, sent at a time, has made a version."""
        self._sent[version] = seat, at
        seen = self._seen.pop((version, 1 - seat), None)
        if seen is not None:
            self._figures.seen.append(seen - at)

    def seen(self, version: int, seat: int, at: float) -> None:
        """A seat has seen a version at a time, maybe before the other one has its response."""
        sender, sent = self._sent.get(version, (seat, 0.0))
        if sender == 1 - seat:
            self._figures.seen.append(at - sent)
        elif version not in self._sent:
            self._seen[version, seat] = at

    def forget(self) -> None:
        """Forgets all: the log has lost versions, and others will have their numbers."""
        self._sent.clear()
        self._seen.clear()


class Player:
    """One seat of one match."""

    def __init__(
        self,
        caller: Caller,
        match: str,
        held: match_pb2.SeatToken,
        marks: Marks,
        think: Callable[[], Awaitable[None]],
        chance: random.Random,
    ) -> None:
        self._caller = caller
        self._match = match
        self._seat, self._token = held.seat, held.token
        self._marks = marks
        self._think = think
        self._chance = chance  # By which it decides.
        self._figures = caller.figures
        self._view = game_pb2.View()
        self._version = -1  # The newest that it has seen.
        self._owed: tuple[int, float] | None = None  # The other seat decides: since when.
        self._news = asyncio.Event()
        self.seated = asyncio.Event()  # It has its first view.

    async def play(self) -> None:
        """Plays to the end of the match; raises a group of CroupierError if it must give up."""
        await together(self._follow(), self._decide())

    async def _follow(self) -> None:
        # By a stream, which is resumed after the newest version that it has brought.
        retry = Retry(PATIENCE, Tally())
        after: int | None = None
        while True:
            request = match_pb2.WatchMatchRequest(
                name=self._match, after_version=after, heartbeat_interval=HEARTBEAT
            )
            began, metadata = time.monotonic(), self._caller.metadata(self._token)
            try:
                async for response in self._caller.stub.WatchMatch(request, metadata=metadata):
                    retry.reset()
                    after = response.version
                    if not response.up_to_date:
                        self._receive(response, began)
                return
            except grpc.RpcError as error:
                lost = CroupierError.from_call(error)
                if lost.reason == _SET_BACK and after is not None:
                    current = int(lost.metadata["current_version"])
                    after, self._version = current - 1 if current else None, -1
                    self._marks.forget()
                    self._figures.resumed[_name(lost)] += 1
                else:
                    await _wait(retry, lost, self._figures.resumed)

    def _receive(self, response: match_pb2.WatchMatchResponse, began: float) -> None:
        now = time.monotonic()
        self._marks.seen(response.version, self._seat, now)
        if self._owed is not None and response.version > self._owed[0]:
            self._figures.replied.append(now - self._owed[1])
            self._owed = None
        view = response.view
        if response.HasField("view") and view.version > self._version:
            self._show(view)
        if not self.seated.is_set():
            self._figures.opened.append(now - began)
            self.seated.set()
        if view.HasField("result") and self._seat == 0:
            reason = game_pb2.EndReason.Name(view.result.reason)
            self._figures.ended[reason.removeprefix("END_REASON_")] += 1

    def _show(self, view: game_pb2.View) -> None:
        self._view, self._version = view, view.version
        self._news.set()

    async def _decide(self) -> None:
        while not self._view.HasField("result"):
            if self._seat in self._view.deciders:
                await self._think()
                await self._submit(self._view)
            await self._news.wait()
            self._news.clear()

    async def _submit(self, view: game_pb2.View) -> None:
        if self._seat not in view.deciders:
            return  # Time was up, or the match is over.
        request = match_pb2.SubmitActionRequest(
            name=self._match,
            expected_version=view.version,
            action=self._chance.choice(view.legal_actions),
            request_id=str(uuid.uuid4()),
        )
        began = time.monotonic()
        try:
            response = await self._caller.call(self._caller.stub.SubmitAction, request, self._token)
        except CroupierError as error:
            if error.reason not in _OVERTAKEN:
                raise
            self._figures.overtaken[error.reason] += 1
            return
        now = time.monotonic()
        self._figures.answered.append(now - began)
        self._marks.sent(response.view.version, self._seat, began)
        if response.view.version >= self._version:
            self._show(response.view)
            if response.view.deciders and self._seat not in response.view.deciders:
                self._owed = response.view.version, now


async def _wait(retry: Retry, error: CroupierError, counted: Counter[str]) -> None:
    # Until the next try, which is counted; raises the error if there should be none.
    pause = retry.pause(error)
    counted[_name(error)] += 1
    await asyncio.sleep(pause)


def _leaves(group: ExceptionGroup[CroupierError]) -> list[CroupierError]:
    return [
        leaf
        for each in group.exceptions
        for leaf in (_leaves(each) if isinstance(each, ExceptionGroup) else [each])
    ]


def _name(error: CroupierError) -> str:
    # How the report names what happened.
    return error.reason or error.code.name
