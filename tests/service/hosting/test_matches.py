"""Matches are derived from the log alone: a replay gives the same match state.

No request is applied twice, however many servers share the log.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress

import grpc
import pytest

from croupier.v1.clock_pb2 import TimeControl
from croupier.v1.error_pb2 import ErrorReason
from service import wire
from service.common.errors import Refusal
from service.hosting.match_cache import MAX_CACHED
from service.hosting.match_state import MatchState
from service.hosting.matches import Matches
from service.hosting.seats import Caller
from service.hosting.views import serialize_view
from service.observability.metrics import Metrics
from service.store import MemoryStore
from tests.support.long_form import LONG_FORM
from tests.support.manual_clock import ManualClock
from tests.support.play import seeded
from tests.support.serving import (
    Client,
    Player,
    play_on,
    refused,
    ruleset_of,
    simultaneous_games,
    view_of,
)
from tests.support.stores import MemoryPlace, PostgresPlace


class Rendezvous:
    """Makes entries of several servers arrive together, so that they conflict."""

    def __init__(self):
        self.conflicts = 0
        self._arrived = 0
        self._all = None

    def next_two(self):
        """Makes the next two entries wait for each other."""
        self._arrived = 0
        self._all = asyncio.Event()

    async def arrive(self):
        if self._all is not None:
            self._arrived += 1
            if self._arrived == 2:
                self._all.set()
            await self._all.wait()


class SharedStore:
    """Imitates a remote store: other tasks run before each of its answers."""

    def __init__(self, store, rendezvous):
        self._store = store
        self._rendezvous = rendezvous

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def load(self, match_id):
        await asyncio.sleep(0)
        return await self._store.load(match_id)

    async def read(self, *arguments):
        entries = await self._store.read(*arguments)
        await asyncio.sleep(0)
        return entries

    async def append(self, *arguments):
        await self._rendezvous.arrive()
        done = await self._store.append(*arguments)
        self._rendezvous.conflicts += not done
        await asyncio.sleep(0)
        return done


STORES = ("memory", "postgresql")
RACES = 8 if LONG_FORM else 3
# The short form plays each game on one store.
PLAYED = [
    (store, game_id)
    for number, game_id in enumerate(wire.hosted_games())
    for store in (STORES if LONG_FORM else [STORES[number % len(STORES)]])
]


@pytest.fixture(params=STORES)
def replicas(servers, request):
    """The Rendezvous of two servers that share a log, and a client of each."""
    rendezvous = Rendezvous()
    place = MemoryPlace()
    if request.param == "postgresql":
        place = PostgresPlace(request.getfixturevalue("postgres"))
    stores = [place.store() for _ in range(2)]
    for store in stores:
        servers.run(store.open())
    started = [servers.start(SharedStore(store, rendezvous), allow_seeds=True) for store in stores]
    yield rendezvous, [Client(address) for _, address in started]
    for server, _ in started:
        servers.stop(server, 0)
    for store in stores:
        servers.run(store.close())


def elsewhere(client, player):
    """The same player with a client of another server."""
    return Player(client, player.match, player.token)


def as_bytes(message):
    return message.SerializeToString(deterministic=True)


@pytest.mark.parametrize(("replicas", "game_id"), PLAYED, indirect=["replicas"])
def test_a_replayed_match_shows_the_same_bytes(replicas, game_id):
    _, (client, other) = replicas
    table = client.create(ruleset_of(game_id))
    rng = seeded(game_id, "replayed")
    for more in (0, 1, 1, 1, None):
        play_on(table, rng, more)
        shows_the_same(table, other)
    for player in table.everyone():
        again = elsewhere(other, player)
        assert as_bytes(again.record()) == as_bytes(player.record())


def shows_the_same(table, other):
    """Checks that another server shows everyone the same of a match, from its beginning."""
    for player in table.everyone():
        again = elsewhere(other, player)
        view = player.view()
        assert as_bytes(again.view()) == as_bytes(view)
        streams = [each.watch() for each in (player, again)]
        for _ in range(view.version + 1):
            one, two = (as_bytes(next(stream)) for stream in streams)
            assert one == two
        for stream in streams:
            stream.cancel()


@pytest.mark.parametrize(("replicas", "game_id"), PLAYED, indirect=["replicas"])
def test_a_match_continues_at_another_server(replicas, game_id):
    _, clients = replicas
    rng = seeded(game_id, "replicas")
    table = clients[0].create(ruleset_of(game_id))
    streams = [elsewhere(client, table.spectator).watch() for client in clients]
    while (view := table.spectator.view()).deciders:
        player = elsewhere(rng.choice(clients), table.players[rng.choice(view.deciders)])
        view = player.view()
        player.submit(rng.choice(view.legal_actions), view.version)
    one, two = ([as_bytes(response) for response in stream] for stream in streams)
    assert len(one) == len(two) == view.version + 1


@pytest.mark.parametrize("game_id", simultaneous_games())
def test_decisions_that_race_between_servers_are_applied_once(replicas, game_id):
    rendezvous, clients = replicas
    for seed in range(RACES):
        table = clients[0].create(ruleset_of(game_id), seed=seed)
        rendezvous.next_two()
        calls = []
        for seat, player in table.players.items():
            action = player.view().legal_actions[0]
            for number in range(6):
                request = player.request(action, 0, f"{seat} {number}")
                calls.append(elsewhere(clients[number % 2], player).send_later(request))
        codes = sorted(call.code().name for call in calls)
        # One decision of each seat is applied: neither makes the other one stale.
        assert codes == ["ABORTED"] * 10 + ["OK"] * 2
        assert table.spectator.view().version == 2
    assert rendezvous.conflicts >= RACES


@pytest.mark.parametrize(("replicas", "game_id"), PLAYED, indirect=["replicas"])
def test_the_same_request_at_two_servers_is_applied_once(replicas, game_id):
    rendezvous, clients = replicas
    for seed in range(RACES):
        table = clients[0].create(ruleset_of(game_id), seed=seed)
        player = table.players[table.spectator.view().deciders[0]]
        request = player.request(player.view().legal_actions[0], 0)
        rendezvous.next_two()
        calls = [elsewhere(clients[i % 2], player).send_later(request) for i in range(10)]
        assert len({as_bytes(call.result()) for call in calls}) == 1
        assert table.spectator.view().version == 1
    assert rendezvous.conflicts >= RACES


def test_a_resignation_races_with_a_decision(replicas):
    rendezvous, clients = replicas
    for seed in range(RACES):
        table = clients[0].create(ruleset_of("champion_chess"), seed=seed)
        one, two = table.players.values()
        request = one.request(one.view().legal_actions[0], 0)
        rendezvous.next_two()
        with ThreadPoolExecutor(1) as pool:
            resigned = pool.submit(elsewhere(clients[1], two).resign)
            code = one.send_later(request).code()
        view = table.spectator.view()
        assert resigned.result().result == view.result
        assert view.version == 1 + (code is grpc.StatusCode.OK)
    assert rendezvous.conflicts == RACES


def test_a_token_of_a_server_with_another_key_is_refused(servers, client):
    table = client.create(ruleset_of("champion_chess"))
    server, address = servers.start()
    refusal = refused(elsewhere(Client(address), table.spectator).view)
    assert refusal.reason == "TOKEN_INVALID"
    servers.stop(server)


def test_the_number_of_cached_matches_is_bounded():
    ruleset = ruleset_of("champion_chess")

    async def create_many():
        server = Matches(MemoryStore(), Metrics())
        first = await server.create(ruleset, (0, 0), None)
        for _ in range(MAX_CACHED):
            await server.create(ruleset, (0, 0), None)
        assert len(server._cache) == MAX_CACHED
        assert server._cache.get(first.header.match_id) is None
        again = await server.load(first.header.match_id)
        assert serialize_view(again, 0) == serialize_view(first, 0)

    asyncio.run(create_many())


def test_a_watched_match_is_not_read_again_however_many_others_are_cached():
    ruleset = ruleset_of("champion_chess")

    async def play():
        store = MemoryStore()
        server = Matches(store, Metrics())
        state = await server.create(ruleset, (0, 0), None)
        match_id = state.header.match_id
        read = []
        load = store.load

        async def counted(name):
            read.append(name)
            return await load(name)

        store.load = counted
        with server.watch(match_id):
            await server.load(match_id)
            for _ in range(MAX_CACHED):
                await server.create(ruleset, (0, 0), None)
            assert server._cache.get(match_id) is None
            for seat in state.deciders:
                legal = view_of(state, seat).legal_actions[0]
                await server.submit(Caller(match_id, seat), 0, legal, f"{seat}")
            assert (await server.load(match_id)).version == len(state.deciders)
            assert read == []
        server._cache.drop(match_id)
        assert (await server.load(match_id)).version == len(state.deciders)
        assert read == [match_id]

    asyncio.run(play())


def test_the_time_of_a_match_never_decreases_when_a_clock_is_set_back():
    async def play():
        store, clock = MemoryStore(), ManualClock(1000)
        server = Matches(store, Metrics(), clock)
        state = await server.create(ruleset_of("skystones"), (0, 0), None)
        match_id = state.header.match_id
        for version, now in enumerate((900, 1100, 50, 60)):
            # A server that has just started applies each action.
            server = Matches(store, Metrics(), ManualClock(now))
            state = await server.load(match_id)
            seat = state.deciders[0]
            legal = view_of(state, seat).legal_actions[0]
            await server.submit(Caller(match_id, seat), version, legal, f"{version}")
        assert state.header.created == 1000
        assert [entry.at for entry in await store.read(match_id, 0)] == [1000, 1100, 1100, 1100]

    asyncio.run(play())


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_server_accepts_that_the_log_has_lost_entries(game_id, watched):
    """This happens when a standby that lacks the last commits replaces a database."""

    async def play():
        store, clock = MemoryStore(), ManualClock()
        server = Matches(store, Metrics(), clock)
        control = TimeControl()
        control.per_decision.FromSeconds(10)
        state = await server.create(ruleset_of(game_id), (0, 0), None, time_control=control)
        match_id = state.header.match_id

        async def decide(state=None):
            state = state or await server.load(match_id)
            seat = state.deciders[0]
            action = view_of(state, seat).legal_actions[0]
            await server.submit(Caller(match_id, seat), state.version, action, "any")

        async def check_against_log():
            kept = await server.load(match_id)
            stored = MatchState.load(await store.load(match_id))
            assert serialize_view(kept, 0) == serialize_view(stored, 0)

        with server.watch(match_id) if watched else nullcontext():
            await decide()
            known = await server.load(match_id)
            store._entries[match_id].clear()
            with pytest.raises(Refusal) as caught:
                await decide(known)
            assert caught.value.reason == ErrorReason.ERROR_REASON_STALE_VERSION
            await check_against_log()
            server._cache.drop(match_id)
            await check_against_log()
            await decide()
            store._entries[match_id].clear()
            clock.advance(10_000)
            assert (await server.expire(match_id)).over
            await check_against_log()

    asyncio.run(play())


@pytest.mark.parametrize("first", ["look", "decide", "repeat"])
@pytest.mark.parametrize("kept, grown", [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)])
@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_server_drops_what_the_log_has_lost_when_another_goes_on(game_id, kept, grown, first):
    """A standby lacks the last commits, and other decisions take their place at another server."""

    async def play():
        store, clock = MemoryStore(), ManualClock(1000)
        server = Matches(store, Metrics(), clock)
        match_id = (await server.create(ruleset_of(game_id), (0, 0), None)).header.match_id

        async def next_decision(state, number):
            clock.advance(1)
            seat = state.deciders[0]
            return Caller(match_id, seat), state.version, view_of(state, seat).legal_actions[number]

        async def in_log():
            return MatchState.load(await store.load(match_id))

        with server.watch(match_id):
            for version in range(2):
                last = await next_decision(await in_log(), 0)
                await server.submit(*last, f"lost {version}")
            known = await server.load(match_id)
            del store._entries[match_id][kept:]
            other = Matches(store, Metrics(), clock)
            for version in range(kept, grown):
                decision = await next_decision(await in_log(), -1)
                await other.submit(*decision, f"other {version}")
            # The log has now fewer versions than this server knows, as many, or more.
            with suppress(Refusal):
                if first == "decide":
                    await server.submit(*await next_decision(known, 0), "next")
                elif first == "repeat":
                    await server.submit(*last, "lost 1")
                    # It is not answered as if it were in the log, unless it is there again.
                    assert (await in_log()).version_of(last[0].seat, "lost 1")
            shown, stored = await server.load(match_id), await in_log()
            for seat in (0, 1):
                assert serialize_view(shown, seat) == serialize_view(stored, seat)
            await server.submit(*await next_decision(stored, 0), "goes on")
            assert (await in_log()).version == stored.version + 1

    asyncio.run(play())
