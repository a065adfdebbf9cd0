"""A backup of a server that is in use can be restored: its matches go on, and none is damaged."""

import asyncio
import base64
import http.server
import json
import os
import queue
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import asyncpg
import grpc
import pytest

import croupier.client
import wire
from croupier.client import CroupierError
from tests.support.exports import verified_records
from tests.support.replicas import OPERATOR
from tests.support.serving import Client, play_on, read_error, refused, ruleset_of
from tests.support.waiting import FOREVER

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "deploy" / f"{name}.md" for name in ("backup", "damaged-matches")]
TABLES = 4


def commands(mark):
    """The commands after a comment in the pages for operators."""
    pages = "".join(each.read_text() for each in PAGES)
    found = re.search(rf"<!-- {mark}[^>]*-->\n<!--[^>]*-->\n```sh\n(.*?)```", pages, re.S)
    assert found, mark
    return found[1]


def run(script, replacements, programs="", most=None, expected=0):
    """Runs a script as it is printed; with `most`, it fails, as no file may have more bytes."""
    for written, real in replacements.items():
        script = re.sub(written, real, script)

    def fill_disk():
        if most is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # So that writing fails instead.
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        preexec_fn=fill_disk,
        restore_signals=False,
    )
    assert (done.returncode == expected) == (most is None), script + done.stderr


class Sqlite:
    """A SQLite log, and how the page says to back it up."""

    def __init__(self, tmp_path):
        if not shutil.which("sqlite3"):
            pytest.skip("sqlite3 is not installed: apt-get install sqlite3")
        self._tmp_path = tmp_path
        self.backups = tmp_path / "backups"
        self.backups.mkdir()
        self.options = ("--store", "sqlite", "--data", str(tmp_path / "lib" / "croupier"))
        self._places = {
            "/var/lib/": f"{tmp_path}/lib/",
            "/var/backups/croupier": str(self.backups),
            "owner=croupier": f"owner={os.geteuid()}",
        }

    def back_up(self, most=None):
        run(commands("backup: SQLite"), self._places, most=most)

    def restore(self):
        run(commands("restore: SQLite"), self._places)
        return self.options

    def restore_match(self, name, expected=0):
        places = {"matches/ID": name} | self._places
        run(commands("restore one match: SQLite"), places, expected=expected)

    def execute(self, statement):
        with closing(sqlite3.connect(self._tmp_path / "lib/croupier/croupier.db")) as connection:
            rows = connection.execute(statement).fetchall()
            connection.commit()
        return rows


class Postgresql:
    """A PostgreSQL database, and how the page says to back it up."""

    def __init__(self, tmp_path, postgres):
        self._postgres = postgres
        self.backups = tmp_path / "backups"
        self.backups.mkdir()
        self._url = r"postgresql://croupier@/\1?" + postgres.where
        self._places = {
            r"postgresql://croupier@db\.internal/(\w+)": self._url,
            "/var/backups/croupier": str(self.backups),
            # Tests may share the database server.
            r"\bcroupier_restored\b": f"{postgres.new_schema()}_restored",
        }
        self.name = f"{postgres.new_schema()}_croupier"
        self._places[r"(?<=@/)croupier\b"] = self.name
        create = f"createdb --maintenance-db='{self._real('postgres')}' {self.name}"
        run(create, {}, postgres.programs)
        self.options = ("--store", self._real(self.name))

    def _real(self, name):
        return self._url.replace(r"\1", name)

    def back_up(self, most=None):
        run(commands("backup: PostgreSQL"), self._places, self._postgres.programs, most)

    def restore(self):
        run(commands("restore: PostgreSQL"), self._places, self._postgres.programs)
        return ("--store", self._real(self._places[r"\bcroupier_restored\b"]))

    def restore_match(self, name, expected=0):
        if not expected:
            self.restore()
        places = {"matches/ID": name} | self._places
        script = commands("restore one match: PostgreSQL")
        run(script, places, self._postgres.programs, expected=expected)

    def execute(self, statement):
        async def execute():
            connection = await asyncpg.connect(self.options[1])
            try:
                return [tuple(row) for row in await connection.fetch(statement)]
            finally:
                await connection.close()

        return asyncio.run(execute())


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    if request.param == "sqlite":
        return Sqlite(tmp_path)
    return Postgresql(tmp_path, request.getfixturevalue("postgres"))


def test_a_backup_that_fails_leaves_the_one_before(store, replicas):
    replica = replicas(*store.options)
    replica.ready()
    table = Client(replica.address).create(ruleset_of("skystones"))
    store.back_up()
    (whole,) = store.backups.iterdir()
    before = whole.read_bytes()
    play_on(table, random.Random(1))
    store.back_up(most=len(before) // 2)  # The disk is full.
    assert whole.read_bytes() == before
    whole.with_name(f"{whole.name}.new").write_bytes(before[: len(before) // 2])
    store.back_up()  # After a crash.
    assert [whole] == list(store.backups.iterdir())
    assert whole.read_bytes() not in (before, before[: len(before) // 2])
    replica.end_well()


# `docker compose ... exec -T backup COMMAND ...` runs the command here; else it does nothing.
DOCKER = """#!/bin/sh
while [ $# != 0 ] && [ "$1" != exec ]; do shift; done
[ $# = 0 ] || { shift 3; exec "$@"; }
"""


def test_the_newest_dump_of_compose_takes_the_place_of_the_database(
    postgres, replicas, tmp_path, monkeypatch
):
    store = Postgresql(tmp_path, postgres)
    replica = replicas(*store.options)
    replica.ready()
    kept = Client(replica.address).create(ruleset_of("skystones"))
    store.back_up()
    (store.backups / "croupier.dump").rename(store.backups / "croupier-20260102T000000Z.dump")
    (store.backups / "croupier-20260101T000000Z.dump").touch()
    lost = Client(replica.address).create(ruleset_of("skystones"))
    replica.end_well()

    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o700)
    (tmp_path / "password").write_text("not asked for here")
    for name, value in (("HOST", postgres.socket.parent), ("USER", "croupier")):
        monkeypatch.setenv(f"PG{name}", str(value))
    places = {
        "/run/secrets/postgres-password": str(tmp_path / "password"),
        "/backups/": f"{store.backups}/",
        r"(DATABASE|createdb|exists|TO|dbname=)( ?)croupier": rf"\1\2{store.name}",
    }
    for _ in range(2):  # Once is not enough for all.
        run(commands("restore: Compose"), places, f"{tmp_path}:{postgres.programs}")
    restored = replicas(*store.options)
    restored.ready()
    client = Client(restored.address)
    for player in (*kept.players.values(), *lost.players.values()):
        player.move_to(client)
    assert kept.players[0].view().version == 0
    assert refused(lost.players[0].view).reason == "MATCH_NOT_FOUND"
    restored.end_well()


class Played:
    """A match, and the answers that its players got, by version."""

    def __init__(self, table, began):
        self.table = table
        self.began = began
        self.answers = {}  # The seat and action, and when, by the version that they made.
        self.over = None  # When the answer came that ended it.

    @property
    def last(self):
        return max(self.answers, default=0)


class Tables:
    """Threads that play matches, one after the other, until the server is gone."""

    def __init__(self, address):
        self.played = []
        self.failures = []
        self._changed = threading.Condition()
        self._answered = 0
        self._client = Client(address)
        self._threads = [threading.Thread(target=self._run, args=(n,)) for n in range(TABLES)]
        for thread in self._threads:
            thread.start()

    def _run(self, number):
        rng = random.Random(number)
        games = list(wire.hosted_games())
        try:
            while True:
                self._play(ruleset_of(games[(number + len(self.played)) % len(games)]), rng)
        except grpc.RpcError as error:
            # The server has been killed.
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                self.failures.append(error)
        except BaseException as error:
            self.failures.append(error)

    def _play(self, ruleset, rng):
        played = Played(self._client.create(ruleset), time.monotonic())
        self.played.append(played)
        while played.over is None:
            view = played.table.spectator.view()
            player = played.table.players[rng.choice(view.deciders)]
            view = player.view()
            action = rng.choice(view.legal_actions)
            after = player.submit(action, view.version)
            with self._changed:
                seat = next(s for s, each in played.table.players.items() if each is player)
                played.answers[after.version] = (seat, action), time.monotonic()
                if after.HasField("result"):
                    played.over = time.monotonic()
                self._answered += 1
                self._changed.notify_all()

    def wait_for(self, reached):
        """Waits until a condition on the matches holds."""
        with self._changed:
            self._changed.wait_for(lambda: self.failures or reached(self.played))
        assert not self.failures

    def wait_answers(self, count):
        """Waits until `count` more actions have been answered."""
        until = self._answered + count
        self.wait_for(lambda _: self._answered >= until)

    def join(self):
        for thread in self._threads:
            thread.join()
        assert not self.failures
        return self.played


def check_lost(played, view):
    """The holder of a lost version is told so, whatever it asks."""
    player = next(iter(played.table.players.values()))
    ahead = refused(lambda: list(player.watch(played.last)))
    assert ahead.reason == "VERSION_IN_FUTURE"
    assert ahead.metadata["current_version"] == str(view.version)
    action = view.legal_actions[0] if view.legal_actions else None
    if action is not None:
        stale = refused(player.submit, action, played.last)
        assert stale.reason == "STALE_VERSION"
        assert stale.metadata["current_version"] == str(view.version)


def test_a_backup_under_load_is_restored_and_matches_go_on(store, replicas, operator, tmp_path):
    replica = replicas(*store.options, *operator)
    replica.ready()
    tables = Tables(replica.address)
    tables.wait_for(lambda matches: any(each.over is not None for each in matches))
    began = time.monotonic()
    store.back_up()
    ended = time.monotonic()
    tables.wait_answers(20)
    replica.kill()
    played = tables.join()

    restored = replicas(*store.restore(), *operator)
    restored.ready()
    client = Client(restored.address)
    rng = random.Random(1)
    kept, gone_on, lost = [], 0, 0
    for each in played:
        for player in each.table.everyone():
            player.move_to(client)
        try:
            view = next(iter(each.table.players.values())).view()
        except grpc.RpcError as error:
            assert read_error(error).reason == "MATCH_NOT_FOUND"
            assert each.began > began
            lost += len(each.answers)
            continue
        assert each.began < ended
        kept.append(each)
        answers = {version: decision for version, (decision, _) in each.answers.items()}
        # The backup has all that was answered before it began, and nothing from after its end.
        for version, (_, at) in each.answers.items():
            assert at > began or version <= view.version
        lost += sum(version > view.version for version in answers)
        if each.last > view.version:
            check_lost(each, view)
        if not view.HasField("result"):
            play_on(each.table, rng)
            gone_on += 1
        decided = {
            entry.version: (entry.action.seat, entry.action.action)
            for entry in each.table.spectator.record().entries
            if entry.HasField("action")
        }
        for version, decision in answers.items():
            assert version > view.version or decided[version] == decision
    assert lost and gone_on and any(each.over and each.over < began for each in kept)
    records = verified_records(restored, operator, tmp_path / "records")
    assert set(records) == {each.table.name for each in kept}
    restored.end_well()
    print(f"{len(kept)} matches restored, {gone_on} went on, {lost} answered actions were newer")


class Endpoint(http.server.ThreadingHTTPServer):
    """What `croupier webhooks` posts to; keeps the updates."""

    def __init__(self):
        self.updates = queue.Queue()
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def wait_for(self, name, version):
        """Waits until it was told of a version of a match; returns all versions that it is told."""
        told = {}
        while told.get(name) != version:
            update = self.updates.get()
            told[update["name"]] = int(update.get("version", 0))
        return told


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        for each in message["data"]["updates"]:
            self.server.updates.put(each)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def endpoint():
    with Endpoint() as server:
        yield server
        server.shutdown()


@pytest.fixture
def hooks(endpoint, operator, tmp_path):
    """Starts `croupier webhooks` for a server; returns the process."""
    started = []
    (tmp_path / "secret").write_text(f"whsec_{base64.b64encode(bytes(32)).decode()}")

    def start(address):
        command = [sys.executable, "-m", "cli", "webhooks", "--server", address, *operator]
        command += [f"http://127.0.0.1:{endpoint.server_port}", "--state", str(tmp_path / "hooks")]
        command += ["--secret-file", str(tmp_path / "secret")]
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def followed(address, cursor, wanted):
    """The versions that the feed tells after a cursor up to those that are wanted, and its next."""
    told = {}
    with croupier.client.Client(address, timeout=FOREVER) as client:
        for response in croupier.client.Operator(client, OPERATOR).watch_matches(cursor):
            told |= {each.name: each.version for each in response.updates}
            if response.cursor and wanted.items() <= told.items():
                return told, response.cursor


def test_nothing_that_a_follower_was_told_is_taken_back_silently(
    store, replicas, operator, endpoint, hooks
):
    replica = replicas(*store.options, *operator)
    replica.ready()
    client, rng = Client(replica.address), random.Random(1)
    kept = client.create(ruleset_of("skystones"))
    play_on(kept, rng, 2)
    _, before = followed(replica.address, "", {kept.name: 2})
    process = hooks(replica.address)
    endpoint.wait_for(kept.name, 2)
    store.back_up()
    play_on(kept, rng, 1)
    lost = client.create(ruleset_of("skystones"))
    told = {kept.name: 3, lost.name: 0}
    _, after = followed(replica.address, before, told)
    endpoint.wait_for(lost.name, 0)
    replica.end_well()

    restored = replicas(*store.restore(), *operator, "--listen", replica.address)
    restored.address = replica.address
    restored.ready()
    assert any("it begins anew" in line for line in process.stderr)
    # It is told again of what runs, and of what comes.
    assert endpoint.wait_for(kept.name, 2) == {kept.name: 2}
    # Until the feed is longer than it was.
    for _ in range(2):
        play_on(kept, rng, 1)
        new = client.create(ruleset_of("skystones"))
        with pytest.raises(CroupierError) as caught:
            followed(restored.address, after, {})
        assert caught.value.reason == "CURSOR_EXPIRED"
    now = {kept.name: 4, new.name: 0}
    assert endpoint.wait_for(new.name, 0).items() >= now.items()
    # From before the backup, nothing is missing; nor is it for who begins anew.
    for cursor in (before, ""):
        found, _ = followed(restored.address, cursor, now)
        assert len(found) == 3 and lost.name not in found
    restored.end_well()


def verified(store):
    """Whether `croupier verify` finds no damage in the log; and what it says."""
    kind, *where = store.options[-2:]
    command = [sys.executable, "-m", "cli", "verify", kind, *where]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode == 0, done.stderr


@pytest.mark.parametrize("started", [False, True])
def test_a_restored_match_is_told_anew_to_all_followers(store, started, replicas, operator):
    replica = replicas(*store.options, *operator)
    replica.ready()
    client, rng = Client(replica.address), random.Random(1)
    other, damaged = (client.create(ruleset_of("skystones")) for _ in range(2))
    play_on(damaged, rng, 2)
    _, before = followed(replica.address, "", {damaged.name: 2})
    store.back_up()
    play_on(other, rng, 1)
    play_on(damaged, rng, 3)  # So it is the last of which the feed tells.
    told = {other.name: 1, damaged.name: 5}
    _, after = followed(replica.address, before, told)
    replica.end_well()
    if started:
        again = replicas(*store.options, *operator)
        again.ready()
        again.end_well()
    bare = damaged.name.removeprefix("matches/")
    store.execute(f"UPDATE entries SET seat = 1 - seat WHERE match_id = '{bare}' AND version = 4")
    joined = f"SELECT match_id, 'later', created, feed, 1 FROM matches WHERE match_id = '{bare}'"
    store.execute(f"INSERT INTO players {joined}")
    whole, said = verified(store)
    assert not whole
    (name,) = re.findall(r"^(matches/\S+) is damaged", said, re.M)

    store.restore_match(name)
    assert store.execute(f"SELECT * FROM players WHERE match_id = '{bare}'") == []
    assert verified(store)[0]
    store.restore_match("matches/none", expected=1)
    assert verified(store)[0]
    restored = replicas(*store.options, *operator)
    restored.ready()
    client = Client(restored.address)
    for _ in range(4):
        for cursor in (before, after):
            with pytest.raises(CroupierError) as caught:
                followed(restored.address, cursor, {})
            assert caught.value.reason == "CURSOR_EXPIRED"
        client.create(ruleset_of("skystones"))
    assert followed(restored.address, "", {other.name: 1, damaged.name: 2})[0][damaged.name] == 2
    for player in damaged.everyone():
        player.move_to(client)
    play_on(damaged, rng, 1)
    assert followed(restored.address, "", {damaged.name: 3})
    restored.end_well()
    assert verified(store)[0]
