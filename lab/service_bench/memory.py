"""Measures what clients take of a server's memory: `python -m lab.service_bench.memory`.

Each row is measured on a server of its own, beside its search process, with a database in a
temporary directory. What many of a kind take is divided by their number; of searches and reviews
the most that the search process had at a time is told. It takes two minutes.
"""

import argparse
import asyncio
import contextlib
import itertools
import random
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from pathlib import Path

import grpc

import wire
from croupier.client import HINT_POLICIES, Client, Seat
from croupier.terminal.arguments import declare
from croupier.v1 import match_pb2, match_pb2_grpc
from lab.service_bench.servers import MeasuredServer, children
from tests.support.ports import free_port

_OPTIONS = """
--number N [300]
    connections, streams and matches of each kind
--seconds S [8.0]
    the time limit of the hints
"""

# Strangers may have fewer.
_CALLERS = """\
[budgets.address]
calls_per_second = "unlimited"
matches_per_hour = "unlimited"
live_matches = "unlimited"
processor_milliseconds_per_second = "unlimited"
search_seconds_per_minute = "unlimited"
"""
_SETTLE_SECONDS = 2.5  # Until freed memory was given back.
_LOOK_SECONDS = 0.02
_WARM = 20  # Of each kind, before anything is measured.


def main() -> None:
    """Prints a table, row by row."""
    chosen = _parser().parse_args()
    print(f"{'':50}{'match server':>14}{'search process':>16}")
    number, games = chosen.number, tuple(wire.hosted_games())
    for name, open_all in (
        ("a connection of gRPC", _connections),
        ("a connection of the web gateway", _web_connections),
        ("a match that is followed, on a shared connection", _streams),
    ):
        with _serving() as (server, web):
            asyncio.run(_measure_open(name, server, web, open_all, number))
    for game in games:
        with _serving() as (server, _), Client(server.address) as client:
            _play(client, game, _WARM)
            before = _settled(server)
            _play(client, game, number)
            _show(f"a match of {game} in its middle", (_settled(server) - before) / number)
    for game in games:
        with _serving() as (server, _), Client(server.address) as client:
            seat = _play(client, game, 1)
            hint = partial(seat.suggest, seconds=chosen.seconds)
            _show_search(f"a hint of {chosen.seconds:g} s, {game}", server, hint)
            seat.resign()
            _show_search(f"a review, {game}", server, partial(_review, seat))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lab.service_bench.memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    declare(parser, _OPTIONS, {"N": int, "S": float})
    return parser


@contextlib.contextmanager
def _serving() -> Iterator[tuple[MeasuredServer, str]]:
    # A server, and the address of its web gateway.
    with tempfile.TemporaryDirectory(prefix="croupier-memory-") as name:
        callers, web = Path(name, "callers.toml"), f"127.0.0.1:{free_port()}"
        callers.write_text(_CALLERS)
        options = ("--callers-file", str(callers), "--web", web, "--allow-seeds")
        with MeasuredServer(Path(name, "data"), options) as server:
            yield server, web


def _settled(server: MeasuredServer) -> int:
    time.sleep(_SETTLE_SECONDS)
    return _resident(server.pid)


def _resident(pid: int) -> int:
    # Bytes; 0 if the process has just ended.
    with contextlib.suppress(FileNotFoundError):
        return 4096 * int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return 0


_Open = Callable[[AsyncExitStack, MeasuredServer, str, int], Awaitable[None]]


async def _measure_open(
    name: str, server: MeasuredServer, web: str, open_all: _Open, number: int
) -> None:
    async with AsyncExitStack() as stack:
        await open_all(stack, server, web, _WARM)
        before = await asyncio.to_thread(_settled, server)
        await open_all(stack, server, web, number)
        _show(name, (await asyncio.to_thread(_settled, server) - before) / number)


async def _channel(stack: AsyncExitStack, server: MeasuredServer) -> grpc.aio.Channel:
    options = (("grpc.use_local_subchannel_pool", 1),)
    channel = grpc.aio.insecure_channel(server.address, options)
    await stack.enter_async_context(channel)
    await channel.channel_ready()
    return channel


async def _connections(
    stack: AsyncExitStack, server: MeasuredServer, web: str, number: int
) -> None:
    for _ in range(number):
        await _channel(stack, server)


async def _web_connections(
    stack: AsyncExitStack, server: MeasuredServer, web: str, number: int
) -> None:
    for _ in range(number):
        reader, writer = await asyncio.open_connection(*web.split(":"))
        stack.callback(writer.close)
        writer.write(f"GET /healthz HTTP/1.1\r\nhost: {web}\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")


async def _streams(stack: AsyncExitStack, server: MeasuredServer, web: str, number: int) -> None:
    stub = match_pb2_grpc.MatchServiceStub(await _channel(stack, server))
    with Client(server.address) as client:
        new = await asyncio.to_thread(client.create_match, "skystones")
    asked = match_pb2.WatchMatchRequest(name=new.name)
    metadata = (("authorization", f"Bearer {new.spectator.token}"),)
    for _ in range(number):
        stream = stub.WatchMatch(asked, metadata=metadata)
        stack.callback(stream.cancel)
        await stream.read()


def _play(client: Client, game: str, number: int) -> Seat:
    # Matches that are played to their middle; returns a seat of the last one, which is to decide.
    chance, seeds, played = random.Random(1), itertools.count(), 0
    while played < number:
        allowed = HINT_POLICIES["allowed"]
        new = client.create_match(game, seed=next(seeds), hint_policy=allowed)
        for _ in range(_MIDDLE[game]):
            deciders = new.spectator.view().deciders
            if not deciders:
                break  # It was short.
            view = new.seats[deciders[0]].view()
            new.seats[deciders[0]].submit(chance.choice(view.legal_actions), view.version)
        deciders = new.spectator.view().deciders
        played += bool(deciders)
    return new.seats[deciders[0]]


def _review(seat: Seat) -> None:
    for _ in seat.review():
        pass


# Decisions.
_MIDDLE = {"castle_rampage": 30, "champion_chess": 12, "powershot_soccer": 40, "skystones": 18}


def _show(name: str, size: float) -> None:
    print(f"{name:50}{size / 1000:11.1f} KB", flush=True)


def _show_search(name: str, server: MeasuredServer, ask: Callable[[], object]) -> None:
    # The most that each of the two had while it was done, beyond what they had before.
    def resident() -> tuple[int, int]:
        return _resident(server.pid), sum(map(_resident, children(server.pid)))

    ended, before = threading.Event(), resident()
    most = list(before)

    def look() -> None:
        while not ended.wait(_LOOK_SECONDS):
            most[:] = map(max, most, resident())

    with ExitStack() as stack:
        looking = threading.Thread(target=look)
        looking.start()
        stack.callback(looking.join)
        stack.callback(ended.set)
        ask()
    own, search = ((top - first) / 2**20 for top, first in zip(most, before, strict=True))
    print(f"{name:50}{own:11.1f} MB{search:13.1f} MB", flush=True)


if __name__ == "__main__":
    main()
