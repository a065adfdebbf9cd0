"""`croupier verify --data` and `--store`: a whole log is checked, and nothing in it changes."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cli.main import main
from service.common.errors import Unreadable, store_unavailable
from service.hosting.leases import leased_status
from service.hosting.match_state import MatchState
from service.store import SqliteStore, StoredMatch
from tests.support.damage import bad, damage_postgresql, damage_sqlite, flip_cell, flip_file
from tests.support.long_form import LONG_FORM
from tests.support.play import seeded
from tests.support.postgresql import Postgres
from tests.support.random_matches import random_match
from tests.support.stores import PostgresPlace, opened

WHOLE = "1 matches, 0 damaged, 0 under other rules\n"
# Else root writes where nobody may.
POWERLESS = [] if os.getuid() else ["setpriv", "--bounding-set=-dac_override"]
FLIPS = 10 if LONG_FORM else 2


async def _write(store, state, *, close=True):
    await store.open()
    await store.key(bytes(32))
    await _add(store, state)
    if close:
        await store.close()


async def _add(store, state):
    before = MatchState.begin(state.header)
    await store.create(before.header, leased_status(before))
    for entry in state.entries:
        after = before.after(entry)
        assert await store.append(state.header.match_id, before.head, entry, leased_status(after))
        before = after


@pytest.fixture
def log(servers, tmp_path):
    """A SQLite log with one match."""
    state = random_match("skystones", "default", seeded(1, "a log"))
    servers.run(_write(SqliteStore(tmp_path), state))
    return tmp_path


def verify(log, capsys, option="--data"):
    with pytest.raises(SystemExit) as ended:
        main(["verify", option, str(log)])
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def test_whole_log(log, capsys):
    assert verify(log, capsys)[:2] == (0, WHOLE)


def contents(place):
    return {each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in place.iterdir()}


def wal_of(log, servers):
    """Leaves the log as a killed server does: its last match is in the write-ahead log alone."""
    store, killed = SqliteStore(log), log / "killed"
    state = random_match("skystones", "default", seeded(2, "a log"))
    servers.run(_write(store, state, close=False))
    killed.mkdir()
    for name in ("croupier.db", "croupier.db-wal"):
        shutil.copy(log / name, killed)
    servers.run(store.close())
    for path in killed.iterdir():
        path.rename(log / path.name)
    killed.rmdir()


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("used", [False, True])
def test_nothing_is_written(killed, used, log, servers):
    if killed:
        wal_of(log, servers)
    if not used:
        (log / "lock").unlink()
    with tempfile.TemporaryDirectory() as place:
        readable = Path(place, "log")
        shutil.copytree(log, readable)
        for path in (readable.parent, readable, *readable.iterdir()):
            path.chmod(0o555)
        before = contents(readable)
        assert ("croupier.db-wal" in before) == killed
        done = subprocess.run(
            [*POWERLESS, sys.executable, "-m", "cli", "verify", "--data", str(readable)],
            capture_output=True,
            text=True,
        )
        assert contents(readable) == before
        readable.parent.chmod(0o755)
        readable.chmod(0o755)
    expected = WHOLE.replace("1", "2") if killed else WHOLE
    assert (done.returncode, done.stdout) == (0, expected), done.stderr


def test_a_copy_under_another_name_is_checked_beside_a_server(log, servers, capsys):
    store = SqliteStore(log)
    servers.run(store.open())
    try:
        status, out, err = verify(log, capsys)
        assert (status, out) == (3, "") and "in use" in err
        link = log / "link.db"
        link.symlink_to(log / "croupier.db")
        assert verify(link, capsys)[0] == 3
        copy = log / "croupier-now.db"
        with sqlite3.connect(log / "croupier.db") as connection:
            connection.execute(f"VACUUM INTO '{copy}'")
        connection.close()
        assert verify(copy, capsys)[:2] == (0, WHOLE)
        with sqlite3.connect(copy) as connection:
            connection.execute("UPDATE matches SET secret = zeroblob(32)")
        connection.close()
        assert verify(copy, capsys)[0] == 1
    finally:
        servers.run(store.close())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE entries SET seat = 1 - seat WHERE version = 3", "at version 3"),
        ("UPDATE matches SET secret = zeroblob(32)", "is damaged at version"),
        ("UPDATE matches SET owner = 'another'", "the feed tell of it"),
        ("UPDATE entries SET feed = x'00' WHERE version = 2", "at version 2"),
        ("UPDATE entries SET feed_position = 1000000 WHERE version = 2", "the feed tell of it"),
        ("UPDATE heads SET due = 1", "a server acts at 1"),
        ("UPDATE heads SET over = 0", "its head"),
        ("DELETE FROM matches", "not in the table matches"),
        ("UPDATE settings SET name = 'kex' WHERE name = 'key'", "unknown name"),
        ("UPDATE incarnations SET begins = begins + 1024", "an epoch that begins where"),
        ("UPDATE settings SET value = zeroblob(36) WHERE name = 'key'", "key of the tokens"),
    ],
)
def test_damage_is_named(change, said, log, capsys):
    with sqlite3.connect(log / "croupier.db") as connection:
        connection.execute(change)
    connection.close()
    status, _, err = verify(log, capsys)
    assert status == 1
    assert said in err


def test_a_page_that_cannot_be_read_hides_nothing_but_its_matches(log, servers, capsys):
    states = [random_match("skystones", "default", seeded(n, "a log")) for n in range(2, 6)]

    async def add():
        store = SqliteStore(log)
        await store.open()
        for state in states:
            await _add(store, state)
        await store.close()

    servers.run(add())
    file = log / "croupier.db"
    with sqlite3.connect(file) as connection:
        listed = connection.execute("SELECT match_id FROM matches ORDER BY match_id")
        damaged, *whole = [match_id for (match_id,) in listed]
    connection.close()
    data = bytearray(file.read_bytes())
    for at in range(0, len(data), 4096):
        page = data[at : at + 4096]
        # A leaf of the entries, with those of this match alone.
        of_others = any(other.encode() in page for other in whole)
        if page[0] == 10 and page.count(damaged.encode()) > 9 and not of_others:
            data[at : at + 4096] = bytes([255]) * 4096
    file.write_bytes(data)
    status, out, err = verify(log, capsys)
    assert status == 1
    assert out.startswith("5 matches, ")
    assert f"matches/{damaged} is damaged at version 0: its rows cannot be read" in err
    # SQLite looks at the page also where the rows of the next match begin.
    assert not any(match_id in err for match_id in whole[1:])


def test_a_page_of_a_database_that_cannot_be_read_hides_nothing_but_its_matches(servers, capsys):
    states = [random_match("skystones", "default", seeded(n, "a log")) for n in range(1, 7)]
    server = Postgres()
    try:
        place = PostgresPlace(server)

        async def add():
            async with opened(place) as store:
                await store.key(bytes(32))
                for state in states:
                    await _add(store, state)

        servers.run(add())
        entries = f"{place.schema}.entries"
        on_page = f"SELECT DISTINCT match_id FROM {entries} WHERE ctid < '(1,0)'"
        damaged = server.execute(on_page).split()
        whole = [state.header.match_id for state in states if state.header.match_id not in damaged]
        assert damaged and whole
        assert verify(place.url, capsys, "--store")[0] == 0
        server.execute("ANALYZE")  # It knows that the tables are small.
        server.flip(entries, 0)
        status, out, err = verify(place.url, capsys, "--store")
        assert (status, out) == (1, f"6 matches, {len(damaged)} damaged, 0 under other rules\n")
        assert "the log is damaged: a part of the database cannot be read: invalid page" in err
        for match_id in damaged:
            assert f"matches/{match_id} is damaged at version 0: its rows cannot be read" in err

        async def load():
            store = place.store()
            await store.open_to_check()
            together = [*damaged, *whole]
            try:
                return await asyncio.gather(*map(store.load, together), return_exceptions=True)
            finally:
                await store.close()

        loaded = servers.run(load())
        # What is asked at once becomes one statement, which fails.
        assert all(isinstance(each, Unreadable) for each in loaded[: len(damaged)])
        assert all(isinstance(each, StoredMatch) for each in loaded[len(damaged) :])
    finally:
        server.close()


@pytest.mark.parametrize(("command", "option"), [("verify", "--data"), ("config", "--config")])
def test_an_empty_path_is_neither_this_folder_nor_nothing(command, option, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, option, ""])
    assert ended.value.code == 2
    assert f"{option}: an empty path names nothing" in capsys.readouterr().err


def test_a_log_that_does_not_answer_is_not_called_damaged(log, capsys, monkeypatch):
    async def load(self, match_id):
        raise store_unavailable()

    monkeypatch.setattr(SqliteStore, "load", load)
    status, _, err = verify(log, capsys)
    assert status == 3
    assert "damaged" not in err


def test_older_schema_is_refused(log, capsys):
    with sqlite3.connect(log / "croupier.db") as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    status, _, err = verify(log, capsys)
    assert status == 3
    assert "start a server" in err


def test_nothing_is_created(tmp_path, capsys):
    assert verify(tmp_path / "none", capsys)[0] == 3
    assert not (tmp_path / "none").exists()


# Each cell of a SQLite log is changed by tests/service/store/test_chain.py.
@pytest.mark.parametrize("flip", [flip_file, flip_cell] if LONG_FORM else [flip_file])
def test_no_flipped_bit_changes_an_answer(flip):
    kinds = damage_sqlite(FLIPS, 3, flip)
    assert not bad(kinds), kinds


def test_no_flipped_bit_in_a_database_changes_an_answer(postgres):
    kinds = damage_postgresql(postgres, FLIPS, 3)
    assert not bad(kinds), kinds
