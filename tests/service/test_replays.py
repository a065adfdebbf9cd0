"""Replays show what everybody saw: each version of a match, byte for byte, in every game.

TEST_REPLAYS=50 is how many matches of each game are played, by default one of each kind.
"""

import os
import random

import grpc
import pytest

import wire
from croupier.v1 import catalog_pb2, clock_pb2, game_pb2, match_pb2, review_pb2
from engine.game import SPECTATOR
from service.api import review_service
from service.common.event_loop import finish_now
from service.hosting import replays
from service.hosting.entries import EntryKind
from service.hosting.records import write_record
from service.hosting.replays import replaying, trying
from service.store import Entry
from tests.support.planted_games import environment_of, plant_example
from tests.support.play import seeded
from tests.support.random_matches import random_match
from tests.support.server_process import ServerProcess
from tests.support.serving import (
    INVITED,
    OPEN,
    Table,
    as_bytes,
    bot,
    play_on,
    refused,
    ruleset_of,
    view_of,
)
from wire.fields import ALL

EXAMPLES = ("german_whist", "gin_rummy")
DAY = clock_pb2.TimeControl(per_match={"seconds": 86_400}, on_expiry="EXPIRY_POLICY_FORFEIT")
SEEN_BY_ALL = (0, 1, SPECTATOR)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A client of a server with the example packages."""
    folder = tmp_path_factory.mktemp("packages")
    for game in EXAMPLES:
        plant_example(folder, game)
    options = ("--store", "sqlite", "--data", str(folder / "data"), "--allow-seeds")
    with ServerProcess(*options, environment=environment_of(folder)) as server:
        yield server.client


def begin(client, game, seed, kind):
    """Creates a match of a kind; returns its table."""
    default = client.catalog.GetGame(catalog_pb2.GetGameRequest(name=f"games/{game}"))
    ruleset = default.game.default_ruleset
    match kind:
        case "open" if game not in EXAMPLES:
            return client.create(ruleset_of(game), (OPEN, OPEN), seed)
        case "clocks":
            return client.create(ruleset, (OPEN, INVITED), seed, DAY)
        case "bot":
            return client.create(ruleset, (bot("RANDOM"), OPEN), seed)
        case "played on":
            source = client.create(ruleset, (OPEN, OPEN), seed)
            rng = random.Random(seed)
            play_on(source, rng)
            record = source.spectator.record()
            acted = [each.version for each in record.entries if each.HasField("action")]
            request = match_pb2.CreateMatchRequest(
                ruleset=record.ruleset,
                seats=(OPEN, bot("RANDOM")),
                start_from={"record": record, "version": rng.choice(acted) - 1},
            )
            return Table(client, client.matches.CreateMatch(request))
        case _:
            return client.create(ruleset, (OPEN, OPEN), seed)


KINDS = ("open", "clocks", "bot", "played on")
MATCHES = int(os.environ.get("TEST_REPLAYS", len(KINDS)))


def play(client, game, seed):
    """Plays a match at random; returns it, its views as they were got, and its kind."""
    rng, kind = random.Random(seed), KINDS[seed % len(KINDS)]
    table, seen = begin(client, game, seed, kind), {}
    left = rng.randrange(30) if kind == "clocks" else None

    def look():
        for player in table.everyone():
            view = player.view()
            seen[view.version, viewer_of(view)] = as_bytes(view)

    look()
    for seat in table.invitations:
        table.join(client, seat)
        look()
    while play_one(table, rng):
        look()
        if rng.randrange(3) == 0:
            take_back(table, seen, look)
        if left == 0:
            table.players[rng.randrange(2)].resign()
            look()
            break
        left = None if left is None else left - 1
    look()
    return table, seen, kind


def play_one(table, rng):
    """Plays a random action for a seat that is not a bot's; tells whether the match goes on."""
    while (now := table.spectator.view()).deciders:
        if ready := [seat for seat in now.deciders if seat in table.players]:
            player = table.players[rng.choice(ready)]
            view = player.view()
            player.submit(rng.choice(view.legal_actions), view.version)
            return True
        table.spectator.wait_later(now.version + 1).result()
    return False


def take_back(table, seen, look):
    """Takes a decision back, if a seat can."""
    for seat, player in table.players.items():
        back = player.view().takeback_version
        if player.view().HasField("takeback_version"):
            offer = player.offer("TAKEBACK").offer
            look()
            if offer.version:
                table.players[1 - seat].answer(offer)
            now, before = player.view(), seen.get((back, seat), b"")
            before = game_pb2.View.FromString(before)
            if now.takeback_count and before.version == back and before.seat == seat:
                game = now.WhichOneof("game")
                assert getattr(now, game) == getattr(before, game)
            look()
            return


def viewer_of(view):
    return view.seat if view.HasField("seat") else SPECTATOR


def changed(view, field, value=None):
    """A view, as bytes, with another message in a field, or without the field."""
    message = game_pb2.View.FromString(view)
    message.ClearField(field)
    if value is not None:
        getattr(message, field).CopyFrom(value)
    return as_bytes(message)


def views_of(stream):
    """The views of a replay by version and viewer, as bytes; each version comes once, in order."""
    found, versions = {}, []
    for response in stream:
        versions.append(response.version)
        for view in response.views:
            assert view.version == response.version
            found[view.version, viewer_of(view)] = as_bytes(view)
    assert versions == list(range(response.end_version + 1))
    return found


def replay_of(client, record, **fields):
    request = review_pb2.ReplayMatchRequest(record=record, **fields)
    return client.reviews.ReplayMatch(request)


@pytest.mark.parametrize("game", [*wire.hosted_games(), *EXAMPLES])
def test_each_version_is_shown_as_everybody_saw_it(client, game):
    everything = {"seats": [1, 0], "spectator": True}
    for seed in range(MATCHES):
        table, seen, kind = play(client, game, seed)
        versions = max(version for version, _ in seen) + 1
        print(f"{game}, {kind}, seed {seed}: {versions} versions, {len(seen)} views")
        whole = views_of(table.spectator.replay(**everything, legal_actions=True))
        record = table.spectator.record()
        shorter = views_of(table.players[1 if kind == "bot" else 0].replay(**everything))
        told = views_of(replay_of(client, record, **everything, legal_actions=True))
        assert set(whole) == set(shorter) == set(told)
        if kind == "open":
            assert set(seen) == set(whole)  # Nobody missed any.
        for key, view in seen.items():
            assert whole[key] == view, key
            assert shorter[key] == changed(view, "legal_actions"), key
        for key, view in whole.items():
            spelled_out = changed(view, "ruleset", record.ruleset)
            assert told[key] == changed(spelled_out, "etag"), key


@pytest.fixture(scope="module")
def over(client):
    """A table at which a match is over."""
    table = client.create(ruleset_of("skystones"), (OPEN, OPEN), seed=7)
    play_on(table, random.Random(1))
    return table


def test_a_replay_goes_on_after_any_version_with_the_views_that_are_asked_for(client, over):
    whole = list(over.players[0].replay())
    end = whole[-1].version
    for after in range(end + 1):
        assert list(over.spectator.replay(after_version=after)) == whole[after + 1 :]
    refusal = refused(lambda: list(over.spectator.replay(after_version=end + 1)))
    assert refusal[:2] == (grpc.StatusCode.OUT_OF_RANGE, "VERSION_IN_FUTURE")
    assert refusal.metadata == {"current_version": str(end)}
    for asked, viewers in (
        ({}, [0, 1]),
        ({"seats": [1]}, [1]),
        ({"spectator": True}, [SPECTATOR]),
        ({"seats": [1, 0], "spectator": True}, [0, 1, SPECTATOR]),
    ):
        for response in over.players[1].replay(**asked, after_version=end - 1):
            assert [viewer_of(view) for view in response.views] == viewers
            assert response.views[0].HasField("result")


def test_nothing_is_shown_of_a_match_that_is_not_over(client, over):
    table = client.create(ruleset_of("skystones"), (OPEN, OPEN))
    play_on(table, random.Random(1), 5)
    for player in table.everyone():
        refusal = refused(lambda player=player: next(player.replay()))
        assert refusal[:2] == (grpc.StatusCode.FAILED_PRECONDITION, "MATCH_NOT_OVER")
    for token, reason in (("", "TOKEN_MISSING"), (over.spectator.token, "TOKEN_OF_OTHER_MATCH")):
        table.spectator.token = token
        assert refused(lambda: next(table.spectator.replay())).reason == reason


def test_the_operator_replays_as_it_gets_the_record(start):
    operator = "operator-" * 5
    _, client = start(operator=operator)
    table = client.create(ruleset_of("skystones"), (OPEN, OPEN))
    table.players[0].resign()
    whole = list(table.players[0].replay())
    table.spectator.token = operator
    assert list(table.spectator.replay()) == whole


@pytest.mark.parametrize("game", wire.hosted_games())
def test_any_match_is_replayed_in_batches_of_bounded_size(game):
    rng = seeded(f"batches {game}")
    state = random_match(
        game,
        "default",
        rng,
        entropy=bool(rng.randrange(2)),
        invited=rng.choice(((), (0,), (0, 1))),
        replaced=True,
        played_on=rng.randrange(2),
        resign_at=rng.choice((None, 40)),
    )
    replay = replaying(state, SEEN_BY_ALL, ALL, -1)
    found = []
    while batch := finish_now(review_service._next_batch(replay)):
        assert sum(map(len, batch[:-1])) < review_service.BATCH_BYTES
        found += [review_pb2.ReplayMatchResponse.FromString(each) for each in batch]
    assert [each.version for each in found] == list(range(state.version + 1))
    for each in found:
        past = finish_now(state.going_back(each.version))
        assert list(each.views) == [view_of(past, viewer) for viewer in SEEN_BY_ALL]


@pytest.mark.parametrize("game", wire.hosted_games())
def test_what_is_tried_leads_where_the_match_would_have_gone(game):
    rng = seeded(f"tried {game}")
    state = random_match(game, "default", rng, played_on=rng.randrange(2))
    record = write_record(state)
    taken = {each.version: each.action for each in record.entries if each.HasField("action")}
    begin = rng.choice(sorted(taken)) - 1
    tried = [taken[each] for each in range(begin + 1, min(begin + 5, state.version) + 1)]
    # Others lead elsewhere, as far as they are legal: where the engine says.
    past = finish_now(state.going_back(begin))
    seat = past.deciders[0]
    other = rng.choice(view_of(past, seat).legal_actions)
    for actions in (tried, [match_pb2.SeatAction(seat=seat, action=other)]):
        expected = past
        for found, action in zip(
            finish_now(collected(trying(state, SEEN_BY_ALL, ALL, begin, actions))),
            actions,
            strict=True,
        ):
            entry = Entry(EntryKind.ACTION, action.seat, 0, action.action.SerializeToString())
            expected = expected.after(entry._replace(at=expected.time))
            response = review_pb2.ReplayMatchResponse.FromString(found)
            version = expected.version
            assert response.version == version
            for view, viewer in zip(response.views, SEEN_BY_ALL, strict=True):
                assert game_part(view) == game_part(view_of(expected, viewer))
                assert view.result == view_of(expected, viewer).result
            told = wire.write_recorded_events(expected.game, expected.events(version), version)
            assert list(response.events) == told
            if actions is tried:
                assert told == [
                    each.event
                    for each in record.entries
                    if each.version == version and each.HasField("event")
                ]


def collected(replay):
    """What a replay shows, as work."""
    found = []
    for each in replay:
        found += [] if each is None else [each]
        yield
    return found


def game_part(view):
    """What a view shows of the game."""
    return getattr(view, view.WhichOneof("game"))


def test_what_the_rules_do_not_allow_is_not_tried(client, over):
    taken = [each for each in over.spectator.record().entries if each.HasField("action")]
    action = taken[0].action
    begin = taken[0].version - 1
    for tried, after in (
        ([action, action], begin),
        ([action], taken[-1].version),
        ([match_pb2.SeatAction(seat=action.seat)], begin),
    ):
        refusal = refused(
            lambda tried=tried, after=after: list(
                over.players[0].replay(after_version=after, tried_actions=tried)
            )
        )
        assert refusal[:2] == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert len(list(over.players[0].replay(after_version=begin, tried_actions=[action]))) == 1


def test_a_server_that_stops_says_after_which_version_to_go_on(start, monkeypatch):
    monkeypatch.setattr(review_service, "BATCH_BYTES", 1)
    server, client = start()
    table = client.create(ruleset_of("skystones"), (OPEN, OPEN))
    play_on(table, random.Random(1))
    written, got = replays._write, []

    def write(past, *arguments):
        if past.version == 5:
            monkeypatch.setattr(server.matches, "closing", True)
        return written(past, *arguments)

    monkeypatch.setattr(replays, "_write", write)
    stream = table.players[0].replay()
    refusal = refused(lambda: [got.append(each.version) for each in stream])
    assert refusal[:2] == (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")
    assert refusal.metadata == {"after_version": "4"}
    assert got == [0, 1, 2, 3, 4]
