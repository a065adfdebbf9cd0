"""A standby takes over that lacks the last commits, under servers whose clocks are equal.

What is done anew then has the versions, and the times, of what was lost.
"""

import uuid

import grpc
import pytest

from croupier.v1 import match_pb2
from service.hosting.match_state import MatchState
from service.running.server import Options, Server
from service.store import postgresql_connections
from service.store.postgresql import PostgresStore
from tests.support.manual_clock import ManualClock
from tests.support.play import seeded
from tests.support.postgresql import Postgres
from tests.support.proxy import Proxy
from tests.support.serving import (
    INVITED,
    OPEN,
    Client,
    Player,
    Table,
    play_on,
    read_error,
    refused,
    ruleset_of,
    view_of,
)
from tests.support.store_faults import UNAVAILABLE, check_refusal

GAME = "skystones"


class Pair:
    """Two servers on a database that has a standby, which takes over without the last commits."""

    def __init__(self, servers):
        self.servers = servers
        self.primary = Postgres()
        self.standby = Postgres(self.primary)
        self.proxy = Proxy(self.primary.socket)
        servers.run(self.proxy.__aenter__())
        self.schema = self.primary.new_schema()
        self.url = self.primary.url(self.schema, self.proxy.host)
        self.started = [self.start() for _ in range(2)]
        self.clients = [client for _, client in self.started]

    def start(self):
        async def start():
            server = Server(Options(port=0, store=self.url), clock=ManualClock())
            return server, await server.start()

        server, address = self.servers.run(start())
        return server, Client(address)

    def keep(self):
        """What comes later is lost."""
        self.standby.catch_up(self.primary)
        self.standby.stop("fast")

    def fail_over(self):
        self.primary.stop()
        self.standby.start()
        self.standby.promote()
        self.proxy.turn_to(self.standby.socket)

    def logged(self, table):
        """A match as the log has it."""
        return self.servers.run(self._load(table.name.removeprefix("matches/")))

    async def _load(self, match_id):
        store = PostgresStore(self.url)
        await store.open()
        stored = await store.load(match_id)
        await store.close()
        return MatchState.load(stored)

    def close(self):
        for server, client in self.started:
            client.close()
            self.servers.run(server.stop(0))
        self.servers.run(self.proxy.__aexit__())
        for server in (self.primary, self.standby):
            server.close()


@pytest.fixture(autouse=True)
def patient():
    """Nothing: a server whose database is gone must give up what it has asked of it."""


@pytest.fixture
def pair(servers, monkeypatch):
    monkeypatch.setattr(postgresql_connections, "MAX_RETRY_SECONDS", 0.1)
    pair = Pair(servers)
    yield pair
    pair.close()


def persist(call, *arguments):
    """Repeats a call while the database is away."""
    while True:
        try:
            return call(*arguments)
        except grpc.RpcError as error:
            check_refusal(read_error(error), UNAVAILABLE)


def create(client, request_id="", seats=(OPEN, OPEN)):
    request = match_pb2.CreateMatchRequest(
        ruleset=ruleset_of(GAME), seats=seats, request_id=request_id
    )
    return client.matches.CreateMatch(request)


def settle(client):
    """Returns when a server reads and writes after a fail-over."""
    persist(Table(client, persist(create, client)).spectator.view)


def at(table, client):
    """A match whose players call a server from now on."""
    for each in table.everyone():
        each.move_to(client)
    return table


def decide(table, choice):
    """Lets a seat decide by what it is shown; returns it with the request and the answer."""
    player = table.players[table.spectator.view().deciders[0]]
    view = player.view()
    request = player.request(view.legal_actions[choice], view.version)
    request.etag = view.etag
    return player, request, player.send(request)


def watch(table, client, view):
    request = match_pb2.WatchMatchRequest(
        name=table.name, after_version=view.version, etag=view.etag
    )
    return client.matches.WatchMatch(request, metadata=table.spectator.metadata)


def play_on_everywhere(table, clients):
    """Plays a match to its end, each action at another server."""
    rng = seeded("everywhere")
    while table.spectator.view().deciders:
        play_on(at(table, clients[0]), rng, 1)
        clients = clients[::-1]
    assert at(table, clients[0]).views() == at(table, clients[1]).views()


def test_what_was_lost_is_neither_shown_nor_gone_on_from(pair):
    table, repeating = (Table(pair.clients[0], create(pair.clients[0])) for _ in range(2))
    for each in (table, repeating):
        play_on(each, seeded("kept"), 2)
    kept = table.spectator.view()
    pair.keep()
    lost = [decide(table, 0) for _ in range(2)]
    repeated, request, answer = decide(repeating, 0)
    # Both servers have it in memory, and streams that have shown it.
    shown = table.spectator.view()
    streams = [watch(table, client, kept) for client in pair.clients]
    for stream in streams:
        assert [next(stream).version for _ in lost][-1] == shown.version
    pair.fail_over()
    # One server goes on, whether or not the other one has noticed anything.
    settle(pair.clients[1])
    at(table, pair.clients[1])
    for _ in range(2):
        decide(table, -1)
    anew = table.spectator.view()
    settle(pair.clients[0])
    assert anew.version == shown.version
    logged = pair.logged(table)
    assert logged.entries[-1].at == ManualClock().now()
    for stream in streams:
        assert refused(next, stream).reason == "VERSION_IN_FUTURE"
    for client in pair.clients:
        for viewer, each in enumerate(at(table, client).everyone()):
            assert each.view() == view_of(logged, viewer)
        resumed = watch(table, client, shown)
        assert refused(next, resumed).reason == "VERSION_IN_FUTURE"
        for player, old, _ in lost:
            assert refused(player.send, old).reason == "STALE_VERSION"
        player = table.players[anew.deciders[0]]
        stale = player.request(player.view().legal_actions[0], anew.version)
        stale.etag = shown.etag
        assert refused(player.send, stale).reason == "STALE_VERSION"
        # Where nothing has taken its place, what is repeated is done, once.
        repeated.move_to(client)
        assert repeated.send(request).version == answer.version
    assert len(pair.logged(repeating).entries) == answer.version
    for each in (table, repeating):
        play_on_everywhere(each, pair.clients)


def test_answers_that_were_lost_are_given_again(pair):
    one, other = pair.clients
    over = Table(one, create(one))
    invited = Table(one, create(one, seats=(OPEN, INVITED)))
    over.players[0].resign()
    pair.keep()

    creates, joins = (str(uuid.uuid4()) for _ in range(2))

    def ask(client):
        joined = client.join_later(invited.invitations[1], joins).result()
        return create(client, creates), joined, at(over, client).players[0].rematch()

    lost = ask(one)
    assert ask(other) == lost
    pair.fail_over()
    for each in (other, one):
        settle(each)
    again = ask(other)
    assert ask(one) == again
    # A match that is created anew is dealt anew, under its name and the tokens of before.
    for before, now in zip(lost, again, strict=True):
        for each in (before, now):
            each.ClearField("secret_hash")
        assert before == now
    assert refused(one.join, invited.invitations[1]).reason == "INVITATION_USED"
    created, joined, rematch = again
    invited.players[1] = Player(one, joined.name, joined.seat_token.token)
    for table in (Table(one, created), invited):
        play_on_everywhere(table, pair.clients)
    assert over.players[1].rematch().name == rematch.name
