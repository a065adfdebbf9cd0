"""The attacks on the web gateway. Each opens connections and writes bytes to them."""

import asyncio
import contextlib
import gzip
import json
import random
from functools import cache

from lab.overload.attacker import Attacker
from lab.overload.places import channel

AT_ONCE = 64
HELD_BACK = 500
WAITING = 1_000
PIPELINED = 1_000  # Requests that are written at once.
UPLOAD = bytes(500_000)
UPLOADS_A_SECOND = 250  # A gigabit.
CALL = (
    "/croupier.v1.MatchService/GetView"  # It is refused, which costs little more than to read it.
)


async def bad_hosts(attacker: Attacker) -> None:
    """Asks for pages of hosts whose names are none."""
    await _ask_on(attacker, _request(attacker, "GET", "/", host="["))


async def pipelined_requests(attacker: Attacker) -> None:
    """Writes requests on a few connections without reading the responses."""
    many = _request(attacker, "POST", CALL, b"{}") * PIPELINED

    async def write() -> None:
        async with attacker.connection(attacker.web) as (_, writer):
            while True:
                writer.write(many)
                await writer.drain()
                attacker.outcomes["written"] += PIPELINED

    await attacker.until_end(write, AT_ONCE)


async def bombs(attacker: Attacker) -> None:
    """Makes calls whose requests unpack to 64 MiB."""
    packed = {"content-encoding": "gzip"}
    await _ask_on(attacker, _request(attacker, "POST", CALL, _bomb(), **packed))


async def aborted_uploads(attacker: Attacker) -> None:
    """Resets each connection in the middle of a request."""
    said = _request(attacker, "POST", CALL, UPLOAD + b"x")[:-1]

    async def upload() -> None:
        async with attacker.connection(attacker.web) as (_, writer):
            writer.write(said)
            await writer.drain()
            attacker.outcomes["aborted"] += 1
        await asyncio.sleep(random.expovariate(UPLOADS_A_SECOND / AT_ONCE))

    await attacker.until_end(upload, AT_ONCE)


async def upgrades(attacker: Attacker) -> None:
    """Makes calls that offer to go on by HTTP/2."""
    offer = {"connection": "Upgrade, HTTP2-Settings", "upgrade": "h2c", "http2-settings": ""}
    await _ask_on(attacker, _request(attacker, "POST", CALL, b"{}", **offer))


async def held_back(attacker: Attacker) -> None:
    """Holds back the last bytes of many requests, and then sends them all at once."""
    packed = gzip.compress(json.dumps({"name": "\\" * 60_000}).encode(), 9)
    encoding = {"content-encoding": "gzip"}
    said = _request(attacker, "POST", CALL, packed, **encoding)

    async def at_once() -> None:
        async with contextlib.AsyncExitStack() as stack:
            opened = [
                await stack.enter_async_context(attacker.connection(attacker.web))
                for _ in range(HELD_BACK)
            ]
            for end in (slice(-1), slice(-1, None)):
                for _, writer in opened:
                    writer.write(said[end])
                await asyncio.sleep(1.0)
            for reader, _ in opened:
                head = await reader.readline()
                attacker.outcomes[head[9:12].decode()] += 1

    await attacker.until_end(at_once, 1)


async def waiting_views(attacker: Attacker) -> None:
    """Waits for a version that does not come, on as many connections as it can."""
    async with channel(attacker.near) as own:
        created = await attacker.create(own, ruleset={"skystones": {}})
    assert created is not None, attacker.outcomes
    asked = json.dumps({"name": created.name, "waitForVersion": 99}).encode()
    # Spectators count by their address alone.
    bearer = {"authorization": f"Bearer {created.spectator_token}"}
    await _ask_on(attacker, _request(attacker, "POST", CALL, asked, **bearer), WAITING)


WEB_ATTACKS = (
    bad_hosts,
    pipelined_requests,
    bombs,
    aborted_uploads,
    upgrades,
    held_back,
    waiting_views,
)


@cache
def _bomb() -> bytes:
    return gzip.compress(bytes(1 << 26), 9)


def _request(
    attacker: Attacker, method: str, path: str, body: bytes = b"", **headers: str
) -> bytes:
    sent = {"host": attacker.web, "content-type": "application/json"}
    sent |= {"content-length": str(len(body))} | dict(attacker.place.metadata) | headers
    lines = "".join(f"{name}: {text}\r\n" for name, text in sent.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


async def _ask_on(attacker: Attacker, said: bytes, at_once: int = AT_ONCE) -> None:
    # Sends a request on each of some connections as soon as the one before it is answered.
    async def ask() -> None:
        async with attacker.connection(attacker.web) as (reader, writer):
            while True:
                writer.write(said)
                head = await reader.readuntil(b"\r\n\r\n")
                attacker.outcomes[head.split(b" ", 2)[1].decode()] += 1
                if b"content-length: " in head:
                    size = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
                    await reader.readexactly(size)
                else:
                    await reader.readuntil(b"\r\n0\r\n\r\n")

    await attacker.until_end(ask, at_once)
