"""Players that cost next to nothing: a process in which each seat has its own connection, or a few
seats share one.

A seat follows its match by a stream and sends its next action, which is prepared, as soon as it has
seen the version that the action responds to: in the response to its own last action, or in a
message of its stream. With a pace it thinks first. When a match is over, its seats take the next
one on the same connections.
"""

import asyncio
import multiprocessing
import time
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import NamedTuple, cast

import uvloop

from lab.service_bench import http2

# grpcio cancels calls at random where more than 1,000 begin at once.
_SEATED_AT_ONCE = 256
_READY_SECONDS = 60.0
_TIMER_SECONDS = 0.002  # By which uvloop's timers may be early.
_SEATS = (0, 1)
_MESSAGE_HEAD = 5  # Bytes before each message of a stream.
_GOLDEN = 0.6180339887  # Its multiples are spread evenly, however many there are.
_VERSION_TAG = 0x08  # Of the field 1 of a message of the stream.


class Pattern(NamedTuple):
    """The two methods that a seat calls, "/package.Service/Method"."""

    act: str
    follow: str


class Match(NamedTuple):
    """A match that is ready to be played."""

    tokens: tuple[str, str]  # Of the seats.
    follow: tuple[bytes, bytes]  # The request of each seat's stream.
    actions: list[tuple[int, bytes]]  # The seat and the request, by the version before it.


class Habits(NamedTuple):
    """How the players play."""

    pace: float = 0.0  # Seconds from one action of a match to the next, at least.
    seats_a_connection: int = 1


USUAL = Habits()


class Played(NamedTuple):
    """What was played in a time. Latencies are in seconds."""

    actions: int
    seconds: float
    answered: "array[float]"  # From sending an action to its response.
    seen: "array[float]"  # From sending it until the other seat has seen its version.
    sent_bytes: int  # On all connections, without TCP and IP.
    received_bytes: int
    answer_bytes: int  # Of the responses to actions alone, as messages.
    pushes: int  # Messages of the streams.
    push_bytes: int
    client_seconds: float  # Processor time of the players.


class Players:
    """A process that plays matches, a number of them at a time."""

    def __init__(
        self,
        addresses: Sequence[str],
        pattern: Pattern,
        matches: Sequence[Match],
        at_a_time: int,
        habits: Habits = USUAL,
    ) -> None:
        """Connects all seats and waits for their first messages; raises RuntimeError.

        A seat calls the server at its address, which may be the only one.
        """
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()
        self._pipe.send((addresses, pattern, matches, at_a_time, habits))
        self._receive()

    def play(self, seconds: float) -> Played:
        """Plays for a time, until every action is answered and seen; raises RuntimeError."""
        self._pipe.send(seconds)
        played: Played = self._receive()
        return played

    def _receive(self) -> Played:
        try:
            answer = self._pipe.recv()
        except EOFError:
            answer = "the players have failed"
        if isinstance(answer, str):
            raise RuntimeError(answer)
        played: Played = answer
        return played

    def close(self) -> None:
        """Ends the process, and with it its connections."""
        with suppress(BrokenPipeError):  # It has failed, and has ended.
            self._pipe.send(None)
        self._process.join()


def _serve(pipe: Connection) -> None:
    addresses, pattern, matches, at_a_time, habits = pipe.recv()
    uvloop.run(_play(pipe, _Room(addresses, pattern, deque(matches), habits), at_a_time))


async def _play(pipe: Connection, room: "_Room", at_a_time: int) -> None:
    loop = asyncio.get_running_loop()
    try:
        await room.open(at_a_time)
        pipe.send(room.take_played(0.0))
        while (seconds := await loop.run_in_executor(None, pipe.recv)) is not None:
            pipe.send(await room.play(seconds))
    except (OSError, RuntimeError, TimeoutError) as error:
        pipe.send(f"{room.pattern.act}: {str(error) or type(error).__name__}")


class _Room:
    """All tables, and what is counted at them."""

    def __init__(
        self, addresses: Sequence[str], pattern: Pattern, matches: deque[Match], habits: Habits
    ) -> None:
        self._addresses = addresses
        self.pattern = pattern
        self.habits = habits
        self.matches = matches
        self.playing = False
        self.unsettled: set[_Table] = set()
        self._tables: list[_Table] = []
        self._settled: asyncio.Future[None]
        self._used = time.process_time()
        self._start_counting()

    def _start_counting(self) -> None:
        self.answered, self.seen = array("d"), array("d")
        self.sent_bytes = self.received_bytes = self.answer_bytes = 0
        self.pushes = self.push_bytes = 0

    async def open(self, tables: int) -> None:
        """Connects the seats of some tables and waits until each has seen its match."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(_READY_SECONDS):
            self._tables = [_Table(self) for _ in range(tables)]
            seats = [seat for table in self._tables for seat in table.seats]
            for number, address in enumerate(self._addresses):
                await self._connect(address, seats[number :: len(self._addresses)])
            for first in range(0, tables, _SEATED_AT_ONCE):
                self._settled = loop.create_future()
                for table in self._tables[first : first + _SEATED_AT_ONCE]:
                    table.sit_down()
                await self._settled

    async def _connect(self, address: str, seats: "Sequence[_Seat]") -> None:
        host, _, port = address.rpartition(":")
        loop = asyncio.get_running_loop()
        each = self.habits.seats_a_connection
        for first in range(0, len(seats), each):
            connection = _Connection(self, address)
            await loop.create_connection(connection.itself, host, int(port))
            for seat in seats[first : first + each]:
                seat.connection = connection

    async def play(self, seconds: float) -> Played:
        """Plays for a time."""
        loop = asyncio.get_running_loop()
        self._settled = loop.create_future()
        self.playing = True
        began = time.perf_counter()
        loop.call_later(seconds, self._stop)
        for number, table in enumerate(self._tables):
            # Not all at once, and not in the order in which they have sat down.
            table.think(self.habits.pace * (number * _GOLDEN % 1.0))
        async with asyncio.timeout(seconds + _READY_SECONDS):
            await self._settled
        return self.take_played(time.perf_counter() - began)

    def _stop(self) -> None:
        self.playing = False
        self.settle()

    def settle(self) -> None:
        """Tells who waits when nothing is under way any more."""
        if not self.playing and not self.unsettled and not self._settled.done():
            self._settled.set_result(None)

    def fail(self, why: str) -> None:
        """Ends everything."""
        if not self._settled.done():
            self._settled.set_exception(RuntimeError(why))

    def take_played(self, seconds: float) -> Played:
        """Returns what has been counted, and counts from zero."""
        used, self._used = self._used, time.process_time()
        played = Played(
            len(self.answered),
            seconds,
            self.answered,
            self.seen,
            self.sent_bytes,
            self.received_bytes,
            self.answer_bytes,
            self.pushes,
            self.push_bytes,
            self._used - used,
        )
        self._start_counting()
        return played


class _Table:
    """Two seats that play one match after another."""

    def __init__(self, room: _Room) -> None:
        self._room = room
        self.seats = tuple(_Seat(room, self, seat) for seat in _SEATS)
        self._match: Match
        self._sent = 0  # Actions of the match.
        self._sent_at = 0.0
        self._waits = False  # For the response to the last one.
        self._due = 0.0  # When the next action is to be sent, by the loop's clock.
        self._known = [-1, -1]  # The newest version that each seat has seen.
        self._left = 0  # Seats whose stream has ended.

    def sit_down(self) -> None:
        """Begins the next match."""
        if not self._room.matches:
            raise RuntimeError("more was played than had been prepared")
        self._match = self._room.matches.popleft()
        self._sent = self._left = 0
        self._known = [-1, -1]
        self._room.unsettled.add(self)
        for seat, token, follow in zip(
            self.seats, self._match.tokens, self._match.follow, strict=True
        ):
            seat.follow(token, follow)

    def think(self, seconds: float) -> None:
        """Sends the next action not before a time has passed."""
        if not seconds:
            self.go_on()
            return
        loop = asyncio.get_running_loop()
        self._due = loop.time() + seconds
        loop.call_at(self._due, self.go_on)

    def go_on(self) -> None:
        """Sends the next action, if it is time and its seat has seen what it responds to."""
        sent = self._sent
        if not self._waits and min(self._known) >= sent:
            self._room.unsettled.discard(self)
            self._room.settle()
        if self._waits or not self._room.playing or sent == len(self._match.actions):
            return
        seat, request = self._match.actions[sent]
        # A bare stream is not told of what was before it, so both must have begun.
        if self._known[seat] < sent or min(self._known) < 0:
            return
        if self._due > asyncio.get_running_loop().time() + _TIMER_SECONDS:
            return
        self._sent += 1
        self._waits = True
        self._room.unsettled.add(self)
        self._sent_at = time.perf_counter()
        self.seats[seat].act(request)
        if self._room.habits.pace:
            self.think(self._room.habits.pace)

    def answered(self, seat: int) -> None:
        """Notes that the last action was answered."""
        self._room.answered.append(time.perf_counter() - self._sent_at)
        self._waits = False
        self._know(seat, self._sent)
        self._sit_on()

    def pushed(self, seat: int, version: int) -> None:
        """Notes that a seat's stream has told it of a version."""
        if version == self._sent > 0 and seat != self._match.actions[version - 1][0]:
            self._room.seen.append(time.perf_counter() - self._sent_at)
        self._know(seat, version)

    def _know(self, seat: int, version: int) -> None:
        self._known[seat] = max(self._known[seat], version)
        self.go_on()

    def left(self) -> None:
        """Notes that a seat's stream has ended: when both have, the match is over."""
        self._left += 1
        self._sit_on()

    def _sit_on(self) -> None:
        # The last response may come after the ends of the streams.
        if self._left == len(_SEATS) and not self._waits:
            self.sit_down()


class _Seat:
    """A seat at a table."""

    connection: "_Connection"

    def __init__(self, room: _Room, table: _Table, seat: int) -> None:
        self._room = room
        self._table = table
        self._seat = seat
        self._followed = 0  # The stream that follows the match.
        self._pushed = bytearray()  # Of messages that are not complete.
        self._call: Callable[[int, bytes], bytes]

    def follow(self, token: str, request: bytes) -> None:
        """Follows a match."""
        address, pattern = self.connection.address, self._room.pattern
        self._call = http2.call(address, pattern.act, token)
        follow = http2.call(address, pattern.follow, token)
        self._followed = self.connection.call(self, follow, request)

    def act(self, request: bytes) -> None:
        """Sends an action."""
        self.connection.call(self, self._call, request)

    def take(self, frame: http2.Frame) -> None:
        """Takes a frame of one of its calls."""
        if frame.kind == http2.DATA:
            if frame.stream == self._followed:
                self._pushed += frame.body
                self._read_pushed()
            else:
                self._room.answer_bytes += len(frame.body) - _MESSAGE_HEAD
        elif frame.ends_stream:
            frame.check_status()
            if frame.stream == self._followed:
                self._table.left()
            else:
                self._table.answered(self._seat)

    def _read_pushed(self) -> None:
        while len(self._pushed) >= _MESSAGE_HEAD:
            size = int.from_bytes(self._pushed[1:_MESSAGE_HEAD], "big")
            end = _MESSAGE_HEAD + size
            if len(self._pushed) < end:
                return
            version = _version(self._pushed[_MESSAGE_HEAD : _MESSAGE_HEAD + 6])
            del self._pushed[:end]
            self._room.pushes += 1
            self._room.push_bytes += size
            self._table.pushed(self._seat, version)


class _Connection(asyncio.Protocol):
    """The connection of one seat, or of some."""

    def __init__(self, room: _Room, address: str) -> None:
        self.address = address  # Of the server.
        self._room = room
        self._receiver = http2.Receiver()
        self._streams = 0
        self._seats: dict[int, _Seat] = {}  # By the streams of the calls that run.
        self._transport: asyncio.WriteTransport

    def itself(self) -> "_Connection":
        """Returns this protocol, as a factory of protocols does."""
        return self

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)
        self._transport.write(http2.opening())

    def _send(self, data: bytes) -> None:
        self._room.sent_bytes += len(data)
        self._transport.write(data)

    def call(self, seat: _Seat, frames: Callable[[int, bytes], bytes], request: bytes) -> int:
        """Makes a call of a seat; returns its stream."""
        self._streams += 1
        stream = 2 * self._streams - 1
        self._seats[stream] = seat
        self._send(frames(stream, request))
        return stream

    def data_received(self, data: bytes) -> None:
        self._room.received_bytes += len(data)
        try:
            for frame in self._receiver.frames(data):
                self._take(frame)
        except RuntimeError as error:
            self._room.fail(str(error))

    def _take(self, frame: http2.Frame) -> None:
        ended = frame.ends_stream
        seat = self._seats.pop(frame.stream, None) if ended else self._seats.get(frame.stream)
        if seat is not None:
            seat.take(frame)
        elif owed := http2.reply(frame):
            self._send(owed)

    def connection_lost(self, error: Exception | None) -> None:
        self._room.fail("a connection was lost")


def _version(message: bytes | bytearray) -> int:
    # The first field of the message, which is left out where it is 0.
    if not message or message[0] != _VERSION_TAG:
        return 0
    version = 0
    for place, byte in enumerate(message[1:]):
        version |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            break
    return version
