"""What Castle Rampage says of actions without listing them agrees with the list."""

import itertools
from collections import Counter

import pytest

from engine import games
from engine.position import Position
from engine.sampler import Sampler
from tests.games import facts_of
from tests.games.castle_rampage import read_card_list
from tests.games.castle_rampage.layout import counts_of, padded, read_cards
from tests.support.long_form import LONG_FORM
from tests.support.play import random_joint, seeded

RULESETS = {
    **facts_of("castle_rampage").rulesets,
    "rules 1": {},
    # Whole hands of one card, and hands that can do nothing.
    "alike": {"set_ups": 1, "cards": read_card_list("Knight*14:cost=2 Volley*9 Ogre*6")},
    "poor": {
        "turns": 40,
        "cards": read_card_list(
            "Granary*20:cost=2 Catapult*4 Charge*8 Saboteur*12:cost=1 Ogre*8 Knight*4:cost=1"
        ),
    },
}
MATCHES = 25 if LONG_FORM else 5
SHARE = 0.25  # The share of positions that are tested,
WORLDS = 6  # each with so many worlds.


def game_of(name):
    game = games()["castle_rampage"](RULESETS[name])
    return game.under(1) if name == "rules 1" else game


def positions_and_worlds(game, name):
    """Yield positions of random matches with worlds that differ from them in the hidden cards."""
    for seed in range(MATCHES):
        rng = seeded("actions", name, seed)
        position = Position.deal(game, seed)
        while not position.over:
            if rng.random() < SHARE or len(position.deciders) == 2:
                for seat in position.deciders:
                    sampler = Sampler.of(position.view(1 - seat))
                    worlds = [sampler.sample(rng.getrandbits(64)) for _ in range(WORLDS)]
                    yield seed, seat, [position.copy(), *worlds]
            position.apply(random_joint(position, rng), rng.getrandbits(64))


@pytest.mark.parametrize("name", RULESETS)
def test_an_action_is_legal_if_it_is_listed(name):
    answers = Counter()
    seen = {}
    for seed, seat, worlds in positions_and_worlds(game_of(name), name):
        listed = [set(world.legal(seat)) for world in worlds]
        # Also actions of earlier positions: of other hands, against other permanent cards.
        phase = seen.setdefault(len(worlds[0].deciders), set())
        phase.update(*listed)
        for world, legal in zip(worlds, listed, strict=True):
            for action in phase:
                assert world.is_legal(seat, action) == (action in legal), f"seed {seed}: {action}"
                answers[action in legal] += 1
        if len(phase) > 1000:
            phase.clear()
    assert min(answers[True], answers[False]) > 1000


@pytest.mark.parametrize("name", RULESETS)
def test_the_only_action_is_that_of_a_list_with_one(name):
    answers = Counter()
    for seed, seat, worlds in positions_and_worlds(game_of(name), name):
        for world in worlds:
            legal = world.legal(seat)
            only = legal[0] if len(legal) == 1 else 0
            assert world.only_action(seat) == only, f"seed {seed}: {legal}"
            answers[len(legal) == 1] += 1
    assert answers[False] and (answers[True] or name in ("default", "one_set_up", "short"))


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
