"""Streams and waiting calls miss nothing, also when a server shuts down, and pile nothing up."""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import grpc
import pytest

import croupier.client
import wire
from croupier.v1 import match_pb2
from service.api import match_service
from service.api.authentication import Tokens
from service.api.match_service import MatchService
from service.hosting.seats import Caller
from service.store import ANOTHER_LOG, MatchStatus, SqliteStore
from tests.support.manual_clock import ManualClock
from tests.support.play import seeded
from tests.support.serving import Client, Player, play_on, refused, ruleset_of
from tests.support.store_faults import Reading
from tests.support.stores import LosingStore, MemoryPlace, PostgresPlace, header, read
from wire.fields import ALL

KEY = bytes(range(32))


@pytest.fixture
def replicas(servers):
    """Two servers that share a log, and their clients."""
    store = MemoryPlace().store()
    servers.run(store.open())
    started = [servers.start(store) for _ in range(2)]
    yield [(server, Client(address)) for server, address in started]
    for server, _ in started:
        if server in servers._running:
            servers.stop(server, 0)
    servers.run(store.close())


def at(client, player):
    return Player(client, player.match, player.token)


def waits_of(server):
    """A semaphore that is released whenever a call of the server begins to wait for a change."""
    waits = threading.Semaphore(0)
    begin = server.matches.watch

    @contextmanager
    def watch_and_count(match_id):
        with begin(match_id) as watch:
            newer = watch.newer

            async def wait_and_count(state, timeout=None):
                waits.release()
                return await newer(state, timeout)

            watch.newer = wait_and_count
            yield watch

    server.matches.watch = watch_and_count
    return waits


def test_an_idle_reader_costs_others_nothing_and_gets_the_newest_view(start):
    narrow = [("grpc.http2.lookahead_bytes", 1024), ("grpc.http2.bdp_probe", 0)]
    server, client = start()
    table = client.create(ruleset_of("skystones"))
    made = count_views(server)
    idle = [
        Player(Client(client.address, narrow), table.name, table.spectator.token) for _ in range(20)
    ]
    streams = [player.watch() for player in idle]
    rng = seeded("idle")
    while not (view := table.players[0].view()).HasField("result"):
        player = table.players[rng.choice(view.deciders)]
        player.submit(rng.choice(player.view().legal_actions), view.version)
    version = view.version
    assert version > 50
    # If the server wrote responses ahead, it would have made a view for each version.
    assert made() < version / 2
    for stream in streams:
        responses = list(stream)
        assert [each.version for each in responses] == list(range(version + 1))
        assert responses[-1].view.HasField("result")
        assert sum(each.HasField("view") for each in responses) < version / 4


def test_a_view_comes_with_the_newest_version_alone_however_slow_the_reader(
    servers, start, monkeypatch
):
    watch, called = MatchService.WatchMatch, []

    def watch_and_note(*arguments):
        called.append(arguments)
        return watch(*arguments)

    monkeypatch.setattr(MatchService, "WatchMatch", watch_and_note)
    _, client = start()
    table = client.create(ruleset_of("skystones"))
    next(table.spectator.watch())
    # As gRPC reads it, but for the pace: what a reader has not taken is not written yet.
    stream = watch(*called[0])

    async def take():
        return match_pb2.WatchMatchResponse.FromString(await anext(stream))

    taken = [servers.run(take())]
    for more in (2, 1, 0):
        play_on(table, seeded("slow"), most=more)
        taken.append(servers.run(take()))
    assert [(each.version, each.HasField("view")) for each in taken] == [
        (0, True),
        (1, False),
        (2, False),
        (3, True),
    ]
    servers.run(stream.aclose())


def count_reads(server):
    """A function that returns how often a server has read entries of the log from now on."""
    reads = []
    read = server._store.read

    def read_and_count(match_id, head):
        reads.append(head)
        return read(match_id, head)

    server._store.read = read_and_count
    return lambda: len(reads)


def test_a_change_is_read_once_by_each_other_server_however_many_follow(servers, request):
    place = PostgresPlace(request.getfixturevalue("postgres"))
    stores = [place.store() for _ in range(2)]
    for store in stores:
        servers.run(store.open())
    (server, client), (other_server, other) = (
        (server, Client(address)) for server, address in map(servers.start, stores)
    )
    table = client.create(ruleset_of("skystones"))
    players = [at(each, table.spectator) for each in (client, other) for _ in range(8)]
    streams = [player.watch() for player in players]
    for stream in streams:
        assert next(stream).version == 0
    reads = [count_reads(each) for each in (server, other_server)]
    played = 5
    view = table.players[0].view()
    for version in range(1, played + 1):
        before = reads[1]()
        player = table.players[view.deciders[0]]
        view = player.submit(player.view().legal_actions[0], view.version)
        for stream in streams:
            response = next(stream)
            assert response.version == version
            assert response.view.version == version
        # Polling may tell of it a second time.
        assert 1 <= reads[1]() - before <= 2
    # The calls of the players alone: one for each view that they have asked for.
    assert reads[0]() <= played + 1
    for player in players:
        player._client.close()
    for each in (server, other_server):
        servers.stop(each)
    for store in stores:
        servers.run(store.close())


def count_views(server):
    """A function that counts the match states cached from now on with a view of the spectator."""
    made = []
    cache = server.matches._cache
    put = cache.put

    def put_and_count(state, *more, **options):
        made.append(state)
        put(state, *more, **options)

    cache.put = put_and_count
    return lambda: sum((2, ALL) in state.written.views for state in made)


# Waiting for a version


@pytest.mark.parametrize(("left", "waits"), [(None, 60.0), (100.0, 60.0), (2.0, 1.75), (0.4, 0.3)])
def test_a_call_waits_until_shortly_before_its_deadline(left, waits):
    call = SimpleNamespace(time_remaining=lambda: left)
    assert match_service._max_wait(call) == pytest.approx(waits)


def test_a_call_that_waits_in_vain_returns_the_view(replicas, monkeypatch):
    monkeypatch.setattr(match_service, "_max_wait", lambda call: 0.01)
    (_, client), (_, other) = replicas
    table = client.create(ruleset_of("skystones"))
    for each in (client, other):
        call = at(each, table.spectator).wait_later(1)
        assert call.result().timed_out
        assert call.result().view == table.spectator.view()


def test_a_waiting_call_gets_the_present_view_when_its_server_shuts_down(servers, replicas):
    (server, client), (_, other) = replicas
    table = client.create(ruleset_of("skystones"))
    waits = waits_of(server)
    call = table.spectator.wait_later(1)
    waits.acquire()
    servers.stop(server)
    assert call.result().timed_out
    assert call.result().view.version == 0
    waiting = at(other, table.spectator).wait_later(1)
    table.players[0].move_to(other)
    table.players[0].resign()
    assert waiting.result().view.version == 1


def test_streams_and_waiting_calls_are_counted(start):
    server, client = start()
    table = client.create(ruleset_of("skystones"))

    def counted():
        return server.metrics.registry.get_sample_value("croupier_watchers")

    waits = waits_of(server)
    stream = table.spectator.watch()
    call = table.spectator.wait_later(1)
    for _ in range(2):
        waits.acquire()
    assert counted() == 2
    table.players[0].resign()
    call.result()
    list(stream)
    assert counted() == 0


# A log that was set back


def test_a_client_in_python_goes_on_from_what_the_log_has(servers, start):
    store = LosingStore()
    _, creator = start(store)
    table = creator.create(ruleset_of("powershot_soccer"))
    [player] = [each for each in table.players.values() if each.view().legal_actions]
    match_id = player.match.removeprefix("matches/")
    with croupier.client.Client(creator.address) as client:
        seat = croupier.client.Seat(client, player.match, player.token)
        stream, turns = seat.watch(), seat.turns()
        view = next(turns)
        assert seat.submit(view.legal_actions[0]).version == 1
        assert [next(stream).version for _ in range(2)] == [0, 1]
        store.lose(match_id, 0)
        servers.loop.call_soon_threadsafe(store._changes.tell, match_id, ANOTHER_LOG)
        assert next(stream).version == 0
        assert next(turns) == view
        assert seat.submit(view.legal_actions[-1]).version == 1
        assert next(stream).version == 1


def test_a_stream_goes_on_only_from_the_version_of_its_etag(start):
    store = LosingStore()
    # The versions that take the place of the lost ones are of the same times.
    _, client = start(store, clock=ManualClock())
    table = client.create(ruleset_of("powershot_soccer"))
    [player] = [each for each in table.players.values() if each.view().legal_actions]
    legal = player.view().legal_actions

    def watch(after, etag):
        return player._client.matches.WatchMatch(
            match_pb2.WatchMatchRequest(name=player.match, after_version=after, etag=etag),
            metadata=player.metadata,
        )

    assert player.submit(legal[0], 0).version == 1
    stream = player.watch()
    begin, lost = next(stream), next(stream)
    assert (lost.version, lost.etag) == (1, player.view().etag)
    store.lose(player.match.removeprefix("matches/"), 0)
    assert player.submit(legal[-1], 0).version == 1
    anew = player.view()
    assert lost.etag not in ("", anew.etag)
    for call in (stream, watch(1, lost.etag)):
        assert refused(lambda call=call: next(call)).reason == "VERSION_IN_FUTURE"
    table.players[0].resign()
    for after, etag in ((1, anew.etag), (1, ""), (0, begin.etag)):
        assert [each.version for each in watch(after, etag)][-1] == 2


# Other rules


@pytest.mark.parametrize(
    ("game", "rules_version", "metadata"),
    [
        (
            "skystones",
            99,
            {"game": "skystones", "rules_version": "99", "server_rules_version": "1"},
        ),
        ("whist", 1, {"game": "whist", "rules_version": "1"}),
    ],
)
def test_a_match_of_unknown_rules_is_refused(
    servers, start, tmp_path, game, rules_version, metadata
):
    place = MemoryPlace()
    store = place.store()
    ruleset = ruleset_of("skystones").SerializeToString()
    other = header("other", game=game, ruleset=ruleset, rules_version=rules_version)
    servers.run(store.create(other, MatchStatus()))
    (tmp_path / "key").write_bytes(KEY)
    _, client = start(store, token_key_file=tmp_path / "key")
    token = Tokens(KEY).make(Caller("other", 0))
    player = Player(client, "matches/other", token)
    for call in (
        player.view,
        player.resign,
        player.record,
        lambda: next(player.watch()),
        lambda: player.submit(_an_action(player._client), 0),
    ):
        refusal = refused(call)
        assert refusal[:2] == (grpc.StatusCode.FAILED_PRECONDITION, "RULES_CHANGED")
        assert refusal.metadata == metadata
    assert servers.run(read(store, "other", 0)) == []


def _an_action(client):
    return client.create(ruleset_of("skystones")).players[0].view().legal_actions[0]


# Heartbeats


def watch_with_heartbeats(player, after=None, seconds=1, **options):
    interval = {"seconds": seconds}
    request = match_pb2.WatchMatchRequest(
        name=player.match, after_version=after, heartbeat_interval=interval, **options
    )
    return player._call(player._client.matches.WatchMatch, request)


def test_a_resumed_stream_says_at_once_that_nothing_has_happened(start):
    _, client = start()
    table = client.create(ruleset_of("skystones"))
    for player in table.everyone():
        version = player.view().version
        # An interval that the test does not wait for.
        stream = watch_with_heartbeats(player, version, seconds=60, hide_presence=True)
        beat = match_pb2.WatchMatchResponse(version=version, up_to_date=True)
        assert next(stream) == beat
        stream.cancel()
        stream = watch_with_heartbeats(player, seconds=60, hide_presence=True)
        first = next(stream)
        assert first.HasField("view") and not first.up_to_date
        assert next(stream) == beat
        stream.cancel()


def test_a_quiet_stream_proves_that_it_lives(start):
    _, client = start()
    table = client.create(ruleset_of("skystones"))
    player = table.players[0]
    version = player.view().version
    stream = watch_with_heartbeats(player, version)
    for _ in range(2):  # At once, and after a second.
        assert next(stream) == match_pb2.WatchMatchResponse(version=version, up_to_date=True)
    table.players[1].resign()
    told = [each for each in stream if not each.up_to_date]
    assert [each.version for each in told] == [version + 1]


def test_a_server_that_cannot_read_its_log_does_not_say_that_nothing_is_newer(start, monkeypatch):
    _, client = start()
    table = client.create(ruleset_of("skystones"))
    table.players[0].resign()
    version = table.spectator.view().version
    for options in ({}, {"follow_rematch": True}):
        reading = Reading([False, False])
        monkeypatch.setattr(SqliteStore, "reads", reading)
        running = client.create(ruleset_of("skystones")).spectator
        player = table.spectator if options else running
        after = version if options else running.view().version
        stream = watch_with_heartbeats(player, after, **options)
        assert next(stream).up_to_date
        assert not reading.answers
        stream.cancel()


def test_own_actions_that_are_left_out_are_no_silence(start):
    _, client = start()
    players = client.create(ruleset_of("skystones")).players.values()
    player = next(each for each in players if each.view().legal_actions)
    view = player.view()
    # An interval that the test does not wait for.
    stream = watch_with_heartbeats(player, view.version, seconds=60, skip_own_actions=True)
    assert next(stream).up_to_date
    player.submit(view.legal_actions[0], view.version)
    assert next(stream) == match_pb2.WatchMatchResponse(version=view.version + 1, up_to_date=True)


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_reader_is_told_which_versions_are_its_own_actions(start, game_id):
    _, client = start()
    table = client.create(ruleset_of(game_id))
    rng = seeded(game_id)
    for _ in range(30):
        view = table.players[rng.randrange(2)].view()
        if view.legal_actions:
            table.players[view.seat].submit(rng.choice(view.legal_actions), view.version)
    if not table.players[0].view().HasField("result"):
        table.players[0].resign()
    entries = table.players[0].record().entries
    for seat, player in enumerate(table.everyone()):
        acted = [each for each in entries if each.HasField("action")]
        own = {each.version for each in acted if each.action.seat == seat}
        assert {each.version for each in player.watch() if each.own_action} == own
        assert bool(own) == (player is not table.spectator)


def test_the_headers_of_a_stream_come_at_once(start):
    _, client = start()
    player = client.create(ruleset_of("skystones")).players[0]
    stream = player.watch(player.view().version)
    # Returns only when the headers are there: nothing else is to be sent.
    assert stream.initial_metadata()
    stream.cancel()


@pytest.mark.parametrize("interval", [{"nanos": 1}, {"seconds": 61}, {"seconds": -5}])
def test_an_interval_out_of_range_is_refused(start, interval):
    _, client = start()
    player = client.create(ruleset_of("skystones")).players[0]
    request = match_pb2.WatchMatchRequest(name=player.match, heartbeat_interval=interval)
    refusal = refused(list, player._call(player._client.matches.WatchMatch, request))
    assert refusal.reason == "INVALID_FIELD"
    assert refusal.fields == ["heartbeat_interval"]
