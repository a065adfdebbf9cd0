"""The simulation of the whole service: a few small worlds, and what it must find.

`make simulate` runs larger ones; docs/simulation.md says how.
"""

import asyncio
import copy
import itertools
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
from fnmatch import fnmatchcase
from types import SimpleNamespace

import pytest

from croupier.v1 import game_pb2
from service.hosting.entries import EntryKind
from service.store import Entry
from tests.simulation import FAULTS, __main__, oracles, seams, sqlite, unasked, web
from tests.simulation import network as networks
from tests.simulation.__main__ import ROOT, _run, _shape, _tell_smallest
from tests.simulation.loop import Deadlock, Owner, SimulatedLoop
from tests.simulation.machines import Machine
from tests.simulation.mutants import MUTANTS
from tests.simulation.postgresql import Database
from tests.simulation.world import Violation
from tests.support.faulty_disk import build

HOURS, MATCHES = 0.1, 4
SMALL = {"hours": HOURS, "matches": MATCHES, "pace": 6.0}


@pytest.fixture(scope="session")
def disk(tmp_path_factory):
    """A disk that can fail."""
    return build(tmp_path_factory.mktemp("disk"))


def test_nothing_goes_wrong_whatever_goes_wrong(disk):
    schemas = [each.read_text() for each in (ROOT / "proto/croupier/v1").glob("*.proto")]
    services = {f"croupier.v1.{each}" for each in re.findall(r"\nservice (\w+)", "".join(schemas))}
    called, actions = set(), 0
    for seed, store in ((11, "postgresql"), (12, "sqlite"), (18, "sqlite"), (14, "postgresql")):
        found = _run(disk, seed, faults=FAULTS, store=store, **SMALL)
        assert found["violations"] == [], found["story"]
        actions += found["counts"]["actions"]
        assert found["counts"]["matches"] >= 4
        called |= {each.split("/")[1] for each in found["called"]}
    # A small world may lack a hint or a feed, and most of its players may be away: all together
    # call every service, and play.
    assert services <= called
    assert actions > 200


def test_a_seed_gives_the_same_history_in_every_process():
    histories = set()
    for hash_seed in ("1", "2"):
        command = [sys.executable, "-m", "tests.simulation", "--child", "--seed", "5"]
        command += ["--hours", "0.05", "--matches", "3", "--store", "postgresql"]
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=True)
        found = json.loads(done.stdout)
        assert found["violations"] == []
        histories.add((found["history"], found["story"]))
    assert len(histories) == 1


def test_the_database_answers_alike_in_whichever_order_it_is_asked():
    database = Database(SimulatedLoop(1), 1)
    database.primary.heads = {"one": (1, b"a"), "two": (2, b"b"), "three": (0, b"c")}
    database.primary.ahead = dict.fromkeys(database.primary.heads, b"")
    database.primary.erased = dict.fromkeys(database.primary.heads, b"")
    asked = itertools.permutations(("one", "two", "three", "four"))
    answers = [database._heads(database.primary, None, each) for each in asked]
    told = [("one", 1, b"a"), ("three", 0, b"c"), ("two", 2, b"b")]
    assert answers == [[(*each, b"", b"") for each in told]] * 24


def test_a_standby_may_lack_actions_and_nothing_else():
    database = Database(SimulatedLoop(1), 1)
    primary = database.primary
    primary.matches = dict.fromkeys(("one", "two"), ())
    primary.entries = {"one": [(EntryKind.ACTION,)], "two": []}
    standby = primary.copy()
    assert database.lost_with(standby) is None
    primary.entries["two"].append((EntryKind.ACTION,))
    assert database.lost_with(standby) == {"two"}
    primary.entries["one"].append((EntryKind.TOKEN,))
    assert database.lost_with(standby) is None
    database.fail_over(1.0, 0.0, standby)
    assert database.primary.entries == {"one": [(EntryKind.ACTION,)], "two": []}
    assert database.primary.timeline == primary.timeline + 1


def test_a_smaller_world_must_show_the_same_fault():
    behind = "matches/{} (open): a stream is at version {}, though 8 was known 60 s ago"
    one, other = ({"violations": [behind.format(*each)]} for each in (("ab", 7), ("cd", 0)))
    assert _shape(one) == _shape(other)
    assert _shape({"violations": ["GetView is not answered for minutes"]}) != _shape(one)


def _tell(monkeypatch, capsys, shown, seconds=600):
    # Which smaller worlds are run where those that `shown` says show the fault.
    tried = []

    def run(disk, seed, *, timeout, **options):
        assert 0 < timeout <= seconds
        tried.append((options["matches"], len(options["faults"])))
        return {"violations": ["late"] if shown(options) else [], "hours": 0.2, "story": "", **PG}

    monkeypatch.setattr(__main__, "_run", run)
    monkeypatch.setattr(__main__, "SHRINK_SECONDS", seconds)
    found = {"violations": ["late"], "hours": 0.2, "story": "one\nVIOLATION: late\nentry", **PG}
    options = {"hours": 0.5, "matches": 8, "faults": ["kills", "cuts"], "store": None, "pace": 6.0}
    _tell_smallest(None, 1, options, found)
    return tried, capsys.readouterr().out


PG = {"store": "postgresql"}


def test_a_smaller_world_is_never_larger_than_the_smallest_so_far(monkeypatch, capsys):
    tried, told = _tell(monkeypatch, capsys, lambda options: "cuts" in options["faults"])
    assert tried == [(8, 2), (1, 2), (1, 1), (1, 0)]
    assert "--hours 0.2 --matches 1 --faults cuts --store postgresql" in told.splitlines()[-1]
    tried, told = _tell(monkeypatch, capsys, lambda options: False)
    assert tried == [(8, 2), (1, 2), (2, 2), (4, 2), (8, 1), (8, 1)]
    assert "VIOLATION: late\nentry\nlate\nagain: " in told


def test_the_search_for_a_smaller_world_ends(monkeypatch, capsys):
    tried, told = _tell(monkeypatch, capsys, lambda options: True, seconds=0)
    assert tried == []
    assert "--hours 0.5 --matches 8 --faults kills,cuts" in told.splitlines()[-1]


def test_a_closed_port_takes_no_connection():
    loop = SimulatedLoop(1)
    network = networks.Network(loop, 1)
    networks.SimulatedListener.network = network
    host = "10.0.0.1"
    admitted, failed = [], []

    async def live():
        port = web.Port(web.options_of(host))
        accepting = loop.create_task(port.accept(lambda *connection: admitted.append(connection)))
        await asyncio.sleep(0)
        connection = networks.Connection(network, loop.world, port.address, "ipv4:192.0.2.1:40000")
        connection.calls[1] = SimpleNamespace(fail=failed.append)
        connection.send(True, port.receive, connection, b"GET")
        accepting.cancel()
        await asyncio.sleep(60)

    loop.run_until_complete(live())
    loop.close()
    assert admitted == []
    assert [each.code for each in failed] == ["UNAVAILABLE"]


def test_a_judge_reads_a_log_and_leaves_it_as_it_is(tmp_path):
    data = tmp_path / "data"
    disk = sqlite.Disk(data, random.Random(1), None)
    crashed = tmp_path / "crashed.db"
    connection = sqlite3.connect(crashed)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE matches (match_id)")
    connection.execute("INSERT INTO matches VALUES ('one')")
    connection.commit()
    for ending in ("", "-wal"):
        (data / f"croupier.db{ending}").write_bytes((tmp_path / f"crashed.db{ending}").read_bytes())
    connection.close()
    before = {each.name: each.read_bytes() for each in data.iterdir()}
    for _ in range(2):
        assert disk.reading().execute("SELECT match_id FROM matches").fetchall() == [("one",)]
    assert {each.name: each.read_bytes() for each in data.iterdir()} == before


def test_a_heartbeat_names_what_its_stream_has_sent():
    own, other = (Entry(EntryKind.ACTION, seat, 0, request_id="one") for seat in (0, 1))
    stored = SimpleNamespace(entries=[other, own, other])

    def judge(*heartbeats):
        return list(oracles._of_heartbeats(SimpleNamespace(heartbeats=heartbeats), stored))

    assert judge((None, 0, 0), (None, 3, 3), (0, 1, 2), (0, 2, 2)) == []
    for wrong in ((None, 1, 2), (None, 2, 1), (0, 2, 3), (0, 1, 3), (None, -1, 0), (None, 3, 4)):
        assert len(judge(wrong)) == 1, wrong


def test_what_is_given_back_late_is_given_back():
    loop = SimulatedLoop(1)
    left = [["counts 2 calls, but none run"]] * 20

    class World:
        now = property(lambda self: loop.now)
        troubles = SimpleNamespace(silent_until=0.0)

        def fail(self, text):
            raise Violation(text)

    def check(left):
        machine = Machine.__new__(Machine)
        machine.name, machine.world = "server-2", World()
        machine._left = lambda: iter(left.pop() if left else ())
        loop.run_until_complete(machine.check_idle())

    check(left)
    assert left == []
    with pytest.raises(Violation, match="server-2 counts 2 calls"):
        check([["counts 2 calls, but none run"]] * 200)
    loop.close()


def test_each_planted_fault_fits_the_code():
    assert len({each.name for each in MUTANTS}) == len(MUTANTS) >= 150
    for each in MUTANTS:
        compile(each.planted(), each.module, "exec")


@pytest.mark.parametrize("name", ["answered-before-commit", "views-share-a-key"])
def test_a_planted_fault_is_found(disk, name):
    found = _run(disk, 3, faults=FAULTS, store="postgresql", plant=name, **SMALL)
    assert found["violations"], found["story"]
    before, _, after = found["story"].partition("VIOLATION")
    assert before
    # The entries of the match, who has sent them and who has written them.
    if name == "answered-before-commit":
        assert "version 1: " in after
        assert "sent by client " in after
        assert "written by server-" in after


@pytest.mark.parametrize(
    ("death", "plant"),
    [("due matches/fails", None), ("due matches/fails", "kept-ends-unseen"), ("commit/ends", None)],
)
def test_the_death_of_background_work_is_noticed(disk, death, plant):
    found = _run(disk, 1, faults=[], store="postgresql", plant=plant, death=death, **SMALL)
    assert bool(found["violations"]) == bool(plant), found["story"]


# Drawn from those that worlds meet.
AT_SEAMS = (
    "answer Match.GetView view.players.display_name lost",
    "request Match.DeclineRematch name other",
    "refusal Match.GetRecord MATCH_NOT_FOUND.match lost",
    "store list_matches told.updated lost",
    "stream Match.WatchMatch  dropped",
    "request Match.CreateMatch seed more",
    "answer Puzzle.SolvePuzzle steps.view.version more",
)


def test_what_is_changed_at_a_seam_is_noticed():
    worlds, small = unasked.Worlds(2), [(7010, "sqlite", []), (7003, "sqlite", [])]
    try:
        shown = list(worlds.pool.map(lambda name: worlds.judge(name, small), AT_SEAMS))
    finally:
        worlds.close()
    assert not {"", unasked.NOTHING} & set(shown), shown


def test_a_fault_at_a_seam_changes_what_it_names_and_nothing_else():
    view = game_pb2.View(version=3, seat=1, deciders=[0, 1], hint_policy=1)
    view.players.add(display_name="Ann")

    def made(path, change, other=None):
        return seams.changed(copy.deepcopy(view), path, change, lambda value: other)

    for path, change, right in (
        ("version", "more", {"version": 4}),
        ("seat", "lost", {"seat": None}),
        ("deciders", "reversed", {"deciders": [1, 0]}),
        ("deciders", "shorter", {"deciders": [0]}),
        ("hint_policy", "next", {"hint_policy": 2}),
        ("players.display_name", "lost", {"players": [game_pb2.Player()]}),
        ("players.display_name", "other", {"players": [game_pb2.Player(display_name="Bob")]}),
    ):
        wrong = copy.deepcopy(view)
        for name, value in right.items():
            wrong.ClearField(name)
            wrong.MergeFrom(game_pb2.View(**{name: value}))
        assert made(path, change, "Bob") == wrong, (path, change)
    assert made("clocks.time", "more") == view
    names = {str(each) for each in seams.described()}
    patterns = [each for each in unasked.HARMLESS if each.startswith(("answer", "request"))]
    assert all(
        any(fnmatchcase(name, each) for name in names) or "timeout" in each for each in patterns
    )


# The loop


def _order(seed):
    loop, seen = SimulatedLoop(seed), []
    for number in range(8):
        loop.call_soon(seen.append, number)
    loop.call_later(3600, loop.stop)
    loop.run_forever()
    assert 3600 <= loop.time() < 3601
    loop.close()
    return seen


def test_the_order_of_callbacks_follows_the_seed():
    assert sorted(_order(1)) == list(range(8))
    assert _order(1) == _order(1)
    assert len({tuple(_order(seed)) for seed in range(5)}) > 1


def test_what_belongs_to_a_dead_owner_never_runs():
    loop, seen = SimulatedLoop(1), []
    dead, alive = Owner("dead"), Owner("alive")
    for owner in (dead, alive):
        loop.call_at_as(owner, 1.0, seen.append, owner.name)
    loop.call_later(0.5, setattr, dead, "alive", False)
    loop.call_later(2.0, loop.stop)
    loop.run_forever()
    loop.close()
    assert seen == ["alive"]


def test_a_world_in_which_nothing_can_happen_ends():
    loop = SimulatedLoop(random.Random(1).random())
    with pytest.raises(Deadlock):
        loop.run_until_complete(loop.create_future())
    loop.close()
