"""A client that costs next to nothing: a process that sends prepared HTTP/2 frames over a socket.

A gRPC library spends as much on a call as the server that is measured. Here a call is a few
concatenated bytes, and its response is counted but not parsed. h2load does the same, but can send
only one body, and no two actions of a match are alike. This client forbids the server to use
HPACK's dynamic table, so that it recognizes a status without decoding the headers before it.
"""

import asyncio
import multiprocessing
import struct
import time
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import cycle
from multiprocessing.connection import Connection
from typing import cast

import uvloop

from lab.service_bench import http_client
from lab.service_bench.runs import Measured, Run
from lab.service_bench.scripts import Request

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEAD = struct.Struct(">BHBBI")  # Of a frame: its length in 24 bits, type, flags and stream.
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4
_MAX_WINDOW = 2**31 - 1
_SETTING_TABLE_SIZE, _SETTING_WINDOW = 1, 4
_STATUS_OK = b"\x0bgrpc-status\x010"
_READY_SECONDS = 30.0


class Client:
    """A process that sends the calls of matches; those of one match in order, one at a time."""

    def __init__(self, matches: Sequence[Sequence[Request]]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        self._pipe.send(matches)

    def run(self, run: Run) -> Measured:
        """Makes the calls and waits until all are answered; raises RuntimeError if one fails."""
        self._pipe.send(run)
        answer = self._pipe.recv()
        if isinstance(answer, str):
            raise RuntimeError(answer)
        measured: Measured = answer
        return measured

    def close(self) -> None:
        """Ends the process."""
        self._pipe.send(None)
        self._process.join()


def _serve(pipe: Connection) -> None:
    matches: deque[Sequence[Request]] = deque(pipe.recv())
    first = matches[0]
    under_way: list[Iterator[Request]] = []
    while (run := pipe.recv()) is not None:
        try:
            supplies: Sequence[Iterator[Request]] = (
                [cycle(first)] * run.streams if run.repeat else _play(matches, under_way, run)
            )
            pipe.send(uvloop.run(_run(run, supplies)))
        except (OSError, RuntimeError) as error:
            pipe.send(f"{run.method}: {error}")


def _play(
    matches: deque[Sequence[Request]], under_way: list[Iterator[Request]], run: Run
) -> Sequence[Iterator[Request]]:
    # A match that is not finished is continued in the next run.
    while len(under_way) < run.streams:
        under_way.append(_supply(matches))
    return under_way[: run.streams]


def _supply(matches: deque[Sequence[Request]]) -> Iterator[Request]:
    while matches:
        yield from matches.popleft()
    raise RuntimeError("more calls were made than had been prepared")


async def _run(run: Run, supplies: Sequence[Iterator[Request]]) -> Measured:
    if run.over_http:
        async with asyncio.timeout(_READY_SECONDS + run.seconds):
            return await http_client.run(run, supplies)
    host, _, port = run.address.rpartition(":")
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(
        lambda: _Connection(run, supplies), host, int(port)
    )
    async with asyncio.timeout(_READY_SECONDS + run.seconds):
        return await connection.done


class _Connection(asyncio.Protocol):
    """One connection. Each stream sends its next call when its last one is answered."""

    def __init__(self, run: Run, supplies: Sequence[Iterator[Request]]) -> None:
        self._run = run
        self._supplies = supplies
        self._prefixes = _Prefixes(run)
        self._next_stream = 1
        self._open: dict[int, tuple[Iterator[Request], float]] = {}
        self._received = b""
        self._latencies = array("d")
        self._transport: asyncio.WriteTransport
        self.done: asyncio.Future[Measured] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)
        settings = struct.pack(">HIHI", _SETTING_TABLE_SIZE, 0, _SETTING_WINDOW, _MAX_WINDOW)
        self._transport.write(
            _PREFACE
            + _frame(_SETTINGS, 0, 0, settings)
            + _frame(_WINDOW_UPDATE, 0, 0, struct.pack(">I", _MAX_WINDOW - 65535))
        )
        self._began = time.perf_counter()
        self._used = time.process_time()
        self._end = self._began + self._run.seconds
        self._transport.write(
            b"".join(self._send(supply, self._began) for supply in self._supplies)
        )

    def _send(self, supply: Iterator[Request], now: float) -> bytes:
        stream = self._next_stream
        self._next_stream += 2
        self._open[stream] = supply, now
        token, message = next(supply)
        return self._prefixes.frames(stream, token, message)

    def data_received(self, data: bytes) -> None:
        try:
            self._transport.write(b"".join(self._answers(self._received + data)))
        except (RuntimeError, StopIteration) as error:
            self._fail(str(error))

    def _answers(self, received: bytes) -> Iterator[bytes]:
        at, size = 0, len(received)
        now = time.perf_counter()
        while size - at >= _HEAD.size:
            high, low, kind, flags, stream = _HEAD.unpack_from(received, at)
            end = at + _HEAD.size + (high << 16 | low)
            if end > size:
                break
            if kind == _HEADERS and flags & _END_STREAM:
                if received.find(_STATUS_OK, at, end) < 0:
                    raise RuntimeError(f"a call failed: {received[at:end]!r}")
                supply, sent = self._open.pop(stream)
                self._latencies.append(now - sent)
                if now < self._end:
                    yield self._send(supply, now)
                elif not self._open:
                    self._finish(now)
            elif kind in (_SETTINGS, _PING) and not flags & _ACK:
                body = received[at + _HEAD.size : end] if kind == _PING else b""
                yield _frame(kind, _ACK, 0, body)
            elif kind in (_RST_STREAM, _GOAWAY):
                raise RuntimeError(f"the server ended it: {received[at:end]!r}")
            at = end
        self._received = received[at:]

    def _finish(self, now: float) -> None:
        used = time.process_time() - self._used
        self.done.set_result(
            Measured(len(self._latencies), now - self._began, self._latencies, used)
        )
        self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._fail("the connection was lost")

    def _fail(self, why: str) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(why))
        self._transport.close()


class _Prefixes:
    """The bytes before the message of a call, without the number of its stream, by token."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._by_token: dict[str, tuple[bytes, bytes]] = {}

    def frames(self, stream: int, token: str, message: bytes) -> bytes:
        """Returns the frames of a whole call."""
        found = self._by_token.get(token)
        if found is None:
            found = self._by_token[token] = self._make(token)
        number = stream.to_bytes(4, "big")
        size = len(message)
        return b"%b%b%b%b%b\0%b%b" % (
            found[0],
            number,
            found[1],
            _HEAD.pack(0, size + 5, _DATA, _END_STREAM, 0)[:5],
            number,
            size.to_bytes(4, "big"),
            message,
        )

    def _make(self, token: str) -> tuple[bytes, bytes]:
        # Literals, by the numbers of their names in HPACK's static table.
        block = b"".join(
            (
                b"\x83\x86",  # :method: POST, :scheme: http
                b"\x04" + _string(self._run.method),
                b"\x01" + _string(self._run.address),
                b"\x0f\x10" + _string("application/grpc"),
                b"\x00" + _string("te") + _string("trailers"),
                b"\x0f\x08" + _string(f"Bearer {token}"),
            )
        )
        return _HEAD.pack(0, len(block), _HEADERS, _END_HEADERS, 0)[:5], block


def _string(text: str) -> bytes:
    data = text.encode()
    assert len(data) < 127, "longer strings need a longer prefix"
    return bytes([len(data)]) + data


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return _HEAD.pack(len(body) >> 16, len(body) & 0xFFFF, kind, flags, stream) + body
