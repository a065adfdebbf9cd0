"""What Castle Rampage says of the actions of hands that can do little agrees with the list."""

import itertools

import pytest

from engine import games
from engine.position import Position
from tests.games.castle_rampage.layout import counts_of, padded, read_cards

HANDS = (
    "Ogre",
    "Ogre Ogre",
    "Ogre*3",
    "Saboteur Ogre",
    "Saboteur Knight",
    "Volley Knight Archer",
    "Volley Knight",
    "Charge Giant Giant",
    "Charge Giant",
    "Skirmish Giant Mercenary",
    "-",
    "Grand_Assault Giant Axe_Man Knight",
    "Grand_Assault Mercenary*3",
    "Spy",
    "Dragon Volley",
    "Dragon Volley*2",
    "Catapult Granary",
    "Granary Ogre Ogre",
    "Priest",
    "Priest Volley",
)


@pytest.mark.parametrize("hand", HANDS)
def test_hands_that_can_do_little(hand):
    game = games()["castle_rampage"]()
    cards = read_cards("" if hand == "-" else hand)
    for strengthened, catapults, granaries in itertools.product(range(2), repeat=3):
        fields = Position.deal(game, 0).fields
        fields["common"] |= {"phase": 2, "turn": 3, "active": 0, "strengthened": strengthened}
        fields["common"]["sides"][0]["hand_size"] = len(cards)
        fields["common"]["sides"][1] |= {"catapults": catapults, "granaries": granaries}
        fields["own"][0] |= {"hand": counts_of(cards), "drawn": padded(cards, [0] * 800)}
        position = Position.from_fields(game, fields)
        legal = position.legal(0)
        assert position.only_action(0) == (legal[0] if len(legal) == 1 else 0)
        assert all(position.is_legal(0, action) for action in legal)
