"""What is learned of Skystones, compared with slow rules and sums of its own."""

import math
import random
import struct
from collections import Counter

import pytest

from engine import games
from engine.features import SCALE, Features
from engine.model import Model
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from lab.chi_squared import p_of_distribution
from tests.games.skystones import read_card_list, spread
from tests.support.models import positions, random_model
from tests.support.play import note_on_failure

EDGES = ("north", "east", "south", "west")
STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
UNIFORM = 0.1
PICK, PLACE = 1, 2
BLOCKED = 6
NINE = (
    "A FIRE 0100, B FIRE 2010, C EARTH 0002, D EARTH 1111, E ELECTRO 0302, F WATER 1010, "
    "G AIR 0003, H AIR 0030, I FIRE 2001"
)
COPIES = "A FIRE 0100 *3, B EARTH 2010 *2, C EARTH 0002 *4, D AIR 1031 *2, E AIR 0000, F WATER 0101"
RULESETS = {
    "nine": {"board_size": 2, "hand_size": 2, "hand_limit": 8, "cards": NINE},
    "nine, special fields": {
        "board_size": 2,
        "hand_size": 3,
        "hand_limit": 13,
        "special_fields": 2,
        "cards": NINE,
    },
    "copies": {"board_size": 2, "hand_size": 3, "hand_limit": 11, "cards": COPIES},
}


def game_of(name):
    ruleset = RULESETS[name]
    return games()["skystones"]({**ruleset, "cards": read_card_list(ruleset["cards"])})


def described(position, seat, action):
    """The features of an action by their names; those that are left out are 0."""
    common, cards = position.fields["common"], position.game.ruleset["cards"]
    fields = position.game.read_action(action)
    card = fields["card"]
    points = [cards[card][edge] for edge in EDGES]
    if common["phase"] == PICK:
        lead = common["sides"][seat]["points"] - common["sides"][1 - seat]["points"]
        facts = {
            "starts": common["starter"] == seat,
            "leads": (lead > 0) - (lead < 0),
            "late": min(common["round"], 4) - 1,
        }
        shapes = {"total": sum(points), "strongest": max(points), "zeros": points.count(0)}
        found = {
            f"{shape}, {fact}": shapes[shape] * facts[fact] for shape in shapes for fact in facts
        }
        return {**found, f"card {card}": 1}
    side, board = position.game.ruleset["board_size"], common["board"]
    row, column = divmod(fields["square"], side)
    empty = sum(
        not square["card"] and square["field"] != BLOCKED for square in board[: side * side]
    )
    found = dict.fromkeys(["taken", "own", "held", "closed", *(f"open {n}" for n in range(4))], 0)
    for edge, (down, right) in enumerate(STEPS):
        if not (0 <= row + down < side and 0 <= column + right < side):
            found["closed"] += 1
            continue
        other = board[(row + down) * side + column + right]
        if not other["card"]:
            found["closed" if other["field"] == BLOCKED else f"open {min(points[edge], 3)}"] += 1
        elif other["owner"] == seat:
            found["own"] += 1
        else:
            facing = cards[other["card"] - 1][EDGES[(edge + 2) % 4]]
            found["taken" if points[edge] > facing else "held"] += 1
    found["takes several"] = found["taken"] > 1
    found["total"] = sum(points)
    found["early total"] = sum(points) if empty > 4 else 0
    return found


def chances(position, seat, model):
    """The probability of each legal action of a seat, by the weights of a model."""
    legal = position.legal(seat)
    kind = "pick" if position.fields["common"]["phase"] == PICK else "place"
    weights = model.weights[kind]

    def likelihood(features):
        return math.exp(sum(weights[name] * n for name, n in features.items()) / SCALE)

    likelihoods = [likelihood(described(position, seat, action)) for action in legal]
    if kind == "pick":
        # The share of uniform play is that of a choice among all cards of the list.
        types = range(len(position.game.ruleset["cards"]))
        every = [likelihood(described(position, seat, PICK << 60 | card)) for card in types]
        mean = sum(every) / len(every)
        likelihoods = [UNIFORM + (1 - UNIFORM) * each / mean for each in likelihoods]
        return {a: each / sum(likelihoods) for a, each in zip(legal, likelihoods, strict=True)}
    return {
        a: UNIFORM / len(legal) + (1 - UNIFORM) * each / sum(likelihoods)
        for a, each in zip(legal, likelihoods, strict=True)
    }


def hidden(position, other):
    fields = position.fields
    return tuple(spread(fields["piles"][other])), tuple(spread(fields["hands"][other]))


def worlds_of(game, seed, seat, model):
    """Yield each position of round 1 with the worlds that `seat` cannot tell from it.

    A world has its probability if the opponent chooses as the model says.
    """
    chance = random.Random(seed)
    other = 1 - seat
    position = Position.deal(game, seed)
    worlds = {}
    for world, weight in Sampler.of(position.view(seat)).worlds(10_000).items():
        worlds[hidden(world, other)] = (world, weight)
    while not position.over and position.fields["common"]["round"] == 1:
        yield position, {key: weight for key, (_, weight) in worlds.items()}
        joint = {decider: chance.choice(position.legal(decider)) for decider in position.deciders}
        after = position.copy()
        after.apply(joint, 0)
        updated = {}
        for world, weight in worlds.values():
            choices = chances(world, other, model) if other in joint else {0: 1.0}
            for choice, probability in choices.items():
                if other in joint:
                    if world.fields["common"]["phase"] == PLACE and choice != joint[other]:
                        continue
                    applied = {**joint, other: choice}
                else:
                    applied = joint
                next_world = world.copy()
                next_world.apply(applied, 0)
                if next_world.view(seat) == after.view(seat):
                    key = hidden(next_world, other)
                    before = updated[key][1] if key in updated else 0.0
                    updated[key] = (next_world, before + weight * probability)
        position, worlds = after, updated


def of_totals(model):
    """The model with picks that depend on nothing but the total of a card and the round."""
    weights = {kind: dict(named) for kind, named in model.weights.items()}
    for name in weights["pick"]:
        weights["pick"][name] = weights["pick"][name] // 3 if name.startswith("total") else 0
    return Model(model.features.game, weights, model.uses, net=model.net)


@pytest.mark.parametrize("name", ["default", *RULESETS])
def test_actions_are_described_as_they_are(name):
    game = games()["skystones"]() if name == "default" else game_of(name)
    features = Features.of(game)
    seen = set()
    for seed in range(4):
        chance = random.Random(seed)
        position = Position.deal(game, seed)
        while not position.over:
            for seat in position.deciders:
                if (found := features.rows(position, seat)) is None:
                    continue
                kind, packed = found
                names = features.decisions[kind]
                numbers = struct.unpack(f"{len(packed) // 2}h", packed)
                for i, action in enumerate(position.legal(seat)):
                    expected = described(position, seat, action)
                    assert set(expected) <= set(names)
                    row = numbers[i * len(names) : (i + 1) * len(names)]
                    assert row == tuple(int(expected.get(each, 0)) for each in names), (seed, kind)
                seen.add(kind)
            joint = {each: chance.choice(position.legal(each)) for each in position.deciders}
            position.apply(joint, chance.getrandbits(64))
    assert seen == {"pick", "place"}


@pytest.mark.parametrize("name", RULESETS)
def test_worlds_have_the_probability_that_a_naive_sum_of_the_weights_gives(name):
    # Where cards of one total are picked alike, this is exact.
    game = game_of(name)
    several = placed = 0
    for seed in range(8):
        with note_on_failure(seed=seed):
            seat = seed % 2
            model = of_totals(random_model(game, seed, most=800))
            for position, expected in worlds_of(game, seed, seat, model):
                found = {}
                worlds = Sampler.of(position.view(seat), model).worlds(20_000)
                if worlds is None:
                    continue
                for world, probability in worlds.items():
                    key = hidden(world, 1 - seat)
                    found[key] = found.get(key, 0.0) + probability
                whole = sum(expected.values())
                assert found == pytest.approx({key: n / whole for key, n in expected.items()})
                several += len(found) > 1
                placed += position.fields["common"]["placement_count"] > 0
    assert several > 15 and placed > 8


@pytest.mark.parametrize("name", RULESETS)
def test_other_picks_come_close(name):
    game = game_of(name)
    for seed in range(4):
        with note_on_failure(seed=seed):
            seat = seed % 2
            model = random_model(game, seed, most=300)
            for position, expected in worlds_of(game, seed, seat, model):
                found = {}
                for world, chance in (
                    Sampler.of(position.view(seat), model).worlds(20_000) or {}
                ).items():
                    key = hidden(world, 1 - seat)
                    found[key] = found.get(key, 0.0) + chance
                whole = sum(expected.values())
                for key, probability in found.items():
                    assert probability == pytest.approx(expected[key] / whole, abs=0.05)


def test_the_policy_picks_with_the_probabilities_of_the_model():
    game = games()["skystones"]()
    model = random_model(game, 1)
    policy = PlayoutPolicy.of(game, model)
    draws = 4_000
    for seed in range(3):
        position = Position.deal(game, seed)
        expected = chances(position, 0, model)
        drawn = Counter(policy.action(position, 0, draw) for draw in range(draws))
        assert p_of_distribution(drawn, expected) > 1e-4


def test_the_start_of_a_round_is_described_as_the_seat_that_starts_sees_it():
    game = games()["skystones"]()
    features = Features.of(game)
    starters = set()
    for seed in range(10):
        for position in positions(game, seed):
            fields = position.fields
            common = fields["common"]
            own = common["starter"]
            sides = [common["sides"][seat] for seat in (own, 1 - own)]
            lead = sides[0]["points"] - sides[1]["points"]
            left = sum(side["pile_size"] for side in sides) // 2
            left = max(1, min(3, (2 * left - 4) // 9))
            strength = sum(
                sum(card[edge] for edge in EDGES)
                * (fields["piles"][own][number] - fields["piles"][1 - own][number])
                for number, card in enumerate(game.ruleset["cards"])
            )
            expected = {
                f"rounds left {left}": 1,
                f"rounds left {left}: lead": lead,
                f"rounds left {left}: strength": strength,
                f"lead {max(-4, min(lead, 4))}": 1,
            }
            seat, packed = features.row(position)
            row = struct.unpack(f"{len(packed) // 2}h", packed)
            found = dict(zip(features.inputs, row, strict=True))
            assert seat == own
            assert {n: v for n, v in found.items() if v} == {n: v for n, v in expected.items() if v}
            starters.add(own)
    assert starters == {0, 1}


def test_playouts_value_the_next_round_as_the_position_itself_does():
    # A playout describes its own form of a position, and the estimate the position.
    game = games()["skystones"]()
    policy = PlayoutPolicy.of(game, random_model(game, 3, uses=("value",)))
    seen = 0
    for seed in range(20):
        with note_on_failure(seed=seed):
            for position in positions(game, seed):
                after = [
                    each
                    for each in outcomes_of(position)
                    if not each.over and policy.at(each) > policy.at(position)
                ]
                if after and len(after) == len(position.legal(position.deciders[0])):
                    assert policy.playouts(position, 1, seed) in [
                        pytest.approx(policy.score(each)) for each in after
                    ]
                    seen += 1
    assert seen > 10


def outcomes_of(position):
    """The positions after each action of a seat that decides alone."""
    if len(position.deciders) != 1:
        return
    seat = position.deciders[0]
    for action in position.legal(seat):
        after = position.copy()
        after.apply({seat: action}, 1)
        yield after
