"""A server of several processes behaves as one: ports, budgets, metrics, supervision, its end.

tests/service/test_crashes.py kills and pauses its processes while matches are played,
tests/service/test_races.py lets clients of two of them race, and tests/service/test_restarts.py
stops it under load.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import grpc
import pytest

from croupier.client import Client as PythonClient
from croupier.v1 import catalog_pb2, hint_pb2
from lab.connections import children, serving_processes
from lab.ports import free_port
from service.monitoring import LIVE_SECONDS
from tests.support.replicas import END, PROCESSES, clients_of_each
from tests.support.serving import TIMEOUT, Client, Player, read_error, ruleset_of

GAME = "skystones"
LIST = catalog_pb2.ListGamesRequest()
OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1),)
MATCHES, STREAMS = 12, 3
CALLERS = f"""
[budgets.person]
calls_per_second = 1000
streams = {STREAMS}

[budgets.address]
calls_per_second = 1000
matches_per_hour = {MATCHES}
streams = 1000
"""


class Served:
    """A server of two processes, with the port of its metrics."""

    def __init__(self, replicas, tmp_path, *options):
        self.metrics_port = free_port()
        store = ("--store", "sqlite", "--data", str(tmp_path / "data"))
        metrics = ("--metrics-port", str(self.metrics_port))
        self.replica = replicas(*store, *PROCESSES, *metrics, *options)
        self.replica.ready()

    @property
    def pid(self):
        return self.replica._process.pid

    def get(self, path):
        """The status of a response, and its text."""
        url = f"http://127.0.0.1:{self.metrics_port}{path}"
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name):
        """The value of a series, named as Prometheus writes it."""
        (line,) = [line for line in self.get("/metrics")[1].splitlines() if line.startswith(name)]
        return float(line.rpartition(" ")[2])

    def wait_serving(self, count):
        """Waits until some processes take calls, and returns their ids."""
        event = threading.Event()
        for _ in range(600):
            if self.metric("croupier_serving_processes ") == count:
                return self.replica.serving()
            event.wait(0.1)  # There is nothing that tells of it.
        raise AssertionError(self.replica.log.read_text()[-2000:])


@pytest.fixture
def served(replicas, tmp_path):
    return Served(replicas, tmp_path)


# One log, one port


def test_players_at_different_processes_see_each_other_at_once(served):
    one, other = clients_of_each(served.replica).values()
    table = one.create(ruleset_of(GAME))
    seats = [
        Player(client, player.match, player.token)
        for client, player in zip((one, other), table.players.values(), strict=True)
    ]
    stream = seats[1].watch()
    next(stream)
    for _ in range(8):
        view = seats[0].view()
        if view.HasField("result"):
            break
        decider = view.deciders[0]
        player = seats[decider]
        made = player.submit(player.view().legal_actions[0], view.version)
        # An answered action is seen by whoever looks later, and told to whoever follows.
        assert seats[1 - decider].view().version == made.version
        while next(stream).version < made.version:
            pass
    stream.cancel()


def test_connections_go_to_all_processes(served):
    # Each client is at the process that has one connection more since.
    clients = clients_of_each(served.replica)
    assert sorted(clients) == served.replica.serving()


def test_browsers_are_served_while_a_process_is_stopped(replicas, tmp_path):
    port = free_port()
    served = Served(replicas, tmp_path, "--web", f"127.0.0.1:{port}")
    with served.replica.paused_serving(served.replica.serving()[0]):
        for _ in range(20):
            body = json.dumps({}).encode()
            url = f"http://127.0.0.1:{port}/croupier.v1.CatalogService/ListGames"
            request = urllib.request.Request(url, body, {"content-type": "application/json"})
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                assert GAME in answer.read().decode()
    served.replica.end_well()


def refused_serve(*options):
    """The exit status and the last line of a server that must not start."""
    command = [sys.executable, "-m", "cli", "serve", "--web", "off", "--metrics-port", "0"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=END)
    assert not done.stdout
    return done.returncode, done.stderr.splitlines()[-1]


@pytest.mark.parametrize("options", [(), PROCESSES], ids=["one", "several"])
def test_a_second_server_cannot_take_the_port(served, options):
    address = served.replica.address
    assert refused_serve("--listen", address, "--store", "memory", *options) == (
        1,
        f"croupier: cannot listen on {address}: Address already in use",
    )


def test_a_second_server_cannot_take_the_log(served, tmp_path):
    data = tmp_path / "data"
    assert refused_serve("--listen", "127.0.0.1:0", "--data", str(data), *PROCESSES) == (
        1,
        f"croupier: {data} is in use by another server",
    )


def test_what_a_process_cannot_use_is_reported_by_the_server(tmp_path):
    callers = tmp_path / "callers.toml"
    callers.write_text("[budgets.nobody]\n")
    options = ("--listen", "127.0.0.1:0", "--store", "memory", "--callers-file", str(callers))
    status, said = refused_serve(*options, *PROCESSES)
    assert status == 1
    assert said == refused_serve(*options)[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--search-processes", "0"), "--processes needs --search-processes or --search-at"),
        (("--max-connections", "1"), "--max-connections must not be less than --processes"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, said):
    assert refused_serve("--processes", "2", *options) == (2, f"croupier: {said}")


# Budgets


@pytest.fixture
def limited(replicas, tmp_path):
    """A server that limits callers from this machine."""
    callers = tmp_path / "callers.toml"
    callers.write_text(CALLERS)
    return Served(replicas, tmp_path, "--callers-file", str(callers))


def test_a_caller_has_its_budget_once_and_wholly_at_any_process(limited):
    one, other = clients_of_each(limited.replica).values()
    # In budgets that hardly refill: all of it by one connection, nothing more by another one.
    for _ in range(MATCHES):
        one.create(ruleset_of(GAME))
    for client in (one, other):
        with pytest.raises(grpc.RpcError) as caught:
            client.create(ruleset_of(GAME))
        assert read_error(caught.value).reason == "BUDGET_EXHAUSTED"


def test_streams_of_a_killed_process_are_given_back(limited):
    clients = clients_of_each(limited.replica)
    (victim, at_victim), (_, other) = clients.items()
    player = other.create(ruleset_of(GAME)).players[0]
    lost = [Player(at_victim, player.match, player.token).watch() for _ in range(STREAMS)]
    for stream in lost:
        next(stream)
    with pytest.raises(grpc.RpcError) as caught:
        next(player.watch())
    assert read_error(caught.value).reason == "BUDGET_EXHAUSTED"
    limited.replica.kill_serving(victim)
    for stream in lost:
        with pytest.raises(grpc.RpcError):
            next(stream)
    limited.wait_serving(2)
    kept = [player.watch() for _ in range(STREAMS)]
    for stream in kept:
        next(stream)
    with pytest.raises(grpc.RpcError) as caught:
        next(player.watch())
    assert read_error(caught.value).reason == "BUDGET_EXHAUSTED"
    for stream in kept:
        stream.cancel()


# Supervision


def test_a_killed_process_is_replaced_and_its_counts_stay(served):
    clients = clients_of_each(served.replica)
    victim, at_victim = next(iter(clients.items()))
    for _ in range(5):
        at_victim.catalog.ListGames(LIST, timeout=TIMEOUT)
    name = 'croupier_rpcs_total{code="OK",protocol="grpc"}'
    counted = served.metric(name)
    assert counted >= 5
    served.replica.kill_serving(victim)
    assert served.get("/readyz") == (200, "ready\n")
    assert victim not in served.wait_serving(2)
    assert served.metric(name) == counted
    assert "a serving process ended with -9; it is started again" in served.replica.log.read_text()
    served.replica.end_well()


def test_a_process_that_stands_still_is_killed_and_replaced(served):
    clients = clients_of_each(served.replica)
    (victim, _), (_, other) = clients.items()
    ended = os.pidfd_open(victim)
    os.kill(victim, signal.SIGSTOP)
    try:
        # Meanwhile others are served, and so are the machine's questions.
        assert other.catalog.ListGames(LIST, timeout=TIMEOUT)
        assert served.get("/livez") == (200, "live\n")
        assert served.metric("croupier_serving_processes ") == 2
        ends = select.poll()
        ends.register(ended, select.POLLIN)
        assert ends.poll(1000 * END)
    finally:
        os.close(ended)
    assert victim not in served.wait_serving(2)
    assert f"stood still for {LIVE_SECONDS:.0f} s" in served.replica.log.read_text()
    served.replica.end_well()


def test_nothing_is_left_of_a_killed_server(served):
    started = children(served.pid)
    assert len(started) == 3
    # One that is stopped could not notice it.
    os.kill(started[-1], signal.SIGSTOP)
    served.replica.kill()  # Which checks it.


# Its end


def test_searches_are_answered_when_the_server_stops(served):
    with PythonClient(served.replica.address) as client:
        seat = client.create_match(GAME).seats[0]
        other = Client(served.replica.address, OWN_CONNECTION)
        player = Player(other, seat.match, seat.token)
        request = hint_pb2.AnalyzePositionRequest(
            search={"match_name": seat.match, "limits": {"time": {"seconds": 60}}}
        )
        reports = other.hints.AnalyzePosition(request, metadata=player.metadata, timeout=TIMEOUT)
        first = next(reports)
        assert served.replica.end() == 0
        (*_, last) = reports
    assert last.final_report
    assert last.hint.stop_reason == hint_pb2.STOP_REASON_SHUTDOWN
    assert last.hint.iterations >= first.hint.iterations
    assert not re.search(" failed: | ERROR ", served.replica.log.read_text())


def test_a_stopped_process_does_not_keep_the_server_from_ending(served):
    assert len(serving_processes(served.pid)) == 2
    os.kill(served.replica.serving()[0], signal.SIGSTOP)
    assert served.replica.end() == 0
