"""What a search asks Skystones: which picks a world allows, and whether a decision is the same."""

from collections import defaultdict

import pytest

from engine import games
from engine.features import Features
from engine.model import nothing
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from tests.games.skystones import EDGES, SkystonesFacts
from tests.support.long_form import LONG_FORM
from tests.support.play import game_of, note_on_failure, random_joint, seeded

RULESETS = [*SkystonesFacts.rulesets, *SkystonesFacts.small_rulesets]
CARDS = games()["skystones"]().ruleset["cards"]
MATCHES = 20 if LONG_FORM else 8


@pytest.mark.parametrize("name", RULESETS)
def test_a_world_has_the_limits_of_picks_that_follow_from_its_cards(name):
    game, _ = game_of("skystones", name)
    for seed in range(MATCHES):
        chance = seeded("limits", name, seed)
        position = Position.deal(game, seed)
        while not position.over:
            world = Sampler.of(position.view(seed % 2)).sample(chance.getrandbits(64))
            with note_on_failure(seed=seed):
                assert Position.from_fields(game, world.fields) == world
            position.apply(random_joint(position, chance), chance.getrandbits(64))


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("name", ["default", "all_fields", "small_board", "five", "copies"])
def test_two_decisions_have_one_key_if_the_same_cards_were_picked_in_any_order(name, seat):
    game, _ = game_of("skystones", name)
    keys, seen, others = {}, {}, defaultdict(set)
    orders = defaultdict(set)
    for seed in range(400 if LONG_FORM else 150):
        chance = seeded("keys", name, seat, seed)
        # One deal and few different picks: many matches come to the same decision.
        position = Position.deal(game, 1)
        own, other, key = [], [], 0
        while not position.over:
            joint = random_joint(position, chance)
            if len(joint) == 2:
                joint = {one: chance.choice(position.legal(one)[:3]) for one in joint}
                own.append((position.fields["common"]["round"], joint[seat]))
                other.append(joint[1 - seat])
            position.apply(joint, 0)
            key = position.next_key(key, [joint.get(0, 0), joint.get(1, 0)], seat)
            common = position.fields["common"]
            placed = common["placements"][: common["placement_count"]]
            known = (
                tuple(sorted(own)),
                tuple(tuple(one.values()) for one in placed),
                common["phase"],
                common["turn"],
                common["round"],
            )
            with note_on_failure(seed=seed):
                assert keys.setdefault(known, key) == key, "one decision has two keys"
                assert seen.setdefault(key, known) == known, "two decisions have one key"
            orders[key].add(tuple(own))
            others[key].add(tuple(other))
    assert sum(len(found) > 1 for found in orders.values()) > 20
    assert sum(len(found) > 1 for found in others.values()) > 20


def test_the_start_of_a_round_is_described_alike_whatever_unit_the_points_have():
    usual = games()["skystones"]()
    cards = [card | {edge: 2 * card[edge] for edge in EDGES} for card in CARDS]
    double = games()["skystones"]({"cards": cards, "hand_limit": 40})
    for seed in range(MATCHES):
        chance = seeded("unit", seed)
        one, other = Position.deal(usual, seed), Position.deal(double, seed)
        while not one.over:
            with note_on_failure(seed=seed):
                assert Features.of(usual).row(one) == Features.of(double).row(other)
            joint = random_joint(one, chance)
            one.apply(joint, 0)
            other.apply(joint, 0)


@pytest.mark.parametrize(
    ("ruleset", "used"),
    [
        ({}, True),
        ({"hand_limit": 30}, True),
        ({"cards": CARDS[:42]}, True),
        ({"cards": CARDS[:41]}, False),
        ({"cards": CARDS + CARDS[:1]}, False),
        ({"special_fields": 1}, False),
        ({"board_size": 2}, False),
        ({"hand_size": 4}, False),
    ],
)
def test_the_net_tells_of_rounds_like_those_that_it_was_learned_of(ruleset, used):
    game = games()["skystones"](ruleset)
    by_net, by_hand = PlayoutPolicy.of(game), PlayoutPolicy.of(game, nothing(game))
    for seed in range(MATCHES):
        position = Position.deal(game, seed)
        assert (by_net.score(position) != by_hand.score(position)) == used
