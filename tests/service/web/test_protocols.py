"""Every method answers alike over gRPC and over each protocol of the door."""

import pytest

from croupier.v1 import catalog_pb2, match_pb2
from service.web.door import WebOptions
from tests.support.serving import Client, Servers, bot, ruleset_of
from tests.support.web import Caller, Failed

PROTOCOLS = ("connect", "json", "grpc-web")


@pytest.fixture(scope="module")
def server():
    servers = Servers()
    yield servers.start(web=WebOptions(port=0))
    servers.close()


@pytest.fixture(params=PROTOCOLS)
def caller(server, request):
    return Caller(server[0].web_url, request.param)


def test_the_catalog(server, caller):
    request = catalog_pb2.ListGamesRequest()
    expected = Client(server[1]).catalog.ListGames(request)
    assert caller.call("CatalogService.ListGames", request) == expected


def test_a_refusal(caller):
    with pytest.raises(Failed) as caught:
        caller.call("MatchService.GetView", match_pb2.GetViewRequest(match="matches/x"))
    failure = caught.value.failure
    assert failure.code == "UNAUTHENTICATED" and failure.reason == "TOKEN_MISSING"


def test_a_stream(server, caller):
    table = Client(server[1]).create(ruleset_of("skystones"), [bot("CASUAL"), bot("CASUAL")])
    request = match_pb2.WatchMatchRequest(match=table.name)
    token = table.spectator.token
    watched = list(caller.stream("MatchService.WatchMatch", request, token))
    assert watched[-1].view.HasField("result")
    assert [each.version for each in watched] == list(range(len(watched)))
