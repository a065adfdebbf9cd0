"""A log of schema 9, in which nothing is chained, is brought up to date where it is."""

import asyncio
import shutil
import sqlite3
from functools import partial

import asyncpg
import pytest

from croupier.v1.game_pb2 import View
from engine.game import SPECTATOR
from service.hosting.creation import NewMatch
from service.hosting.entries import EntryKind, Join, Resignation
from service.hosting.matches import Matches
from service.hosting.records import write_record
from service.hosting.seats import Caller
from service.hosting.views import serialize_view
from service.observability.metrics import Metrics
from service.store import Position, Query, chain, postgresql_tables, sqlite, sqlite_tables
from tests.support.serving import events_of, ruleset_of, view_of
from tests.support.stores import PostgresPlace, SqlitePlace, opened
from tests.support.time_controls import control

TABLES = ("matches", "entries", "snapshots", "heads", "settings")
OLD_EPOCH = "0123abcd"


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    if request.param == "sqlite":
        return SqlitePlace(tmp_path / "log")
    return PostgresPlace(request.getfixturevalue("postgres"))


def unchained(tables):
    """The rows of a log as schema 9 has them, by table."""
    matches, entries, snapshots, heads, settings = (tables[name] for name in TABLES)
    for row in (*matches, *entries):
        row["feed"] = row["feed"][chain.SEAL_BYTES :]
    for row in matches:
        del row["salt"], row["names_hash"], row["course"], row["facts_seal"]
    for row in entries:
        if row["kind"] == EntryKind.JOIN:
            row["action"] = row["names"][chain.SALT_BYTES :]
        del row["names"], row["course"], row["digest"]
    return {
        "matches": matches,
        "entries": entries,
        "snapshots": snapshots,
        "agenda": [
            {"match_id": row["match_id"], "at": row["due"]}
            for row in heads
            if row["due"] is not None
        ],
        "settings": [
            {"name": "key", "value": row["value"][chain.SEAL_BYTES :]}
            for row in settings
            if row["name"] == "key"
        ],
    }


def insert(table, row, sign):
    """The statement that inserts a row of some columns."""
    values = ", ".join(f"{sign}{number}" for number in range(1, len(row) + 1))
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})", tuple(row.values())


def set_back_sqlite(place):
    path = place.directory / sqlite.FILE
    elsewhere = place.directory.with_suffix(".9")
    old, new = sqlite3.connect(path), sqlite3.connect(elsewhere)
    old.row_factory = sqlite3.Row
    tables = {name: [dict(row) for row in old.execute(f"SELECT * FROM {name}")] for name in TABLES}
    for statement in sqlite_tables.SCHEMA:
        new.execute(statement)
    new.execute("UPDATE settings SET value = ? WHERE name = 'epoch'", (OLD_EPOCH.encode(),))
    for table, rows in unchained(tables).items():
        for row in rows:
            new.execute(*insert(table, row, "?"))
    new.execute(f"PRAGMA application_id = {sqlite_tables.APPLICATION_ID}")
    new.execute("PRAGMA user_version = 9")
    new.commit()
    new.close()
    old.close()
    # With what is beside it.
    shutil.rmtree(place.directory)
    place.directory.mkdir()
    elsewhere.rename(path)


async def set_back_postgresql(place):
    file = await asyncpg.connect(place.url)
    tables = {name: [dict(row) for row in await file.fetch(f"TABLE {name}")] for name in TABLES}
    await file.execute(f"DROP TABLE {', '.join(TABLES)}, incarnations")
    await file.execute(postgresql_tables.SCHEMA)
    for table, rows in unchained(tables).items():
        for row in rows:
            sql, values = insert(table, row, "$")
            await file.execute(sql, *values)
    await file.execute("UPDATE croupier_schema SET version = 9")
    await file.close()


async def decide(matches, match_id):
    state = await matches.load(match_id)
    seat = state.deciders[0]
    legal = view_of(state, seat).legal_actions[0]
    request = f"request {state.version}"
    await matches.submit(Caller(match_id, seat), state.version, legal, request)


async def play(store):
    """Plays a match that is over, one with a clock, and two without; returns their ids."""
    matches = Matches(store, Metrics())
    kinds = (
        {"owner": "an owner", "creator": "somebody"},
        {"time_control": control(per_decision=600_000)},
        {"display_names": ("Ann", ""), "key_name": "a key"},
        {},
    )
    ids = []
    for fields in kinds:
        asked = NewMatch(ruleset_of("skystones"), invited=(1,), **fields)
        ids.append((await matches.create(asked)).header.match_id)
    for match_id in ids[:3]:
        join = {"key_name": "another key", "display_name": "Bob", "request_id": "joins"}
        await matches.carry_out(Caller(match_id, 1), partial(Join.ask, **join))
        for _ in range(4):
            await decide(matches, match_id)
    await matches.carry_out(Caller(ids[0], 0), Resignation.ask)
    return ids


async def shown(store, ids, epoch):
    """All that a log shows, but for what tells versions of the same number from each other."""
    found = [await store.key(bytes(32))]
    for match_id in ids:
        state = await Matches(store, Metrics()).load(match_id)
        for viewer in (0, 1, SPECTATOR):
            view = View.FromString(serialize_view(state, viewer))
            view.ClearField("etag")
            found.append(view)
            found += [events_of(state, version, viewer) for version in range(state.version + 1)]
        found += [state.seats, state.header._replace(salt=b"", names_hash=b"", course=b"")]
        if state.over:
            found.append(write_record(state))
    found += [
        list(await store.list_matches(Query(), 9)),
        await store.list_running(None, (0, ""), 9),
        (await store.list_updates(Position(epoch, 0), 99)).updates,
        await store.list_due(2**60, 9),
        await store.count_live("somebody"),
    ]
    return found


def test_a_log_of_schema_9_goes_on_as_it_was(place):
    async def begin():
        async with opened(place) as store:
            key, ids = await store.key(bytes(range(32))), await play(store)
            assert key == bytes(range(32))
            end = await store.list_updates(None, 9)
            return ids, await shown(store, ids, end.epoch), end

    async def go_on(ids, wanted):
        async with opened(place) as store:
            epoch = (await store.list_updates(None, 9)).epoch
            assert await shown(store, ids, epoch) == wanted
            if isinstance(place, SqlitePlace):
                # Its cursors are good; in PostgreSQL, an epoch was not that of a database alone.
                updates = await store.list_updates(Position(OLD_EPOCH, end.end), 9)
                assert updates.updates == []
                assert await store.list_updates(Position(OLD_EPOCH, end.end + 1), 9) is None
                assert len((await store.list_updates(Position(OLD_EPOCH, 0), 99)).updates) == 4

    async def decide_all(ids):
        async with opened(place) as store:
            for match_id in ids[1:3]:
                await decide(Matches(store, Metrics()), match_id)
            for match_id in ids[1:3]:
                assert (await Matches(store, Metrics()).load(match_id)).version == 6

    ids, wanted, end = asyncio.run(begin())
    if isinstance(place, SqlitePlace):
        set_back_sqlite(place)
    else:
        asyncio.run(set_back_postgresql(place))
    for _ in range(2):
        asyncio.run(go_on(ids, wanted))
    asyncio.run(decide_all(ids))
