"""The chain of a match: a lost branch is known by its digests, and what was changed is told."""

import contextlib
import sqlite3
from functools import partial

import pytest

from croupier.v1.error_pb2 import ErrorReason
from service.hosting.creation import NewMatch
from service.hosting.entries import Join, Resignation
from service.hosting.matches import Matches
from service.hosting.seats import Caller
from service.observability.metrics import Metrics
from service.store import MemoryStore, Position, Query
from tests.support.scheduling import act
from tests.support.serving import ruleset_of, shown
from tests.support.stores import (
    NOT_DUE,
    Branch,
    SqlitePlace,
    action,
    append,
    header,
    lose,
    opened,
    read,
)
from tests.support.time_controls import control
from wire.errors import Refusal

DAMAGED = ErrorReason.ERROR_REASON_MATCH_DAMAGED


@pytest.mark.parametrize("anew", [1, 2, 3])
async def test_a_branch_that_was_lost_is_told_from_one_of_the_same_versions_and_times(store, anew):
    await store.create(header(), NOT_DUE)
    one = Branch()
    heads = [one.head]
    for data in (b"kept", b"lost", b"lost"):
        assert await one.append(store, action(0, data))
        heads.append(one.head)
    await lose(store, "one", 1)
    for version in range(1, 1 + anew):
        assert await append(store, "one", version, action(0, b"anew"))
    for head in heads[:2]:
        assert await store.read("one", head) is not None
    for head in heads[2:]:
        assert await store.read("one", head) is None
    assert not await one.append(store, action(0))
    assert await read(store, "one") == [action(0, b"kept"), *[action(0, b"anew")] * anew]


# What was changed


class Log:
    """A log in a file: a match that runs and one that is over, and what is shown of both."""

    def __init__(self, store):
        self.store = store
        self.file = sqlite3.connect(store._path, isolation_level=None)
        self.file.execute("PRAGMA synchronous = OFF")

    async def fill(self):
        matches = Matches(self.store, Metrics())
        for over in (False, True):
            asked = NewMatch(
                ruleset_of("skystones"),
                invited=(1,),
                key_name="a key",
                display_names=("Ann", ""),
                owner="an owner",
            )
            match_id = (await matches.create(asked)).header.match_id
            join = {"key_name": "another key", "display_name": "Bob", "request_id": "joins"}
            await matches.carry_out(Caller(match_id, 1), partial(Join.ask, **join))
            for version in range(1, 4):
                await act(matches, match_id, f"request {version}")
            if over:
                await matches.carry_out(Caller(match_id, 0), Resignation.ask)
        # In a table that is not strict, a value may be of any type, as after a flip on the disk.
        self.file.execute("PRAGMA writable_schema = ON")
        self.file.execute(
            "UPDATE sqlite_master SET sql = replace(replace(sql, 'STRICT, WITHOUT', 'WITHOUT'), "
            "') STRICT', ')') WHERE type = 'table'"
        )
        self.file.execute("PRAGMA writable_schema = RESET")
        self.begin = Position((await self.store.list_updates(None, 1)).epoch, 0)
        self.ids = [row[0] for row in self.file.execute("SELECT match_id FROM matches")]

    async def shown(self, match_id):
        """What is shown of a match; the reason where it is refused."""
        matches = Matches(self.store, Metrics())
        try:
            state = await matches.load(match_id)
        except Refusal as refusal:
            return refusal.reason
        return shown(state)

    async def told(self):
        """What the lists and the feed tell, by what is listed, without what is damaged."""
        lists = {
            "list": await self.store.list_matches(Query(), 9),
            "feed": (await self.store.list_updates(self.begin, 99)).updates,
            "running": await self.store.list_running(None, (-(2**63), ""), 9),
        }
        return {
            (what, each.match_id): each
            for what, found in lists.items()
            for each in found
            if not each.damaged
        }


def changed(value):
    """Other values that a cell may have after some bits of it were flipped."""
    yield from (7, "text", b"bytes", None)
    if isinstance(value, int):
        yield from (value ^ 1 << bit for bit in (0, 1, 3, 8, 40))
    elif value is None:
        yield from (0, 1)
    else:
        data = value.encode() if isinstance(value, str) else value
        for at in {0, len(data) // 2, len(data) - 1} if data else ():
            for bit in (1, 128):
                flipped = data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
                yield flipped
                if isinstance(value, str):
                    yield sqlite3.Binary(flipped) if bit == 128 else flipped.decode()
        yield from (data[:-1], data + b"\0", b"")


@pytest.mark.parametrize("table", ["matches", "heads", "entries"])
async def test_a_cell_that_has_changed_shows_nothing_else_of_its_match(table, tmp_path):
    async with opened(SqlitePlace(tmp_path / "log")) as store:
        log = Log(store)
        await log.fill()
        true = {match_id: await log.shown(match_id) for match_id in log.ids}
        told = await log.told()
        columns = [row[1] for row in log.file.execute(f"PRAGMA table_info({table})")]
        keys = ["match_id", "version"] if table == "entries" else ["match_id"]
        rows = log.file.execute(f"SELECT {', '.join(keys)} FROM {table}").fetchall()
        damaged = set()
        for key in rows:
            for column in columns:
                where = " AND ".join(f"{name} = ?" for name in keys)
                cell = f"SELECT {column} FROM {table} WHERE {where}"
                [(value,)] = log.file.execute(cell, key).fetchall()
                for other in changed(value):
                    if other == value and type(other) is type(value):
                        continue
                    if column == "names" and other == b"":
                        continue  # They were erased.
                    if column == "feed_position" and not isinstance(other, int):
                        continue  # It is no part of a match, and the feed as a whole needs it.
                    change = f"UPDATE {table} SET {column} = ? WHERE {where}"
                    try:
                        log.file.execute(change, (other, *key))
                    except sqlite3.IntegrityError:
                        continue  # The table takes no such value.
                    what = (table, column, key, value, other)
                    for match_id in log.ids:
                        answer = await log.shown(match_id)
                        if match_id != key[0]:
                            assert answer == true[match_id], what
                        elif answer == DAMAGED:
                            damaged.add(column)
                        elif (table, column) == ("matches", "match_id"):
                            assert answer == ErrorReason.ERROR_REASON_MATCH_NOT_FOUND, what
                        else:
                            assert answer == true[match_id], what
                    ids = await store.list_ids("matches", "", 9)
                    assert all(isinstance(each, str) for each in ids), what
                    found = await log.told()
                    for each in found:
                        if each in told:
                            assert found[each] == told[each], what
                    restore(log.file, table, keys, key, column, value, other)
        assert await log.told() == told
        print(table, "is damaged by", sorted(damaged), "and not by", set(columns) - damaged)


@pytest.mark.parametrize("value", ["text", b"bytes", None, 7.5])
async def test_what_is_beside_a_match_may_be_of_any_type(value, tmp_path):
    async with opened(SqlitePlace(tmp_path / "log")) as store:
        log = Log(store)
        await log.fill()
        matches = Matches(store, Metrics())
        asked = NewMatch(ruleset_of("skystones"), time_control=control(per_decision=600_000))
        match_id = (await matches.create(asked)).header.match_id
        await act(matches, match_id)
        true = await log.shown(match_id)
        for change in (
            "UPDATE heads SET due = ?1 WHERE match_id = ?2",
            "INSERT OR REPLACE INTO snapshots VALUES (?2, ?1, x'00')",
            "INSERT OR REPLACE INTO snapshots VALUES (?2, 1, ?1)",
        ):
            with contextlib.suppress(sqlite3.IntegrityError):
                log.file.execute(change, (value, match_id))
            assert await log.shown(match_id) == true, change


def restore(file, table, keys, key, column, value, other):
    at = [other if name == column else part for name, part in zip(keys, key, strict=True)]
    where = " AND ".join(f"{name} IS ?" for name in keys)
    done = file.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value, *at))
    assert done.rowcount == 1


async def test_names_can_be_erased_and_not_be_changed(tmp_path):
    async with opened(SqlitePlace(tmp_path / "log")) as store:
        log = Log(store)
        await log.fill()
        one, _ = log.ids
        for statement, damages in (
            ("UPDATE matches SET display_names = CAST('Eve' || x'00' AS BLOB)", True),
            ("UPDATE matches SET salt = x'', display_names = x'', key_names = x''", False),
            ("UPDATE entries SET names = CAST(names || x'21' AS BLOB) WHERE names <> x''", True),
            ("UPDATE entries SET names = x''", False),
        ):
            log.file.execute(statement)
            assert (await log.shown(one) == DAMAGED) == damages, statement
            if not damages:
                state = await Matches(log.store, Metrics()).load(one)
        assert state.header.display_names == ("", "")


def test_a_log_with_matches_and_without_a_key_is_told_of(servers, start, caplog):
    store = MemoryStore()
    for expected in (0, 1):
        server, client = start(store)
        assert caplog.text.count("had no key") == expected
        client = client
        client.create(ruleset_of("skystones"))
        client.close()
        servers.stop(server)
        store._anchor.execute("UPDATE OR REPLACE settings SET name = 'kex' WHERE name = 'key'")
