"""Matches are derived from the log alone: a replay gives the same match state."""

import asyncio
from contextlib import suppress

import pytest

import wire
from service.common.errors import store_unavailable
from service.hosting import matches
from service.hosting.creation import NewMatch, rematch_id
from service.hosting.entries import Resignation
from service.hosting.match_cache import MAX_CACHED, SetBack
from service.hosting.match_state import MatchState
from service.hosting.matches import Matches
from service.hosting.seats import Caller
from service.hosting.views import serialize_view
from service.observability.metrics import Metrics
from service.store import ANOTHER_LOG, MemoryStore
from tests.support.manual_clock import ManualClock
from tests.support.play import seeded
from tests.support.scheduling import act
from tests.support.serving import Client, Player, as_bytes, play_on, ruleset_of, view_of
from tests.support.stores import LosingStore, MemoryPlace, lose, read
from wire.errors import Refusal


@pytest.fixture
def clients(servers):
    """A client of each of two servers that share a log."""
    store = MemoryPlace().store()
    started = [servers.start(store, allow_seeds=True) for _ in range(2)]
    yield [Client(address) for _, address in started]
    for server, _ in started:
        servers.stop(server, 0)


def elsewhere(client, player):
    """The same player with a client of another server."""
    return Player(client, player.match, player.token)


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_replayed_match_shows_the_same_bytes(clients, game_id):
    client, other = clients
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


async def test_the_number_of_cached_matches_is_bounded():
    ruleset = ruleset_of("champion_chess")
    server = Matches(MemoryStore(), Metrics())
    first = await server.create(NewMatch(ruleset))
    for _ in range(MAX_CACHED):
        await server.create(NewMatch(ruleset))
    assert len(server._cache) == MAX_CACHED
    assert server._cache.get(first.header.match_id) is None
    again = await server.load(first.header.match_id)
    assert serialize_view(again, 0) == serialize_view(first, 0)


async def test_a_watched_match_is_not_read_again_however_many_others_are_cached():
    ruleset = ruleset_of("champion_chess")
    store = MemoryStore()
    server = Matches(store, Metrics())
    state = await server.create(NewMatch(ruleset))
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
            await server.create(NewMatch(ruleset))
        assert server._cache.get(match_id) is None
        for seat in state.deciders:
            legal = view_of(state, seat).legal_actions[0]
            await server.submit(Caller(match_id, seat), 0, legal, f"{seat}")
        assert (await server.load(match_id)).version == len(state.deciders)
        assert read == []
    server._cache.drop(match_id)
    assert (await server.load(match_id)).version == len(state.deciders)
    assert read == [match_id]


async def test_what_is_told_while_a_match_is_read_is_read_once_more():
    server = Matches(MemoryStore(), Metrics())
    match_id = (await server.create(NewMatch(ruleset_of("skystones")))).header.match_id
    begun, may_end = [], asyncio.Event()

    async def load(name):
        begun.append(name)
        await may_end.wait()

    server.load = load
    with server.watch(match_id):
        for version in range(1, 6):
            server._hear(match_id, version)
            await asyncio.sleep(0)
        may_end.set()
        await asyncio.gather(*server.tasks._spawned)
    assert begun == [match_id] * 2


async def test_the_time_of_a_match_never_decreases_when_a_clock_is_set_back():
    store, clock = MemoryStore(), ManualClock(1000)
    server = Matches(store, Metrics(), clock)
    state = await server.create(NewMatch(ruleset_of("skystones")))
    match_id = state.header.match_id
    for now in (900, 1100, 50, 60):
        # A server that has just started applies each action.
        server = Matches(store, Metrics(), ManualClock(now))
        await act(server, match_id, f"at {now}")
    assert state.header.created == 1000
    assert [entry.at for entry in await read(store, match_id, 0)] == [1000, 1100, 1100, 1100]


@pytest.mark.parametrize("first", ["look", "decide", "repeat"])
@pytest.mark.parametrize("kept, grown", [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)])
@pytest.mark.parametrize("game_id", wire.hosted_games())
async def test_a_server_drops_what_the_log_has_lost_when_another_goes_on(
    game_id, kept, grown, first, store
):
    """A standby lacks the last commits, and other decisions take their place at another server.

    They come at the same times.
    """

    async def play_on_log(store):
        clock = ManualClock(1000)
        server = Matches(store, Metrics(), clock)
        match_id = (await server.create(NewMatch(ruleset_of(game_id)))).header.match_id

        async def next_decision(state, number):
            seat = state.deciders[0]
            return Caller(match_id, seat), state.version, view_of(state, seat).legal_actions[number]

        async def in_log():
            return MatchState.load(await store.load(match_id))

        with server.watch(match_id):
            for version in range(2):
                last = await next_decision(await in_log(), 0)
                await server.submit(*last, f"lost {version}")
            known = await server.load(match_id)
            await lose(store, match_id, kept)
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

    await play_on_log(store)


async def test_a_deleted_match_is_not_shown_to_anybody(store):
    """Neither where it was deleted, nor at another server, and whoever still follows it."""
    clock = ManualClock(1000)
    servers = [Matches(store, Metrics(), clock) for _ in range(3)]
    state = await servers[0].create(NewMatch(ruleset_of("skystones")))
    match_id = state.header.match_id
    await servers[0].carry_out(Caller(match_id, 0), Resignation.ask)
    with servers[0].watch(match_id), servers[1].watch(match_id):
        for each in servers:
            assert (await each.load(match_id)).over
        assert await servers[0].delete_ended(clock.now() + 1, 9) == 1
        for each in servers:
            assert await each.find(match_id) is None


async def test_a_match_that_comes_while_it_is_looked_for_is_not_lost():
    """As its rematch, for a stream that follows it."""
    store = MemoryStore()
    server = Matches(store, Metrics())
    before = await server.create(NewMatch(ruleset_of("skystones")))
    await server.carry_out(Caller(before.header.match_id, 0), Resignation.ask)
    before = await server.load(before.header.match_id)
    match_id = rematch_id(before.header)
    looked, comes, load = asyncio.Event(), asyncio.Event(), store.load

    async def late(asked):
        found = await load(asked)
        if not looked.is_set():
            looked.set()
            await comes.wait()
        return found

    store.load = late
    with server.watch(match_id) as watch:
        finding = asyncio.create_task(server.find(match_id))
        await looked.wait()
        rematch = await server.rematch(before, 0)
        comes.set()
        found = await finding
        assert found is not None and found.header == rematch.header
        assert (await watch.newer(rematch, 0)).header == rematch.header


async def test_what_is_told_once_is_read_though_the_log_fails_then(monkeypatch):
    monkeypatch.setattr(matches, "MIN_REREAD_SECONDS", 0.0)
    store = LosingStore()
    server = Matches(store, Metrics())
    state = await server.create(NewMatch(ruleset_of("powershot_soccer")))
    match_id = state.header.match_id
    await act(server, match_id)
    fails, read = asyncio.Event(), store.read

    async def fail(*asked):
        store.read = read
        await fails.wait()
        raise store_unavailable()

    with server.watch(match_id) as watch:
        known = await server.load(match_id)
        store.read = fail
        server._hear(match_id, 2)
        await asyncio.sleep(0)
        # It comes while the log is read, which then fails.
        store.lose(match_id, 0)
        server._hear(match_id, ANOTHER_LOG)
        fails.set()
        with pytest.raises(SetBack):
            await watch.newer(known)
