"""Names that are erased from a log: gone from its files, with a mark that cannot be lost."""

import asyncio
import random
import sqlite3

import pytest

from service.hosting.entries import EntryKind
from service.store import (
    ANOTHER_LOG,
    Entry,
    Head,
    MatchStatus,
    Seated,
    chain,
    postgresql_tables,
    queries,
    sqlite,
)
from service.store.chain import Damaged
from service.store.interface import HeldSeats
from tests.support.stores import (
    NOT_DUE,
    Branch,
    Heard,
    PostgresPlace,
    SqlitePlace,
    action,
    execute,
    header,
    opened,
    resignation,
)

SEEDS = range(8)


def joined(seat, *names):
    """An entry by which a seat was joined, with names."""
    names = chain.salted("\0".join(names).encode())
    return Entry(EntryKind.JOIN, seat, 1_700_000_000_000, chain.hash_names(names), names=names)


class Named:
    """A match, some of whose names are in its header and some in entries."""

    def __init__(self, rng, match_id="one"):
        self.match_id = match_id
        some = [[_name(rng) if rng.random() < 0.7 else "" for _ in range(2)] for _ in range(2)]
        later = [rng.random() < 0.5 for _ in range(2)]
        in_header = [
            tuple("" if late else name for late, name in zip(later, names, strict=True))
            for names in some
        ]
        self.names = [(some[0][seat], some[1][seat]) for seat in (0, 1)]
        kept = {"key_names": in_header[0], "display_names": in_header[1]}
        self.header = header(match_id, **kept).salted()
        self.entries = [action(0), action(1)]
        for seat in (0, 1):
            if later[seat]:
                self.entries.insert(rng.randrange(3), joined(seat, *self.names[seat]))

    async def add_to(self, store):
        await store.create(self.header, NOT_DUE)
        branch = Branch(self.match_id)
        branch.head = Head(0, chain.first_digest(self.header))
        for entry in self.entries:
            assert await branch.append(store, entry)
        return branch.head

    def seats(self):
        """The seats that have a name, as bits."""
        return sum(1 << seat for seat in (0, 1) if any(self.names[seat]))


def _name(rng):
    return "".join(rng.choice("abcdefghijkl") for _ in range(20))


def names_of(stored):
    """The names of the seats that a stored match has."""
    names = list(zip(stored.header.key_names, stored.header.display_names, strict=True))
    for entry in stored.entries:
        if entry.names:
            names[entry.seat] = tuple(entry.names[chain.SALT_BYTES :].decode().split("\0"))
    return names


@pytest.mark.parametrize("seed", SEEDS)
async def test_some_names_go_and_all_else_stays(place, seed):
    rng = random.Random(f"erasing/{seed}")
    async with opened(place) as store:
        named = Named(rng, f"m{seed}")
        head = await named.add_to(store)
        before = await store.load(named.match_id)
        assert names_of(before) == named.names
        heard, erased = Heard(store, named.match_id), 0
        for seats in rng.sample((0, 1, 2, 3), 3):
            heard.versions.clear()
            new = seats & named.seats() & ~erased
            assert await store.erase_names(named.match_id, seats) == bool(new)
            # It may also be told late of what came before.
            assert not new or ANOTHER_LOG in heard.versions
            erased |= new
            after = await store.load(named.match_id)
            left = [
                ("", "") if erased >> seat & 1 else names for seat, names in enumerate(named.names)
            ]
            assert names_of(after) == left
            assert after.header.erased_seats == erased
            # With the salt, the hash would tell whether a name is right.
            assert (after.header.salt == b"") == bool(erased or not before.header.salt)
            assert chain.first_digest(after.header) == chain.first_digest(before.header)
            after.check_header()
            assert [each[:6] for each in after.entries] == [each[:6] for each in before.entries]
            assert [each[7:] for each in after.entries] == [each[7:] for each in before.entries]
            assert after.head[:3] == before.head[:3] == (*head[:2], b"")
            # Whoever has the names in memory must read the match anew, and adds nothing before.
            known = head._replace(erased=after.head.erased)
            assert await store.read(named.match_id, known) is not None
            assert (await store.read(named.match_id, head) is None) == bool(erased)
            other = Head(head.version - 1, before.entries[-2].digest)
            assert (await store.read(named.match_id, other) is None) == bool(erased)
        entry = action(0)
        entry = entry._replace(digest=chain.next_digest(head.digest, entry, b""))
        assert await store.append(named.match_id, head, entry, NOT_DUE) == (not erased)
        if erased:
            assert await store.append(named.match_id, known, entry, NOT_DUE)
        after = await store.load(named.match_id)
        assert after.head.version == head.version + 1
        assert after.header.erased_seats == erased
        assert not await store.erase_names("another", 3)


async def test_whatever_changes_in_the_mark_or_in_what_is_left_is_noticed(place):
    async with opened(place) as store:
        left = header(key_names=("k", "key"), display_names=("Ann", "Bob")).salted()
        await store.create(left, NOT_DUE)
        assert await store.erase_names("one", 1)
        stored = await store.load("one")
        mark = queries.sealed_erased("one", stored.header.erased)
        names = b"\0".join([b"", b"Bob"])
        for table, column, value in (
            ("heads", "erased", mark),
            ("matches", "display_names", names),
        ):
            sql = f"UPDATE {table} SET {column} = $1 WHERE match_id = $2"
            for bit in range(8 * len(value)):
                flipped = bytearray(value)
                flipped[bit // 8] ^= 1 << bit % 8
                await execute(store, sql, bytes(flipped), "one")
                with pytest.raises(Damaged):
                    await store.load("one")
                with pytest.raises(Damaged):
                    await store.erase_names("one", 2)
            await execute(store, sql, value, "one")
        await execute(store, "UPDATE heads SET erased = $1 WHERE match_id = $2", b"", "one")
        with pytest.raises(Damaged):  # A lost mark.
            await store.load("one")
        await execute(store, "UPDATE heads SET erased = $1 WHERE match_id = $2", mark, "one")
        assert await store.load("one") == stored


@pytest.mark.parametrize("statement", range(1, 7))
async def test_a_failure_in_the_middle_leaves_all_names_or_none(place, monkeypatch, statement):
    async with opened(place) as store:
        await store.create(header(display_names=("Ann", "")).salted(), NOT_DUE)
        branch = Branch()
        branch.head = (await store.load("one")).head
        assert await branch.append(store, joined(1, "a key", "Bob"))
        before = await store.load("one")
        erasing = queries.erasing

        def failing(*arguments):
            work, found = erasing(*arguments), None
            for number in range(statement):
                try:
                    sent = work.send(found)
                except StopIteration as done:
                    return done.value
                if number == statement - 1:
                    sent = ("SELECT no_such_column FROM heads WHERE match_id = $1", sent[-1])
                found = yield sent
            raise AssertionError

        monkeypatch.setattr(queries, "erasing", failing)
        done = statement == 6
        if done:
            assert await store.erase_names("one", 3)
        else:
            with pytest.raises(Exception, match=r"."):
                await store.erase_names("one", 3)
            assert await store.load("one") == before
            monkeypatch.setattr(queries, "erasing", erasing)
            assert await store.erase_names("one", 3)
        assert names_of(await store.load("one")) == [("", "")] * 2


async def test_it_is_told_where_a_match_without_a_head_keeps_its_names(place):
    async with opened(place) as store:
        await store.create(header(display_names=("Ann", "Bob")).salted(), NOT_DUE)
        await execute(store, "DELETE FROM heads WHERE match_id = $1", "one")
        with pytest.raises(Damaged):
            await store.erase_names("one", 3)
        assert not await store.erase_names("two", 3)


async def test_the_files_of_a_sqlite_log_have_no_erased_name(tmp_path):
    place, rng = SqlitePlace(tmp_path / "log"), random.Random("bytes")
    kept, names = [], []
    async with opened(place) as store:
        matches = [Named(rng, f"m{rng.randrange(10**9)}") for _ in range(300)]
        for named in matches:
            await named.add_to(store)
        for named in matches:
            seats = rng.randrange(4)
            await store.erase_names(named.match_id, seats)
            for seat in (0, 1):
                gone = seats >> seat & 1
                (names if gone else kept).extend(name for name in named.names[seat] if name)
        data = b"".join(each.read_bytes() for each in place.directory.iterdir())
        assert all(name.encode() in data for name in kept)
        left = [name for name in names if name.encode() in data]
        assert left == []
    assert len(names) > 200


async def test_the_files_have_no_erased_name_once_nobody_reads_what_was_before(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.01)
    place = SqlitePlace(tmp_path / "log")

    def has_the_name():
        return any(b"Bob the Great" in each.read_bytes() for each in place.directory.iterdir())

    async with opened(place) as store:
        await store.create(header(display_names=("", "Bob the Great")).salted(), NOT_DUE)
        reader = sqlite3.connect(place.directory / sqlite.FILE)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM matches").fetchone()
        assert await store.erase_names("one", 2)
        assert has_the_name()
        tasks = store._metrics.tasks
        while not tasks.failures()["erased names"]:
            await asyncio.sleep(0.01)
        reader.close()
        while has_the_name():
            await asyncio.sleep(0.01)


class Pausing:
    """A connection that waits after its first statement until it is told to go on."""

    def __init__(self, connection):
        self._connection = connection
        self.pid = connection.get_server_pid()
        self.waits, self.goes_on = asyncio.Event(), asyncio.Event()

    def transaction(self):
        return self._connection.transaction()

    async def fetch(self, *given):
        found = await self._connection.fetch(*given)
        self.waits.set()
        await self.goes_on.wait()
        return found


@pytest.mark.parametrize("erases_first", [True, False])
async def test_names_are_erased_while_old_matches_are_deleted(postgres, erases_first):
    place = PostgresPlace(postgres)

    async def erase(connection):
        return await postgresql_tables.erase_names(connection, "one", 3)

    async def delete(connection):
        async with connection.transaction():
            return await postgresql_tables.delete_ended(connection, 2**60, 10)

    async with opened(place) as store, opened(place) as other:
        await store.create(header(display_names=("Ann", "Bob")).salted(), NOT_DUE)
        branch = Branch()
        branch.head = (await store.load("one")).head
        assert await branch.append(store, resignation(0), MatchStatus(over=True))
        begun = asyncio.get_running_loop().create_future()
        works = (erase, delete) if erases_first else (delete, erase)

        async def first(connection):
            pausing = Pausing(connection)
            begun.set_result(pausing)
            return await works[0](pausing)

        async def is_blocked(connection):
            sql = "SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))"
            return await connection.fetchval(sql, pausing.pid) > 0

        one = asyncio.create_task(store._use("write", "other", first))
        pausing = await begun
        await pausing.waits.wait()
        two = asyncio.create_task(other._use("write", "other", works[1]))
        while not two.done() and not await store._use("read", "other", is_blocked):
            await asyncio.sleep(0.01)
        pausing.goes_on.set()
        done = [await one, await two]
        if erases_first:
            assert done == [True, []]
            assert await store.delete_ended(2**60, 10) == ["one"]
        else:
            assert done == [["one"], False]
        assert await store.load("one") is None


async def test_a_player_has_seats(place):
    async with opened(place) as store:
        rows = []
        for number, held in enumerate((1, 2, 3, 1)):
            match_id, created = f"m{number}", 5 + number // 2
            seated = (Seated("ann", held),)
            await store.create(header(match_id, created=created), MatchStatus(players=seated))
            rows.append(HeldSeats(created, match_id, held))
        assert await store.list_seats("ann", (-1, ""), 9) == rows
        assert await store.list_seats("ann", (5, "m0"), 2) == rows[1:3]
        assert await store.list_seats("bob", (-1, ""), 9) == []
        # From before seats were known; and one that was changed.
        seal = queries.player_seal("m1", Seated("ann", 0))
        sql = "UPDATE players SET seats = 0, player_seal = $1 WHERE match_id = $2"
        await execute(store, sql, seal, "m1")
        await execute(store, "UPDATE players SET seats = 2 WHERE match_id = $1", "m3")
        told = [(each.seats, each.damaged) for each in await store.list_seats("ann", (-1, ""), 9)]
        assert told == [(1, False), (0, False), (3, False), (2, True)]
