"""What a search asks Skystones: is it legal, is it the only action, is it the same decision."""

from collections import defaultdict

import pytest

from engine.position import Position
from engine.sampler import Sampler
from tests.games.skystones import SkystonesFacts
from tests.support.long_form import LONG_FORM
from tests.support.play import game_of, note_on_failure, random_joint, seeded

RULESETS = [*SkystonesFacts.rulesets, *SkystonesFacts.small_rulesets]
MATCHES = 20 if LONG_FORM else 8
WORLDS = 5


@pytest.mark.parametrize("name", RULESETS)
def test_what_was_legal_in_one_world_is_legal_in_another_if_it_is_listed_there(name):
    game, _ = game_of("skystones", name)
    told_apart = 0
    for seed in range(MATCHES):
        chance = seeded("legal", name, seed)
        position = Position.deal(game, seed)
        while not position.over:
            for viewer in (0, 1):
                sampler = Sampler.of(position.view(viewer))
                worlds = [
                    position,
                    *(sampler.sample(chance.getrandbits(64)) for _ in range(WORLDS)),
                ]
                for seat in position.deciders:
                    legal = [world.legal(seat) for world in worlds]
                    if seat == viewer:
                        assert legal == legal[:1] * len(worlds)
                    with note_on_failure(seed=seed, viewer=viewer, seat=seat):
                        for action in set().union(*legal):
                            told_apart += any(action not in one for one in legal)
                            for world, one in zip(worlds, legal, strict=True):
                                assert world.is_legal(seat, action) == (action in one)
            position.apply(random_joint(position, chance), chance.getrandbits(64))
    assert told_apart > 20


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


@pytest.mark.parametrize("name", RULESETS)
def test_an_action_is_the_only_one_if_no_other_is_listed(name):
    game, _ = game_of("skystones", name)
    forced = free = 0
    for seed in range(5 * MATCHES):
        chance = seeded("only", name, seed)
        position = Position.deal(game, seed)
        while not position.over:
            for seat in position.deciders:
                legal = position.legal(seat)
                with note_on_failure(seed=seed, seat=seat, legal=legal):
                    assert position.only_action(seat) == (legal[0] if len(legal) == 1 else 0)
                forced += len(legal) == 1
                free += len(legal) > 1
            position.apply(random_joint(position, chance), chance.getrandbits(64))
    assert forced > 20 and free > 20


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
