"""The playout policy of Castle Rampage: turns as by a naive version of it, and sensible set-ups."""

import itertools
from collections import Counter, defaultdict
from typing import NamedTuple

import pytest

from engine import games
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from lab.chi_squared import p_of_distribution
from tests.games import facts_of
from tests.games.castle_rampage.layout import (
    CATAPULT,
    GRANARY,
    NAMES,
    OGRE,
    OGRE_COST,
    PRIEST,
    SABOTEUR,
    counts_of,
    read_cards,
    spread,
)
from tests.games.castle_rampage.proportions import check_uniform
from tests.support.play import game_of, random_joint, seeded

KNIGHT, ARCHER, AXE_MAN, DIGGER, BOMBER, SPY, JESTER, SUMMONER, VOLLEY = read_cards(
    "Knight Archer Axe_Man Digger Bomber Spy Jester Summoner Volley"
)
CARDS = len(NAMES)
# The worth of a card in hand.
KEEP = [0, 10, 9, 11, 16, 12, 13, 16, 11, 20, 10, 5, 9, 5, 9, 8, 12, 14, 24, 24, 24, 28]
FIXED = {CATAPULT: 22, GRANARY: 30, JESTER: 4, SUMMONER: 4, SPY: 12, BOMBER: 14, SABOTEUR: 25}
STRENGTHEN_NOISE, PLAY_NOISE = 12, 10
TURN = 2  # A phase.
RULESETS = sorted(facts_of("castle_rampage").rulesets)
MATCHES = 12
SHARE = 0.3  # The share of positions that are tested.
CHOICES = 600
SET_UPS = 20_000
SET_UP_MATCHES = 750  # Each is played from both seats.


class Use(NamedTuple):
    """A way to use a card, its worth without noise, and its actions, which are equally likely."""

    worth: int
    noise: int
    actions: list


class Seat:
    """What a seat sees that must decide in a turn."""

    def __init__(self, position, seat):
        fields = position.fields
        common = fields["common"]
        self.game = position.game
        self.specs = {spec["card"]: spec for spec in self.game.ruleset["cards"]}
        self.hand = spread(fields["own"][seat]["hand"])
        self.strengthened = common["strengthened"]
        self.own, self.other = common["sides"][seat], common["sides"][1 - seat]
        stacks = [
            list(zip(stack["cards"], stack["known"], strict=True))[stack["top"] : stack["count"]]
            for stack in fields["stacks"]
        ]
        self.gate, self.castle = stacks[2 * seat : 2 * seat + 2]
        self.other_gate, self.other_castle = stacks[2 - 2 * seat : 4 - 2 * seat]
        self.schemes = {}
        for action in position.legal(seat):
            use = self.game.read_action(action)
            if use["kind"] == "play" and use["card"] >= VOLLEY:
                self.schemes.setdefault((use["card"], use["choice"]), action)

    def action(self, kind, card, choice, cost):
        """The action that pays with the other cards that are worth least in hand."""
        rest = list(self.hand)
        rest.remove(card)
        paid = sorted(rest, key=lambda other: KEEP[other])[:cost]
        name = "structure" if kind == "strengthen" else "choice"
        return self.game.make_action({"kind": kind, "card": card, name: choice, "discards": paid})

    def uses(self):
        """The uses of all cards, in the order in which the first of equal worth is chosen."""
        for card in sorted(set(self.hand)):
            if not self.strengthened:
                yield from self.to_strengthen(card)
            if card >= VOLLEY:
                ways = [
                    self.schemes[card, extra] for extra in (1, 0) if (card, extra) in self.schemes
                ]
                if ways:
                    yield Use(30, PLAY_NOISE, ways[:1])
            elif len(self.hand) > self.specs[card]["cost"]:
                yield from self.to_play(card, self.specs[card]["cost"])

    def to_strengthen(self, card):
        spec = self.specs[card]
        cost = OGRE_COST if card == OGRE else 0
        castle = spec["castle"] > spec["gate"] or len(self.gate) > len(self.castle) + 2
        worth = 10 * spec["castle" if castle else "gate"] - KEEP[card] - 10 * cost
        if len(self.hand) > cost:
            yield Use(worth, STRENGTHEN_NOISE, [self.action("strengthen", card, castle, cost)])

    def to_play(self, card, cost):
        choices = [0]
        worth = FIXED.get(card, 0) - 10 * cost
        if card == PRIEST:
            choices = [1, 2, 3]
            worth += 4 + 2 * self.other["hand_size"]
        elif card == SABOTEUR:
            choices = [
                each
                for each, count in ((GRANARY, "granaries"), (CATAPULT, "catapults"))
                if self.other[count]
            ][:1]
        elif card == SUMMONER:
            worth += 10 if len(self.castle) > len(self.other_castle) else 0
        elif card not in FIXED:
            worth += self.attack(card) + {
                ARCHER: 8 * (self.other["hand_size"] > 0),
                AXE_MAN: 9,
            }.get(card, 0)
        if not (
            (card == JESTER and len(self.castle) < 4)
            or (card == SUMMONER and len(self.castle) < 2)
            or (card == BOMBER and not self.other_gate)
            or not choices
        ):
            yield Use(
                worth, PLAY_NOISE, [self.action("play", card, each, cost) for each in choices]
            )

    def attack(self, card):
        """The worth of what an attack can be expected to destroy."""
        castle = card == DIGGER or not self.other_gate
        strength = self.specs[card]["attack"] + self.own["catapults"]
        defender, known = (self.other_castle if castle else self.other_gate)[0]
        worth = 5 * strength
        if known:
            defence = self.specs[defender]["castle" if castle else "gate"]
            if defence > strength:
                return -100
            worth = 10 + 4 * (strength - defence)
        return worth - KEEP[card] // 2 + 6 * castle


def distribution(position, seat):
    """The probability of each action of a seat: the use with the greatest worth above 0."""
    best = {(0, (position.legal(seat)[-1],)): 1.0}
    for use in Seat(position, seat).uses():
        after = defaultdict(float)
        for (worth, actions), p in best.items():
            for noise in range(use.noise):
                found = use.worth + noise, tuple(use.actions)
                after[found if found[0] > worth else (worth, actions)] += p / use.noise
        best = after
    chances = defaultdict(float)
    for (_, actions), p in best.items():
        for action in actions:
            chances[action] += p / len(actions)
    return chances


@pytest.mark.parametrize("name", RULESETS)
def test_turns_are_chosen_as_by_a_naive_version(name):
    game, _ = game_of("castle_rampage", name)
    policy = PlayoutPolicy.of(game)
    p_values = []
    for seed in range(MATCHES):
        rng = seeded("turns", name, seed)
        position = Position.deal(game, seed)
        follows = rng.random()  # The share of the decisions that the policy makes.
        while not position.over:
            joint = random_joint(position, rng)
            for seat in joint:
                if len(joint) == 1 and rng.random() < SHARE:
                    chances = distribution(position, seat)
                    seen = Counter(
                        policy.action(position, seat, rng.getrandbits(64)) for _ in range(CHOICES)
                    )
                    assert seen.keys() <= chances.keys(), f"seed {seed}"
                    if max(chances.values()) < 1 - 25 / CHOICES:
                        p_values.append(p_of_distribution(seen, chances))
                if rng.random() < follows:
                    joint[seat] = policy.action(position, seat, rng.getrandbits(64))
            position.apply(joint, rng.getrandbits(64))
    check_uniform(p_values)


def test_schemes_are_paid_for_as_by_a_naive_version():
    game = games()["castle_rampage"]()
    policy = PlayoutPolicy.of(game)
    rng = seeded("schemes")
    position = Position.deal(game, 0)
    while len(position.deciders) == 2:
        position.apply(random_joint(position, rng), rng.getrandbits(64))
    fields, seat = position.fields, position.deciders[0]
    likely = 0
    # No scheme needs more copies of a unit card.
    counts = range(3), range(3), range(3), range(4), range(5)
    for *units, scheme in itertools.product(*counts, range(VOLLEY, CARDS)):
        hand = [0] * CARDS
        hand[KNIGHT : KNIGHT + len(units)] = units
        hand[scheme] = 1
        fields["own"][seat]["hand"] = hand
        fields["common"]["sides"][seat]["hand_size"] = sum(hand)
        changed = Position.from_fields(game, fields)
        chances = distribution(changed, seat)
        seen = {policy.action(changed, seat, rng.getrandbits(64)) for _ in range(20)}
        assert seen <= chances.keys(), hand
        assert seen >= {action for action, p in chances.items() if p > 0.5}, hand
        likely += max(chances.values()) > 0.5
    assert likely > 1000


def test_a_set_up_can_be_every_legal_one():
    game, _ = game_of("castle_rampage", "default")
    policy = PlayoutPolicy.of(game)
    for seed in range(4):
        rng = seeded("set-ups", seed)
        position = Position.deal(game, seed)
        for _ in range(2):
            for seat in range(2):
                chosen = {
                    policy.action(position, seat, rng.getrandbits(64)) for _ in range(SET_UPS)
                }
                assert chosen == set(position.legal(seat)), f"seed {seed}"
            position.apply(random_joint(position, rng), rng.getrandbits(64))


def test_a_set_up_keeps_and_places_cards_where_they_are_worth_most():
    game = games()["castle_rampage"]()
    fields = Position.deal(game, 0).fields
    dealt = read_cards("Granary Giant Grand_Assault Archer Summoner")
    fields["own"][0]["hand"] = counts_of(dealt)
    position = Position.from_fields(game, fields)
    policy = PlayoutPolicy.of(game)
    chosen = [game.read_action(policy.action(position, 0, seed)) for seed in range(SET_UPS)]
    kept = Counter(action["keep"] for action in chosen)
    gates = Counter(tuple(sorted(action["gate"])) for action in chosen)
    assert kept[GRANARY] > 0.85 * SET_UPS
    assert gates[tuple(sorted(dealt[1:3]))] > 0.6 * SET_UPS


def test_it_sets_up_better_than_at_random():
    game = games()["castle_rampage"]()
    policy = PlayoutPolicy.of(game)
    score = 0.0
    for seed, informed in itertools.product(range(SET_UP_MATCHES), range(2)):
        rng = seeded("set-up matches", seed)
        position = Position.deal(game, seed)
        while not position.over:
            joint = random_joint(position, rng)
            for seat in joint:
                if len(joint) == 1 or seat == informed:
                    joint[seat] = policy.action(position, seat, rng.getrandbits(64))
            position.apply(joint, rng.getrandbits(64))
        score += position.scores[informed]
    # Over 20,000 matches it scores 58 %.
    assert score / (2 * SET_UP_MATCHES) > 0.53
