"""The caller who attacks, and what became of its calls."""

import asyncio
import contextlib
import socket
import struct
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from croupier.v1 import match_pb2, match_pb2_grpc
from lab.overload.places import Metadata, Place

Outcomes = Counter[str]
T = TypeVar("T")
_RESET = struct.pack("ii", 1, 0)


class Attacker:
    """One caller, who keeps count of what became of its calls."""

    def __init__(self, address: str, near: str, place: Place, seconds: float, web: str) -> None:
        """`near` is an address from which calls reach the server from the place's host.

        `web` is the address of the web gateway.
        """
        self.address = address
        self.web = web
        self.near = near
        self.place = place
        self.end = time.monotonic() + seconds
        self.outcomes: Outcomes = Counter()

    @property
    def going_on(self) -> bool:
        """Whether there is time left."""
        return time.monotonic() < self.end

    @property
    def metadata(self) -> Metadata:
        """What is sent with every call."""
        return self.place.metadata

    def bearer(self, token: str) -> Metadata:
        """The metadata of a call with a token."""
        return (*self.metadata, ("authorization", f"Bearer {token}"))

    async def call(self, call: Awaitable[T]) -> T | None:
        """Counts what becomes of a call; a refusal is waited out for a moment."""
        try:
            answer = await call
        except grpc.RpcError as error:
            self.outcomes[reason_of(error)] += 1
            await asyncio.sleep(0.02)
            return None
        self.outcomes["answered"] += 1
        return answer

    async def until_end(self, work: Callable[[], Awaitable[object]], streams: int) -> None:
        """Does something again and again, in several tasks; counts connections that end."""

        async def again() -> None:
            while self.going_on:
                try:
                    await work()
                except (OSError, asyncio.IncompleteReadError):
                    self.outcomes["connections closed"] += 1
                    await asyncio.sleep(0.02)

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, self.end - time.monotonic())):
                await asyncio.gather(*(again() for _ in range(streams)))

    @asynccontextmanager
    async def connection(
        self, address: str
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A connection to the server that is reset in the end."""
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(
            host, int(port), local_addr=(self.place.host, 0)
        )
        try:
            yield reader, writer
        finally:
            connected: socket.socket = writer.get_extra_info("socket")
            if connected.fileno() >= 0:
                connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()

    async def keep_connections(self, most: int, outcome: str, said: bytes = b"") -> None:
        """Opens connections to the server, says something on each, and reads nothing."""
        host, _, port = self.address.rpartition(":")
        kept: list[asyncio.StreamWriter] = []
        while self.going_on:
            kept = [each for each in kept if not each.is_closing()]
            if len(kept) >= most:
                await asyncio.sleep(0.2)
                continue
            try:
                _, writer = await asyncio.open_connection(
                    host, int(port), local_addr=(self.place.host, 0)
                )
                kept.append(writer)
                self.outcomes[outcome] += 1
                writer.write(said)
                await writer.drain()
            except OSError:
                self.outcomes["not connected"] += 1
                await asyncio.sleep(0.02)

    async def create(
        self, own: grpc.aio.Channel, **parameters: object
    ) -> match_pb2.CreateMatchResponse | None:
        """Creates a match."""
        stub = match_pb2_grpc.MatchServiceStub(own)
        request = match_pb2.CreateMatchRequest(
            hint_policy="HINT_POLICY_ALLOWED",
            **parameters,  # type: ignore[arg-type]
        )
        return await self.call(stub.CreateMatch(request, metadata=self.metadata, timeout=30))


def reason_of(error: grpc.RpcError) -> str:
    """What a call was refused for, as the server says it."""
    assert isinstance(error, grpc.aio.AioRpcError)
    with contextlib.suppress(ValueError):
        status = rpc_status.from_call(error)  # type: ignore[arg-type]  # It is one in all but name.
        for detail in status.details if status else ():
            info = error_details_pb2.ErrorInfo()
            if detail.Unpack(info):
                return str(info.metadata.get("budget", "") or info.reason)
    return str(error.code().name)
