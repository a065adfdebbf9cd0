"""The bytes that a seat or a spectator receives depend only on what it may know."""

import pytest

from croupier.v1 import hint_pb2
from engine.game import SPECTATOR
from service import wire
from tests.support.long_form import LONG_FORM
from tests.support.play import note_on_failure, seeded
from tests.support.serving import hosted_cases, play_on, ruleset_of, simultaneous_games
from tests.support.worlds import another_world

POSITIONS, WORLDS = (6, 3) if LONG_FORM else (2, 2)
MOST_CHOICES = 1000 if LONG_FORM else 12
HINT = hint_pb2.SearchLimits(iterations=40)


def received(table, viewers):
    """Everything that these viewers can receive now, as bytes."""
    version = table.spectator.view().version
    messages = []
    for viewer in viewers:
        player = table.everyone()[viewer]
        view = player.view()
        stream = player.watch(after=version - 1 if version else None)
        messages += [view, next(stream)]
        stream.cancel()
        if viewer in view.deciders:
            messages.append(player.hint(HINT, seed=5).hint)
    return [message.SerializeToString(deterministic=True) for message in messages]


@pytest.mark.parametrize(("game_id", "name"), hosted_cases())
def test_received_bytes_do_not_depend_on_hidden_information(client, server, game_id, name):
    for seed in range(POSITIONS):
        rng = seeded(game_id, name, seed)
        table = client.create(ruleset_of(game_id, name), seed=seed)
        play_on(table, rng, most=rng.randrange(12))
        cached = server.matches._cache._states
        match_id = table.name.removeprefix("matches/")
        truth = cached[match_id]
        if truth.over:
            continue
        for seat in (0, 1):
            # A seat knows everything that a spectator knows.
            viewers = [seat, SPECTATOR]
            before = received(table, viewers)
            for _ in range(WORLDS):
                cached[match_id] = another_world(truth, seat, rng)
                with note_on_failure(seed=seed, seat=seat, version=truth.version):
                    assert received(table, viewers) == before
            cached[match_id] = truth


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_worlds_differ(client, server, game_id):
    # If all worlds were the same, the test above would prove nothing.
    table = client.create(ruleset_of(game_id), seed=1)
    truth = server.matches._cache.get(table.name.removeprefix("matches/"))
    rng = seeded(game_id, "worlds")
    worlds = {bytes(another_world(truth, 0, rng).match.position) for _ in range(20)}
    assert len(worlds) > 5


@pytest.mark.parametrize("game_id", simultaneous_games())
@pytest.mark.parametrize("seat", [0, 1])
def test_a_held_decision_shows_nowhere(client, game_id, seat):
    # The same deal is played once for each choice of the seat. Whatever the seat chooses, all
    # others receive the same bytes, and its own answer has the same size.
    choices = client.create(ruleset_of(game_id), seed=3).players[seat].view().legal_actions
    assert len(choices) > 1
    others, sizes = set(), set()
    for choice in seeded(game_id, seat).sample(list(choices), min(len(choices), MOST_CHOICES)):
        table = client.create(ruleset_of(game_id), seed=3)
        answer = table.players[seat].submit(choice, 0)
        sizes.add(answer.ByteSize())
        name = table.name.encode()
        others.add(
            tuple(data.replace(name, b"") for data in received(table, [1 - seat, SPECTATOR]))
        )
    assert len(others) == 1
    assert len(sizes) == 1


@pytest.mark.parametrize(("game_id", "name"), hosted_cases())
def test_a_stream_holds_only_events_that_its_viewer_saw(client, server, game_id, name):
    table = client.create(ruleset_of(game_id, name), seed=2)
    play_on(table, seeded(game_id, name, "stream"))
    state = server.matches._cache.get(table.name.removeprefix("matches/"))
    for viewer, player in enumerate(table.everyone()):
        for response in player.watch():
            expected = [
                wire.write_event(state.game, event, response.version)
                for event in state.history.events[response.version]
                if event.seen_by(viewer)
            ]
            assert [event for event in response.events if event.HasField(game_id)] == expected
