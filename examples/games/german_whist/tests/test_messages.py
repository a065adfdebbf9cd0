"""German Whist in the API: every action, view and event goes round, in all languages."""

import pytest
from german_whist.rules.rules import GermanWhist

from croupier.v1.game_pb2 import MatchEvent
from engine import games
from engine.packages import origin
from lab import contract_messages
from service.api.catalog_service import describe
from service.wire.games import hosted_games, messages


def test_the_package_is_found():
    assert games()["german_whist"] is GermanWhist
    assert hosted_games()["german_whist"] is GermanWhist
    assert origin("german_whist").startswith("croupier-german-whist ")


@pytest.mark.parametrize("size", [3, 13])
def test_messages_go_round(size):
    game = GermanWhist({"cards_per_hand": size})
    contract_messages.check_messages(game, range(3))
    contract_messages.check_kinds_of_events(game)
    contract_messages.check_phrases(game)


def test_the_catalog_describes_it():
    described = describe(GermanWhist())
    schema = messages("german_whist").types[MatchEvent].DESCRIPTOR
    names = {f"event.{field.name}" for field in schema.oneofs_by_name["event"].fields}
    assert names <= set(described.phrases)
    assert [card.id for card in described.cards][12] == "CLUBS_ACE"
