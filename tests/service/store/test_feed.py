"""The feed of each kind of log: no update is ever added before its end."""

import asyncio
import random
import sqlite3
from contextlib import AsyncExitStack

import pytest

from service.store import MatchStatus, Position, postgresql_tables, sqlite
from service.store.interface import ENTRIES_AT_ONCE
from service.store.jobs import Append
from service.store.postgresql import PostgresStore
from tests.support.stores import (
    Branch,
    MemoryPlace,
    PostgresPlace,
    SqlitePlace,
    action,
    append,
    head_of,
    header,
    opened,
    sealed,
)
from wire.errors import Refusal

MATCHES, ROUNDS, READERS = 12, 12, 3
OVER = MatchStatus(over=True)


async def write(store, match_id, rng):
    """Creates a match and adds entries, with pauses."""
    await store.create(header(match_id), MatchStatus(feed=b"0"))
    for version in range(ROUNDS):
        await asyncio.sleep(rng.choice((0, 0, 0.001, 0.003)))
        feed = f"{version + 1}".encode()
        assert await append(
            store,
            match_id,
            version,
            action(version % 2),
            MatchStatus(over=version == ROUNDS - 1, feed=feed),
        )


async def begin_of(store):
    """The position before all that the feed tells."""
    return Position((await store.list_updates(None, 1)).epoch, 0)


async def follow(store, limit, done):
    """Follows the feed until it has told of the ends of all matches; returns what it has told."""
    position, told = await begin_of(store), {}
    while True:
        last = done.is_set()
        found = await store.list_updates(position, limit)
        assert found.end >= position.number
        for update in found.updates:
            assert position.number < update.position <= found.end
            assert update.feed == f"{update.version}".encode()
            # The versions of a match ascend.
            assert update.version > told.get(update.match_id, -1)
            told[update.match_id] = update.version
        position = Position(found.epoch, found.end)
        if last and not found.more:
            return told
        await asyncio.sleep(0)


@pytest.mark.parametrize("limit", [1, 7, 500])
async def test_a_reader_beside_writers_misses_no_match(place, limit):
    seed = random.randrange(10**9)
    print("seed", seed)
    rng = random.Random(seed)
    wanted = {f"match{number}": ROUNDS for number in range(MATCHES)}

    async with AsyncExitStack() as stack:
        servers = 2 if isinstance(place, PostgresPlace) else 1
        stores = [await stack.enter_async_context(opened(place)) for _ in range(servers)]
        done = asyncio.Event()
        readers = [
            asyncio.create_task(follow(rng.choice(stores), limit, done)) for _ in range(READERS)
        ]
        writers = (write(rng.choice(stores), each, random.Random(rng.random())) for each in wanted)
        await asyncio.gather(*writers)
        done.set()
        for told in await asyncio.gather(*readers):
            assert told == wanted


async def test_an_open_transaction_holds_up_what_comes_after_it_and_nothing_is_missed(postgres):
    async with opened(PostgresPlace(postgres)) as store:
        await store.create(header("one"), MatchStatus(feed=b"0"))
        before = await store.list_updates(None, 9)
        # Another writer takes its place in the feed, and commits later than those after it.
        async with store._connections.one() as slow:
            transaction = slow.transaction()
            await transaction.start()
            head, status = await head_of(store, "one", 0), MatchStatus(feed=b"1")
            entry = Append(None, "one", head, sealed(head, action(0)), status, None)
            assert await postgresql_tables.append_entries(slow, [entry])
            await store.create(header("two"), MatchStatus(feed=b"0"))
            held = await store.list_updates(Position(before.epoch, before.end), 9)
            assert held.updates == []
            await transaction.commit()
        found = await store.list_updates(Position(held.epoch, held.end), 9)
        told = [(each.match_id, each.version, each.feed) for each in found.updates]
        assert told == [("one", 1, b"1"), ("two", 0, b"0")]


def change_below_the_indexes(path, change):
    """Changes rows of a log, and leaves the indexes of the feed as they are."""
    for statement in ("DELETE FROM", "INSERT INTO"):
        with sqlite3.connect(path) as file:
            file.execute("PRAGMA writable_schema = ON")
            if statement == "DELETE FROM":
                query = "SELECT * FROM sqlite_master WHERE name IN ('entries_feed', 'matches_feed')"
                indexes = file.execute(query).fetchall()
                file.execute(query.replace("SELECT *", "DELETE"))
            else:
                file.execute(change)
                file.executemany("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", indexes)
        file.close()


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        # An index that says another version, match or position than the row that it leads to.
        "UPDATE entries SET version = version + 1 WHERE version = 2",
        "UPDATE entries SET feed_position = feed_position + 1 WHERE version = 2",
        "UPDATE matches SET feed_position = feed_position + 1",
        "UPDATE entries SET match_id = CAST(x'80' AS TEXT) WHERE version = 2",
        # And a row that cannot be found any more.
        "DELETE FROM entries WHERE version = 2",
        "DELETE FROM heads",
        "UPDATE heads SET over = 1",
    ],
)
async def test_what_an_index_says_of_a_match_is_told_only_where_its_rows_say_the_same(
    change, below, tmp_path
):
    place = SqlitePlace(tmp_path / "log")
    async with opened(place) as store:
        for match_id in ("one", "two"):
            await store.create(header(match_id), MatchStatus(feed=b"0"))
        for version in range(2):
            status = MatchStatus(feed=f"{version + 1}".encode())
            await append(store, "one", version, action(0), status)
    true = [("one", 2, b"2"), ("two", 0, b"0")]
    path = place.directory / sqlite.FILE
    if below:
        change_below_the_indexes(path, change)
    else:
        with sqlite3.connect(path) as file:
            file.execute(change)
        file.close()
    async with opened(place) as store:
        begin = await begin_of(store)
        feed = (await store.list_updates(begin, 9)).updates
        # Nobody can miss an entry that no index and no row has.
        if below or not change.startswith("DELETE FROM entries"):
            assert len({each.match_id.encode() for each in feed}) == 2
        for updates in (feed, await store.list_running(None, (0, ""), 9)):
            told = [
                (each.match_id, each.version, each.feed) for each in updates if not each.damaged
            ]
            assert set(told) <= set(true)
            assert len(told) < len(true) or below or updates is not feed


async def test_the_matches_that_run_are_listed_page_by_page(store):
    for number in range(10):
        owner = "ab"[number % 2]
        given = header(f"match{number}", owner=owner, created=1000 + number // 4)
        await store.create(given, MatchStatus(feed=b"0"))
    await append(store, "match3", 0, action(0, at=2000), MatchStatus(feed=b"1"))
    await append(store, "match4", 0, action(0, at=2000), MatchStatus(over=True, feed=b"1"))
    for owner, wanted in ((None, "0123 567 89"), ("a", "02 6 8"), ("b", "13579"), ("c", "")):
        found, after = [], (0, "")
        while page := await store.list_running(owner, after, 3):
            found += page
            after = (page[-1].created, page[-1].match_id)
        assert "".join(each.match_id[-1] for each in found) == wanted.replace(" ", "")
        assert all(owner in (None, each.owner) for each in found)
    [updated] = [each for each in await store.list_running(None, (0, ""), 99) if each.version]
    assert (updated.match_id, updated.at, updated.feed) == ("match3", 2000, b"1")


async def test_deleted_matches_are_in_the_feed_no_more(store):
    for match_id in ("one", "two"):
        await store.create(header(match_id), MatchStatus(feed=b"0"))
        await append(store, match_id, 0, action(0, at=5), OVER)
    assert len((await store.list_updates(await begin_of(store), 9)).updates) == 2
    assert len(await store.delete_ended(9, 1)) == 1
    assert len((await store.list_updates(await begin_of(store), 9)).updates) == 1


async def test_long_matches_are_deleted_one_after_the_other(store):
    for number in range(4):
        branch = Branch(f"match{number}")
        await store.create(header(f"match{number}"), MatchStatus(feed=b"0"))
        steps = [branch.append(store, action(0, at=5)) for _ in range(ENTRIES_AT_ONCE // 2)]
        await asyncio.gather(*steps, branch.append(store, action(0, at=number), OVER))
    deleted = [await store.delete_ended(9, 9) for _ in range(3)]
    assert deleted == [["match0", "match1"], ["match2", "match3"], []]


def restored_sqlite(place, tmp_path):
    """A copy of a log, made and put in place as docs/deploy/backup.md says."""
    restored = SqlitePlace(tmp_path / "restored")
    restored.directory.mkdir()
    file = sqlite3.connect(place.directory / sqlite.FILE)
    file.execute("VACUUM INTO ?", (str(restored.directory / sqlite.FILE),))
    file.close()
    return restored


class Restored(PostgresPlace):
    """A copy of a schema in a database of its own."""

    def __init__(self, place):
        super().__init__(place.server, place.schema)
        self._name = f"restored_{place.schema}"
        where = ("-h", self.server.socket.parent, "-U", "croupier")
        dump = self.server.socket.parent / self._name
        self.server.execute(f"CREATE DATABASE {self._name}")
        dumped = ("--format=custom", f"--schema={self.schema}", f"--file={dump}", "postgres")
        self.server._run("pg_dump", *where, *dumped)
        self.server._run("pg_restore", *where, f"--dbname={self._name}", dump)

    @property
    def url(self):
        return super().url.replace("/postgres?", f"/{self._name}?")


async def end_of(store):
    found = await store.list_updates(None, 9)
    return Position(found.epoch, found.end)


async def test_a_restored_log_knows_which_positions_it_has_told(place, tmp_path):
    if isinstance(place, MemoryPlace):
        pytest.skip("it ends with its process")
    told = MatchStatus(feed=b"1")
    async with opened(place) as store:
        before = [await end_of(store)]
        await store.create(header("one"), MatchStatus(feed=b"0"))
        before.append(await end_of(store))
    backup = restored_sqlite(place, tmp_path) if isinstance(place, SqlitePlace) else Restored(place)
    async with opened(place) as store:
        # More often than the restored log below.
        for version in range(4):
            assert await append(store, "one", version, action(0, b"lost"), told)
        after = await end_of(store)
    async with opened(place) as store:
        for each in (*before, after):
            assert await store.list_updates(each, 9) is not None
        restarted = await end_of(store)
    async with opened(backup) as store:
        for lost in (after, restarted):
            assert await store.list_updates(lost, 9) is None
        found = [(await store.list_updates(each, 9)).updates for each in before]
        assert [[each.version for each in updates] for updates in found] == [[0], []]
        assert await append(store, "one", 0, action(0, b"other"), told)
        assert await store.list_updates(after, 9) is None
        newest = await end_of(store)
    async with opened(backup) as store:
        for lost in (after, restarted):
            assert await store.list_updates(lost, 9) is None
        assert (await store.list_updates(newest, 9)).updates == []
        for each in before:
            [update] = (await store.list_updates(each, 9)).updates
            assert update.version == 1


async def test_the_end_stays_where_it_is_when_the_last_matches_are_deleted(place):
    async with opened(place) as store:
        for name in ("one", "two"):
            await store.create(header(name), MatchStatus())
            assert await append(store, name, 0, action(0), OVER)
        last = await end_of(store)
        assert len(await store.delete_ended(2**60, 9)) == 2
        assert (await end_of(store)).number >= last.number
    async with opened(place) as store:
        assert (await end_of(store)).number >= last.number


async def test_a_cursor_means_nothing_in_a_database_that_was_restored_behind_a_server(postgres):
    postgres.execute("CREATE DATABASE played")
    url = postgres.url("public").replace("/postgres?", "/played?")
    store = PostgresStore(url)
    await store.open()
    try:
        await store.create(header("one"), MatchStatus(feed=b"0"))
        lock_out(postgres)
        postgres.execute("CREATE DATABASE restored TEMPLATE played")
        postgres.execute("ALTER DATABASE played ALLOW_CONNECTIONS true")
        assert await patiently(append, store, "one", 0, action(0))
        told = await patiently(store.list_updates, None, 9)
        # Its server goes on, and finds another database under the name.
        lock_out(postgres)
        postgres.execute("ALTER DATABASE played RENAME TO lost")
        postgres.execute("ALTER DATABASE restored RENAME TO played")
        # The feed passes what the other one has told.
        await patiently(store.create, header("two"), MatchStatus(feed=b"0"))
        assert await patiently(store.list_updates, Position(told.epoch, told.end), 9) is None
        # Nor does it begin a log in one that is empty.
        lock_out(postgres)
        postgres.execute("DROP DATABASE played")
        postgres.execute("CREATE DATABASE played")
        for name in ("three", "four", "five"):
            with pytest.raises(Refusal):
                await store.create(header(name), MatchStatus())
        with pytest.raises(ValueError, match="the database"):
            await PostgresStore(url).open_to_check()
    finally:
        await store.close()


def lock_out(postgres):
    """Ends all connections to a database, which takes no others."""
    postgres.execute("ALTER DATABASE played ALLOW_CONNECTIONS false")
    postgres.execute(
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = 'played'"
    )


async def patiently(call, *arguments):
    """The answer to a call, which may fail for a while."""
    while True:
        try:
            return await call(*arguments)
        except Refusal:
            await asyncio.sleep(0.01)
