"""German Whist on a server: matches, bots and hints, and rules that fail."""

import asyncio
import threading
import tomllib
import uuid
from importlib.resources import files

import grpc
import pytest
from german_whist.rules import GermanWhist

from croupier.v1 import (
    catalog_pb2,
    catalog_pb2_grpc,
    hint_pb2,
    hint_pb2_grpc,
    match_pb2,
    match_pb2_grpc,
)
from service import wire
from service.running.server import Options, Server
from service.store import MemoryStore

TIMEOUT = 30


class Client:
    """Calls one server."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(address)
        self.catalog = catalog_pb2_grpc.CatalogServiceStub(self.channel)
        self.matches = match_pb2_grpc.MatchServiceStub(self.channel)
        self.hints = hint_pb2_grpc.HintServiceStub(self.channel)

    def create(self, size=4, bot=None):
        seats = [match_pb2.SeatConfig(open=match_pb2.OpenSeat()) for _ in range(2)]
        if bot is not None:
            seats[1] = match_pb2.SeatConfig(bot=match_pb2.Bot(strength=bot))
        ruleset = wire.write_ruleset(GermanWhist({"cards_per_hand": size}))
        request = match_pb2.CreateMatchRequest(
            ruleset=ruleset, seats=seats, hint_policy="HINT_POLICY_ALLOWED"
        )
        created = self.matches.CreateMatch(request, timeout=TIMEOUT)
        return created.name, {each.seat: each.token for each in created.seat_tokens}

    def view(self, name, token, after=0):
        request = match_pb2.GetViewRequest(name=name, wait_for_version=after)
        return self.matches.GetView(request, metadata=_bearer(token), timeout=TIMEOUT).view

    def submit(self, name, token, action, version):
        request = match_pb2.SubmitActionRequest(
            name=name, expected_version=version, action=action, request_id=str(uuid.uuid4())
        )
        return self.matches.SubmitAction(request, metadata=_bearer(token), timeout=TIMEOUT).view

    def hint(self, name, token, iterations=200):
        request = hint_pb2.SuggestActionRequest(
            search={"match_name": name, "limits": {"iterations": iterations}}
        )
        return self.hints.SuggestAction(request, metadata=_bearer(token), timeout=TIMEOUT).hint


def _bearer(token):
    return [("authorization", f"Bearer {token}")]


@pytest.fixture(scope="module")
def client():
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start():
        server = Server(Options(port=0), MemoryStore())
        return server, await server.start()

    server, address = asyncio.run_coroutine_threadsafe(start(), loop).result(TIMEOUT)
    made = Client(address)
    yield made
    made.channel.close()
    asyncio.run_coroutine_threadsafe(server.stop(0.2), loop).result(TIMEOUT)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_a_match_is_played_by_hints(client):
    name, tokens = client.create()
    view = client.view(name, tokens[0])
    while view.deciders:
        token = tokens[view.deciders[0]]
        hint = client.hint(name, token)
        assert hint.action in client.view(name, token).legal_actions
        view = client.submit(name, token, hint.action, view.version)
    assert view.version == 16


def test_a_bot_plays(client):
    name, tokens = client.create(size=3, bot="BOT_STRENGTH_CASUAL")
    view = client.view(name, tokens[0])
    while view.deciders:
        if list(view.deciders) == [0]:
            view = client.submit(name, tokens[0], view.legal_actions[0], view.version)
        else:
            view = client.view(name, tokens[0], view.version + 1)


@pytest.mark.parametrize("hook", ["apply", "deciders", "draw", "outcome"])
def test_rules_that_fail_end_the_call_and_nothing_else(client, monkeypatch, hook):
    name, tokens = client.create(size=13)
    other, other_tokens = client.create(size=3)
    view = client.view(name, tokens[0])
    before = view.SerializeToString(deterministic=True)
    working = getattr(GermanWhist, hook)

    def fail(self, *args):
        if self.size == 13:
            raise LookupError("planted: the opponent has the Ace of spades")
        return working(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(GermanWhist, hook, fail)
        with pytest.raises(grpc.RpcError) as caught:
            if hook in ("draw", "outcome"):
                client.hint(name, tokens[0])
            else:
                client.submit(name, tokens[0], view.legal_actions[0], view.version)
        assert caught.value.code() == grpc.StatusCode.INTERNAL
        assert "Ace" not in caught.value.details()
        assert client.hint(other, other_tokens[0]).action.packaged.value, "others go on"
    after = client.view(name, tokens[0])
    assert after.SerializeToString(deterministic=True) == before
    assert client.submit(name, tokens[0], view.legal_actions[0], view.version).version == 1


def test_every_text_is_in_german_too(client):
    def described(language):
        request = catalog_pb2.GetGameRequest(name="games/german_whist", language_code=language)
        return client.catalog.GetGame(request, timeout=TIMEOUT).game

    english, german = described("en"), described("de")
    assert german.language_code == "de"
    texts = {*english.seat_titles, *english.phrases.values()}
    for card in english.cards:
        texts |= {card.title, card.kind, *(number.title for number in card.numbers)}
    file = files("german_whist").joinpath("de.toml")
    assert set(tomllib.loads(file.read_text(encoding="utf-8"))["texts"]) == texts
    assert len({card.title for card in german.cards}) == 52
