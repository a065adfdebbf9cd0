"""What is learned of Castle Rampage, compared with slow deals and choices."""

import math
from collections import Counter

import pytest

from engine import games
from engine.features import SCALE, Features
from engine.model import Model
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from tests.games.castle_rampage.layout import (
    CATAPULT,
    GRANARY,
    NAMES,
    OGRE,
    PRIEST,
    read_cards,
)
from tests.support.chi_squared import p_of_distribution
from tests.support.models import likelihoods, positions, random_model, shared

KNIGHT, ARCHER, AXE_MAN, SPY = read_cards("Knight Archer Axe_Man Spy")
DEAL = 5
UNIFORM = 0.1
SHARPNESS = 2  # Of the playout policy.
TURN = 2  # A phase.
P = 1e-4  # Tests of chance fail with this probability.


def default_game():
    return games()["castle_rampage"]()


def model_with(game, named, uses):
    """A model of which all weights are 0 but those that are named, by kind, in units of 1."""
    weights = {
        kind: {name: round(SCALE * named.get(kind, {}).get(name, 0)) for name in names}
        for kind, names in Features.of(game).decisions.items()
    }
    return Model(game, weights, uses)


def standing(fields, seat, structure):
    stack = fields["stacks"][2 * seat + structure]
    return stack["cards"][stack["top"] : stack["count"]]


def test_a_card_lies_where_set_ups_by_the_model_put_it():
    game = default_game()
    model = random_model(game, 5, most=2 * SCALE)
    put, dealt = Counter(), Counter()
    for seed in range(1500):
        position = Position.deal(game, seed)
        for seat in position.deciders:
            if len(position.legal(seat)) < 2:
                continue
            for action, chance in shared(likelihoods(position, seat, model)).items():
                given = game.read_action(action)
                cards = [*given["gate"], *given["castle"], given["keep"]]
                for place, card in enumerate(cards):
                    put[place, card] += chance
            dealt.update(cards)
    found = list(model.features.place_weights().values())
    for (place, card), n in put.items():
        if dealt[card] < 300:
            continue
        share = n / dealt[card]
        noise = 5 * math.sqrt(share * (1 - share) * (1 / dealt[card] + 1 / 200)) + 0.01
        expected = (found[place][card] - UNIFORM) / (1 - UNIFORM) / DEAL
        assert expected == pytest.approx(share, abs=noise), (place, NAMES[card])


def a_view(game, seed, after=None):
    """The view of the seat that has the first turn, or of a turn after so many decisions."""
    n = 0
    for position in positions(game, seed):
        if position.fields["common"]["phase"] == TURN:
            n += 1
            if n > (after or 0):
                return position, position.view(position.deciders[0])
    return None, None


def test_the_card_on_a_gate_is_drawn_in_proportion():
    game = default_game()
    for seed in range(3):
        model = random_model(game, seed, most=2 * SCALE)
        position, view = a_view(game, seed)
        seat = position.deciders[0]
        fields = position.fields
        copies = {spec["card"]: spec["copies"] for spec in game.ruleset["cards"]}
        unseen = Counter(copies)
        for i in range(2):
            unseen.subtract(standing(fields, seat, i))
        unseen.subtract(dict(enumerate(fields["own"][seat]["hand"])))
        likely = model.features.place_weights()["gate top"]
        expected = {
            card: n * likely[card] for card, n in unseen.items() if not OGRE <= card <= SPY and n
        }
        total = sum(expected.values())
        sampler = Sampler.of(view, model)
        seen = Counter(
            standing(sampler.sample(world).fields, 1 - seat, 0)[0] for world in range(3000)
        )
        p = p_of_distribution(seen, {card: n / total for card, n in expected.items()})
        assert p > P, seed


def chance_in_hand(view, model, card):
    """The expected copies of a card in the opponent's hand."""
    index = [spec["card"] for spec in view.game.ruleset["cards"]].index(card)
    beliefs = Sampler.of(view, model).beliefs(2000, 1).cards
    return sum(
        each.expected for each in beliefs if (each.place, each.card) == ("opponent_hand", index)
    )


def test_a_card_that_would_have_been_played_is_seldom_in_hand():
    game = default_game()
    eager = model_with(game, {"turn": {"play spy": 5, "play granary": 5}}, ("beliefs",))
    lazy = model_with(game, {"turn": {"play spy": -5, "play granary": -5}}, ("beliefs",))
    with_eager = with_lazy = n = 0
    for seed in range(30):
        _, view = a_view(game, seed, after=20)
        if view is None:
            continue
        n += 1
        for card in (SPY, GRANARY):
            with_eager += chance_in_hand(view, eager, card)
            with_lazy += chance_in_hand(view, lazy, card)
    assert n > 15
    assert with_eager < 0.75 * with_lazy


def test_a_card_that_goes_under_a_structure_is_often_there():
    game = default_game()
    fond = model_with(game, {"turn": {"gate catapult": 4, "castle priest": 4}}, ("beliefs",))
    weights = fond.features.place_weights()
    assert weights["under gate"][CATAPULT] > 5 > 1 > weights["under gate"][PRIEST]
    assert weights["under castle"][PRIEST] > 5 > 1 > weights["under castle"][CATAPULT]
    for seed in range(40):
        position, view = a_view(game, seed, after=20)
        if view is None:
            continue
        other = 1 - position.deciders[0]
        for structure, card in enumerate((CATAPULT, PRIEST)):
            stack = view.fields["stacks"][2 * other + structure]
            places = [i for i in range(4, stack["count"]) if stack["cards"][i] == 0]
            if not places:
                continue

            def share(model, places=places, card=card, at=2 * other + structure, view=view):
                sampler = Sampler.of(view, model)
                worlds = [sampler.sample(world).fields["stacks"][at] for world in range(400)]
                return sum(world["cards"][i] == card for world in worlds for i in places)

            assert share(fond) > 2 * share(None)
            return
    raise AssertionError


def test_the_policy_chooses_by_a_sharp_softmax():
    # Of hands of which no card costs others, where the policy leaves nothing to an order of cards.
    game = default_game()
    model = random_model(game, 7, most=SCALE)
    policy = PlayoutPolicy.of(game, model)
    plain = {KNIGHT, ARCHER, AXE_MAN, SPY, 0}
    tested = 0
    for seed in range(200):
        for ply, position in enumerate(positions(game, seed)):
            fields = position.fields
            if fields["common"]["phase"] != TURN or ply % 2:
                continue
            seat = position.deciders[0]
            hand = fields["own"][seat]["hand"]
            if len(position.legal(seat)) < 4 or not {i for i, n in enumerate(hand) if n} <= plain:
                continue
            seen = Counter(policy.action(position, seat, n) for n in range(2000))
            for action, share in shared(likelihoods(position, seat, model, SHARPNESS)).items():
                noise = 5 * math.sqrt(share * (1 - share) / 2000) + 0.015
                assert seen[action] / 2000 == pytest.approx(share, abs=noise), (seed, ply)
            tested += 1
            break
        if tested == 12:
            return
    raise AssertionError(tested)


def test_the_policy_sets_up_by_the_model():
    game = default_game()
    keen = model_with(game, {"set-up": {"keep granary": 9, "castle archer": 9}}, ("playouts",))
    policy = PlayoutPolicy.of(game, keen)
    kept = archers = 0
    for seed in range(400):
        position = Position.deal(game, seed)
        hand = position.fields["own"][0]["hand"]
        if hand[GRANARY] and hand[ARCHER]:
            given = game.read_action(policy.action(position, 0, seed))
            kept += given["keep"] == GRANARY
            archers += ARCHER in given["castle"]
    assert kept == archers > 5
