"""A server that shuts down answers everybody: with what there is, or with when to come back."""

import asyncio
import threading
import time

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from croupier.v1 import catalog_pb2, hint_pb2
from service.admission.admission import Admission
from service.admission.callers_file import Callers
from service.api.calls import QUIET_PARTS, Calls
from service.observability.metrics import Metrics
from service.searching.tasks import Kind
from tests.support.own_thread import patch_here
from tests.support.searching import wait_for_metric
from tests.support.serving import Client, read_error, refused, ruleset_of
from tests.support.waiting import FOREVER, wait_until

LONG = hint_pb2.SearchLimits(time=Duration(seconds=60))
OFTEN = Duration(nanos=20_000_000)


@pytest.fixture
def start(servers):
    """Starts a server that a test shuts down by itself."""

    def start(**options):
        server, address = servers.start(**options)
        servers._running.remove(server)
        return server, Client(address)

    return start


def shut_down(servers, server):
    """Begins to shut a server down, and returns the future of its end."""
    return asyncio.run_coroutine_threadsafe(server.stop(grace=FOREVER), servers.loop)


def test_running_searches_answer_with_what_they_have(servers, start):
    server, client = start(search_threads=2)
    player = client.create(ruleset_of("skystones")).players[0]
    asked = player.hint_later(limits=LONG)
    followed = player.analysis(OFTEN, limits=LONG)
    seen = next(followed)
    jobs = server._own_threads._pools[Kind.HINT]._jobs
    wait_until(lambda: len(jobs) == 2 and all(job.iterations for job in [*jobs.values()]))
    ended = shut_down(servers, server)
    (*_, last) = followed
    assert last.final_report
    assert last.hint.stop_reason == hint_pb2.STOP_REASON_SHUTDOWN
    assert last.hint.iterations >= seen.hint.iterations
    hint = asked.result().hint
    assert hint.stop_reason == hint_pb2.STOP_REASON_SHUTDOWN
    assert hint.iterations > 0
    assert hint.action in player_actions(hint)
    ended.result()


def player_actions(hint):
    return [each.action for each in hint.actions]


def test_a_search_in_the_queue_is_refused_with_a_delay(servers, start):
    server, client = start(search_threads=1)
    player = client.create(ruleset_of("skystones")).players[0]
    followed = player.analysis(OFTEN, limits=LONG)
    next(followed)
    asked = player.hint_later(limits=LONG)
    wait_for_metric(server.metrics, "croupier_searches_waiting", {"kind": "hint"}, 1)
    ended = shut_down(servers, server)
    error = read_error(asked.exception())
    assert error[:2] == (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")
    assert error.retry_seconds > 0
    ended.result()


def test_new_calls_are_refused_with_a_delay_while_old_ones_end(servers, start):
    server, client = start()
    player = client.create(ruleset_of("skystones")).players[0]
    reached, go = threading.Event(), asyncio.Event()
    submit = server.matches.submit

    async def submit_late(*arguments):
        reached.set()
        await go.wait()
        return await submit(*arguments)

    server.matches.submit = submit_late
    view = player.view()
    call = player.send_later(player.request(view.legal_actions[0], view.version))
    reached.wait()
    ended = shut_down(servers, server)
    # The stream ends as soon as the server has begun to shut down.
    with pytest.raises(grpc.RpcError) as caught:
        list(player.watch(view.version))
    assert read_error(caught.value).reason == "SHUTTING_DOWN"
    newcomer = Client(client.address, [("grpc.use_local_subchannel_pool", 1)])
    for ask in (
        player.view,
        lambda: client.catalog.ListGames(catalog_pb2.ListGamesRequest()),
        lambda: newcomer.catalog.ListGames(catalog_pb2.ListGamesRequest()),
        lambda: list(player.watch()),
    ):
        error = refused(ask)
        assert error[:2] == (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")
        assert error.retry_seconds > 0
    assert not ended.done()
    servers.loop.call_soon_threadsafe(go.set)
    assert call.result().view.version == 1
    ended.result()


def test_the_port_stays_open_until_no_call_comes_any_more(servers, start):
    server, client = start()
    waits, quiet = threading.Event(), asyncio.Event()

    async def wait_quiet(*_):
        waits.set()
        await quiet.wait()

    server._calls.wait_quiet = wait_quiet
    ended = shut_down(servers, server)
    waits.wait()
    error = refused(client.catalog.ListGames, catalog_pb2.ListGamesRequest())
    assert error.reason == "SHUTTING_DOWN"
    servers.loop.call_soon_threadsafe(quiet.set)
    ended.result()


@pytest.mark.parametrize(("come", "parts"), [((3, 12), 12 + QUIET_PARTS), (range(1000), 90)])
def test_it_is_quiet_when_no_call_has_come_in_each_part_of_a_time(monkeypatch, come, parts):
    calls = Calls(Metrics(), Admission(Callers(), Metrics()))
    now, slept = [0.0], []

    async def sleep(seconds):
        now[0] += seconds
        slept.append(seconds)
        if len(slept) in come:
            calls._came = now[0]

    patch_here(monkeypatch, time, "perf_counter", lambda: now[0])
    patch_here(monkeypatch, asyncio, "sleep", sleep)
    asyncio.run(calls.wait_quiet(0.1, 0.9))
    assert abs(len(slept) - parts) <= 1  # Of the rounding of their sum.


def test_a_call_that_does_not_end_is_cut_off_after_the_grace(servers, start):
    server, client = start()
    player = client.create(ruleset_of("skystones")).players[0]
    reached = threading.Event()

    async def submit_never(*arguments):
        reached.set()
        await asyncio.Event().wait()

    server.matches.submit = submit_never
    view = player.view()
    call = player.send_later(player.request(view.legal_actions[0], view.version))
    reached.wait()
    servers.run(server.stop(grace=0.1))
    assert call.exception().code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
