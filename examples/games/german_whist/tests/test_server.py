"""German Whist on a server: matches, bots and hints, and rules that fail."""

import asyncio
import threading
import tomllib
from importlib.resources import files

import grpc
import pytest
from german_whist.rules.rules import GermanWhist

from croupier.client import HINT_POLICIES, OPEN, Client, CroupierError, bot
from service import wire
from service.running.server import Options, Server
from service.store import MemoryStore


@pytest.fixture(scope="module")
def client():
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start():
        server = Server(Options(port=0), MemoryStore())
        return server, await server.start()

    server, address = asyncio.run_coroutine_threadsafe(start(), loop).result()
    with Client(address) as made:
        yield made
    asyncio.run_coroutine_threadsafe(server.stop(0.2), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def seats_of(client, size=4, other=OPEN):
    """The open seats of a new match."""
    ruleset = wire.write_ruleset(GermanWhist({"cards_per_hand": size}))
    allowed = HINT_POLICIES["allowed"]
    return client.create_match(ruleset, (OPEN, other), hint_policy=allowed).seats


def test_a_match_is_played_by_hints(client):
    seats = seats_of(client)
    view = seats[0].view()
    while view.deciders:
        seat = seats[view.deciders[0]]
        hint = seat.suggest(iterations=200)
        assert hint.action in seat.view().legal_actions
        view = seat.submit(hint.action)
    assert view.version == 16


def test_a_bot_plays(client):
    seat = seats_of(client, 3, bot("casual"))[0]
    for view in seat.turns():
        seat.submit(view.legal_actions[0])
    assert seat.view().HasField("result")


@pytest.mark.parametrize("hook", ["apply", "deciders", "draw", "outcome"])
def test_rules_that_fail_end_the_call_and_nothing_else(client, monkeypatch, hook):
    seat, other = seats_of(client, 13)[0], seats_of(client, 3)[0]
    before = seat.view()
    working = getattr(GermanWhist, hook)

    def fail(self, *args):
        if self.size == 13:
            raise LookupError("planted: the opponent has the Ace of spades")
        return working(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(GermanWhist, hook, fail)
        with pytest.raises(CroupierError) as caught:
            if hook in ("draw", "outcome"):
                seat.suggest(iterations=200)
            else:
                seat.submit(before.legal_actions[0], before.version)
        assert caught.value.code is grpc.StatusCode.INTERNAL
        assert "Ace" not in str(caught.value)
        assert other.suggest(iterations=200).action.packaged.value, "others go on"
    assert seat.view() == before
    assert seat.submit(before.legal_actions[0], before.version).version == 1


def test_every_text_is_in_german_too(client):
    english, german = (client.game("german_whist", language=code) for code in ("en", "de"))
    assert german.language_code == "de"
    # The server has those of early endings itself.
    phrases = {text for name, text in english.phrases.items() if not name.startswith("over.")}
    texts = {*english.seat_titles, *phrases}
    for card in english.cards:
        texts |= {card.title, card.kind, *(number.title for number in card.numbers)}
    file = files("german_whist").joinpath("de.toml")
    assert set(tomllib.loads(file.read_text(encoding="utf-8"))["texts"]) == texts
    assert len({card.title for card in german.cards}) == 52
