"""The exact distribution of the hidden cards in Skystones, by a naive filter.

The filter keeps every world that a seat cannot tell from the true one, and plays each on by the
rules. A world has its probability if the opponent chooses uniformly among its legal actions, or as
a model says.
"""

import math
import random
from collections import Counter

import pytest

from engine import games
from engine.features import SCALE
from engine.model import Model
from engine.position import Position
from engine.sampler import Sampler
from tests.games import spread
from tests.games.skystones import EDGES, read_card_list
from tests.support.chi_squared import p_of_distribution
from tests.support.long_form import LONG_FORM
from tests.support.models import likelihoods, random_model, shared
from tests.support.play import chances, check_uniform, note_on_failure

PLACE = 2
UNIFORM = 0.1
DRAWS = 600

SIX = "A FIRE 0100, B FIRE 2010, C EARTH 0002, D EARTH 1111, E ELECTRO 0302, F WATER 1010"
SEVEN = f"{SIX}, G AIR 0003"
NINE = f"{SEVEN}, H AIR 0030, I FIRE 2001"
COPIES = "A FIRE 0100 *3, B EARTH 2010 *2, C EARTH 0002 *4, D AIR 1031 *2, E AIR 0000, F WATER 0101"
ALIKE = ", ".join(
    f"{i} {'WATER' if i % 2 else 'FIRE'} {i % 2}1{i // 6}{1 - i % 2}" for i in range(11)
)
RULESETS = {
    "nine": {"board_size": 2, "hand_size": 2, "hand_limit": 8, "cards": NINE},
    "nine, special fields": {
        "board_size": 2,
        "hand_size": 3,
        "hand_limit": 13,
        "special_fields": 2,
        "cards": NINE,
    },
    "seven": {"board_size": 2, "hand_size": 2, "hand_limit": 8, "cards": SEVEN},
    "seven, three special fields": {
        "board_size": 2,
        "hand_size": 2,
        "hand_limit": 8,
        "special_fields": 3,
        "cards": SEVEN,
    },
    "six, an even number": {
        "board_size": 2,
        "hand_size": 2,
        "hand_limit": 7,
        "special_fields": 2,
        "cards": SIX,
    },
    "cards alike": {
        "board_size": 2,
        "hand_size": 3,
        "hand_limit": 9,
        "special_fields": 2,
        "cards": ALIKE,
    },
    "copies": {"board_size": 2, "hand_size": 3, "hand_limit": 11, "cards": COPIES},
    "copies, special fields": {
        "board_size": 3,
        "hand_size": 3,
        "hand_limit": 10,
        "special_fields": 9,
        "cards": COPIES,
    },
}


def game_of(name):
    ruleset = RULESETS[name]
    return games()["skystones"]({**ruleset, "cards": read_card_list(ruleset["cards"])})


def hidden(position, other):
    fields = position.fields
    return tuple(spread(fields["piles"][other])), tuple(spread(fields["hands"][other]))


def deals(position, other):
    """Every deal that could be this one to the other side of `other`, by what it hides."""
    fields = position.fields
    unseen = Counter(spread(fields["piles"][other]))
    if fields["aside"]:
        unseen[fields["aside"] - 1] += 1
    worlds = {}
    for aside in list(unseen) if fields["aside"] else [None]:
        pile = unseen - Counter([aside])
        fields["piles"][other] = [pile[card] for card in range(len(fields["piles"][other]))]
        fields["aside"] = 0 if aside is None else aside + 1
        world = Position.from_fields(position.game, fields)
        worlds[hidden(world, other)] = world, unseen[aside] if fields["aside"] else 1
    return worlds


def uniform(position, seat):
    legal = position.legal(seat)
    return dict.fromkeys(legal, 1 / len(legal))


def positions(game, seed, seat, choices=uniform):
    """Yield each position of a random match with the worlds that `seat` cannot tell from it."""
    chance = random.Random(seed)
    other = 1 - seat
    position = Position.deal(game, seed)
    worlds = deals(position, other)
    while True:
        whole = sum(weight for _, weight in worlds.values())
        yield position, {key: weight / whole for key, (_, weight) in worlds.items()}
        if position.over:
            return
        joint = {decider: chance.choice(position.legal(decider)) for decider in position.deciders}
        after = position.copy()
        after.apply(joint, 0)
        shown, updated = after.view(seat), {}
        for world, weight in worlds.values():
            for choice, share in (choices(world, other) if other in joint else {0: 1.0}).items():
                if other in joint and len(joint) == 1 and choice != joint[other]:
                    continue
                next_world = world.copy()
                next_world.apply({**joint, other: choice} if other in joint else joint, 0)
                if next_world.view(seat) == shown:
                    key = hidden(next_world, other)
                    before = updated[key][1] if key in updated else 0.0
                    updated[key] = next_world, before + weight * share
        position, worlds = after, updated


@pytest.mark.parametrize("name", RULESETS)
def test_draws_are_in_proportion(name):
    game = game_of(name)
    seeds = random.Random(name)
    p_values = []
    for seed in range(12 if LONG_FORM else 6):
        with note_on_failure(seed=seed):
            for position, expected in positions(game, seed, seed % 2):
                sampler = Sampler.of(position.view(seed % 2))
                samples = [sampler.sample(seeds.getrandbits(64)) for _ in range(DRAWS)]
                drawn = Counter(hidden(sample, 1 - seed % 2) for sample in samples)
                assert drawn.keys() <= expected.keys(), "an impossible world is drawn"
                if len(expected) > 1:
                    p_values.append(p_of_distribution(drawn, expected))
    check_uniform(p_values)


@pytest.mark.parametrize("name", RULESETS)
def test_all_worlds_have_their_probability(name):
    game = game_of(name)
    several = 0
    for seed in range(10 if LONG_FORM else 5):
        with note_on_failure(seed=seed):
            seat = seed % 2
            for position, expected in positions(game, seed, seat):
                worlds = Sampler.of(position.view(seat)).worlds(2_000)
                if worlds is not None:
                    found = chances(worlds, lambda world, other=1 - seat: hidden(world, other))
                    assert found == pytest.approx(expected)
                    several += len(found) > 1
    assert several > 10


# Choices by a model


def pick_likelihood(model, position, seat, card):
    """How likely a card is picked, in proportion to others, whether or not it can be."""
    common, spec = position.fields["common"], position.game.ruleset["cards"][card]
    lead = common["sides"][seat]["points"] - common["sides"][1 - seat]["points"]
    facts = {
        "starts": common["starter"] == seat,
        "leads": (lead > 0) - (lead < 0),
        "late": min(common["round"], 4) - 1,
    }
    points = [spec[edge] for edge in EDGES]
    shapes = {"total": sum(points), "strongest": max(points), "zeros": points.count(0)}
    weights = model.weights["pick"]
    found = sum(weights[f"{s}, {f}"] * shapes[s] * facts[f] for s in shapes for f in facts)
    return math.exp((found + weights[f"card {card}"]) / SCALE)


def by(model):
    """The probability of each legal action of a seat, by the weights of a model."""

    def choices(position, seat):
        legal = position.legal(seat)
        if position.fields["common"]["phase"] == PLACE:
            likely = shared(likelihoods(position, seat, model))
            return {a: UNIFORM / len(legal) + (1 - UNIFORM) * likely[a] for a in legal}
        # The share of uniform play is that of a choice among all cards of the list.
        cards = range(len(position.game.ruleset["cards"]))
        every = [pick_likelihood(model, position, seat, card) for card in cards]
        mean = sum(every) / len(every)
        return shared({a: UNIFORM + (1 - UNIFORM) * every[a & 255] / mean for a in legal})

    return choices


def first_round(game, seed, seat, model):
    """The positions of round 1, each with its worlds by a model, and those that are found."""
    for position, expected in positions(game, seed, seat, by(model)):
        if position.over or position.fields["common"]["round"] > 1:
            return
        worlds = Sampler.of(position.view(seat), model).worlds(20_000)
        if worlds is not None:
            found = chances(worlds, lambda world: hidden(world, 1 - seat))
            yield position, expected, found


def of_totals(model):
    """The model with picks that depend on nothing but the total of a card and the round."""
    weights = {kind: dict(named) for kind, named in model.weights.items()}
    for name in weights["pick"]:
        weights["pick"][name] = weights["pick"][name] // 3 if name.startswith("total") else 0
    return Model(model.features.game, weights, model.uses, net=model.net)


MODELLED = ["nine", "nine, special fields", "copies"]


@pytest.mark.parametrize("name", MODELLED)
def test_worlds_have_the_probability_that_a_naive_sum_of_the_weights_gives(name):
    # Where cards of one total are picked alike, this is exact; other picks come close.
    game = game_of(name)
    several = placed = 0
    for seed in range(8):
        model = random_model(game, seed, most=800)
        with note_on_failure(seed=seed):
            for position, expected, found in first_round(game, seed, seed % 2, of_totals(model)):
                assert found == pytest.approx(expected)
                several += len(found) > 1
                placed += position.fields["common"]["placement_count"] > 0
    assert several > 15 and placed > 8
    for seed in range(4):
        model = random_model(game, seed, most=300)
        with note_on_failure(seed=seed):
            for _, expected, found in first_round(game, seed, seed % 2, model):
                for key, probability in found.items():
                    assert probability == pytest.approx(expected[key], abs=0.05)
