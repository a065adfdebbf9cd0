"""The playout policy of PowerShot Soccer chooses as a slow one does, and so do its playouts."""

from collections import Counter, defaultdict
from fractions import Fraction

import pytest

from engine import games
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from lab.chi_squared import compare, p_of_distribution, upper_tail
from tests.games import facts_of
from tests.games.powershot_soccer import ROLES, read_card_list
from tests.support.play import random_joint, seeded

RULESETS = {
    **facts_of("powershot_soccer").rulesets,
    "unordered": {
        "hand_size": 5,
        "cards": read_card_list(
            "SAVE 4, STAR_PLAYER 2, PASS 3 *2, STAR_PLAYER 7, LONG_RANGE_SHOT 9, SHOOT 9, SHOOT 3,"
            "CROSS 2, INTERCEPT 3, INTERCEPT 5, TACKLE 2, DRIBBLE 4, FANCY_FOOTWORK 1, SAVE 6"
        ),
    },
}
GAMES = {name: games()["powershot_soccer"](ruleset) for name, ruleset in RULESETS.items()}
SHARE = 0.15  # The share of positions that are tested.
MATCHES = 15
CHOICES = 400
PLAYOUTS = 1_500
LEAST_P = 1e-6

POSSESSION = ("pass", "dribble", "cross", "fancy_footwork")
SHOTS = (0, 0, 1, 1, 2, 3, 5, 6, 7)


def positions(name):
    """Yield positions of random matches, with their seed."""
    for seed in range(MATCHES):
        rng = seeded("playout", name, seed)
        position = Position.deal(GAMES[name], seed)
        while not position.over:
            if rng.random() < SHARE:
                yield seed, position
            position.apply(random_joint(position, rng), rng.getrandbits(64))


# The slow policy: the exact probabilities of its choices


def best_of(worths, faces):
    """The probability of each key to be first with the highest worth plus a die of 0..faces-1."""
    chances = {}
    for at, (key, worth) in enumerate(worths):
        chance = Fraction(0)
        for die in range(faces):
            ahead = Fraction(1)
            for other, (_, other_worth) in enumerate(worths):
                if other != at:
                    lower = worth + die - other_worth + (other > at)
                    ahead *= Fraction(min(faces, max(0, lower)), faces)
            chance += ahead / faces
        chances[key] = chance
    return chances


def attack(cards, hand, standing, bonus):
    """The probabilities of a card and role of the attacker."""
    shot, shot_card = 0, None
    spare = []
    stars = []
    possession = []
    for card in hand:
        role, power = cards[card]
        if role in ("shoot", "long_range_shot", "star_player"):
            needed = 1 if role == "long_range_shot" else 2
            if standing >= needed:
                total = power + 2 * (standing - needed + bonus)
                if total > shot:
                    shot, shot_card = total, card
            elif role == "star_player":
                stars.append(card)
            else:
                spare.append(card)
        elif role in POSSESSION:
            possession.append((card, 2 * power + 2 * (role in ("cross", "fancy_footwork"))))
        else:
            spare.append(card)
    chances = defaultdict(Fraction)
    shoots = Fraction(0)
    if shot:
        certain = shot > 8 or not (possession or stars)
        shoots = Fraction(1) if certain else Fraction(SHOTS[shot], 8)
        chances[shot_card, "shoot"] += shoots
    rest = 1 - shoots
    if possession:
        for card, chance in best_of(possession, 6).items():
            is_pass = cards[card][0] in ("pass", "cross")
            chances[card, "pass" if is_pass else "dribble"] += rest * chance
    elif stars:
        for role in ("pass", "dribble"):
            chances[stars[0], role] += rest / 2
    elif rest:
        chances[min(spare, key=lambda card: cards[card][1]), "give_up"] += rest
    return chances


def defend(cards, hand, role, power):
    """The probabilities of a card and role of the defender."""
    defence = {"pass": "intercept", "dribble": "tackle", "shoot": "save"}[role]
    answers = []
    for card in hand:
        own, own_power = cards[card]
        if own in (defence, "star_player") and own_power >= power:
            worth = 2 * own_power + 5 * (own_power == power) + 4 * (own == "star_player")
            answers.append((worth, card))
    if answers and not (role == "shoot" and power > 8):
        return {(min(answers)[1], defence): Fraction(1)}
    missed = [
        (card, -2 * (cards[card][1] + 20 * (cards[card][0] == "star_player"))) for card in hand
    ]
    return {
        (card, defence if cards[card][0] == defence else "decline"): chance
        for card, chance in best_of(missed, 4).items()
    }


def probabilities(position):
    """The probability of each action of the seat that must decide."""
    game, fields = position.game, position.fields
    cards = [(ROLES[card["role"]], card["power"]) for card in game.ruleset["cards"]]
    common = fields["common"]
    hand = [card for card, n in enumerate(fields["own"][position.deciders[0]]["hand"]) if n]
    plays = common["plays"][: common["play_count"]]
    standing = common["standing"]
    if common["phase"] == 1:
        bonus = standing and cards[plays[-2]["card"]][0] in ("cross", "fancy_footwork")
        found = attack(cards, hand, standing, bool(bonus))
    else:
        role, power = cards[plays[-1]["card"]]
        if plays[-1]["role"] == ROLES.index("shoot"):
            power += 2 * (standing - (1 if role == "long_range_shot" else 2))
            power += 2 * (cards[plays[-3]["card"]][0] in ("cross", "fancy_footwork"))
        found = defend(cards, hand, ROLES[plays[-1]["role"]], power)
    return {
        card << 4 | ROLES.index(role): float(chance)
        for (card, role), chance in found.items()
        if chance
    }


@pytest.mark.parametrize("name", GAMES)
def test_it_chooses_with_the_probabilities_of_the_slow_policy(name):
    policy = PlayoutPolicy.of(GAMES[name])
    tested = 0
    for seed, position in positions(name):
        seat = position.deciders[0]
        seen = Counter(policy.action(position, seat, choice) for choice in range(CHOICES))
        likely = probabilities(position)
        p = p_of_distribution(seen, likely)
        assert p > LEAST_P, f"seed {seed}: {seen}, not {likely}, in {position.fields}"
        tested += len(likely) > 1
    assert tested >= 10


@pytest.mark.parametrize("name", GAMES)
def test_its_playouts_are_play_by_its_choices(name):
    policy = PlayoutPolicy.of(GAMES[name])
    last = [position.copy() for _, position in positions(name)]
    for at in (0, len(last) // 3, -1, -2):
        position = last[at]
        fast, slow = Counter(), Counter()
        for seed in range(PLAYOUTS):
            fast[tuple(round(n, 9) for n in policy.playouts(position, 1, seed))] += 1
            played = position.copy()
            end = policy.at(position) + policy.horizon
            chance = seed << 32
            while not played.over and policy.at(played) < end:
                seat = played.deciders[0]
                chance += 2
                played.apply({seat: policy.action(played, seat, chance)}, chance + 1)
            score = (played.scores[0], played.scores[0] == 0.5) if played.over else None
            slow[tuple(round(float(n), 9) for n in score or policy.score(played))] += 1
        statistic, degrees = compare(fast, slow)
        assert degrees > 0 or len(fast) == 1, f"position {at}"
        assert upper_tail(statistic, degrees) > LEAST_P, f"position {at}: {fast}, {slow}"
