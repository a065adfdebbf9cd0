"""Where callers come from: each with an API key of its own, or from an address of its own."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import grpc

from service.admission.callers_file import DEFAULT_ADDRESS, DEFAULT_KEY, DEFAULT_PERSON

BY = ("key", "address")
Metadata = tuple[tuple[str, str], ...]


class Place(NamedTuple):
    """Where a caller comes from."""

    name: str
    key: str  # Empty: the caller has none.
    host: str  # An address of 127.0.0.0/8.

    @property
    def metadata(self) -> Metadata:
        """What the caller sends with every call."""
        return (("x-api-key", self.key),) if self.key else ()


def places(by: str) -> tuple[Place, Place]:
    """Returns the places of the attacker and of everybody else."""
    if by == "key":
        return Place("attacker", "key of the attacker", "127.0.0.1"), Place(
            "others", "key of the others", "127.0.0.1"
        )
    return Place("attacker", "", "127.0.0.2"), Place("others", "", "127.0.0.3")


def write_callers_file(path: Path, by: str, share: float = 1.0) -> None:
    """Writes a callers file, under which the attacker has a share of the budgets of any address."""
    attacker, others = places(by)
    limits = [f"{budget} = {share * limit}" for budget, limit in DEFAULT_ADDRESS.items()]
    # The others are few and play fast; what they may use is not what is measured.
    lines = ["[budgets.person]", *(f'{budget} = "unlimited"' for budget in DEFAULT_PERSON)]
    if by == "key":
        for place in (attacker, others):
            digest = hashlib.sha256(place.key.encode()).hexdigest()
            lines += [f"[keys.{place.name}]", f'sha256 = "{digest}"']
        lines += [f"[keys.{attacker.name}.budgets]", *limits, f"[keys.{others.name}.budgets]"]
        lines += [f'{budget} = "unlimited"' for budget in DEFAULT_KEY]
    else:
        lines += ["[budgets.address]", *limits]
    path.write_text("\n".join(lines) + "\n")


@asynccontextmanager
async def relayed(address: str, place: Place) -> AsyncIterator[str]:
    """Yields an address whose connections reach the server from the place's host.

    A gRPC channel cannot choose the address from which it connects.
    """
    if place.host == "127.0.0.1":
        yield address
        return
    host, _, port = address.rpartition(":")
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            to_reader, to_writer = await asyncio.open_connection(
                host, int(port), local_addr=(place.host, 0)
            )
            await asyncio.gather(_pump(reader, to_writer), _pump(to_reader, writer))
        tasks.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


def channel(address: str) -> grpc.aio.Channel:
    """A channel with a connection of its own."""
    return grpc.aio.insecure_channel(address, (("grpc.use_local_subchannel_pool", 1),))
