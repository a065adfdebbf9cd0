"""The cards that a view lists as unseen are those that its seat does not see."""

from collections import Counter

import pytest

import wire
from croupier import enums
from croupier.v1 import game_pb2
from engine.match import Match
from tests.support.play import game_of, note_on_failure, random_secret, seeded
from tests.support.serving import hosted_cases

MATCHES = 8  # Of one in four small ones of Champion Chess, a King castles.
VERSIONS = 200


def names(message):
    """Count the cards that a message lists as unseen, by their ids in the catalog."""
    kind = message.DESCRIPTOR.fields_by_name["unseen"].enum_type
    words = enums.words(kind) if kind else None
    return Counter(words[card].upper() if words else str(card) for card in message.unseen)


def hidden(position, seat):
    ids = [card["id"] for card in position.game.cards()]
    places = position.hidden(seat).values()
    return +Counter(
        {card: sum(counts) for card, counts in zip(ids, zip(*places, strict=True), strict=True)}
    )


def check(match, seat):
    shown = game_pb2.View.FromString(wire.write_view(match.game, match.view(seat)))
    shown = getattr(shown, match.game.id)
    if match.game.id != "champion_chess":
        assert names(shown) == hidden(match.position, seat)
        return
    for of, side in enumerate(shown.sides):
        assert names(side) == hidden(match.position, 1 - of)


@pytest.mark.parametrize(("game_id", "name"), hosted_cases())
def test_what_is_unseen_is_hidden(game_id, name):
    game, _ = game_of(game_id, name)
    for seed in range(MATCHES):
        rng = seeded(game_id, name, seed)
        match = Match(game, random_secret(rng), "unseen")
        while not match.over and match.version < VERSIONS:
            with note_on_failure(seed=seed, version=match.version):
                check(match, match.version % 2)
            seat = rng.choice(match.deciders)
            match.apply(seat, rng.choice(match.legal(seat)))
