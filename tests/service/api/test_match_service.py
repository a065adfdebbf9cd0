"""Whole matches through the API: views, actions, streams and records."""

import copy
import hashlib

import grpc
import pytest

import wire
from croupier.v1 import game_pb2, match_pb2
from engine.game import SPECTATOR
from engine.match import Match
from tests.support.long_form import LONG_FORM
from tests.support.play import note_on_failure, seeded
from tests.support.serving import (
    hosted_cases,
    play_on,
    refused,
    ruleset_of,
    simultaneous_games,
)

RESUMED = 40 if LONG_FORM else 4  # How often a viewer resumes a stream.
# Each ruleset; the short form has every other one with a seed.
PLAYED = [
    (*case.values, seed)
    for number, case in enumerate(hosted_cases())
    for seed in ((1, None) if LONG_FORM else [(1, None)[number % 2]])
]


@pytest.mark.parametrize(("game_id", "name", "seed"), PLAYED)
def test_a_random_match_is_played_watched_and_recorded(client, game_id, name, seed):
    table = client.create(ruleset_of(game_id, name), seed=seed)
    # Without a seed the deal differs each time; the secret reproduces it.
    with note_on_failure(match=table.name, secret_hash=table.created.secret_hash.hex()):
        streams = [each.watch() for each in table.everyone()]
        play_on(table, seeded(game_id, name, "whole"))
        final = [each.view() for each in table.everyone()]
        for view in final:
            assert view.result.reason == game_pb2.EndReason.END_REASON_RULES
            assert not view.deciders
            assert not view.legal_actions
        # A stream has every version once, and ends with the one that ends the match.
        for stream, view in zip(streams, final, strict=True):
            responses = list(stream)
            assert [each.version for each in responses] == list(range(view.version + 1))
            assert responses[-1].view == view
            for response in responses:
                assert {event.version for event in response.events} <= {response.version}
            (ended,) = [event for event in responses[-1].events if event.HasField("match_ended")]
            assert ended.match_ended.result == view.result == final[0].result
        assert final[0].result.ending.text
        assert table.spectator.record().result == final[0].result
        check_record(table, table.spectator.record(), final, seeded=seed is not None)


def check_record(table, record, final, *, seeded):
    """Replays a record with the engine, and compares it with the views and events shown."""
    assert record.name == table.name
    assert hashlib.sha256(record.secret).digest() == table.created.secret_hash
    game = wire.read_ruleset(record.ruleset, "ruleset")
    chance_id = "" if seeded else record.name.removeprefix("matches/")
    match = Match(game, record.secret, chance_id)
    replayed = [("event", event) for event in match.events]
    for entry in record.entries:
        if entry.HasField("action"):
            action = wire.read_action(game, entry.action.action)
            replayed.append(("action", entry.version))
            replayed += [("event", event) for event in match.apply(entry.action.seat, action)]
            assert match.version == entry.version
    listed = [
        ("event", entry.event) if entry.HasField("event") else ("action", entry.version)
        for entry in record.entries
    ]
    version = 0
    expected = []
    for kind, what in replayed:
        if kind == "action":
            version = what
            expected.append((kind, what))
        elif what.recorded:
            expected.append((kind, wire.write_event(game, what, version)))
    assert listed == expected
    assert match.over
    assert list(record.result.scores) == list(match.scores)
    for viewer, view in zip((0, 1, SPECTATOR), final, strict=True):
        shown = game_pb2.View(ruleset=view.ruleset)
        shown.MergeFromString(wire.write_view(game, match.view(viewer)))
        assert getattr(shown, game.id) == getattr(view, game.id)
    # The seats saw the same events, without the hidden parts.
    for viewer in (0, 1, SPECTATOR):
        seen = [event.kind for kind, event in replayed if kind == "event" and event.seen_by(viewer)]
        watched = [
            event
            for response in table.everyone()[viewer].watch()
            for event in response.events
            if event.HasField(game.id)
        ]
        assert len(watched) == len(seen)


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_stream_resumes_from_any_version_without_gap_or_double(client, game_id):
    table = client.create(ruleset_of(game_id), seed=1)
    rng = seeded(game_id, "resume")
    play_on(table, rng)
    for player in table.everyone():
        whole = list(player.watch())
        for after in rng.sample(range(len(whole)), min(len(whole), RESUMED)):
            rest = list(player.watch(after))
            assert rest == whole[after + 1 :]
        # Of a match that is over, only the last response has a view.
        assert [response.HasField("view") for response in whole] == [
            response is whole[-1] for response in whole
        ]


def test_a_stream_after_a_future_version_is_refused(client):
    table = client.create(ruleset_of("champion_chess"))
    refusal = refused(lambda: next(table.spectator.watch(after=1)))
    assert refusal.code is grpc.StatusCode.OUT_OF_RANGE
    assert refusal.reason == "VERSION_IN_FUTURE"
    assert refusal.metadata == {"current_version": "0"}


@pytest.mark.parametrize("game_id", simultaneous_games())
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_both_seats_answer_the_same_view_in_either_order(client, game_id, order):
    table = client.create(ruleset_of(game_id), seed=1)
    first, second = (table.players[seat] for seat in order)
    before, other_before = first.view(), second.view()
    assert list(before.deciders) == [0, 1]
    held = first.submit(before.legal_actions[0], before.version)
    assert held.version == before.version + 1
    assert list(held.deciders) == [order[1]]
    assert not held.legal_actions

    # The other seat sees only that the first decision was made.
    waiting = second.view()
    expected = match_view(other_before, version=held.version, deciders=[order[1]])
    expected.etag = waiting.etag  # It tells nothing to those who do not know the secret.
    assert waiting == expected
    (event,) = next(second.watch(after=before.version)).events
    assert event == game_pb2.MatchEvent(
        version=held.version, seat_decided=game_pb2.SeatDecided(seat=order[0])
    )

    after = second.submit(other_before.legal_actions[0], other_before.version)
    assert after.version == before.version + 2
    assert first.view().version == after.version


def match_view(view, version, deciders):
    """A copy of a view with another version and other deciders."""
    changed = copy.deepcopy(view)
    changed.version = version
    del changed.deciders[:]
    changed.deciders.extend(deciders)
    return changed


@pytest.mark.parametrize("game_id", simultaneous_games())
def test_one_of_the_racing_decisions_of_a_seat_wins_and_the_others_are_stale(client, game_id):
    table = client.create(ruleset_of(game_id), seed=1)
    player = table.players[0]
    view = player.view()
    calls = [player.send_later(player.request(view.legal_actions[0], 0)) for _ in range(8)]
    codes = sorted(call.code().name for call in calls)
    assert codes == ["ABORTED"] * 7 + ["OK"]
    assert player.view().version == 1


def test_another_seat_may_use_the_same_request_id(client):
    table = client.create(ruleset_of("champion_chess"))
    for player in table.players.values():
        player.submit(player.view().legal_actions[0], 0, "the same")
    assert table.spectator.view().version == 2


def test_a_match_shows_the_ruleset_as_it_was_given(client):
    given = game_pb2.Ruleset(champion_chess={"hand_size": 3})
    table = client.create(given)
    assert table.spectator.view().ruleset == given
    assert table.spectator.view().name == table.name


def test_seats_are_open_by_default(client):
    created = client.create(ruleset_of("champion_chess")).created
    assert [token.seat for token in created.seat_tokens] == [0, 1]
    tokens = [token.token for token in created.seat_tokens] + [created.spectator_token]
    assert len(set(tokens)) == 3
    assert isinstance(created, match_pb2.CreateMatchResponse)
    assert len(created.secret_hash) == 32


def test_each_decision_ahead_counts_as_a_call(start):
    callers = "[budgets.address]\ncalls_per_second = 50\n"
    callers += 'processor_milliseconds_per_second = "unlimited"\n'
    server, client = start(callers=callers)
    server._admission._ledger._now = lambda: 1e6  # The budget does not refill.
    player = client.create(ruleset_of("skystones")).players[0]
    view = player.view()
    request = player.request(view.legal_actions[0], view.version)
    request.then_actions.extend(view.legal_actions[:1] * 16)
    for _ in range(3):  # Repeats cost the same: each 1 and 16.
        player.send(request)
    error = refused(player.view)
    assert error.reason == "BUDGET_EXHAUSTED"
