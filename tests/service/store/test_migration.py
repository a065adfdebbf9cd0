"""Logs of other programs: that of schema 9, in which nothing is chained, goes on where it is."""

import shutil
import sqlite3
from functools import partial
from pathlib import Path

import asyncpg
import pytest

from croupier.v1.error_pb2 import ErrorReason
from croupier.v1.game_pb2 import View
from service.hosting.creation import NewMatch
from service.hosting.entries import EntryKind, Join, Resignation
from service.hosting.matches import Matches
from service.hosting.seats import Caller
from service.observability.metrics import Metrics
from service.store import Position, Query, chain, postgresql_tables, queries, sqlite, sqlite_tables
from service.store.interface import OLDEST, write_columns
from tests.support.scheduling import act
from tests.support.serving import ruleset_of, shown
from tests.support.stores import PostgresPlace, SqlitePlace, add, header, opened
from tests.support.time_controls import control
from wire.errors import Refusal

TABLES = ("matches", "entries", "snapshots", "heads", "settings")
NEWEST = OLDEST + len(sqlite_tables.MIGRATIONS)
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
        row["feed"] = row["feed"][chain.SEAL_BYTES : -queries.POSITION_BYTES]
    for row in matches:
        del row["salt"], row["names_hash"], row["course"], row["facts_seal"]
        del row["spectator_delay"], row["forbidden_offers"]
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
    await file.execute(f"DROP TABLE {', '.join(TABLES)}, incarnations, agenda, players")
    await file.execute(postgresql_tables.SCHEMA)
    for table, rows in unchained(tables).items():
        for row in rows:
            sql, values = insert(table, row, "$")
            await file.execute(sql, *values)
    await file.execute("UPDATE croupier_schema SET version = 9")
    await file.close()


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
        for number in range(4):
            await act(matches, match_id, f"request {number}")
    await matches.carry_out(Caller(ids[0], 0), Resignation.ask)
    return ids


async def shown_by(store, ids, epoch):
    """All that a log shows, but for what tells versions of the same number from each other."""
    found = [await store.key(bytes(32))]
    for match_id in ids:
        state = await Matches(store, Metrics()).load(match_id)
        messages = shown(state)
        for view in (each for each in messages if isinstance(each, View)):
            view.ClearField("etag")
        found += [
            messages,
            state.seats,
            state.header._replace(salt=b"", names_hash=b"", course=b""),
        ]
    found += [
        list(await store.list_matches(Query(), 9)),
        await store.list_running(None, (0, ""), 9),
        (await store.list_updates(Position(epoch, 0), 99)).updates,
        await store.list_due(2**60, 9),
        await store.count_live("somebody"),
    ]
    return found


async def set_back(place):
    """Makes the log one of schema 9."""
    if isinstance(place, SqlitePlace):
        set_back_sqlite(place)
    else:
        await set_back_postgresql(place)


@pytest.mark.parametrize("column", ["display_names", "key_names", "feed_position"])
async def test_a_match_of_schema_9_that_is_damaged_does_not_keep_the_others(place, column, caplog):
    async with opened(place) as store:
        ids = await play(store)
    await set_back(place)
    statement = f"UPDATE matches SET {column} = {{}} WHERE match_id = '{ids[0]}'"
    if isinstance(place, SqlitePlace):
        with sqlite3.connect(place.directory / sqlite.FILE) as file:
            file.execute(statement.format(-1 if column == "feed_position" else "x'ff00'"))
        file.close()
    else:
        file = await asyncpg.connect(place.url)
        value = -1 if column == "feed_position" else "'\\xff00'::bytea"
        await file.execute(statement.format(value))
        await file.close()
    async with opened(place) as store:
        for match_id in ids[1:]:
            await Matches(store, Metrics()).load(match_id)
        with pytest.raises(Refusal) as caught:
            await Matches(store, Metrics()).load(ids[0])
    assert caught.value.reason == ErrorReason.ERROR_REASON_MATCH_DAMAGED
    assert f"match '{ids[0]}' is damaged" in caplog.text


async def test_a_log_of_schema_9_goes_on_as_it_was(place):
    async with opened(place) as store:
        key, ids = await store.key(bytes(range(32))), await play(store)
        assert key == bytes(range(32))
        end = await store.list_updates(None, 9)
        wanted = await shown_by(store, ids, end.epoch)
    await set_back(place)
    for _ in range(2):
        async with opened(place) as store:
            epoch = (await store.list_updates(None, 9)).epoch
            assert await shown_by(store, ids, epoch) == wanted
            if isinstance(place, SqlitePlace):
                # Its cursors are good; in PostgreSQL, an epoch was not that of a database alone.
                updates = await store.list_updates(Position(OLD_EPOCH, end.end), 9)
                assert updates.updates == []
                assert await store.list_updates(Position(OLD_EPOCH, end.end + 1), 9) is None
                assert len((await store.list_updates(Position(OLD_EPOCH, 0), 99)).updates) == 4
    async with opened(place) as store:
        for match_id in ids[1:3]:
            await act(Matches(store, Metrics()), match_id)
            assert (await Matches(store, Metrics()).load(match_id)).version == 6


# Other programs


def set_version(place, version):
    if isinstance(place, PostgresPlace):
        place.server.execute(f"UPDATE {place.schema}.croupier_schema SET version = {version}")
    else:
        with sqlite3.connect(place.directory / sqlite.FILE) as file:
            file.execute(f"PRAGMA user_version = {version}")


async def test_a_server_of_schema_9_that_still_runs_is_refused_every_write(postgres):
    create, *appends = Path(__file__).with_name("schema_9.sql").read_text().split(";\n")
    entry = [["one"], [1], [0], [0], [5], [b"x"], [0], [b""], [b"1"], [None]]
    async with opened(PostgresPlace(postgres), "one") as store:
        async with store._connections.one() as connection:
            for statement, values in (
                (create, [*write_columns(header("two"))[:19], None, b"0"]),
                (appends[0], entry),
                (appends[1], [*entry, [False], [None]]),
            ):
                with pytest.raises(asyncpg.InvalidSchemaNameError, match=r"too old .*: stop it"):
                    await connection.fetch(statement, *values)
        assert (await store.load("one")).entries == []
        assert await store.load("two") is None
        assert await add(store, 0)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (OLDEST - 1, rf"older Croupier: .* {OLDEST - 1}, .* commit 9ce42e4"),
        (NEWEST + 1, rf"newer Croupier: .* {NEWEST + 1}, .* {NEWEST}"),
    ],
)
async def test_a_log_of_a_program_that_is_too_old_or_newer_is_refused(place, version, said):
    async with opened(place):
        pass
    set_version(place, version)
    for _ in range(2):  # It stays as it is.
        with pytest.raises(ValueError, match=said):
            await place.store().open()


async def test_an_older_log_is_brought_up_to_date_once(place, monkeypatch):
    tables = postgresql_tables if isinstance(place, PostgresPlace) else sqlite_tables
    changed = []

    def more(connection):
        changed.append(connection)
        return connection.execute("ALTER TABLE matches ADD COLUMN more INTEGER DEFAULT 5")

    async with opened(place, "one") as store:
        assert await add(store, 0)
    monkeypatch.setattr(tables, "MIGRATIONS", (*tables.MIGRATIONS, more))
    for _ in range(2):
        async with opened(place) as store:
            assert len((await store.load("one")).entries) == 1
    assert len(changed) == 1
