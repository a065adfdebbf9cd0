"""Killing servers during matches loses no answered action, and the feed tells of every match."""

import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys

import pytest

from croupier.client import Client, Operator
from tests.support.chaos import ChaosRun, kill, pause
from tests.support.exports import check_log
from tests.support.feed_reader import FeedReader
from tests.support.postgresql import Postgres
from tests.support.replicas import OPERATOR

KILLS = int(os.environ.get("TEST_KILLS", "3"))
TABLES = min(KILLS, 8)
SEED = os.environ.get("TEST_SEED", "1")
MODES = ("immediate", "fast")
CROWD = int(os.environ.get("TEST_CROWD", "0"))  # Matches at a time.
PACE = "30"  # Seconds that a seat thinks, on average.


@contextlib.contextmanager
def followed(replicas):
    """While somebody follows the feed at any of the servers; all is told of in the end."""
    for replica in replicas:
        replica.ready()
    reader = FeedReader([replica.address for replica in replicas], OPERATOR)
    try:
        yield reader
        with Client(replicas[0].address) as client:
            reader.check(Operator(client, OPERATOR))
    finally:
        reader.close()


def kills(run):
    """Numbers kills, which go on until clients have met some."""
    for number in itertools.count():
        if number >= KILLS and run.figures["calls lost"] and run.figures["streams resumed"]:
            return
        yield number


def report_figures(run):
    print(f"seed {run.seed}:", *(f"{n} {what}," for what, n in sorted(run.figures.items())))


def test_a_killed_server_loses_nothing(replicas, operator, tmp_path):
    replica = replicas("--store", "sqlite", "--data", str(tmp_path / "data"), *operator)
    rng = random.Random(f"sqlite {SEED}")
    with followed([replica]), ChaosRun(SEED, [replica.address], TABLES) as run:
        for _ in kills(run):
            kill([replica], rng, run)
        replica.ready()
        run.finish()
    report_figures(run)
    check_log(replica, run, operator, tmp_path)
    replica.end_well()


@pytest.fixture
def database():
    """A PostgreSQL server for one test, which stops it."""
    server = Postgres()
    yield server
    server.close()


def restart(database, mode, replicas, rng, run):
    """Stops the database under load, and starts it again."""
    for replica in replicas:
        # A server that starts while the database is down would exit.
        replica.ready()
    run.wait_answers(rng.randint(1, 60))
    database.stop(mode)
    database.start()
    run.count(f"databases stopped ({mode})")


def test_killed_replicas_and_a_stopped_database_lose_nothing(
    replicas, database, operator, tmp_path
):
    store = ("--store", database.url(database.new_schema()), *operator)
    pair = [replicas(*store), replicas(*store)]
    rng = random.Random(f"postgresql {SEED}")
    # These two make sure that the short form stops the database in both ways.
    stops = {KILLS // 3: "immediate", 2 * KILLS // 3: "fast"}
    addresses = [replica.address for replica in pair]
    with followed(pair), ChaosRun(SEED, addresses, TABLES) as run:
        for number in kills(run):
            mode = stops.get(number) or (rng.choice(MODES) if rng.random() < 0.1 else None)
            if mode:
                restart(database, mode, pair, rng, run)
            if number % 4 == 1:
                pause(rng.choice(pair), rng, run)
            kill(rng.choice((pair[:1], pair[1:], pair[:1], pair[1:], pair)), rng, run)
        for replica in pair:
            replica.ready()
        run.finish()
    report_figures(run)
    check_log(pair[0], run, operator, tmp_path)
    for replica in pair:
        replica.end_well()


@contextlib.contextmanager
def crowd(replicas):
    """While people play CROWD matches, half of them with each server before the others."""
    addresses = [replica.address for replica in replicas]
    command = [sys.executable, "-m", "cli", "load", "--pace", PACE, "--seconds", "604800"]
    command += ["--matches", str(CROWD // 2), "--seats-a-connection", "50"]
    loads = [
        subprocess.Popen(
            [*command, "--server", f"ipv4:{','.join(order)}", "--seed", SEED],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for order in (addresses, addresses[::-1])
    ]
    try:
        for load in loads:
            assert any(line.endswith(" s left\n") for line in load.stderr), "nobody has been seated"
        yield
        for load in loads:
            load.send_signal(signal.SIGINT)
        for load in loads:
            report, _ = load.communicate()
            print(report)
            # So many kills in a row may have kept a player away for as long as it has patience.
            assert "given up" in report
    finally:
        for load in loads:
            load.kill()
            load.communicate()


@pytest.mark.skipif(CROWD < 20, reason="`make soak` runs it")
def test_a_crowd_whose_replicas_are_killed_is_told_of(replicas, database, operator):
    store = ("--store", database.url(database.new_schema()), *operator)
    pair = [replicas(*store), replicas(*store)]
    rng = random.Random(f"crowd {SEED}")
    with followed(pair) as reader, crowd(pair):
        for number in range(KILLS):
            victims = rng.choice((pair[:1], pair[1:]))
            victims[0].ready()
            reader.wait_updates(rng.randint(1, CROWD // 20))
            victims[0].kill()
            victims[0].start()
            print(f"{number + 1} killed, {reader.updates} updates", flush=True)
        for replica in pair:
            replica.ready()
    for replica in pair:
        replica.end_well()
