"""The worlds of a view of German Whist, compared with all deals, replayed one by one."""

import collections
import itertools
import math
import random

import pytest
from german_whist.rules.rules import GermanWhist
from german_whist.rules.state import cards_of

from engine.errors import ViewError
from engine.game import SeatView
from engine.position import Position
from engine.sampler import Sampler
from lab import contract

MOST = 30_000  # Deals that are replayed for one view.


class Watched:
    """A random match, with all that one seat remembers of it."""

    def __init__(self, size, seat, rng, plays):
        self.game = GermanWhist({"cards_per_hand": size})
        self.seat = seat
        self.size = size
        self.position = Position.deal(self.game, rng.getrandbits(64))
        self.first_hand = cards_of(self.position.fields["hands"][seat])
        self.draws = {}  # The card that the seat drew after each trick that it lost.
        for _ in range(plays):
            [decides] = self.position.deciders
            before = self.position.fields
            action = rng.choice(self.position.legal(decides))
            for event in self.position.apply({decides: action}, 0):
                if event.kind == "drawn" and event.seat == seat:
                    self.draws[before["plays_count"] // 2] = event.values[0]

    def count(self):
        fields = self.position.fields
        slots = 4 * self.size - self.size - fields["exposed_count"] - len(self.draws)
        return math.comb(slots, self.size) * math.factorial(slots - self.size)

    def weights(self):
        """The probability of each opposing hand and stock, by replaying every deal."""
        fields = self.position.fields
        size, seat = self.size, self.seat
        exposed = fields["exposed"][: fields["exposed_count"]]
        known = {*self.first_hand, *exposed, *self.draws.values()}
        hidden = [card for card in self.game.pack if card not in known]
        found = collections.Counter()
        for hand in itertools.combinations(hidden, size):
            rest = [card for card in hidden if card not in hand]
            for order in itertools.permutations(rest):
                stock, cards = [], iter(order)
                for trick in range(size):
                    stock.append(exposed[trick] if trick < len(exposed) else next(cards))
                    stock.append(self.draws[trick] if trick in self.draws else next(cards))
                hands = [set(self.first_hand), set(hand)]
                if seat == 1:
                    hands.reverse()
                weight = replay(hands, stock, fields["plays"][: fields["plays_count"]], size, seat)
                if weight:
                    left = stock[2 * (fields["plays_count"] // 2) :][1:]
                    found[(tuple(sorted(hands[1 - seat])), tuple(left))] += weight
        total = found.total()
        return {world: weight / total for world, weight in found.items()}


def replay(hands, stock, plays, size, seat):
    """The product of 1 / choices of the other seat; 0 if it could not have played like this."""
    trump, leader, weight = stock[0] // 13, 0, 1.0
    for at, card in enumerate(plays):
        decides = leader if at % 2 == 0 else 1 - leader
        if card not in hands[decides]:
            return 0
        choices = hands[decides]
        if at % 2:
            choices = {each for each in choices if each // 13 == plays[at - 1] // 13} or choices
        if card not in choices:
            return 0
        if decides != seat:
            weight /= len(choices)
        hands[decides].remove(card)
        if at % 2:
            led = plays[at - 1]
            higher = card > led if card // 13 == led // 13 else card // 13 == trump
            leader = decides if higher else 1 - decides
            if at // 2 < size:
                hands[leader].add(stock[at - 1])
                hands[1 - leader].add(stock[at])
    return weight


@pytest.mark.parametrize("size", [3, 4])
def test_the_worlds_of_a_view_are_as_likely_as_all_deals_say(size):
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed={seed}")
    rng = random.Random(seed)
    tested = tests = 0
    while tests < 12:
        plays = rng.randrange(1, 4 * size)
        watched = Watched(size, rng.randrange(2), rng, plays)
        if watched.count() > MOST:
            continue
        tests += 1
        expected = watched.weights()
        worlds = Sampler.of(watched.position.view(watched.seat)).worlds(200_000)
        if worlds is None:
            continue
        tested += 1
        found = collections.Counter()
        for world, chance in worlds.items():
            fields = world.fields
            stock = fields["stock"][: fields["stock_count"]][::-1]
            found[(tuple(cards_of(fields["hands"][1 - watched.seat])), tuple(stock))] += chance
        assert set(found) == set(expected)
        for world, chance in expected.items():
            assert found[world] == pytest.approx(chance, abs=1e-9)
    assert tested > 6


@pytest.mark.parametrize("size", [3, 5, 8, 13])
def test_worlds_show_the_seat_the_same(size):
    contract.check_sound(GermanWhist({"cards_per_hand": size}), range(2), worlds=3)


def test_both_hands_are_known_in_the_second_phase():
    watched = Watched(6, 0, random.Random(3), 13)
    [world] = Sampler.of(watched.position.view(0)).worlds(10)
    assert world == watched.position


def changed(fields, **changes):
    lists = {"hand": 13, "exposed": 13, "plays": 52}
    result = dict(fields)
    for name, value in changes.items():
        if name in lists:
            result[f"{name}_count"] = len(value)
            value = value + [0] * (lists[name] - len(value))
        result[name] = value
    return result


def test_a_view_that_cannot_be_is_refused():
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed={seed}")
    rng = random.Random(seed)
    refused = 0
    for _ in range(300):
        watched = Watched(5, rng.randrange(2), rng, rng.randrange(0, 20))
        view = watched.position.view(watched.seat)
        fields = view.fields
        name = rng.choice(["hand", "exposed", "plays", "trump", "leader", "tricks"])
        if name in ("trump", "leader"):
            other = changed(fields, **{name: fields[name] + 1})
        elif name == "tricks":
            other = changed(fields, tricks=[fields["tricks"][0] + 1, fields["tricks"][1]])
        else:
            cards = fields[name][: fields[f"{name}_count"]]
            at = rng.randrange(len(cards) + 1)
            cards[at : at + 1] = [rng.randrange(60)] if rng.random() < 0.7 else []
            other = changed(fields, **{name: cards[: len(fields[name])]})
        if other == fields:
            continue
        try:
            world = Sampler.of(SeatView.from_fields(watched.game, other)).sample(0)
        except ViewError:
            refused += 1
        else:
            assert world.view(watched.seat).fields == other
    assert refused > 100
