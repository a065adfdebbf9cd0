"""The metrics and the answers about the process, read over HTTP as a machine reads them."""

import asyncio
import http.client
import math
import os
import queue
import signal
import socket
import threading
import urllib.error
import urllib.request

import grpc
import pytest

import wire
from croupier.v1 import match_pb2
from service.api import calls
from service.common import tasks
from service.gateway.listener import WebOptions
from service.hosting.clocks import Clock, date
from service.observability.metrics import METHODS, REASONS, Metrics, hosted_ids
from service.running import monitoring, process
from service.running.monitoring import MAX_CONNECTIONS, READY
from service.store import MemoryStore, SqliteStore
from tests.support.manual_clock import ManualClock
from tests.support.play import seeded
from tests.support.ports import own_port
from tests.support.server_process import ServerProcess
from tests.support.serving import OPEN, Player, bot, play_on, refused, ruleset_of
from tests.support.stores import PostgresPlace
from tests.support.waiting import FOREVER, wait_until

OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1)]
FAILURES_AND_DOWN = ("failures_total", "down")


@pytest.fixture
def monitored(start):
    """A server that is monitored, a client of it, and the port that answers."""
    port = own_port()
    return *start(metrics_port=port, search_threads=1), port


def get(port, path, method="GET"):
    """The status of a response, and its text."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def series(port):
    """Each series that is shown, with its value."""
    lines = get(port, "/metrics")[1].splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


@pytest.mark.parametrize(
    ("ahead", "told"), [(-3600, True), (-1, False), (29 * 86400, False), (31 * 86400, True)]
)
def test_a_clock_that_is_far_off_the_log_is_told_at_the_start(start, ahead, told, caplog):
    store, now = MemoryStore(), Clock().now()
    _, client = start(store, clock=ManualClock(now))
    assert not caplog.messages  # In a new log is nothing to compare with.
    client.create(ruleset_of("skystones"))
    start(store, clock=ManualClock(now + 1000 * ahead))
    lines = [each for each in caplog.messages if each.startswith("is the clock right?")]
    assert len(lines) == told
    for line in lines:
        assert f"played on at {date(now)}" in line


def test_each_path_has_its_answer(monitored):
    port = monitored[2]
    assert get(port, "/metrics")[0] == 200
    assert get(port, "/livez") == (200, "live\n")
    assert get(port, "/readyz") == (200, f"{READY}\n")
    for path in ("/", "/metrics/", "/healthz", "/metrics.json", "/%2e%2e/metrics"):
        assert get(port, path)[0] == 404, path
    assert get(port, "/metrics", "POST")[0] == 405
    for accept in ("application/openmetrics-text; version=x", "text/plain; version=;", "\xff"):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics?name[]=%ff")
        request.add_header("accept", accept)
        with urllib.request.urlopen(request) as answer:
            assert "# TYPE croupier_" in answer.read().decode()
    assert get(port, "/livez", "HEAD") == (200, "")


def test_connections_are_counted_against_their_limit():
    options = ("--store", "memory", "--max-connections", "7", "--web", "127.0.0.1:0")
    with ServerProcess(*options) as server:
        channels = [grpc.insecure_channel(server.address, OWN_CONNECTION) for _ in range(3)]
        for each in channels:
            grpc.channel_ready_future(each).result()
        assert server.metric("croupier_grpc_connections") == 3
        channels.pop().close()
        wait_until(lambda: server.metric("croupier_grpc_connections") == 2)
        for listener in ("grpc", "web"):
            assert server.metric(f"croupier_{listener}_connections_limit") == 7


def test_the_space_for_the_log_is_shown_as_long_as_there_is_a_disk(tmp_path):
    shown = Metrics()
    shown.add_disk(tmp_path / "data")

    def values():
        names = (f"croupier_store_disk_{each}_bytes" for each in ("free", "size"))
        return [shown.registry.get_sample_value(name) for name in names]

    assert all(map(math.isnan, values()))
    (tmp_path / "data").mkdir()
    free, size = values()
    assert 0 < free <= size


def test_a_server_that_stops_is_not_ready(servers, start):
    port = own_port()
    server, client = start(metrics_port=port)
    stream = client.create(ruleset_of("skystones")).spectator.watch()
    next(stream)
    states = []
    end = server.matches.close  # Called when no new call is taken any more.

    def look_and_end():
        states.append(threading.Thread(target=lambda: states.append(get(port, "/readyz"))))
        states[0].start()
        states[0].join()
        end()

    server.matches.close = look_and_end
    servers.stop(server)
    assert states[1] == (503, "stopping\n")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_a_server_is_not_ready_while_what_it_needs_does_not_come_back(
    monitored, servers, monkeypatch
):
    server, _, port = monitored
    monkeypatch.setattr(tasks, "LOST_SECONDS", 0.0)
    monkeypatch.setattr(tasks, "FIRST_PAUSE_SECONDS", 0.001)
    failures, down = (f'croupier_task_{name}{{task="due matches"}}' for name in FAILURES_AND_DOWN)
    poll = server._scheduler._poll

    async def fail():
        raise LookupError

    assert (series(port)[failures], series(port)[down]) == ("0.0", "0.0")
    server._scheduler._poll = fail
    servers.loop.call_soon_threadsafe(server._scheduler._wake.set)
    wait_until(lambda: get(port, "/readyz")[0] == 503)
    assert "due matches" in get(port, "/readyz")[1]
    assert float(series(port)[failures]) >= 1
    assert series(port)[down] == "1.0"
    assert get(port, "/livez")[0] == 200
    server._scheduler._poll = poll
    monkeypatch.setattr(tasks, "WELL_SECONDS", 0.0)
    wait_until(lambda: get(port, "/readyz") == (200, f"{READY}\n"))
    assert series(port)[down] == "0.0"


def test_a_server_needs_what_acts_writes_and_hears(servers, tmp_path, postgres):
    """Without any of these it is not ready; other work may come back later."""
    for store, own in (
        (SqliteStore(tmp_path), {"writer"}),
        (PostgresPlace(postgres).store(), {"notices"}),
    ):
        servers.run(store.open())
        server, _ = servers.start(store, web=WebOptions(port=0))
        needed = {
            each.name
            for metrics in (server.metrics, store._metrics)
            for each in metrics.tasks.kept
            if each.needed
        }
        assert needed == {"due matches", "web port"} | own
        servers.stop(server)
        servers.run(store.close())


def test_each_kept_work_of_a_server_that_dies_is_begun_again(servers, start, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "FIRST_PAUSE_SECONDS", 0.001)
    callers, port = tmp_path / "callers.toml", own_port()
    callers.write_text('[jwt]\njwks = "https://localhost:1"\nissuer = "i"\naudience = "a"')
    often = {"retain_finished": 60.0, "end_idle": 60.0, "callers_file": callers}
    server, _ = start(metrics_port=port, web=WebOptions(port=0), search_threads=1, **often)
    kept = {each.name: each for each in server.metrics.tasks.kept if hasattr(each, "task")}
    due = {"due matches", "idle matches", "loop lag", "metrics port", "retention", "signed tokens"}
    assert kept.keys() - {"search process"} == due | {"web port"}
    for name, each in kept.items():
        began, loop = each._began, each.task.get_loop()
        # As if what it waits for had come to an end.
        loop.call_soon_threadsafe(lambda task=each.task: task._fut_waiter.cancel())
        wait_until(lambda each=each, began=began: each._began not in (None, began))
        assert server.metrics.tasks.failures()[name] == 1
        assert name in server.metrics.tasks.down()
    assert get(port, "/livez") == (200, "live\n")


def test_a_port_for_machines_that_fails_is_served_again(monitored, servers, monkeypatch):
    monkeypatch.setattr(tasks, "FIRST_PAUSE_SECONDS", 0.001)
    server, _, port = monitored

    def end():
        raise SystemExit(1)

    server._monitoring._port._loop.call_soon_threadsafe(end)
    wait_until(lambda: server.metrics.tasks.failures()["metrics port"])
    assert get(port, "/livez") == (200, "live\n")


def test_what_fails_in_a_callback_of_a_process_is_counted(monkeypatch):
    metrics = Metrics()

    class Served:
        web_url = ""

        def __init__(self):
            self.metrics = metrics

        async def start(self):
            asyncio.get_running_loop().call_soon(lambda: 1 / 0)
            return "nowhere"

        async def stop(self):
            pass

    monkeypatch.setattr(process, "raise_file_limit", int)
    monkeypatch.setattr(process, "settle", lambda: os.kill(os.getpid(), signal.SIGTERM))
    asyncio.run(process.run(Served, None))
    assert metrics.tasks.failures()["callback"] == 1


def test_metrics_are_read_while_the_event_loop_stands_still(monitored, servers, monkeypatch):
    port = monitored[2]
    goes_on, stands = threading.Event(), threading.Event()

    def stand_still():
        stands.set()
        goes_on.wait()

    servers.loop.call_soon_threadsafe(stand_still)
    stands.wait()
    try:
        assert get(port, "/metrics")[0] == 200
        assert get(port, "/livez")[0] == 200
        monkeypatch.setattr(monitoring, "LIVE_SECONDS", 0.0)
        status, text = get(port, "/livez")
        assert status == 503
        assert "stood still" in text
    finally:
        goes_on.set()


def test_the_lag_of_the_event_loop_is_measured(monitored, servers):
    server, _, port = monitored
    above = 'croupier_event_loop_lag_seconds_bucket{le="+Inf"}'
    late = threading.Event()
    lagged = server.metrics.loop_lag.observe

    def lag(seconds):
        lagged(seconds)
        if seconds > 0.25:
            late.set()

    server.metrics.loop_lag.observe = lag
    held = threading.Event()
    # The next sample is due within 0.1 seconds, and comes when the loop goes on.
    servers.loop.call_soon_threadsafe(held.wait, 0.5)
    late.wait()
    shown = series(port)
    below = shown['croupier_event_loop_lag_seconds_bucket{le="0.25"}']
    assert float(shown[above]) > float(below)


def test_slow_readers_hold_up_nobody(monitored):
    port = monitored[2]
    slow = []
    for _ in range(MAX_CONNECTIONS + 5):
        reader = socket.create_connection(("127.0.0.1", port))
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.sendall(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n" if len(slow) % 2 else b"GET /me")
        slow.append(reader)
    assert get(port, "/livez")[0] == 200
    assert "croupier_rpcs_total" in get(port, "/metrics")[1]
    for reader in slow:
        reader.close()


def test_a_connection_is_kept(monitored):
    connection = http.client.HTTPConnection("127.0.0.1", monitored[2])
    for path in ("/metrics", "/readyz", "/nowhere", "/metrics"):
        connection.request("GET", path)
        connection.getresponse().read()
    connection.close()


# What is counted


def test_all_series_are_there_from_the_start(monitored):
    """The first event of each kind is seen by `rate()`: no series appears with it."""
    _, client, port = monitored
    before = series(port)
    rng = seeded("series")
    for game_id in wire.hosted_games():
        play_on(client.create(ruleset_of(game_id)), rng)
    table = client.create(ruleset_of("skystones"), [OPEN, bot("BEGINNER")])
    table.players[0].hint({"iterations": 20})
    table.players[0].resign()
    refused(table.players[0].hint, {"iterations": 20})
    refused(Player(client, "matches/none", table.players[0].token).details)
    refused(client.matches.GetMatch, match_pb2.GetMatchRequest(name="matches/none"))
    refused(client.matches.CreateMatch, match_pb2.CreateMatchRequest())
    after = series(port)
    # But for how long calls took that did not end well: their counts by code and reason are there.
    new = set(after) - set(before)
    assert set(before) <= set(after)
    assert all("_rpc_seconds" in name and 'code="OK"' not in name for name in new), new
    changed = {name for name, value in after.items() if before.get(name) != value}
    for name in (
        'croupier_unary_rpc_seconds_count{code="OK",method="MatchService/SubmitAction"}',
        'croupier_rpcs_total{code="OK",protocol="grpc"}',
        'croupier_refusals_total{reason="MATCH_OVER"}',
        'croupier_refusals_total{reason="TOKEN_MISSING"}',
        'croupier_refusals_total{reason="MATCH_NOT_FOUND"}',
        'croupier_refusals_total{reason="INVALID_FIELD"}',
        'croupier_matches_total{game="skystones",state="resigned"}',
        'croupier_search_iterations_total{game="skystones",kind="hint"}',
        'croupier_search_seconds_count{game="skystones",kind="hint"}',
        'croupier_search_wait_seconds_count{game="skystones",kind="hint"}',
        "croupier_hint_delay_seconds_count",
        'croupier_match_cache_lookups_total{result="hit"}',
        'croupier_match_cache_lookups_total{result="miss"}',
        "croupier_match_cache_matches",
    ):
        assert name in changed, name


def test_calls_that_run_are_counted(monitored):
    _, client, port = monitored
    name = 'croupier_rpcs_in_flight{method="MatchService/WatchMatch"}'
    stream = client.create(ruleset_of("skystones")).spectator.watch()
    next(stream)
    assert float(series(port)[name]) == 1


def test_a_deadline_that_a_call_outlives_is_a_fault_of_the_server(monitored, monkeypatch):
    server, client, port = monitored
    table = client.create(ruleset_of("skystones"))
    began, ended = threading.Event(), queue.SimpleQueue()
    rpc_ended = server.metrics.rpc_ended

    def note(method, code, *rest):
        rpc_ended(method, code, *rest)
        ended.put(code)

    async def resign(*_):
        began.set()
        await asyncio.Event().wait()

    server.metrics.rpc_ended = note
    server.matches.carry_out = resign
    request = match_pb2.ResignMatchRequest(name=table.name)

    def outlive():
        # On a busy machine a call may be too late to come, or its deadline too early to be known.
        seconds, code = 0.2, None
        while code != "DEADLINE_EXCEEDED":
            began.clear()
            call = client.matches.ResignMatch.future(
                request, metadata=table.players[0].metadata, timeout=seconds
            )
            assert call.code().name == "DEADLINE_EXCEEDED"
            code = ended.get() if began.is_set() else None
            seconds *= 2

    for soon, faults in ((FOREVER, 0), (0.0, 1)):
        monkeypatch.setattr(calls, "ANSWER_SECONDS", soon)
        outlive()
        shown = series(port)
        method = "MatchService/ResignMatch"
        assert float(shown[f'croupier_rpc_server_errors_total{{method="{method}"}}']) == faults
    count = f'croupier_unary_rpc_seconds_count{{code="DEADLINE_EXCEEDED",method="{method}"}}'
    assert float(shown[count]) == 2


def test_a_process_shows_itself():
    with ServerProcess("--store", "memory") as server:
        for name in (
            "process_resident_memory_bytes",
            "process_open_fds",
            'python_gc_collections_total{generation="0"}',
        ):
            assert server.metric(name) > 0
        server.stop()


def test_labels_come_from_the_schema():
    assert hosted_ids() == list(wire.hosted_games())
    assert len(METHODS) > 10
    assert "INVALID_FIELD" in REASONS
    assert (
        Metrics().registry.get_sample_value(
            "croupier_unary_rpc_seconds_count",
            {"method": "HintService/SuggestAction", "code": "OK"},
        )
        == 0
    )
