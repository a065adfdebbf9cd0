"""The keys by which the search of Castle Rampage tells decisions apart."""

from collections import defaultdict

from engine import games
from engine.position import Position
from engine.sampler import Sampler
from tests.games.castle_rampage import read_card_list
from tests.support.play import random_joint, seeded

DEALS = 300
FEW_KINDS = "Knight*20 Archer*10 Spy*3"


def hand_of(position, seat):
    return tuple(position.fields["own"][seat]["hand"])


def test_set_ups_are_told_apart_by_the_hand_of_their_seat_alone():
    game = games()["castle_rampage"]({"cards": read_card_list(FEW_KINDS)})
    rng = seeded("set-up keys")
    position = Position.deal(game, rng.getrandbits(64))
    first = [Sampler.of(position.view(0)).sample(rng.getrandbits(64)) for _ in range(DEALS)]
    joint = random_joint(position, rng)
    second = [world.copy() for world in first if hand_of(world, 1) == hand_of(position, 1)]
    for each in second:
        each.apply(joint, rng.getrandbits(64))
    actions = joint[0], joint[1]
    for seat in range(2):
        for positions, key_of in (
            (first, lambda each, seat=seat: each.root_key(seat)),
            (second, lambda each, seat=seat: each.observe(actions, seat)),
        ):
            keys = defaultdict(set)
            for each in positions:
                keys[hand_of(each, seat)].add(key_of(each))
            assert all(len(found) == 1 for found in keys.values()), "one key for each hand"
            assert len(set.union(*keys.values())) == len(keys), "and another one for each other"
            # Seat 0 knows its hand in the first set-up.
            assert len(keys) > 3 or (positions is first and seat == 0)


def test_turns_are_not_told_apart_by_hands():
    game = games()["castle_rampage"]()
    for seed in range(20):
        rng = seeded("turn keys", seed)
        position = Position.deal(game, seed)
        while len(position.deciders) == 2:
            position.apply(random_joint(position, rng), rng.getrandbits(64))
        for seat in range(2):
            assert position.root_key(seat) == 0, f"seed {seed}"
        end = {position.deciders[0]: position.legal(position.deciders[0])[-1]}
        joint = [end.get(0, 0), end.get(1, 0)]
        worlds = [Sampler.of(position.view(0)).sample(rng.getrandbits(64)) for _ in range(10)]
        for world in worlds:
            world.apply(end, rng.getrandbits(64))
        for seat in range(2):
            assert len({world.observe(joint, seat) for world in worlds}) == 1, f"seed {seed}"
