"""A server that shuts down answers everybody: with what there is, or with when to come back."""

import asyncio
import threading

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from croupier.v1 import catalog_pb2, hint_pb2
from tests.support.serving import TIMEOUT, Client, read_error, refused, ruleset_of

LONG = hint_pb2.SearchLimits(time=Duration(seconds=60))
OFTEN = Duration(nanos=20_000_000)
ENOUGH = 20_000  # Iterations of one search after which another one has begun too.


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
    return asyncio.run_coroutine_threadsafe(server.stop(grace=TIMEOUT), servers.loop)


def suggestion(client, player):
    """Starts a long SuggestAction, and returns its future."""
    request = hint_pb2.SuggestActionRequest(search={"match_name": player.match, "limits": LONG})
    return client.hints.SuggestAction.future(request, metadata=player.metadata, timeout=TIMEOUT)


def analysis(client, player):
    """Starts a long AnalyzePosition, and returns its stream."""
    request = hint_pb2.AnalyzePositionRequest(
        search={"match_name": player.match, "limits": LONG}, report_interval=OFTEN
    )
    return client.hints.AnalyzePosition(request, metadata=player.metadata, timeout=TIMEOUT)


def test_running_searches_answer_with_what_they_have(servers, start):
    server, client = start(search_threads=2)
    player = client.create(ruleset_of("skystones")).players[0]
    asked = suggestion(client, player)
    followed = analysis(client, player)
    seen = next(report for report in followed if report.hint.iterations >= ENOUGH)
    ended = shut_down(servers, server)
    (*_, last) = followed
    assert last.final_report
    assert last.hint.stop_reason == hint_pb2.STOP_REASON_SHUTDOWN
    assert last.hint.iterations >= seen.hint.iterations
    hint = asked.result().hint
    assert hint.stop_reason == hint_pb2.STOP_REASON_SHUTDOWN
    assert hint.iterations > 0
    assert hint.action in player_actions(hint)
    ended.result(TIMEOUT)


def player_actions(hint):
    return [each.action for each in hint.actions]


def test_a_search_in_the_queue_is_refused_with_a_delay(servers, start):
    server, client = start(search_threads=1)
    player = client.create(ruleset_of("skystones")).players[0]
    queued = threading.Event()
    report = server.metrics.pool

    def report_and_tell(kind, running, paused, waiting):
        report(kind, running, paused, waiting)
        if waiting:
            queued.set()

    server.metrics.pool = report_and_tell
    followed = analysis(client, player)
    next(followed)
    asked = suggestion(client, player)
    assert queued.wait(TIMEOUT)
    ended = shut_down(servers, server)
    error = read_error(asked.exception())
    assert error[:2] == (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")
    assert error.retry_seconds > 0
    ended.result(TIMEOUT)


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
    assert reached.wait(TIMEOUT)
    ended = shut_down(servers, server)
    # The stream ends as soon as the server has begun to shut down.
    with pytest.raises(grpc.RpcError) as caught:
        list(player.watch(view.version))
    assert read_error(caught.value).reason == "SHUTTING_DOWN"
    newcomer = Client(client.address, [("grpc.use_local_subchannel_pool", 1)])
    for ask in (
        player.view,
        lambda: client.catalog.ListGames(catalog_pb2.ListGamesRequest(), timeout=TIMEOUT),
        lambda: newcomer.catalog.ListGames(catalog_pb2.ListGamesRequest(), timeout=TIMEOUT),
        lambda: list(player.watch()),
    ):
        error = refused(ask)
        assert error[:2] == (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")
        assert error.retry_seconds > 0
    assert not ended.done()
    servers.loop.call_soon_threadsafe(go.set)
    assert call.result().view.version == 1
    ended.result(TIMEOUT)


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
    assert reached.wait(TIMEOUT)
    servers.run(server.stop(grace=0.1))
    assert call.exception().code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
