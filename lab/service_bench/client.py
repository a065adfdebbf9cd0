"""A client that costs next to nothing: a process that sends prepared HTTP/2 frames over a socket.

A gRPC library spends as much on a call as the server that is measured. Here a call is a few
concatenated bytes, and its response is counted but not parsed. h2load does the same, but can send
only one body, and no two actions of a match are alike.
"""

import asyncio
import multiprocessing
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from multiprocessing.connection import Connection
from typing import cast

import uvloop

from lab.service_bench import http2, http_client
from lab.service_bench.runs import Measured, Run
from lab.service_bench.scripts import Request

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
        self._calls: dict[str, Callable[[int, bytes], bytes]] = {}  # By token.
        self._next_stream = 1
        self._open: dict[int, tuple[Iterator[Request], float]] = {}
        self._receiver = http2.Receiver()
        self._latencies = array("d")
        self._transport: asyncio.WriteTransport
        self.done: asyncio.Future[Measured] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)
        self._transport.write(http2.opening())
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
        call = self._calls.get(token)
        if call is None:
            call = http2.call(self._run.address, self._run.method, token)
            self._calls[token] = call
        return call(stream, message)

    def data_received(self, data: bytes) -> None:
        try:
            self._transport.write(b"".join(self._answers(data)))
        except (RuntimeError, StopIteration) as error:
            self._fail(str(error))

    def _answers(self, data: bytes) -> Iterator[bytes]:
        now = time.perf_counter()
        for frame in self._receiver.frames(data):
            if not frame.ends_stream:
                yield http2.reply(frame)
                continue
            frame.check_status()
            supply, sent = self._open.pop(frame.stream)
            self._latencies.append(now - sent)
            if now < self._end:
                yield self._send(supply, now)
            elif not self._open:
                self._finish(now)

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
