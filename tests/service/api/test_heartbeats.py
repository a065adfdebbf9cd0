"""What heartbeats tell besides that nothing is newer, by whichever server, and nobody else.

That is who has a match open, and what a seat has decided ahead and taken back.
"""

import time
import uuid
from contextlib import ExitStack

import pytest

import wire
from croupier.client import Client as PythonClient
from croupier.client import Seat, bot
from croupier.v1 import match_pb2
from croupier.v1.match_pb2 import SeatPresence
from service.hosting.match_cache import Watch
from service.store import MemoryStore, postgresql, postgresql_listener
from service.store.presence import SECONDS, Place
from tests.support.leak_pairs import pair_of_servers
from tests.support.play import seeded
from tests.support.serving import Client, as_bytes, ruleset_of
from tests.support.stores import MemoryPlace, PostgresPlace, SqlitePlace
from tests.support.waiting import wait_until

UNTOLD, HERE, AWAY = SeatPresence.values()
FAR = 60  # Seconds between heartbeats.
OPEN = match_pb2.SeatConfig(open={})


class LaterTime:
    """The time of a server, which a test can put forward."""

    def __init__(self, *stores):
        self.offset = 0.0
        for store in stores:
            store.presence.now = self

    def __call__(self):
        return time.monotonic() + self.offset


def follow(player, client=None, seconds=FAR, **options):
    """A stream with heartbeats of what comes after the present version."""
    request = match_pb2.WatchMatchRequest(
        name=player.match,
        after_version=player.view().version,
        heartbeat_interval={"seconds": seconds},
        **options,
    )
    matches = (client or player._client).matches
    return matches.WatchMatch(request, metadata=player.metadata)


def until_told(stream, wanted, meanwhile=lambda: None):
    """Reads a stream until it tells this of the other seat."""
    for response in stream:
        if response.up_to_date and response.other_seat == wanted:
            return
        meanwhile()
    raise AssertionError("the stream has ended")


@pytest.fixture
def opened(servers):
    """Opens stores for servers that end before this does, which closes them."""
    stores = []

    def open_store(place):
        stores.append(place.store())
        servers.run(stores[-1].open())
        return stores[-1]

    yield open_store
    for store in stores:
        servers.run(store.close())


@pytest.fixture(params=["one", "two in memory", "two"])
def sites(request, opened, start, tmp_path):
    """The clients of two servers that share a log, or of one twice, and the time of presence."""
    places = {
        "one": lambda: [SqlitePlace(tmp_path / "log")],
        "two in memory": lambda: [MemoryPlace()] * 2,
        "two": lambda: [PostgresPlace(request.getfixturevalue("postgres"))] * 2,
    }[request.param]()
    stores = [opened(place) for place in places]
    clients = [start(store)[1] for store in stores]
    return clients[0], clients[-1], LaterTime(*stores)


def test_a_seat_is_told_at_once_of_the_other_that_comes(sites, monkeypatch):
    monkeypatch.setattr(Watch, "_expire", lambda self: None)  # No heartbeat comes by itself.
    here, there, _ = sites
    table = here.create(ruleset_of("skystones"))
    waits = follow(table.players[0])
    assert next(waits).other_seat == UNTOLD  # This server has just begun to hear of the others.
    comes = follow(table.players[1], there)
    until_told(waits, HERE)
    until_told(comes, HERE)
    for stream in (waits, comes):
        stream.cancel()


def test_a_seat_that_has_gone_is_away_some_time_later_until_it_is_back(sites):
    here, there, now = sites
    table = here.create(ruleset_of("skystones"))
    first, second = table.players[0], table.players[1]
    stays, comes = follow(first, seconds=1), follow(second, there)
    until_told(stays, HERE)
    until_told(comes, HERE)
    comes.cancel()
    assert next(stays).other_seat == HERE

    def wait_longer():
        now.offset += SECONDS / 2

    until_told(stays, AWAY, wait_longer)
    again = follow(second, there)
    until_told(stays, HERE)
    until_told(again, HERE)
    for stream in (stays, again):
        stream.cancel()


def test_who_hides_is_away_and_is_told_nothing(sites):
    here, there, now = sites
    table = here.create(ruleset_of("skystones"))
    hides = follow(table.players[1], there, seconds=1, hide_presence=True)
    stays = follow(table.players[0], seconds=1)

    def wait_longer():
        assert next(hides).other_seat == UNTOLD
        now.offset += SECONDS / 2

    assert next(stays).other_seat == UNTOLD
    until_told(stays, AWAY, wait_longer)
    for stream in (hides, stays):
        stream.cancel()


def test_a_seat_stays_there_by_what_its_server_tells_again_and_again(
    postgres, opened, start, monkeypatch
):
    monkeypatch.setattr(postgresql_listener, "POLL_SECONDS", 0.02)
    stores = [opened(place) for place in [PostgresPlace(postgres)] * 2]
    seen = []
    see = stores[1].presence.see
    stores[1].presence.see = lambda each: (seen.append(each), see(each))
    _, client = start(stores[0])
    table = client.create(ruleset_of("skystones"))
    stream = follow(table.players[1])
    match_id = table.name.removeprefix("matches/")
    wait_until(lambda: seen.count(Place(match_id, 1)) > 3, lambda: seen)
    stream.cancel()


def test_the_seats_of_a_killed_server_go_away(postgres, opened, start, replicas):
    place = PostgresPlace(postgres)
    store = opened(place)
    now = LaterTime(store)
    _, client = start(store)
    other = replicas("--store", place.url, "--web", "off")
    other.ready()
    table = client.create(ruleset_of("skystones"))
    gone = follow(table.players[1], Client(other.address))
    assert next(gone).up_to_date
    stays = follow(table.players[0], seconds=1)
    until_told(stays, HERE)
    other.kill()

    def wait_longer():
        now.offset += SECONDS / 2

    until_told(stays, AWAY, wait_longer)
    stays.cancel()


def test_nobody_else_is_told_and_nobody_else_counts(start):
    store = MemoryStore()
    now = LaterTime(store)
    _, client = start(store)
    people = client.create(ruleset_of("skystones"))
    alone = client.create(ruleset_of("skystones"), (OPEN, bot("random")))
    now.offset += SECONDS
    watches = [follow(each) for each in (people.spectator, alone.spectator, alone.players[0])]
    assert [next(stream).other_seat for stream in watches] == [UNTOLD] * 3
    assert not store.presence.attended()
    stays = follow(people.players[0])
    assert next(stays).other_seat == AWAY
    # Nor while a stream without heartbeats is open, though that is seen.
    bare = people.players[1].watch()
    assert not next(bare).other_seat
    until_told(stays, HERE)
    for stream in (*watches, stays, bare):
        stream.cancel()


def test_a_server_can_be_set_to_tell_nobody(start):
    store = MemoryStore()
    now = LaterTime(store)
    _, client = start(store, tell_presence=False)
    table = client.create(ruleset_of("skystones"))
    now.offset += SECONDS
    streams = [follow(player) for player in table.players.values()]
    assert [next(stream).other_seat for stream in streams] == [UNTOLD] * 2
    for stream in streams:
        stream.cancel()


def test_the_python_client_says_whether_the_other_player_is_there(start):
    _, client = start()
    table = client.create(ruleset_of("skystones"))
    with PythonClient(client.address) as python:
        first, second = (Seat(python, table.name, table.players[seat].token) for seat in (0, 1))
        assert first.other_seat == ""
        stays, hides = first.watch(heartbeats=True), second.watch(hide_presence=True)
        assert next(stays).version == next(hides).version == 0
        assert next(stays).up_to_date
        assert first.other_seat == ""
        comes = second.watch()
        next(comes)
        assert next(stays).up_to_date
        assert (first.other_seat, second.other_seat) == ("here", "")


def take_hand(player):
    """Lets a seat decide, with all that the server takes ahead; returns the view after it."""
    view = player.view()
    request = player.request(view.legal_actions[0], view.version)
    request.then_actions.extend(view.legal_actions[1:5])
    view = player.send(request)
    assert len(view.decisions_ahead.actions) == 4
    return view


def take_back(player, client):
    request = match_pb2.CancelDecisionsAheadRequest(name=player.match)
    return client.matches.CancelDecisionsAhead(request, metadata=player.metadata).view


def test_only_the_streams_of_a_seat_notice_that_it_takes_back_decisions(sites, monkeypatch):
    monkeypatch.setattr(Watch, "_expire", lambda self: None)  # No heartbeat comes by itself.
    woken, wake = [], Watch._wake
    monkeypatch.setattr(Watch, "_wake", lambda watch: (woken.append(watch.seat), wake(watch)))
    here, there, _ = sites
    table = here.create(ruleset_of("skystones"))
    take_hand(table.players[0])
    own, others = (
        [follow(each, client, hide_presence=True) for each in players for client in (here, there)]
        for players in ([table.players[0]], [table.players[1], table.spectator])
    )
    masked = follow(table.players[0], there, hide_presence=True, read_mask={"paths": ["version"]})
    bare = [next(stream) for stream in (*own, *others, masked)]
    assert bare == [match_pb2.WatchMatchResponse(version=1, up_to_date=True)] * len(bare)
    woken.clear()
    view = take_back(table.players[0], there)
    assert not view.HasField("decisions_ahead")
    told = match_pb2.WatchMatchResponse(version=1, up_to_date=True, view=view)
    assert [next(stream) for stream in own] == [told, told]
    assert next(masked) == bare[0]
    assert set(woken) == {0}
    table.players[1].resign()
    for stream in (*own, *others, masked):
        assert not next(stream).up_to_date
        stream.cancel()


def test_a_lost_notification_of_what_was_taken_back_is_made_good(
    postgres, opened, start, monkeypatch
):
    monkeypatch.setattr(postgresql, "write_notices", lambda *_: [])
    monkeypatch.setattr(postgresql_listener, "POLL_SECONDS", 0.02)
    place = PostgresPlace(postgres)
    (_, here), (_, there) = (start(opened(place)) for _ in range(2))
    player = here.create(ruleset_of("skystones")).players[0]
    take_hand(player)
    stream = follow(player, there)
    assert not next(stream).HasField("view")
    take_back(player, here)
    assert not next(each for each in stream if each.HasField("view")).view.HasField(
        "decisions_ahead"
    )
    stream.cancel()


def test_the_python_client_yields_what_another_client_of_the_seat_takes_back(start):
    _, client = start()
    player = client.create(ruleset_of("skystones")).players[0]
    with PythonClient(client.address) as python:
        seat, other = (Seat(python, player.match, player.token) for _ in range(2))
        view = take_hand(player)
        stream = seat.watch(0)
        assert next(stream).view == view
        after = other.cancel_ahead()
        assert next(stream).view == after != view


def test_a_rematch_is_waited_for_by_who_is_there(start):
    _, client = start()
    table = client.create(ruleset_of("skystones"))
    table.players[0].resign()
    comes = follow(table.players[1], follow_rematch=True)
    assert next(comes).up_to_date
    stays = follow(table.players[0], follow_rematch=True)
    assert next(stays).other_seat == HERE
    for stream in (comes, stays):
        stream.cancel()


def play(world, rng, comings):
    """All that a match of a world shows and leaves behind, while seats come and go."""
    clock, players = world.clock, world.players
    told = [player.watch() for player in players]
    with ExitStack() as stack:
        while not (view := players[0].view()).HasField("result"):
            clock.drift(1000)
            if comings and comings.random() < 0.2:
                stack.close()
                stream = follow(comings.choice(players), seconds=1)
                stack.callback(stream.cancel)
                assert next(stream).up_to_date
            player = players[rng.choice(view.deciders)]
            if view.version < 40:
                action = rng.choice(player.view().legal_actions)
                player.submit(action, view.version, f"{view.version}")
            else:
                player.resign()
    found = []
    for player, stream in zip(players, told, strict=True):
        responses = list(stream)
        for each in responses[:-1]:
            each.ClearField("view")  # A slow reader gets the newest alone.
        found += map(as_bytes, (*responses, player.view()))
    return [*found, as_bytes(players[0].record()), world.state.entries]


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_nothing_but_heartbeats_tells_of_presence(servers, tmp_path, game_id):
    request = match_pb2.CreateMatchRequest(
        ruleset=ruleset_of(game_id), seed=5, request_id=str(uuid.UUID(int=5, version=4))
    )
    (tmp_path / "key").write_bytes(bytes(range(32)))
    with pair_of_servers(servers, tmp_path / "key", "grpc") as pair:
        assert pair[0].create(request) == pair[1].create(request)
        alone, watched = (
            play(world, seeded(game_id), comings and seeded("comings", game_id))
            for world, comings in zip(pair, (False, True), strict=True)
        )
    assert alone == watched
