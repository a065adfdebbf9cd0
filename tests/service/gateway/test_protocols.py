"""Over each protocol of the gateway, calls get what they get over gRPC."""

import base64
import http.client
import json
import re
import time
import uuid
from contextlib import closing
from urllib.parse import urlencode, urlsplit

import pytest
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message_factory import GetMessageClass

from croupier.v1 import catalog_pb2, game_pb2, hint_pb2, match_pb2
from service.admission.budgets import Budget
from service.searching.searches import OwnThreads
from tests.support.serving import INVITED, OPEN, ruleset_of
from tests.support.waiting import FOREVER, wait_until
from tests.support.web import Caller, Failed, WebClient, method_of

FEW = hint_pb2.SearchLimits(iterations=50)
LONG = hint_pb2.SearchLimits(time=Duration(seconds=60))
OFTEN = Duration(nanos=20_000_000)


PROTOCOLS = ("connect", "json", "grpc-web")


def failure_of(call, *arguments, **options):
    with pytest.raises(Failed) as caught:
        call(*arguments, **options)
    return caught.value.failure


def test_every_method(caller, grpc_client):
    called = set()

    def call(name, token=None, /, **fields):
        called.add(name)
        return caller.call(name, request_of(name, fields), token)

    def request_of(name, fields):
        method = method_of(name)
        called.add(name)
        return GetMessageClass(method.input_type)(**fields)

    assert call("CatalogService.ListGames") == grpc_client.catalog.ListGames(
        catalog_pb2.ListGamesRequest()
    )
    assert call("CatalogService.GetGame", name="games/skystones", language_code="de") == (
        grpc_client.catalog.GetGame(
            catalog_pb2.GetGameRequest(name="games/skystones", language_code="de")
        )
    )
    created = call(
        "MatchService.CreateMatch",
        ruleset=ruleset_of("skystones"),
        seats=[OPEN, INVITED],
        hint_policy="HINT_POLICY_ALLOWED",
    )
    token = created.seat_tokens[0].token
    invitation = created.invitations[0].invitation
    assert call("MatchService.GetInvitation", invitation=invitation).seat == 1
    joined = call(
        "MatchService.JoinMatch",
        invitation=invitation,
        request_id=str(uuid.uuid4()),
    )
    replaced = call(
        "MatchService.ReplaceSeatToken",
        joined.seat_token.token,
        name=created.name,
        request_id=str(uuid.uuid4()),
    )
    tokens = [token, replaced.seat_token.token]
    view = call("MatchService.GetView", token, name=created.name).view
    seat = view.deciders[0]
    action = call("MatchService.GetView", tokens[seat], name=created.name).view.legal_actions[0]
    search = hint_pb2.Search(match_name=created.name, limits=FEW)
    hint = call("HintService.SuggestAction", tokens[seat], search=search)
    assert hint.hint.actions
    request = request_of("HintService.AnalyzePosition", {"search": search})
    assert list(caller.stream("HintService.AnalyzePosition", request, tokens[seat]))[
        -1
    ].final_report
    call(
        "MatchService.SubmitAction",
        tokens[seat],
        name=created.name,
        expected_version=view.version,
        action=action,
        request_id="1",
    )
    cancelled = call("MatchService.CancelDecisionsAhead", tokens[seat], name=created.name)
    assert cancelled.view.version == view.version + 1
    request = request_of("MatchService.WatchMatch", {"name": created.name})
    with caller.start("MatchService.WatchMatch", request, token) as stream:
        messages = stream.messages()
        versions = [next(messages).version for _ in range(view.version + 2)]
        assert versions == list(range(view.version + 2))
    match = call("MatchService.GetMatch", token, name=created.name).hosted_match
    assert match.version == view.version + 1
    call("MatchService.ResumeMatch", token, name=created.name)
    call("MatchService.ResignMatch", token, name=created.name)
    assert call("MatchService.GetRecord", token, name=created.name).record.HasField("result")
    rematch = call("MatchService.Rematch", token, name=created.name)
    batch = {"requests": [{"ruleset": ruleset_of("skystones")}] * 2}
    for each in call("MatchService.BatchCreateMatches", **batch).matches:
        aborted = call("MatchService.AbortMatch", each.seat_tokens[0].token, name=each.name)
        assert aborted.view.result.reason == game_pb2.END_REASON_ABORTED
        erased = call("MatchService.EraseNames", each.seat_tokens[0].token, name=each.name)
        assert erased.erased_matches == 0
    assert rematch.seat_token.seat == 1
    declined = call("MatchService.DeclineRematch", replaced.seat_token.token, name=created.name)
    assert declined.rematch.name == rematch.name
    for name, fields, reason in (
        ("ContributeEntropy", {"name": created.name, "entropy": bytes(16)}, None),
        ("ListMatches", {}, "NOT_OPERATOR"),
        ("MakeOffer", {"name": created.name, "kind": 2}, "MATCH_OVER"),
        ("AnswerOffer", {"name": created.name, "offer_version": 1}, "MATCH_OVER"),
    ):
        failure = failure_of(call, f"MatchService.{name}", token, **fields)
        assert failure.reason and reason in (None, failure.reason)
    services = {method_of(name).containing_service for name in called}
    assert called == {
        f"{service.name}.{method.name}" for service in services for method in service.methods
    }
    assert len(services) == 3


def test_an_unexpected_error_reveals_nothing(start_web, caplog):
    server, _ = start_web()

    async def fail(*_):
        raise RuntimeError("the queen of hearts")

    server.matches.create = fail
    for protocol in ("connect", "json", "grpc-web"):
        failure = failure_of(WebClient(server.web_url, protocol).create, ruleset_of("skystones"))
        assert (failure.code, failure.reason) == ("INTERNAL", "INTERNAL")
        assert "queen" not in str(failure)
    # The traceback quotes the line that raises, which is ours, but not what the error says.
    assert "RuntimeError: " not in caplog.text


# Deadlines, callers that go away, and budgets


@pytest.fixture
def small(start_web):
    """A server that runs one search at a time, its client over gRPC, and a player."""
    server, client = start_web(search_threads=1, searches_running=1, allow_seeds=True)
    return server, client.create(ruleset_of("champion_chess"), seed=1).players[0]


def long_search(player):
    return hint_pb2.Search(match_name=player.match, limits=LONG)


def searches(server, kind="running"):
    """How many searches for hints run, or wait."""
    return server.metrics.registry.get_sample_value(f"croupier_searches_{kind}", {"kind": "hint"})


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_deadline_of_a_caller_is_that_of_its_search(small, protocol, monkeypatch):
    server, player = small
    deadlines = []
    reports = OwnThreads.reports

    def noted(searches, task):
        deadlines.append(task.deadline)
        return reports(searches, task)

    monkeypatch.setattr(OwnThreads, "reports", noted)
    search = hint_pb2.Search(match_name=player.match, limits=FEW)
    request = hint_pb2.SuggestActionRequest(search=search)
    caller = Caller(server.web_url, protocol)
    began = time.monotonic()
    caller.call("HintService.SuggestAction", request, player.token, timeout=FOREVER)
    ended = time.monotonic()
    (deadline,) = deadlines
    assert began <= deadline - FOREVER <= ended


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("streamed", [False, True], ids=["unary", "stream"])
def test_the_search_of_a_caller_that_goes_away_stops(small, protocol, streamed):
    server, player = small
    caller = Caller(server.web_url, protocol)
    fields = {"search": long_search(player)}
    if streamed:
        request = hint_pb2.AnalyzePositionRequest(**fields, report_interval=OFTEN)
        call = caller.start("HintService.AnalyzePosition", request, player.token)
        assert next(call.messages()).hint.iterations
    else:
        request = hint_pb2.SuggestActionRequest(**fields)
        call = caller.start("HintService.SuggestAction", request, player.token)
    wait_until(lambda: searches(server) == 1)
    call.__exit__()
    wait_until(lambda: not searches(server))


def test_budgets_are_shared_between_the_listeners(start_web):
    server, client = start_web(
        callers='trusted_proxies = ["127.0.0.0/8"]\n'
        f"[budgets.address]\n{Budget.MATCHES} = 3\n{Budget.CALLS} = 10000\n"
    )
    request = match_pb2.CreateMatchRequest(ruleset=ruleset_of("skystones"))
    home = [("x-forwarded-for", "192.0.2.1")]
    client.matches.CreateMatch(request, metadata=home)
    for protocol in ("connect", "grpc-web"):
        Caller(server.web_url, protocol).call("MatchService.CreateMatch", request, headers=home)
    for protocol in PROTOCOLS:
        caller = Caller(server.web_url, protocol)
        failure = failure_of(caller.call, "MatchService.CreateMatch", request, headers=home)
        assert (failure.code, failure.reason) == ("RESOURCE_EXHAUSTED", "BUDGET_EXHAUSTED")
        assert failure.details[0].metadata["budget"] == Budget.MATCHES
        caller.call("MatchService.CreateMatch", request, headers=[("x-forwarded-for", "192.0.2.2")])


def counted(web, protocol):
    labels = {"code": "OK", "protocol": protocol}
    return web[0].metrics.registry.get_sample_value("croupier_rpcs_total", labels) or 0


def test_calls_are_counted_by_their_protocol(url, web, grpc_client):
    before = {protocol: counted(web, protocol) for protocol in (*PROTOCOLS, "grpc")}
    for protocol in PROTOCOLS:
        Caller(url, protocol).call("CatalogService.ListGames", catalog_pb2.ListGamesRequest())
        assert counted(web, protocol) == before[protocol] + 1
    grpc_client.catalog.ListGames(catalog_pb2.ListGamesRequest())
    assert all(counted(web, protocol) == before[protocol] + 1 for protocol in before)


def get(url, method, message, headers=(), encoding="json", **parameters):
    """A call by GET, as the specification of Connect says: its status, headers and body."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    query = urlencode({"connect": "v1", "encoding": encoding, "message": message, **parameters})
    connection.request("GET", f"/croupier.v1.{method}?{query}", headers=dict(headers))
    response = connection.getresponse()
    with closing(connection):
        return response.status, response.headers, response.read()


def test_the_catalog_by_get(url, web):
    before = counted(web, "json")
    request = '{"name": "games/skystones", "languageCode": "de"}'
    status, headers, body = get(url, "CatalogService/GetGame", request)
    assert status == 200
    assert json.loads(body)["game"]["title"] == "Himmelssteine"
    assert headers["cache-control"] == "public, max-age=300"
    assert {each.lower() for each in headers.get_all("vary")} == {"origin", "accept-encoding"}
    assert counted(web, "json") == before + 1
    # Binary, in base64.
    message = catalog_pb2.GetGameRequest(name="games/skystones").SerializeToString()
    encoded = base64.urlsafe_b64encode(message).decode().rstrip("=")
    status, _, body = get(url, "CatalogService/GetGame", encoded, encoding="proto", base64="1")
    assert status == 200
    assert catalog_pb2.GetGameResponse.FromString(body).game.title == "Skystones"


def test_nothing_but_the_catalog_by_get(url):
    # Whatever needs a token, or changes something, is not called by an address alone.
    allowed = {
        method.full_name
        for file in (catalog_pb2, hint_pb2, match_pb2)
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
        if method.GetOptions().idempotency_level == MethodOptions.NO_SIDE_EFFECTS
    }
    assert allowed == {"croupier.v1.CatalogService.ListGames", "croupier.v1.CatalogService.GetGame"}
    status, headers, _ = get(url, "MatchService/GetView", '{"name": "matches/a"}')
    assert status == 405
    assert headers["cache-control"] == "no-store"
    status, headers, _ = get(url, "CatalogService/GetGame", '{"name": "games/whist"}')
    assert (status, headers["cache-control"]) == (404, "no-store")
    foreign = [("origin", "https://foreign.example.org")]
    assert get(url, "CatalogService/ListGames", "{}", foreign)[0] == 403
    assert get(url, "CatalogService/ListGames", "{}", [("sec-fetch-site", "cross-site")])[0] == 403


def test_json_is_as_protobuf_defines_it(url):
    with Caller(url).start("CatalogService.ListGames", catalog_pb2.ListGamesRequest()) as answer:
        data = answer.response.read()
        assert answer.response.headers["content-type"] == "application/json"
    assert not re.search(rb'": |, "', data)
    assert set(json.loads(data)["games"][0]) >= {"name", "title", "rules"}
