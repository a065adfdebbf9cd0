"""The SQLite log: its file, its schema, and its behaviour when the disk fails."""

import asyncio
import sqlite3
import stat
import threading

import pytest

from croupier.v1.error_pb2 import ErrorReason
from service.common.call import Call, Kind, Principal, current_call
from service.store import (
    DueMatch,
    MatchStatus,
    Snapshot,
    jobs,
    queries,
    sqlite,
    sqlite_tables,
    sqlite_writer,
)
from tests.support.stores import (
    NOT_DUE,
    Branch,
    SqlitePlace,
    action,
    add,
    append,
    header,
    opened,
    refused,
)
from tests.support.waiting import wait_until
from wire.errors import Refusal

UNAVAILABLE = ErrorReason.ERROR_REASON_STORE_UNAVAILABLE


@pytest.fixture
def place(tmp_path):
    return SqlitePlace(tmp_path / "deep" / "log")


@pytest.fixture
def store(enter, place):
    return enter(opened(place, "one"))


async def load(place):
    async with opened(place, "one") as store:
        return await store.load("one")


def file_of(place):
    return sqlite3.connect(place.directory / sqlite.FILE)


async def test_one_server_at_a_time_uses_a_log(place):
    async with opened(place, "one") as store:
        with pytest.raises(OSError, match="in use by another server"):
            await place.store().open()
        await add(store, 0)
    assert len((await load(place)).entries) == 1


async def test_only_the_owner_can_read_the_files(place, store):
    await add(store, 0)
    modes = {path.name: path.stat().st_mode for path in place.directory.iterdir()}
    assert sqlite.FILE + "-wal" in modes
    for name, mode in modes.items():
        assert name == "lock" or stat.S_IMODE(mode) == 0o600, name
    assert stat.S_IMODE(place.directory.stat().st_mode) == 0o700


async def test_a_log_that_was_closed_has_nothing_to_recover(place, monkeypatch):
    async with opened(place, "one") as store:
        await add(store, 0)
        with monkeypatch.context() as patch:
            patch.setattr(queries, "COUNT_LIVE", "SELECT $1 FROM nowhere")
            with pytest.raises(Refusal):
                await store.count_live("somebody")
        await asyncio.gather(*(store.load("one") for _ in range(100)))  # By several readers.
    assert {path.name for path in place.directory.iterdir()} == {sqlite.FILE, "lock"}


async def test_commits_are_synced(store):
    await add(store, 0)
    for asked, wanted in (("PRAGMA journal_mode", "wal"), ("PRAGMA synchronous", 2)):
        answer = await store._run_in_writer(lambda file, asked=asked: list(file.execute(asked)))
        assert answer == [(wanted,)]


@pytest.mark.parametrize("content", ["another program's", b"no database at all" * 100])
async def test_a_file_that_is_no_log_is_refused(place, content):
    place.directory.mkdir(parents=True)
    if isinstance(content, bytes):
        (place.directory / sqlite.FILE).write_bytes(content)
    else:
        with file_of(place) as file:
            file.execute("CREATE TABLE other (x)")
    with pytest.raises((ValueError, OSError), match=r"not a log of Croupier|not a database"):
        await place.store().open()


async def test_a_migration_that_fails_changes_nothing(place, monkeypatch):
    def broken(connection):
        connection.execute("ALTER TABLE matches ADD COLUMN more INTEGER")
        connection.execute("CREATE TABLE matches (x)")

    with monkeypatch.context() as patch:
        await load(place)
        patch.setattr(sqlite_tables, "MIGRATIONS", (*sqlite_tables.MIGRATIONS, broken))
        with pytest.raises(OSError, match="already exists"):
            await load(place)
    assert (await load(place)).entries == []


async def test_simultaneous_requests_share_a_commit(store):
    matches, rounds = 40, 10
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


async def test_a_locked_file_is_reported_and_used_when_it_is_free(place, monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    async with opened(place, "one") as store:
        other = file_of(place)
        other.execute("BEGIN IMMEDIATE")
        assert await refused(add(store, 0)) == UNAVAILABLE
        # Reads still succeed.
        assert (await store.load("one")).entries == []
        other.rollback()
        assert await add(store, 0)


async def test_a_writer_that_ends_is_begun_again_and_tells_those_who_wait(store):
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


async def test_a_disk_that_cannot_keep_up_is_reported(place, monkeypatch):
    monkeypatch.setattr(jobs, "MAX_UNANSWERED", 3)
    async with opened(place, "one") as store:
        calls = (store.create(header(f"match{n}"), NOT_DUE) for n in range(50))
        done = await asyncio.gather(*calls, return_exceptions=True)
        refusals = [each for each in done if each is not None]
        assert {each.reason for each in refusals} == {UNAVAILABLE}
        for number, each in enumerate(done):
            assert (await store.load(f"match{number}") is None) == (each is not None)


def commits(store):
    return store._metrics.registry.get_sample_value("croupier_store_commit_seconds_count")


async def test_requests_of_successive_loop_turns_share_a_commit(store):
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


async def test_a_lone_request_does_not_wait_for_others(store):
    before = commits(store)
    asked = Branch().append(store, action(0))
    # The event loop takes no turn here, so the commit depends on the writer alone.
    wait_until(lambda: commits(store) > before)
    assert await asked


async def test_a_snapshot_that_cannot_be_written_does_no_harm(store):
    await store._run_in_writer(lambda file: file.execute("DROP TABLE snapshots") and None)
    store.save_snapshot("one", Snapshot(1, b"x"))
    assert await add(store, 0)
    one = Branch().past(action(0))
    assert await one.append(store, action(1), MatchStatus(over=True))
    assert len((await store.read("one", Branch().head)).entries) == 2


async def test_the_number_of_remembered_heads_is_bounded(place, monkeypatch):
    monkeypatch.setattr(sqlite_writer, "MAX_HEADS", 4)
    async with opened(place, "one") as store:
        for name in (f"match{number}" for number in range(12)):
            await store.create(header(name), NOT_DUE)
            assert await append(store, name, 0, action(0), NOT_DUE)
        assert len(store._writer.heads) == 4
        # The writer reads forgotten heads from the file.
        assert not await add(store, 1)
        assert await add(store, 0)
        assert not await append(store, "match0", 0, action(0), NOT_DUE)
        assert await append(store, "match0", 1, action(0), NOT_DUE)


async def test_what_ends_the_writer_in_a_transaction_takes_no_later_entry_along(store):
    def end(connection):
        raise SystemExit(1)

    with pytest.raises(Refusal):
        await store._run_in_writer(end)
    assert await add(store, 0)
    assert len((await store.load("one")).entries) == 1


async def test_a_head_that_was_set_back_fails_its_own_match_alone(place, caplog):
    async with opened(place, "one") as store:
        await add(store, 0)
    with file_of(place) as file:
        file.execute("UPDATE heads SET version = 0, digest = ?", (Branch().head.digest,))
    file.close()
    async with opened(place, "two") as store:
        tries = [Branch(name).append(store, action(0, b"other")) for name in ("one", "two")]
        assert await asyncio.gather(*tries) == [False, True]
    assert "cannot be written" not in caplog.text


async def test_one_who_reads_much_leaves_a_reader_to_others(store):
    may_go_on, reading = threading.Event(), 0

    def read_long(connection):
        nonlocal reading
        reading += 1
        may_go_on.wait()

    async def read(payer, query, *arguments):
        call = Call("", "")
        call.payers = (Principal(Kind.ADDRESS, payer),)
        current_call.set(call)
        return await store._read(query, *arguments)

    many = [asyncio.create_task(read("many", read_long)) for _ in range(5)]
    await asyncio.sleep(0)
    try:
        await asyncio.create_task(read("one", sqlite_tables.read_ids, "heads", "", 1))
        assert reading < sqlite.READERS
    finally:
        may_go_on.set()
    await asyncio.gather(*many)
    assert reading == 5
