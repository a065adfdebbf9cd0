"""The SQLite log: its file, its schema, and its behaviour when the disk fails."""

import asyncio
import sqlite3
import stat

import pytest

from croupier.v1.error_pb2 import ErrorReason
from service.common.errors import Refusal
from service.store import (
    DueMatch,
    MatchStatus,
    Snapshot,
    jobs,
    sqlite,
    sqlite_tables,
    sqlite_writer,
)
from service.store.interface import OLDEST
from tests.support.stores import NOT_DUE, Branch, SqlitePlace, action, append, header, opened
from tests.support.waiting import wait_until

NEWEST = OLDEST + len(sqlite_tables.MIGRATIONS)
UNAVAILABLE = ErrorReason.ERROR_REASON_STORE_UNAVAILABLE


@pytest.fixture
def place(tmp_path):
    return SqlitePlace(tmp_path / "deep" / "log")


def on_log(place, test):
    async def run():
        async with opened(place) as store:
            if await store.load("one") is None:
                await store.create(header(), NOT_DUE)
            return await test(store)

    return asyncio.run(run())


async def add(store, version):
    return await Branch().past(*[action(0)] * version).append(store, action(0))


async def read(store):
    return await store.load("one")


def file_of(place):
    return sqlite3.connect(place.directory / sqlite.FILE)


def test_one_server_at_a_time_uses_a_log(place):
    async def test(store):
        with pytest.raises(OSError, match="in use by another server"):
            await place.store().open()
        await add(store, 0)

    on_log(place, test)
    assert len(on_log(place, read).entries) == 1


def test_only_the_owner_can_read_the_files(place):
    async def test(store):
        await add(store, 0)
        modes = {path.name: path.stat().st_mode for path in place.directory.iterdir()}
        assert sqlite.FILE + "-wal" in modes
        for name, mode in modes.items():
            assert name == "lock" or stat.S_IMODE(mode) == 0o600, name
        assert stat.S_IMODE(place.directory.stat().st_mode) == 0o700

    on_log(place, test)


def test_commits_are_synced(place):
    async def test(store):
        await add(store, 0)
        return [
            await store._run_in_writer(
                lambda file, name=name: file.execute(f"PRAGMA {name}").fetchone()[0]
            )
            for name in ("journal_mode", "synchronous")
        ]

    assert on_log(place, test) == ["wal", 2]


def test_a_log_of_a_newer_program_is_refused(place):
    on_log(place, read)
    with file_of(place) as file:
        file.execute(f"PRAGMA user_version = {NEWEST + 1}")
    with pytest.raises(ValueError, match=rf"newer Croupier: .* {NEWEST + 1}, .* {NEWEST}"):
        on_log(place, read)


def test_a_log_of_a_program_that_is_too_old_is_refused_with_the_way_out(place):
    on_log(place, read)
    with file_of(place) as file:
        file.execute(f"PRAGMA user_version = {OLDEST - 1}")
    with pytest.raises(ValueError, match=rf"older Croupier: .* {OLDEST - 1}, .* commit 9ce42e4"):
        on_log(place, read)
    with file_of(place) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (OLDEST - 1,)


@pytest.mark.parametrize("content", ["another program's", b"no database at all" * 100])
def test_a_file_that_is_no_log_is_refused(place, content):
    place.directory.mkdir(parents=True)
    if isinstance(content, bytes):
        (place.directory / sqlite.FILE).write_bytes(content)
    else:
        with file_of(place) as file:
            file.execute("CREATE TABLE other (x)")
    with pytest.raises((ValueError, OSError), match=r"not a log of Croupier|not a database"):
        on_log(place, read)


def test_an_older_log_is_brought_up_to_date(place, monkeypatch):
    def more(connection):
        connection.execute("ALTER TABLE matches ADD COLUMN more INTEGER NOT NULL DEFAULT 5")

    on_log(place, lambda store: add(store, 0))
    monkeypatch.setattr(sqlite_tables, "MIGRATIONS", (*sqlite_tables.MIGRATIONS, more))
    for _ in range(2):
        assert len(on_log(place, read).entries) == 1
        assert file_of(place).execute("SELECT more FROM matches").fetchall() == [(5,)]


def test_a_migration_that_fails_changes_nothing(place, monkeypatch):
    def broken(connection):
        connection.execute("ALTER TABLE matches ADD COLUMN more INTEGER")
        connection.execute("CREATE TABLE matches (x)")

    with monkeypatch.context() as patch:
        on_log(place, read)
        patch.setattr(sqlite_tables, "MIGRATIONS", (*sqlite_tables.MIGRATIONS, broken))
        with pytest.raises(OSError, match="already exists"):
            on_log(place, read)
    assert on_log(place, read).entries == []


def test_simultaneous_requests_share_a_commit(place):
    matches, rounds = 40, 10

    async def test(store):
        commits = []
        store._metrics.store_committed = lambda count, seconds: commits.append(count)
        names = [f"match{number}" for number in range(matches)]
        await asyncio.gather(*(store.create(header(name), NOT_DUE) for name in names))
        branches = [Branch(name) for name in names]
        for _ in range(rounds):
            calls = (branch.append(store, action(0)) for branch in branches)
            assert all(await asyncio.gather(*calls))
        assert sum(commits) == matches * (rounds + 1)
        assert max(commits) > 1
        assert len(commits) < sum(commits) / 2

    on_log(place, test)


async def refused(call):
    with pytest.raises(Refusal) as caught:
        await call
    return caught.value.reason


def test_a_locked_file_is_reported_and_used_when_it_is_free(place, monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)

    async def test(store):
        other = file_of(place)
        other.execute("BEGIN IMMEDIATE")
        assert await refused(add(store, 0)) == UNAVAILABLE
        # Reads still succeed.
        assert (await read(store)).entries == []
        other.rollback()
        assert await add(store, 0)

    on_log(place, test)


def test_a_writer_that_ends_is_begun_again_and_tells_those_who_wait(place):
    async def test(store):
        carry_out = store._writer._carry_out

        def end(jobs):
            if len(jobs) < sqlite_writer.MAX_BATCH:
                return carry_out(jobs)
            raise SystemExit(1)

        store._writer._carry_out = end
        waiting = [store.reschedule(DueMatch("one", 0), 1) for _ in range(300)]
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        refused = [each for each in answers if isinstance(each, Refusal)]
        assert len(refused) == sqlite_writer.MAX_BATCH
        assert answers.count(False) == 300 - len(refused)
        assert await add(store, 0)
        assert store._metrics.tasks.failures()["writer"] == 1

    on_log(place, test)


def test_what_ends_the_writer_in_a_transaction_takes_no_later_entry_along(place):
    def end(connection):
        raise SystemExit(1)

    async def test(store):
        with pytest.raises(Refusal):
            await store._run_in_writer(end)
        assert await add(store, 0)
        assert len((await store.load("one")).entries) == 1

    on_log(place, test)


def test_a_disk_that_cannot_keep_up_is_reported(place, monkeypatch):
    monkeypatch.setattr(jobs, "MAX_UNANSWERED", 3)

    async def test(store):
        calls = (store.create(header(f"match{n}"), NOT_DUE) for n in range(50))
        done = await asyncio.gather(*calls, return_exceptions=True)
        refusals = [each for each in done if each is not None]
        assert {each.reason for each in refusals} == {UNAVAILABLE}
        for number, each in enumerate(done):
            assert (await store.load(f"match{number}") is None) == (each is not None)

    on_log(place, test)


def commits(store):
    return store._metrics.registry.get_sample_value("croupier_store_commit_seconds_count")


def test_requests_of_successive_loop_turns_share_a_commit(place):
    async def test(store):
        before = commits(store)
        asked = []
        for number in range(20):
            asked.append(asyncio.ensure_future(store.create(header(f"match{number}"), NOT_DUE)))
            # The second comes before the commit of the first can have ended, so that it waits.
            for _ in range(jobs.GATHER_TURNS // 2 if number else 0):
                await asyncio.sleep(0)
        await asyncio.gather(*asked)
        # The first job was alone and did not wait: it has a commit of its own.
        assert commits(store) == before + 2

    on_log(place, test)


def test_a_lone_request_does_not_wait_for_others(place):
    async def test(store):
        before = commits(store)
        asked = Branch().append(store, action(0))
        # The event loop takes no turn here, so the commit depends on the writer alone.
        wait_until(lambda: commits(store) > before)
        assert await asked

    on_log(place, test)


def test_a_snapshot_that_cannot_be_written_does_no_harm(place):
    async def test(store):
        await store._run_in_writer(lambda file: file.execute("DROP TABLE snapshots") and None)
        store.save_snapshot("one", Snapshot(1, b"x"))
        assert await add(store, 0)
        one = Branch().past(action(0))
        assert await one.append(store, action(1), MatchStatus(over=True))
        assert len(await store.read("one", Branch().head)) == 2

    on_log(place, test)


def test_the_number_of_remembered_heads_is_bounded(place, monkeypatch):
    monkeypatch.setattr(sqlite_writer, "MAX_HEADS", 4)

    async def test(store):
        for name in (f"match{number}" for number in range(12)):
            await store.create(header(name), NOT_DUE)
            assert await append(store, name, 0, action(0), NOT_DUE)
        assert len(store._writer.heads) == 4
        # The writer reads forgotten heads from the file.
        assert not await add(store, 1)
        assert await add(store, 0)
        assert not await append(store, "match0", 0, action(0), NOT_DUE)
        assert await append(store, "match0", 1, action(0), NOT_DUE)

    on_log(place, test)
