"""What decided a match: from what spectators have seen, and at no risk for the match."""

import pytest

import wire
from croupier.v1.game_pb2 import EndReason
from engine.events import TO_SPECTATORS
from engine.game import SPECTATOR
from tests.support.play import seeded
from tests.support.random_matches import random_match
from wire.games import translation


def ended(game_id, **kind):
    """A random match that is over; its result is not known yet."""
    return random_match(game_id, "default", seeded("endings", game_id), **kind)


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_an_ending_is_told_from_what_spectators_have_seen(game_id, monkeypatch):
    given = []
    tell = translation(game_id).ending
    monkeypatch.setattr(
        translation(game_id), "ending", lambda *seen: given.append(seen) or tell(*seen)
    )
    state = ended(game_id)
    # The view and the result are asked for again and again.
    assert state.result.ending.text and state.result is state.result
    [(view, events)] = given
    assert view.seat == SPECTATOR
    assert all(event.audience & TO_SPECTATORS for event in events)


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_only_the_rules_decide_a_match_with_an_ending(game_id):
    result = ended(game_id, resign_at=3).result
    assert result.reason == EndReason.END_REASON_RESIGNATION
    assert not result.HasField("ending")


def test_an_ending_that_fails_costs_the_sentence_and_not_the_match(monkeypatch, caplog):
    def fail(*seen):
        raise IndexError("the Ace of spades")

    monkeypatch.setattr(translation("skystones"), "ending", fail)
    state = ended("skystones")
    assert list(state.result.scores) == list(state.match.scores)
    assert not state.result.HasField("ending")
    [logged] = caplog.records
    assert "skystones" in logged.getMessage() and "IndexError" in logged.getMessage()
    assert "Ace" not in caplog.text
