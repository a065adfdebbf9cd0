"""German Whist in the API: every action, view and event goes round, in all languages."""

import random

import pytest
from german_whist.rules import GermanWhist

from croupier.v1.game_pb2 import MatchEvent, View
from engine import games
from engine.match import Match
from engine.packages import origin
from service import wire
from service.api.catalog_service import describe
from service.wire.games import hosted_games, messages


def test_the_package_is_found():
    assert games()["german_whist"] is GermanWhist
    assert hosted_games()["german_whist"] is GermanWhist
    assert origin("german_whist").startswith("croupier-german-whist ")


@pytest.mark.parametrize("size", [3, 13])
def test_actions_and_views_go_round(size):
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed={seed}")
    rng = random.Random(seed)
    game = GermanWhist({"cards_per_hand": size})
    match = Match(game, rng.randbytes(32))
    events = match.events
    while True:
        for event in events:
            assert wire.write_event(game, event, match.version).packaged.value
        for seat in (0, 1, 2):
            view = match.view(seat)
            message = View.FromString(wire.write_view(game, view))
            assert message.packaged.value
            if seat < 2:
                message.seat = seat
                message.ruleset.CopyFrom(wire.write_ruleset(game))
                assert wire.read_view(message, "view") == view
        if match.over:
            break
        [seat] = match.deciders
        for action in match.legal(seat):
            assert wire.read_action(game, wire.write_action(game, action)) == action
        events = match.apply(seat, rng.choice(match.legal(seat)))


def test_the_catalog_describes_it():
    described = describe(GermanWhist())
    schema = messages("german_whist").types[MatchEvent].DESCRIPTOR
    names = {f"event.{field.name}" for field in schema.oneofs_by_name["event"].fields}
    assert names <= set(described.phrases)
    assert [card.id for card in described.cards][12] == "CLUBS_ACE"
