"""The recovery of the SQLite log: failing calls to the disk, crashes, power cuts, damaged files.

Tests let each single call fail or be the last one before a crash.
"""

import asyncio
import errno
import os
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from croupier.v1.error_pb2 import ErrorReason
from service.common.errors import store_unavailable
from service.hosting.matches import SNAPSHOT_EVERY
from service.running.server import Options, Server
from service.store import MemoryStore, Snapshot, sqlite, sqlite_recovery
from tests.support.faulty_disk import (
    ALWAYS,
    FAIL,
    HALF,
    KILL,
    MAIN,
    READ,
    SYNC,
    WAL,
    WRITE,
    FaultyDisk,
)
from tests.support.log_script import ADDED, REFUSED, THERE, LogScript
from tests.support.play import seeded
from tests.support.server_process import ServerProcess, refused_start
from tests.support.serving import refused, ruleset_of
from tests.support.store_faults import GAME, next_request
from tests.support.stores import NOT_DUE, Branch, SqlitePlace, action, append, opened, read
from wire.errors import Refusal

TRIES = int(os.environ.get("TEST_FAULTS", "3"))  # For each kind of fault, each at another call.
MATCHES = ("a", "b")
WAL_FILE = f"{sqlite.FILE}-wal"


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    return FaultyDisk(tmp_path_factory.mktemp("recovery"))


@pytest.fixture(scope="module")
def script(disk):
    script = LogScript(disk)
    yield script
    script.close()


@pytest.fixture(autouse=True)
def clear(request):
    if "disk" in request.fixturenames:
        request.getfixturevalue("disk").clear()


def requests_in(directory, to):
    """The request_ids that a server finds in the log of each match, read from a copy at `to`."""

    async def look():
        shutil.copytree(directory, to)
        async with opened(SqlitePlace(to)) as store:
            stored = [await store.load(name) for name in MATCHES]
        shutil.rmtree(to)
        return [[entry.request_id for entry in each.entries] if each else [] for each in stored]

    return dict(zip(MATCHES, asyncio.run(look()), strict=True))


# The steps add entries to two matches in turn, and a snapshot. At "mend" the disk recovers, and
# then every refused request except "b1" is repeated.
STEPS = [
    ["open"],
    ["do", "a", "a0"],
    ["keep", "a", 1],
    ["do", "b", "b0"],
    ["do", "a", "a1"],
    ["do", "b", "b1"],
    ["do", "a", "a2"],
    ["mend"],
    *(["do", request[0], request] for request in ("a0", "b0", "a1", "a2", "b2", "a3")),
]


@pytest.mark.parametrize(
    ("calls", "what", "times"),
    [
        pytest.param(WRITE, FAIL, 1, id="write once"),
        pytest.param(WRITE, FAIL, ALWAYS, id="write"),
        pytest.param(WRITE, HALF, 1, id="half a write"),
        pytest.param(WRITE, HALF, ALWAYS, id="half writes"),
        pytest.param(WRITE, KILL, 1, id="killed in a write"),
        pytest.param(SYNC, FAIL, 1, id="sync once"),
        pytest.param(SYNC, FAIL, ALWAYS, id="sync"),
        pytest.param(SYNC, KILL, 1, id="killed in a sync"),
        pytest.param(READ, FAIL, 1, id="read once"),
        pytest.param(READ | WRITE | SYNC, FAIL, ALWAYS, id="everything"),
    ],
)
def test_answered_requests_are_in_the_log_once_whichever_call_fails(
    disk, script, calls, what, times, tmp_path
):
    rng = seeded(calls, what, times)
    disk.fail(calls, what=what, skip=ALWAYS)
    script.run(*STEPS)
    for skip in sorted(rng.sample(range(disk.seen), min(disk.seen, TRIES))):
        disk.clear()
        disk.fail(
            calls, error=rng.choice([errno.EIO, errno.ENOSPC]), what=what, skip=skip, times=times
        )
        answers, code = script.run(*STEPS)
        # Faults of reads may miss, because the number of reads varies.
        assert disk.failed or calls & READ
        disk.mend()
        assert code == (-9 if what == KILL else 0)
        done = {name: [] for name in MATCHES}
        for step, answer in zip(STEPS, answers, strict=False):
            if answer in (ADDED, THERE) and step[2] not in done[step[1]]:
                done[step[1]].append(step[2])
        for place in (disk.data, disk.kept):
            found = requests_in(place, tmp_path / "found")
            for name in MATCHES:
                assert len(set(found[name])) == len(found[name])
                if what == KILL:
                    # The log may have the last entry although it was not answered.
                    assert found[name][: len(done[name])] == done[name]
                    assert len(found[name]) <= len(done[name]) + 1
                else:
                    assert found[name] == done[name], (skip, place.name)


def test_no_commit_builds_on_one_whose_sync_failed(disk, script, tmp_path):
    # The script does not read, so that no other connection remembers where the log ends.
    answers, _ = script.run(
        ["open"],
        ["create", "a"],
        ["append", "a", 0, "a0"],
        ["fail", SYNC, MAIN | WAL],
        ["append", "a", 1, "a1"],
        ["mend"],
        ["append", "a", 1, "a1"],
        ["append", "a", 2, "a2"],
    )
    assert answers[4:] == [REFUSED, None, True, True]
    assert requests_in(disk.kept, tmp_path / "found")["a"] == ["a0", "a1", "a2"]


def test_an_unsynced_entry_is_synced_after_a_crash_before_it_is_read(disk, script, tmp_path):
    begin = [["open"], ["do", "a", "a0"], ["fail", SYNC, MAIN | WAL], ["do", "a", "a1"]]
    assert script.run(*begin)[0][3] == REFUSED
    disk.mend()
    assert script.run(["open"], ["do", "a", "a1"])[0][1] == THERE
    assert requests_in(disk.kept, tmp_path / "found")["a"] == ["a0", "a1"]
    assert script.run(["open"], ["do", "a", "a2"])[0][1] == ADDED
    assert requests_in(disk.kept, tmp_path / "found")["a"] == ["a0", "a1", "a2"]


def test_a_log_that_cannot_be_synced_is_not_opened_after_a_crash(disk, script):
    script.run(["open"], ["do", "a", "a0"])
    for calls in (SYNC, WRITE):
        disk.fail(calls, MAIN)
        (message,), _ = script.run(["open"], ["do", "a", "a0"])
        assert "disk I/O error" in message
    disk.mend()
    assert script.run(["open"], ["do", "a", "a0"])[0] == [None, THERE]


@pytest.mark.parametrize("calls", [WRITE, SYNC], ids=["write", "sync"])
def test_commits_continue_while_checkpoints_fail(disk, script, calls, tmp_path):
    # SQLite copies the write-ahead log into the file once the log has a thousand pages.
    many = [["append", "a", number, f"a{number}"] for number in range(400)]
    answers, _ = script.run(["open"], ["create", "a"], ["fail", calls, MAIN], *many)
    assert set(answers[3:]) == {True}
    assert disk.failed
    for place in (disk.data, disk.kept):
        assert len(requests_in(place, tmp_path / "found")["a"]) == len(many)


# Torn or damaged files


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    """The directory of a killed server, its match, and the lengths of the write-ahead log.

    There is a length after the creation and one after each answer, in bytes.
    """
    data = tmp_path_factory.mktemp("crashed") / "data"
    with ServerProcess("--data", str(data)) as server:
        table = server.client.create(ruleset_of(GAME))
        rng = seeded("crashed")
        wal = data / WAL_FILE
        lengths = [wal.stat().st_size]
        # The server would write a snapshot at any time, so the match ends before the first one.
        while len(lengths) < SNAPSHOT_EVERY:
            player, request = next_request(table, rng)
            player.send(request)
            lengths.append(wal.stat().st_size)
        server.kill()
    assert lengths == sorted(set(lengths))
    return data, table, lengths


def copy_of(data, to, damage):
    """A copy of a directory in which `damage` has changed the bytes of the write-ahead log."""
    shutil.copytree(data, to)
    wal = to / WAL_FILE
    wal.write_bytes(damage(wal.read_bytes()))
    return to


def versions_in(directory, match):
    async def look():
        async with opened(SqlitePlace(directory)) as store:
            stored = await store.load(match)
            return None if stored is None else len(stored.entries)

    return asyncio.run(look())


@pytest.mark.parametrize("tear", ["cut off", "flipped", "zeros", "garbage"])
def test_all_whole_commits_survive_a_tear_anywhere_in_the_write_ahead_log(crashed, tear, tmp_path):
    data, table, lengths = crashed
    rng = seeded("torn", tear)
    match = table.name.removeprefix("matches/")
    written = (data / WAL_FILE).read_bytes()
    for _ in range(TRIES):
        at = rng.randrange(lengths[0], lengths[-1])
        while not written[at]:
            at += 1  # Where a byte is zero, the case with zeros would change nothing.

        def damage(whole, at=at):
            return {
                "cut off": lambda: whole[:at],
                "flipped": lambda: whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :],
                "zeros": lambda: whole[:at] + bytes(len(whole) - at),
                "garbage": lambda: whole[:at] + rng.randbytes(len(whole) - at),
            }[tear]()

        torn = copy_of(data, tmp_path / "torn", damage)
        versions = sum(length <= at for length in lengths) - 1
        assert versions_in(torn, match) == versions, at
        # A second start finds the same.
        assert versions_in(torn, match) == versions
        shutil.rmtree(torn)


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (0, "commits recovered from its write-ahead log: "),
        (-100, "was not written whole is left out"),
        (None, "commits that were synced may be lost"),
    ],
    ids=["whole", "torn", "damaged"],
)
def test_what_is_found_after_a_crash_is_logged(crashed, last, message, tmp_path, caplog):
    data, table, lengths = crashed
    at = lengths[-6] + 100 if last is None else lengths[-1] + last

    def damage(whole):
        return whole[:at] + bytes(each ^ 1 for each in whole[at : at + 4]) + whole[at + 4 :]

    caplog.set_level("INFO")
    found = versions_in(copy_of(data, tmp_path / "log", damage), table.name.split("/")[1])
    assert found == sum(length <= at for length in lengths) - 1
    assert message in caplog.text


def damaged_file(data, damage, to):
    """The path of a log's file that is damaged."""
    versions_in(shutil.copytree(data, to), "any")
    path = to / sqlite.FILE
    whole = path.read_bytes()
    path.write_bytes(
        {
            "cut off": whole[: len(whole) // 2],
            "zeros": bytes(len(whole)),
            "garbage": seeded(damage).randbytes(len(whole)),
            "no schema": whole[:100] + bytes(4096 - 100) + whole[4096:],
        }[damage]
    )
    return path


@pytest.mark.parametrize("damage", ["cut off", "zeros", "garbage", "no schema"])
def test_a_damaged_file_is_reported_in_one_line(crashed, damage, tmp_path):
    path = damaged_file(crashed[0], damage, tmp_path / "damaged")
    with pytest.raises(OSError) as caught:
        versions_in(path.parent, "any")
    line = str(caught.value)
    assert str(path) in line and "\n" not in line
    assert any(text in line for text in ("is cut off", "malformed", "not a database"))


def test_a_server_says_in_one_line_why_it_does_not_start(crashed, disk, tmp_path):
    path = damaged_file(crashed[0], "garbage", tmp_path / "damaged")
    assert str(path) in refused_start("--data", str(path.parent))
    disk.fail(WRITE, error=errno.ENOSPC)
    line = refused_start("--data", str(disk.data), environment=disk.environment)
    assert "database or disk is full" in line


# The writer


@pytest.fixture
def store(enter, tmp_path):
    return enter(opened(SqlitePlace(tmp_path / "log"), *MATCHES))


def raises(error, code=None):
    """A job for the writer that raises an error."""

    def work(connection):
        if code is not None:
            error.sqlite_errorcode = code
        raise error

    return work


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (raises(RuntimeError("planted")), RuntimeError),
        (raises(sqlite3.DatabaseError("planted"), sqlite3.SQLITE_CORRUPT), Refusal),
        (raises(sqlite3.OperationalError("planted"), sqlite3.SQLITE_IOERR_READ), Refusal),
    ],
    ids=["program", "damaged page", "unreadable page"],
)
async def test_only_the_faulty_request_of_a_shared_commit_fails(store, work, expected):
    # Jobs that arrive while the writer is busy form its next commit.
    busy = threading.Event()
    first = asyncio.ensure_future(store._run_in_writer(lambda connection: busy.wait()))
    calls = [Branch("a").append(store, action(0)), store._run_in_writer(work)]
    calls.append(Branch("b").append(store, action(0)))
    tasks = [asyncio.ensure_future(call) for call in calls]
    await asyncio.sleep(0)
    busy.set()
    a, other, b = await asyncio.gather(*tasks, return_exceptions=True)
    assert await first
    assert (a, b) == (True, True)
    assert isinstance(other, expected)
    assert [len(await read(store, name, 0)) for name in MATCHES] == [1, 1]


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_READONLY])
async def test_a_disk_that_fails_for_all_requests_is_not_tried_for_each(store, code):
    tries = []

    def work(connection):
        tries.append(connection)
        raises(sqlite3.OperationalError("planted"), code)(connection)

    busy = threading.Event()
    first = asyncio.ensure_future(store._run_in_writer(lambda connection: busy.wait()))
    tasks = [asyncio.ensure_future(store._run_in_writer(work)) for _ in range(50)]
    await asyncio.sleep(0)
    busy.set()
    await first
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert {each.reason for each in done} == {ErrorReason.ERROR_REASON_STORE_UNAVAILABLE}
    # Each caller raises its error elsewhere, so each must get its own object.
    assert len(set(map(id, done))) == 50
    assert len(tries) < 10


async def test_an_invalid_snapshot_does_not_end_the_writer(store):
    store.save_snapshot("a", Snapshot(1 << 70, b""))
    for version in range(3):
        assert await append(store, "a", version, action(0), NOT_DUE)


async def test_a_missing_log_file_is_an_error_and_is_not_replaced(store, tmp_path):
    directory = tmp_path / "log"
    (directory / sqlite.FILE).rename(directory / "away")
    # The error makes the writer open a new connection.
    with pytest.raises(Refusal):
        await store._run_in_writer(raises(sqlite3.DatabaseError("planted")))
    with pytest.raises(Refusal):
        await append(store, "a", 0, action(0), NOT_DUE)
    assert not (directory / sqlite.FILE).exists()
    (directory / "away").rename(directory / sqlite.FILE)
    assert await append(store, "a", 0, action(0), NOT_DUE)


@pytest.mark.parametrize("name", [sqlite.FILE, WAL_FILE, "lock"])
@pytest.mark.parametrize("change", ["move", "remove", "replace"])
async def test_no_entry_is_answered_whose_file_is_gone(store, tmp_path, caplog, name, change):
    file = tmp_path / "log" / name
    assert await append(store, "a", 0, action(0), NOT_DUE)
    assert store.reads
    if change == "replace":
        shutil.copy(file, tmp_path / "copy")
        (tmp_path / "copy").rename(file)
    else:
        file.rename(tmp_path / "away")
    there = file.read_bytes() if file.exists() else None
    for _ in range(2):
        with pytest.raises(Refusal):
            await append(store, "a", 1, action(0), NOT_DUE)
        with pytest.raises(Refusal):
            await store.load("b")
    assert f"{name} was moved, removed, replaced or cut off" in caplog.text
    assert not store.reads
    assert (file.read_bytes() if file.exists() else None) == there
    if change == "move":
        (tmp_path / "away").rename(file)
        assert await append(store, "a", 1, action(0), NOT_DUE)
        assert len((await store.load("a")).entries) == 2


async def test_what_is_committed_is_answered_though_its_file_is_moved_meanwhile(store, tmp_path):
    # Else whoever watches the match would never be told of it.
    def move(connection):
        (tmp_path / "log" / sqlite.FILE).rename(tmp_path / "away")
        return True

    assert await store._run_in_writer(move)
    with pytest.raises(Refusal):
        await store._run_in_writer(move)


@pytest.mark.parametrize("left", [None, b""])
def test_a_write_ahead_log_without_its_file_is_not_thrown_away(crashed, left, tmp_path):
    log = tmp_path / "log"
    shutil.copytree(crashed[0], log)
    (log / sqlite.FILE).unlink()
    if left is not None:
        (log / sqlite.FILE).write_bytes(left)
    before = (log / WAL_FILE).read_bytes()
    assert before
    for start in ("open", "open_to_check"):
        with pytest.raises(OSError, match=r"gone or empty|No such file"):
            asyncio.run(getattr(sqlite.SqliteStore(log), start)())
        assert (log / WAL_FILE).read_bytes() == before
        assert (log / sqlite.FILE).exists() == (left is not None)


def test_a_removed_file_comes_back_as_the_page_for_operators_says(tmp_path):
    file, rng = tmp_path / "log" / sqlite.FILE, seeded("removed")
    with ServerProcess("--data", str(file.parent)) as server:
        table = server.client.create(ruleset_of(GAME))
        for _ in range(3):
            player, request = next_request(table, rng)
            player.send(request)
        file.unlink()
        player, request = next_request(table, rng)
        refusal = refused(player.send, request)
        assert refusal.reason == "STORE_UNAVAILABLE"
        opened_files = Path(f"/proc/{server.process}/fd").iterdir()
        removed = [each for each in opened_files if str(each.readlink()) == f"{file} (deleted)"]
        shutil.copy(removed[0], file)
        server.stop()
    assert versions_in(file.parent, table.name.removeprefix("matches/")) == 3


class KeylessStore(MemoryStore):
    async def key(self, offered):
        raise store_unavailable()


async def test_a_server_whose_key_cannot_be_read_does_not_start():
    with pytest.raises(OSError, match="does not answer"):
        await Server(Options(port=0), KeylessStore()).start()


def test_a_write_ahead_log_that_was_emptied_meanwhile_has_lost_nothing(tmp_path, caplog):
    path = tmp_path / "log"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    frames = [sqlite_recovery.Frame(number, 1, commits=True) for number in range(2)]
    sqlite_recovery.checkpoint(connection, path, frames)
    assert "damaged" not in caplog.text


async def test_no_entry_is_answered_whose_file_was_cut_off(tmp_path):
    place, branch = SqlitePlace(tmp_path / "log"), Branch("a")
    async with opened(place, "a"):
        pass
    async with opened(place) as store:
        assert await branch.append(store, action(0))
        os.truncate(place.directory / sqlite.FILE, 4096)
        # Its pages may be in memory, and what is added comes to the write-ahead log first.
        with pytest.raises(Refusal):
            await branch.append(store, action(0))


async def test_a_log_that_was_made_smaller_in_order_goes_on(tmp_path):
    place, branch = SqlitePlace(tmp_path / "log"), Branch("a")
    file = place.directory / sqlite.FILE
    async with opened(place, "a") as store:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("CREATE TABLE large AS SELECT zeroblob(1000000) AS data")
            connection.commit()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            large = file.stat().st_size
            assert await branch.append(store, action(0))
            connection.execute("DROP TABLE large")
            connection.commit()
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert file.stat().st_size < large
        assert await branch.append(store, action(1))
