"""The client's calls over Connect: prepared requests of HTTP/1.1, one connection for each stream.

As over gRPC, a response is counted but not parsed.
"""

import asyncio
import time
from array import array
from collections.abc import Iterator, Sequence
from typing import cast

from lab.service_bench.runs import Measured, Run
from lab.service_bench.scripts import Request

_OK = b"HTTP/1.1 200 "
_LAST_CHUNK = b"\r\n0\r\n\r\n"


async def run(run: Run, supplies: Sequence[Iterator[Request]]) -> Measured:
    """Makes the calls; raises RuntimeError if one fails."""
    host, _, port = run.address.rpartition(":")
    loop = asyncio.get_running_loop()
    streams = [_Stream(run, supply) for supply in supplies]
    for stream in streams:
        await loop.create_connection(stream.itself, host, int(port))
    latencies = array("d")
    began, used = time.perf_counter(), time.process_time()
    for stream in streams:
        stream.begin(began + run.seconds)
    for stream in streams:
        latencies.extend(await stream.done)
    seconds = time.perf_counter() - began
    return Measured(len(latencies), seconds, latencies, time.process_time() - used)


class _Stream(asyncio.Protocol):
    """A connection, which sends its next call when its last one is answered."""

    def __init__(self, run: Run, supply: Iterator[Request]) -> None:
        self._run = run
        self._supply = supply
        self._received = b""
        self._sent = self._end = 0.0
        self._latencies = array("d")
        self._transport: asyncio.WriteTransport
        self.done: asyncio.Future[array[float]] = asyncio.get_running_loop().create_future()

    def itself(self) -> "_Stream":
        """Returns this protocol, as a factory of protocols does."""
        return self

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def begin(self, end: float) -> None:
        """Sends calls until a time."""
        self._end = end
        self._send(time.perf_counter())

    def _send(self, now: float) -> None:
        token, message = next(self._supply)
        head = (
            f"POST {self._run.method} HTTP/1.1\r\nhost: {self._run.address}\r\n"
            "content-type: application/proto\r\nconnect-protocol-version: 1\r\n"
            f"authorization: Bearer {token}\r\ncontent-length: {len(message)}\r\n\r\n"
        )
        self._sent = now
        self._transport.write(head.encode() + message)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._received.endswith(_LAST_CHUNK):
            return
        now = time.perf_counter()
        if not self._received.startswith(_OK):
            self._fail(f"a call failed: {self._received!r}")
            return
        self._received = b""
        self._latencies.append(now - self._sent)
        try:
            if now < self._end:
                self._send(now)
            else:
                self.done.set_result(self._latencies)
                self._transport.close()
        except StopIteration:
            self._fail("more calls were made than had been prepared")

    def connection_lost(self, error: Exception | None) -> None:
        self._fail("the connection was lost")

    def _fail(self, why: str) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(why))
        self._transport.close()
