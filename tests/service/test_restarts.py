"""Servers that are stopped in order under load lose nothing and leave no caller without an answer.

With SIGTERM, as a supervisor, Docker or Kubernetes stops them: one after the other until each has
been replaced, as in an upgrade.
"""

import os
import random
import threading

import pytest

from croupier.client import OPEN, Client, bot
from croupier.v1 import hint_pb2
from tests.support.certificates import Authority
from tests.support.chaos import ChaosRun, stop
from tests.support.exports import check_log
from tests.support.proxies import PROXIES, TlsProxy, missing
from tests.support.road import Road
from tests.support.waiting import FOREVER

STOPS = int(os.environ.get("TEST_STOPS", "2"))
PLAYERS = int(os.environ.get("TEST_PLAYERS", "64"))
SEED = os.environ.get("TEST_SEED", "1")
TABLES = min(2 * STOPS, 8)
ROUNDS = 2  # How often each replica is replaced.
# In the short form one server must do: tests/service/test_proxies.py also stops servers on
# PostgreSQL, behind all proxies.
LONG = "TEST_STOPS" in os.environ
STORES = ["sqlite", "postgresql"] if LONG else ["sqlite"]
# What a caller may get for an answer, by status and reason; docs/retries.md says what it means.
EXPLAINED = {
    ("UNAVAILABLE", "SHUTTING_DOWN"),
    ("UNAVAILABLE", ""),  # Nothing listens.
    ("DEADLINE_EXCEEDED", ""),  # The caller's own deadline, while nothing listened.
    ("CANCELLED", ""),  # It reached the server at the moment when that closed its port.
}


class Requester:
    """A client that always has a search for a hint under way."""

    def __init__(self, run, address):
        self._run = run
        self._ended = threading.Event()
        self._thread = threading.Thread(target=run.attempt, args=(self._ask, address))
        self._thread.start()

    def _ask(self, address):
        with Client(address, timeout=FOREVER, patience=FOREVER) as client:
            seat = client.create_match("skystones", (OPEN, bot("random"))).seats[0]
            while not self._ended.is_set():
                hint = seat.suggest(seconds=1)
                if hint.stop_reason == hint_pb2.STOP_REASON_SHUTDOWN:
                    self._run.count("searches ended early")
            seat.resign()
            # The log must have this match as well.
            self._run.records.append(seat.record())

    def end(self):
        self._ended.set()
        self._thread.join()


@pytest.mark.parametrize("store", STORES)
def test_a_stopped_server_answers_everybody(store, replicas, operator, request, tmp_path):
    if store != "postgresql":
        data = ("--store", "sqlite", "--data", str(tmp_path / "data"))
        servers = [replicas(*data, *operator)]
    else:
        postgres = request.getfixturevalue("postgres")
        options = ("--store", postgres.url(postgres.new_schema()), *operator)
        servers = [replicas(*options), replicas(*options)]
    rng = random.Random(f"{store} {SEED}")
    with ChaosRun(SEED, [server.address for server in servers], TABLES) as run:
        for server in servers:
            server.ready()
        askers = [Requester(run, server.address) for server in servers]
        try:
            number = 0
            # Goes on until a player has met the end of a server.
            while number < STOPS or not run.lost["UNAVAILABLE", "SHUTTING_DOWN"]:
                stop(servers[number % len(servers)], rng, run)
                number += 1
        finally:
            for requester in askers:
                requester.end()
        for server in servers:
            server.ready()
        run.finish()
    assert set(run.lost) <= EXPLAINED, run.lost
    check_log(servers[0], run, operator, tmp_path)
    for server in servers:
        server.end_well()
    figures = ", ".join(f"{count} {what}" for what, count in sorted(run.figures.items()))
    lost = ", ".join(f"{count} {' '.join(what)}" for what, count in run.lost.most_common())
    print(f"{store}: {figures}; without an answer: {lost}")


@pytest.mark.skipif(not LONG, reason="`make restarts` runs it, for half a minute with each proxy")
@pytest.mark.parametrize("proxy_name", PROXIES)
def test_no_player_sees_a_failure_while_replicas_are_replaced(
    proxy_name, replicas, operator, postgres, tmp_path
):
    how = missing(proxy_name)
    if how:
        pytest.skip(f"{proxy_name} is not installed: {how}")
    options = ("--store", postgres.url(postgres.new_schema()), *operator)
    pair = [replicas(*options), replicas(*options)]
    for replica in pair:
        replica.ready()
    authority = Authority(tmp_path, "authority")
    addresses = [replica.address for replica in pair]
    with TlsProxy(proxy_name, tmp_path, addresses, *authority.issue()) as proxy:
        road = Road(SEED, proxy.address, authority.cert, None, PLAYERS // 2, bots=0)
        for _ in range(ROUNDS):
            for replica in pair:
                # Both have players when one of them stops.
                road.wait_actions(4 * PLAYERS)
                assert replica.end() == 0
                replica.start()
                replica.ready()
        road.wait_actions(4 * PLAYERS)
        road.close()
        road.finish()
    assert road.repeated, "the servers were not in use when they stopped"
    for replica in pair:
        replica.end_well()
    figures = ", ".join(f"{count} {what}" for what, count in sorted(road.figures.items()))
    repeated = ", ".join(f"{count} {status}" for status, count in road.repeated.most_common())
    print(f"{proxy_name}, {PLAYERS} players: {figures}; repeated, by status: {repeated}")
