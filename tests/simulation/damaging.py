"""A log in which something was changed by no server: what it tells is right, or refused.

SQLite alone.
"""

import random
import sqlite3
from contextlib import closing

from croupier.v1 import error_pb2, feed_pb2, match_pb2
from engine.game import SPECTATOR
from service.api.authentication import Tokens
from service.hosting.seats import Caller
from tests.simulation import shown
from tests.simulation.clients import Client
from tests.simulation.course import course_of, courses, etag_at
from tests.simulation.followers import METHOD
from tests.simulation.network import CallError

# What is changed, and whether a match cannot be shown any more.
COLUMNS = {
    "entries.action": True,
    "entries.at": True,
    "entries.feed": False,
    "heads.digest": True,
    "matches.secret": True,
    "matches.created": True,
}
MOST = 6
WHAT, DAMAGED = "damage", "MATCH_DAMAGED"
ERROR = error_pb2.ERROR_REASON_MATCH_DAMAGED


async def damage(inhabitants):
    """Fails if something that was changed is told, or a match that was changed is shown."""
    world, machine = inhabitants.world, inhabitants.world.machines[0]
    rng = random.Random(f"damage/{world.seed}")
    # In those that run, the server acts meanwhile.
    known = {each.header.match_id: each for each in world.all_stored() if each.over}
    known = {match_id: each for match_id, each in known.items() if each.entries}
    hurt = {
        each: rng.choice(list(COLUMNS))
        for each in rng.sample(sorted(known), k=min(MOST, len(known)))
    }
    world.troubles.present.append((world.now, WHAT))
    await machine.stop()
    whole = world.disk.back_up()
    with closing(sqlite3.connect(":memory:")) as log:
        log.deserialize(whole[:18] + bytes([1, 1]) + whole[20:])  # In memory, without a WAL.
        for match_id, column in hurt.items():
            table, name = column.split(".")
            where = "WHERE match_id = ?"
            if table == "entries":
                where += f" AND version = {len(known[match_id].entries)}"
            [(value,)] = log.execute(f"SELECT {name} FROM {table} {where}", (match_id,))
            new = (
                value + 1
                if isinstance(value, int)
                else bytes([*value[:-1], (value or bytes(1))[-1] ^ 1])
            )
            log.execute(f"UPDATE {table} SET {name} = ? {where}", (new, match_id))
            world.tell(f"{column} of {match_id} is changed")
        log.commit()
        world.disk.restore(log.serialize())
    await machine.start()
    client = Client(inhabitants, rng)
    tokens = Tokens(world.key_file.read_bytes())
    for match_id, column in hurt.items():
        token = tokens.make(Caller(match_id, SPECTATOR))
        request = match_pb2.GetViewRequest(name=f"matches/{match_id}")
        stored = known[match_id]
        right = shown.view(course_of(stored), SPECTATOR, etag_at(stored, len(stored.entries)))
        right.ruleset.ParseFromString(stored.header.ruleset)
        try:
            view = (await client.call("GetView", request, token)).view
        except CallError as error:
            told = error.reason, error.metadata.get("match")
            if told != (DAMAGED, request.name):
                world.fail(f"{request.name}, whose {column} was changed, is refused: {error}")
        else:
            if COLUMNS[column] or (wrong := shown.wrong(view, right)):
                what = "it is shown" if COLUMNS[column] else f"it has a wrong {wrong}"
                world.fail(f"{request.name}, whose {column} was changed: {what}")
    await _list(world, client, hurt, known)
    await _follow(inhabitants, client, hurt, known)
    client.close()
    await machine.stop()
    world.disk.restore(whole)
    await machine.start()
    world.troubles.present.pop()
    world.troubles.calm_since = world.now
    world.counts["damages"] += len(hurt)


async def _list(world, client, hurt, known):
    request, seen = match_pb2.ListMatchesRequest(page_size=1000), {}
    response = await client.call("ListMatches", request, world.operator_token)
    errors = {each.name for each in response.errors}
    if wrong := [each for each in response.errors if each.reason != ERROR]:
        world.fail(f"a list of matches that were changed has the errors {wrong}")
    for match in response.matches:
        match_id = match.name.removeprefix("matches/")
        seen[match_id] = match
        if match_id in known and match.name not in errors:
            if wrong := shown.wrong(match, shown.match(course_of(known[match_id]))):
                world.fail(f"{match.name} is listed with a wrong {wrong}: {hurt.get(match_id)}")
        elif match_id in known and match_id not in hurt:
            world.fail(f"{match.name}, in which nothing was changed, cannot be listed")


async def _follow(inhabitants, client, hurt, known):
    # From the first position that anybody was told of.
    world = inhabitants.world
    cursor = next((each.cursors[1] for each in inhabitants.heard), "")
    request, told = feed_pb2.WatchMatchesRequest(cursor=cursor), []
    request.heartbeat_interval.FromSeconds(1)
    call = client.begin(METHOD, request, world.operator_token, None, streams=True)
    try:
        for _ in range(400):
            response = feed_pb2.WatchMatchesResponse.FromString(await call.read())
            told += response.updates
            if not response.updates:
                break
    except CallError as error:
        if error.reason != "CURSOR_EXPIRED":
            raise
    finally:
        call.cancel()
    for update in told:
        stored = known.get(update.name.removeprefix("matches/"))
        for course, entry, _ in courses(stored) if stored else ():
            right = update if course.version != update.version else shown.update(course, entry)
            if wrong := shown.wrong(update, right):
                world.fail(f"a feed tells of {update.name} after a change a wrong {wrong}")
