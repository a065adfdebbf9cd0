"""A log that is restored from a backup, and then emptied, while followers keep their cursors.

SQLite alone: of PostgreSQL, a standby that lacks something is such a log (`troubles.py`).
"""

import asyncio
import math
import random

from croupier.v1 import feed_pb2, match_pb2
from service.store import sqlite_tables
from service.store.interface import WITH_IDS
from tests.simulation.clients import GAMES, Client, new_id
from tests.simulation.followers import METHOD
from tests.simulation.network import CallError
from tests.support.serving import ruleset_of

SWEPT_SECONDS = 10.0  # After which a server that has begun has deleted what it is to delete.
DELETED_SECONDS = 120.0  # In which all of it is.
RESPONSES = 20  # After which a follower who has not been told of something will not be.


async def restore(inhabitants):
    """Fails if who goes on at a cursor is not told of something, and not that it has expired."""
    world = inhabitants.world
    machine, rng = world.machines[0], random.Random(f"restore/{world.seed}")
    client = Client(inhabitants, rng)
    cursors = [(await _follow(client, ""))[1]]
    for backs_up in (True, False):
        made = await _create(client, rng)
        cursors.append((await _follow(client, cursors[-1], made))[1])
        if backs_up:
            backup = world.disk.back_up()
    await machine.stop()
    world.tell(f"the log is restored from a backup, after the cursors {', '.join(cursors)}")
    world.disk.restore(backup)
    await machine.start()
    client.connect()
    # Another one follows all the while, so that the server keeps the end of the feed.
    following = world.loop.create_task(_follow(client, "", {"no match"}))
    await asyncio.sleep(1)
    made = await _create(client, rng)
    for cursor in cursors:
        told, _ = await _follow(client, cursor, made)
        if told is not None and (missed := made - told):
            world.fail(f"after a restore, a follower at {cursor} misses {sorted(missed)[0]}")
    await following
    await _retire(world, machine, client, rng)
    client.close()


async def _retire(world, machine, client, rng):
    # When all is over, all is deleted, but for the end of the feed.
    await asyncio.sleep(2 * world.end_idle)
    _, cursor = await _follow(client, "")
    ended = [at for at in _ended(world).values() if at < math.inf]
    age = world.epoch + world.now - max(ended, default=0.0)
    # First what has ended last is too young.
    for machine.retains in (age + 3 * SWEPT_SECONDS, 1.0):
        await _delete(world, machine)
    made = await _create(client, rng)
    told, _ = await _follow(client, cursor, made)
    if told is None or made - told:
        world.fail(f"who was told of all that was deleted is told {told}, not {made}")


def _ended(world):
    # When each match was over, in seconds.
    rows = world.disk.reading().execute("SELECT match_id, ended FROM matches").fetchall()
    return {match_id: math.inf if at is None else at / 1000 for match_id, at in rows}


async def _delete(world, machine):
    # What is over for as long as it is retained is deleted, and nothing else.
    # At the earliest: what runs may end at once.
    ended = {name: min(at, world.epoch + world.now) for name, at in _ended(world).items()}
    for _ in range(2):
        await machine.stop()
        await machine.start()
        await asyncio.sleep(SWEPT_SECONDS)
    until = world.now + DELETED_SECONDS
    while True:
        log, before = world.disk.reading(), world.epoch + world.now - machine.retains
        rows = log.execute("SELECT match_id FROM matches WHERE ended IS NULL")
        running = {match_id for (match_id,) in rows}
        named = (sqlite_tables.read_ids(log, table, "", 999) for table in WITH_IDS)
        there, over = set().union(*named), ended.keys() - running
        young = {each for each in over if ended[each] > before - 2 * SWEPT_SECONDS}
        if early := {each for each in young if ended[each] > before + world.skew} - there:
            world.fail(f"{early} were deleted before they were over for {machine.retains} s")
        if not (left := there - running - young):
            return
        if world.now > until:
            world.fail(f"what was deleted has left something of {left}")
        await asyncio.sleep(SWEPT_SECONDS)


async def _create(client, rng):
    # The names of some new matches.
    requests = [
        match_pb2.CreateMatchRequest(ruleset=ruleset_of(rng.choice(GAMES)), request_id=new_id(rng))
        for _ in range(rng.randrange(1, 5))
    ]
    return {(await client.call("CreateMatch", each)).name for each in requests}


async def _follow(client, cursor, wanted=frozenset()):
    # What the feed tells after a cursor, and its next one; None if the cursor has expired.
    request, told = feed_pb2.WatchMatchesRequest(cursor=cursor), set()
    request.heartbeat_interval.FromSeconds(1)
    call = client.begin(METHOD, request, client.world.operator_token, None, streams=True)
    try:
        for _ in range(RESPONSES):
            response = feed_pb2.WatchMatchesResponse.FromString(await call.read())
            told.update(each.name for each in response.updates)
            cursor = response.cursor or cursor
            if response.cursor and wanted <= told:
                break
    except CallError as error:
        if error.reason != "CURSOR_EXPIRED":
            raise
        return None, ""
    finally:
        call.cancel()
    return told, cursor
