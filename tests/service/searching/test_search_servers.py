"""Searches at search servers: the same hints and decisions, and no error when a server is lost."""

import asyncio
import os
import signal
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

import wire
from ai.softness import MAX_TEMPERATURE
from croupier.transport import Security
from croupier.v1 import hint_pb2, match_pb2
from service.listening.tls import Files
from service.observability.metrics import Metrics
from service.running import server as running_server
from service.searching import processes as search_processes
from service.searching import search_servers
from service.searching.tasks import (
    TEMPERATURE_HEADER,
    Kind,
    Requester,
    SearchTask,
    read_requester,
    read_temperature,
)
from tests.support.play import note_on_failure, seeded
from tests.support.ports import own_port
from tests.support.searching import in_time, wait_for_metric
from tests.support.serving import (
    OPEN,
    Client,
    as_bytes,
    bot,
    hosted_cases,
    play_on,
    refused,
    ruleset_of,
)
from tests.support.waiting import FOREVER, wait_until

LIMITS = hint_pb2.SearchLimits(iterations=300)
OFTEN = Duration(nanos=20_000_000)
LONG = hint_pb2.SearchLimits(time=Duration(seconds=60))
SEED = 7
ENOUGH = 12  # Versions of a match after which a player resigns.


@pytest.fixture(scope="module", autouse=True)
def patience():
    """Servers wait for their search processes, and for what those count."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running_server, "READY_SECONDS", FOREVER)
        patch.setattr(search_processes, "TIMEOUT_SECONDS", FOREVER)
        yield


@pytest.fixture(scope="module")
def processes(servers):
    """A server that has its searches done by two processes, and a client of it."""
    server, address = servers.start(search_processes=2, search_threads=2, allow_seeds=True)
    return server, Client(address)


@pytest.fixture
def start_with(servers, start):
    """Starts a server with search servers of its own, and returns all and a client."""

    def start_with(count, threads=1, **options):
        workers = [servers.start_search_server(threads=threads) for _ in range(count)]
        address = "ipv4:" + ",".join(address for _, address in workers)
        server, client = start(search_at=address, search_threads=1, **options)
        return [worker for worker, _ in workers], server, client

    return start_with


def calls_to_search_servers(server, kind, outcome):
    labels = {"kind": kind, "outcome": outcome}
    value = server.metrics.registry.get_sample_value
    return value("croupier_search_server_calls_total", labels) or 0


@contextmanager
def answered_elsewhere(server, kind):
    """Checks that searches of a kind were answered by search servers."""
    before = calls_to_search_servers(server, kind, "answered")
    own = calls_to_search_servers(server, kind, "unanswered")
    yield
    assert calls_to_search_servers(server, kind, "answered") > before
    assert calls_to_search_servers(server, kind, "unanswered") == own


@pytest.mark.parametrize(("game_id", "name"), hosted_cases())
def test_a_hint_has_the_same_bytes(client, processes, game_id, name):
    server, elsewhere = processes
    for seed in range(2):
        table = client.create(ruleset_of(game_id, name), seed=seed)
        play_on(table, seeded(game_id, name, seed), most=6 * seed)
        view = next((view for view in table.player_views() if view.seat in view.deciders), None)
        if view is None:
            continue
        with note_on_failure(seed=seed, seat=view.seat), answered_elsewhere(server, "hint"):
            here = client.hint(view, LIMITS, seed).hint
            assert as_bytes(elsewhere.hint(view, LIMITS, seed).hint) == as_bytes(here)


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_bots_decide_alike(client, processes, game_id):
    server, elsewhere = processes

    def play(client):
        table = client.create(ruleset_of(game_id), [OPEN, bot("BEGINNER")], seed=SEED)
        player = table.players[0]
        view = player.view()
        while not view.HasField("result"):
            if view.deciders != [0]:  # The bot always decides first.
                view = player.wait_later(view.version + 1).result().view
            elif view.version < ENOUGH:
                view = player.submit(view.legal_actions[0], view.version)
            else:
                view = player.resign()
        return [entry.action for entry in player.record().entries]

    with answered_elsewhere(server, "bot"):
        assert play(elsewhere) == play(client)


def test_reports_of_an_analysis_come_from_elsewhere(processes):
    server, client = processes
    player = client.create(ruleset_of("skystones"), seed=1).players[0]
    search = {"limits": LIMITS, "seed": SEED, "belief_worlds": 64}
    with answered_elsewhere(server, "hint"):
        *_, last = player.analysis(OFTEN, **search)
    assert last.final_report
    assert as_bytes(last.hint) == as_bytes(player.hint_later(**search).result().hint)


def test_errors_are_those_of_the_search_server(processes):
    _, client = processes
    player = client.create(ruleset_of("skystones"), seed=1).players[0]
    view = player.view()
    other = client.create(ruleset_of("champion_chess"), seed=1).players[0].view().legal_actions[0]
    refusal = refused(client.hint_later(view=view, limits=LIMITS, include_actions=[other]).result)
    assert refusal.code == grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.fields == ["search.include_actions[0].champion_chess"]


def test_a_search_ends_near_the_deadline_of_its_caller(processes):
    _, client = processes
    player = client.create(ruleset_of("skystones"), seed=1).players[0]
    response = in_time(lambda seconds: player.hint_later(seconds, limits=LONG).result())
    assert response.hint.stop_reason == hint_pb2.STOP_REASON_DEADLINE


def test_a_search_server_whose_caller_leaves_stops_searching(start_with):
    (worker,), _, client = start_with(1)
    player = client.create(ruleset_of("skystones")).players[0]
    call = player.analysis(limits=LONG)
    next(call)
    call.cancel()
    wait_for_metric(worker.metrics, "croupier_searches_running", {"kind": "hint"}, 0)


def test_a_killed_process_costs_no_error_and_is_replaced(servers, start):
    server, client = start(search_processes=2, search_threads=2, allow_seeds=True)
    player = client.create(ruleset_of("skystones"), seed=1).players[0]
    charged = []
    server._admission.charge = lambda call, budget, seconds: charged.append(seconds)
    expected = as_bytes(player.hint(LIMITS, SEED).hint)
    pids = server._search_processes.pids
    for victim in pids:
        # The processes take turns, so that one search is at the victim, which cannot answer it.
        os.kill(victim, signal.SIGSTOP)
        before = len(charged)
        searching = [player.hint_later(limits=LIMITS, seed=SEED) for _ in range(2)]
        while len(charged) + len(server._search_servers._calls) < before + 2:
            player.view()
        player.view()  # Answered on the loop that sends them: they are sent now.
        os.kill(victim, signal.SIGKILL)
        assert [as_bytes(call.result().hint) for call in searching] == [expected] * 2
    assert calls_to_search_servers(server, "hint", "lost") >= 1
    assert len(charged) == 1 + 2 * len(pids)  # Nobody pays for what was lost.
    servers.stop(server)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_process_that_cannot_be_started_is_tried_again(start, monkeypatch):
    execute, failures = asyncio.create_subprocess_exec, [BlockingIOError("no process left")]

    async def fail(*arguments, **options):
        if failures:
            raise failures.pop()
        return await execute(*arguments, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", fail)
    server, _ = start(search_processes=1, search_threads=1)
    assert server.metrics.tasks.failures()["search process"] == 1
    assert len(server._search_processes.pids) == 1


def test_a_search_server_that_stops_hands_its_searches_to_another(servers, start_with):
    workers, server, client = start_with(2, allow_seeds=True)
    player = client.create(ruleset_of("skystones"), seed=1).players[0]
    # When both are connected, they take turns.
    done = "croupier_search_seconds_count", {"game": "skystones", "kind": "hint"}
    while not all(worker.metrics.registry.get_sample_value(*done) for worker in workers):
        player.hint(LIMITS)
    pool = workers[0]._threads._pools[Kind.HINT]
    search = pool.search

    def search_until_it_stops(limits, work, *rest):
        def held(job):
            wait_until(lambda: job.shutting_down)
            return work(job)

        return search(limits, held, *rest)

    pool.search = search_until_it_stops
    calls = [player.hint_later(limits=LIMITS, seed=SEED) for _ in range(2)]
    wait_for_metric(workers[0].metrics, "croupier_searches_running", {"kind": "hint"}, 1)
    servers.stop(workers[0], grace=FOREVER)
    hints = [call.result().hint for call in calls]
    assert [hint.stop_reason for hint in hints] == [hint_pb2.STOP_REASON_ITERATIONS] * 2
    assert as_bytes(hints[0]) == as_bytes(hints[1])
    # Both, if gRPC has sent both there.
    assert calls_to_search_servers(server, "hint", "lost") >= 1


def test_without_a_search_server_the_own_threads_search(client, start):
    server, elsewhere = start(search_at="127.0.0.1:1", search_threads=1)
    view = client.create(ruleset_of("skystones"), seed=1).players[0].view()
    here = client.hint(view, LIMITS, SEED).hint
    assert as_bytes(elsewhere.hint(view, LIMITS, SEED).hint) == as_bytes(here)
    assert calls_to_search_servers(server, "hint", "unanswered") == 1


@pytest.mark.parametrize("answers", [True, False])
def test_a_proxy_that_lost_its_server_lets_no_bot_wait(start, monkeypatch, answers):
    class Proxy(grpc.GenericRpcHandler):
        def service(self, details):
            return grpc.unary_unary_rpc_method_handler(self.give_up)

        def give_up(self, request, context):
            if answers:
                context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "upstream request timeout")
            gone = threading.Event()
            context.add_callback(gone.set)
            gone.wait()

    monkeypatch.setattr(search_servers, "MAX_SECONDS", 0.1)
    proxy = grpc.server(ThreadPoolExecutor(1), [Proxy()])
    port = proxy.add_insecure_port("127.0.0.1:0")
    proxy.start()
    server, client = start(search_at=f"127.0.0.1:{port}", search_threads=1)
    table = client.create(ruleset_of("champion_chess"), [bot("CASUAL"), OPEN])
    assert table.spectator.wait_later(1).result().view.version >= 1
    assert calls_to_search_servers(server, "bot", "unanswered") >= 1
    proxy.stop(None)


def test_a_server_that_stops_answers_with_what_its_processes_have_found(servers, start):
    server, client = start(search_processes=1, search_threads=2)
    player = client.create(ruleset_of("skystones")).players[0]
    streams = [player.analysis(OFTEN, limits=LONG) for _ in range(2)]
    for stream in streams:
        next(stream)
    servers.stop(server, grace=FOREVER)
    for stream in streams:
        *_, last = stream
        assert last.final_report
        assert last.hint.stop_reason == hint_pb2.STOP_REASON_SHUTDOWN
        assert last.hint.iterations > 0


def test_a_server_that_stops_does_not_wait_for_search_servers(servers, start_with):
    _, server, client = start_with(1, threads=2)
    player = client.create(ruleset_of("skystones")).players[0]
    asked = player.hint_later(limits=LONG)
    followed = player.analysis(OFTEN, limits=LONG)
    next(followed)
    servers.stop(server, grace=FOREVER)
    assert refused(asked.result)[:2] == (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")
    *_, last = followed
    assert last.final_report
    assert last.hint.stop_reason == hint_pb2.STOP_REASON_SHUTDOWN


def test_the_metrics_include_those_of_search_processes(start):
    port = own_port()
    _, client = start(search_processes=2, search_threads=4, metrics_port=port)
    view = client.create(ruleset_of("skystones")).players[0].view()
    for _ in range(3):
        client.hint(view, LIMITS)

    def found():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
        samples = [sample for family in families for sample in family.samples]
        return {(each.name, *sorted(each.labels.items())): each.value for each in samples}

    hints = ("game", "skystones"), ("kind", "hint")
    expected = {
        ("croupier_search_seconds_count", *hints): 3,
        ("croupier_search_iterations_total", *hints): 3 * LIMITS.iterations,
        ("croupier_search_threads", ("kind", "hint")): 4,
        ("croupier_searches_waiting", ("kind", "hint")): 0,
    }
    wait_until(lambda: expected.items() <= found().items(), lambda: str(expected))


def test_failures_of_tasks_of_search_processes_are_added():
    here, there = Metrics(), Metrics()
    there.tasks.failed("callback", None)
    text = generate_latest(there.registry).decode()
    summed = search_processes.SummedRegistry(here.registry, lambda: [text, text])
    sought = "croupier_task_failures_total", {"task": "callback"}
    samples = [sample for family in summed.collect() for sample in family.samples]
    assert [each.value for each in samples if (each.name, each.labels) == sought] == [2]


def test_a_search_server_hosts_no_match(servers):
    _, address = servers.start_search_server(threads=1)
    client = Client(address)
    request = hint_pb2.SuggestActionRequest(search={"match_name": "matches/a", "limits": LIMITS})
    refusal = refused(lambda: client.hints.SuggestAction(request))
    assert refusal.reason == "MATCH_NOT_FOUND"
    with pytest.raises(grpc.RpcError) as caught:
        client.matches.GetView(match_pb2.GetViewRequest(name="matches/a"))
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED
    client.close()


def test_a_search_server_asks_for_the_certificate_of_its_match_server(
    client, servers, start, authority
):
    cert, key = authority.issue()
    _, address = servers.start_search_server(
        threads=1, tls=Files(cert, key, client_ca=authority.cert)
    )
    view = client.create(ruleset_of("skystones"), seed=1).players[0].view()
    known = Security(ca=authority.cert, cert=cert, key=key)
    stranger = Security(ca=authority.cert)
    for security, outcome in ((known, "answered"), (stranger, "unanswered")):
        server, here = start(search_at=address, search_security=security, search_threads=1)
        here.hint(view, LIMITS)
        assert calls_to_search_servers(server, "hint", outcome) == 1


def test_an_asker_survives_the_way_to_a_search_server():
    requester = Requester(Kind.BOT, "matches/a", 1)
    read = read_requester(dict(requester.metadata()), "nobody")
    assert (read.kind, read.rank) == (Kind.BOT, 1)
    assert read.owner != requester.owner  # Its name is not told.
    assert read == read_requester(dict(requester.metadata()), "somebody else")
    assert read.owner != read_requester(dict(requester._replace(owner="b").metadata()), "").owner
    assert read_requester({}, "nobody") == Requester(Kind.HINT, "nobody", 0)


def test_a_temperature_survives_the_way_to_a_search_server():
    task = SearchTask(Requester(Kind.BOT, "a"), None, None, None)
    assert read_temperature(dict(task.metadata())) == 0
    for temperature in (0.1, 1 / 3, 1.15, 3.0):
        assert (
            read_temperature(dict(task._replace(temperature=temperature).metadata())) == temperature
        )
    for text in ("", "soft", "-1", "-0.0", "0", "nan", "-nan", "inf", "-inf", "1e999"):
        assert read_temperature({TEMPERATURE_HEADER: text}) == 0


def test_only_a_search_server_chooses_as_softly_as_its_caller_says(servers, client):
    _, address = servers.start_search_server(threads=1)
    worker = Client(address, [("grpc.use_local_subchannel_pool", 1)])
    view = client.create(ruleset_of("skystones"), seed=1).players[0].view()

    def probabilities(asked, *temperature):
        metadata = [(TEMPERATURE_HEADER, each) for each in temperature]
        response = asked.hint_later(metadata, view=view, limits=LIMITS, seed=SEED).result()
        return [(each.action, each.probability) for each in response.hint.actions]

    firm = probabilities(client)
    assert probabilities(worker) == firm != probabilities(worker, "1")
    for text in ("nan", "inf", "-1", "soft"):
        assert probabilities(worker, text) == firm
    assert probabilities(worker, "1e308") == probabilities(worker, str(MAX_TEMPERATURE))
    assert probabilities(client, "1") == firm
    worker.close()


# Fields of the response


def masked(client, view, *paths):
    request = hint_pb2.SuggestActionRequest(
        search={"view": view, "limits": LIMITS, "seed": SEED}, read_mask=FieldMask(paths=paths)
    )
    return client.hints.SuggestAction(request)


def test_only_fields_of_the_mask_are_returned(client):
    view = client.create(ruleset_of("skystones"), seed=1).players[0].view()
    whole = client.hint(view, LIMITS, SEED)
    short = masked(client, view, "hint.action", "hint.expected_score")
    assert [field.name for field, _ in short.ListFields()] == ["hint"]
    assert [field.name for field, _ in short.hint.ListFields()] == ["action", "expected_score"]
    assert masked(client, view, "hint.action", "hint.expected_score") == short
    assert masked(client, view, "hint.actions").hint.actions == whole.hint.actions
    assert masked(client, view, "hint").hint == whole.hint


def test_a_mask_with_an_unknown_field_is_refused(client):
    view = client.create(ruleset_of("skystones"), seed=1).players[0].view()
    for path in ("hint.acton", "hint.actions.visits", ""):
        refusal = refused(lambda path=path: masked(client, view, path))
        assert (refusal.reason, refusal.fields) == ("INVALID_FIELD", ["read_mask"])
