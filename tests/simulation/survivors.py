"""Survivors, who play on when the log has lost actions that were answered.

A database may be set up so that the server that takes over lacks what was committed last. Nothing
is promised of what is lost, but that the match goes on from what the log has. So they believe
whatever they are shown, and give the match up when nothing happens any more.
"""

import asyncio
import random

from croupier.v1 import match_pb2
from tests.simulation.network import CallError

PATIENCE_SECONDS = 10.0
ALLOWED = ("STALE_VERSION", "NOT_TO_DECIDE", "ILLEGAL_ACTION", "MATCH_OVER")


async def play_on(table):
    """Plays the match to its end."""
    players = [_play(table, seat) for seat in sorted(table.tokens)]
    watching = table.world.loop.create_task(_watch(table))
    try:
        await asyncio.gather(*players)
    finally:
        watching.cancel()


async def _play(table, seat):
    rng = random.Random(table.rng.getrandbits(64))
    client, world, token = table.client(), table.world, table.tokens[seat]
    look, seen, since = match_pb2.GetViewRequest(name=table.name), -1, world.now
    while True:
        await asyncio.sleep(rng.expovariate(1 / 3))
        try:
            view = (await client.call("GetView", look, token)).view
            if view.HasField("result"):
                return
            if view.version != seen:
                seen, since = view.version, world.now
            if world.now - since > PATIENCE_SECONDS:
                await client.call(
                    "ResignMatch", match_pb2.ResignMatchRequest(name=table.name), token
                )
            elif view.legal_actions:
                request = match_pb2.SubmitActionRequest(
                    name=table.name,
                    expected_version=view.version,
                    action=rng.choice(view.legal_actions),
                    request_id=f"{seat} {rng.getrandbits(64):016x}",
                )
                await client.call("SubmitAction", request, token)
        except CallError as error:
            if error.reason == "TOKEN_REPLACED":
                return  # The answer with the newest one was lost with its client.
            if error.reason not in ALLOWED:
                world.fail(f"{table}: after a loss, a call ends with {error}")


async def _watch(table):
    rng = random.Random(table.rng.getrandbits(64))
    client = table.client()
    while True:
        request = match_pb2.WatchMatchRequest(name=table.name)
        request.heartbeat_interval.FromSeconds(10)
        call = client.begin("WatchMatch", request, table.spectator_token, None, streams=True)
        try:
            while True:
                async with asyncio.timeout(25):
                    if await call.read() is None:
                        return
        except (CallError, TimeoutError):
            await asyncio.sleep(rng.uniform(0.1, 1.0))
        finally:
            call.cancel()
