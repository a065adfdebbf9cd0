"""The playouts of Skystones, against a naive reading of the policy that plays by the rules.

The naive policy is in Python, and its placements are weighed one by one.
"""

import math
from collections import Counter

import pytest

from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from lab.chi_squared import compare, upper_tail
from tests.games.skystones import EDGES, PHASES, SkystonesFacts, total
from tests.support.long_form import LONG_FORM
from tests.support.play import game_of, note_on_failure, random_joint, seeded

TAKEN, NOISE, WEAK = 8, 4, [5, 3, 1, 0, 0, 0, 0, 0, 0, 0]
PLACE = PHASES.index("place")
BLOCKED = 6
STEPS = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
OPPOSITE = {"north": "south", "east": "west", "south": "north", "west": "east"}
DRAWS = 400
PLAYOUTS = 40
P = 1e-4
RULESETS = [*SkystonesFacts.rulesets, "five", "two copies"]
PLAYED = RULESETS if LONG_FORM else ["default", "all_fields", "two copies"]


def sums(position):
    """What the policy adds up for each legal placement, without the noise."""
    game, fields = position.game, position.fields
    cards, side = game.ruleset["cards"], game.ruleset["board_size"]
    board = fields["common"]["board"]
    seat = position.deciders[0]
    found = []
    for action in position.legal(seat):
        placement = game.read_action(action)
        row, column = divmod(placement["square"], side)
        worth = 0
        for edge in EDGES:
            points = cards[placement["card"]][edge]
            down, right = row + STEPS[edge][0], column + STEPS[edge][1]
            if not (0 <= down < side and 0 <= right < side):
                continue
            other = board[down * side + right]
            if not other["card"]:
                worth -= WEAK[points] if other["field"] != BLOCKED else 0
            elif other["owner"] != seat:
                worth += TAKEN * (points > cards[other["card"] - 1][OPPOSITE[edge]])
        found.append(worth)
    return found


def chances(worths):
    """How likely each sum is the first of the greatest, with a whole number below NOISE added."""

    def at_most(worth, most):
        return min(1.0, max(0.0, (most - worth + 1) / NOISE))

    return [
        math.fsum(
            math.prod(at_most(other, worth + noise - 1) for other in worths[:i])
            * math.prod(at_most(other, worth + noise) for other in worths[i + 1 :])
            for noise in range(NOISE)
        )
        / NOISE
        for i, worth in enumerate(worths)
    ]


def expected_choices(position, seat):
    """The probability of each legal action."""
    legal = position.legal(seat)
    if position.fields["common"]["phase"] == PLACE:
        return dict(zip(legal, chances(sums(position)), strict=True))
    return dict.fromkeys(legal, 1 / len(legal))


def estimate(position):
    """The score of seat 0 and the probability of a draw, if the piles are all that is to come."""
    game, fields = position.game, position.fields
    common = fields["common"]
    sides = common["sides"]
    strengths = [
        sum(copies * total(game, card) for card, copies in enumerate(pile) if copies)
        for pile in fields["piles"]
    ]
    lead = sides[0]["points"] - sides[1]["points"] + 0.05 * (strengths[0] - strengths[1])
    lead += -0.23 if common["starter"] else 0.23
    left = (sides[0]["pile_size"] + sides[1]["pile_size"]) // 2
    deviation = math.sqrt(0.145 * max(1, left - 4))
    win, loss = (0.5 * math.erfc((0.5 - one) / deviation / math.sqrt(2)) for one in (lead, -lead))
    return win + (1 - win - loss) / 2, 1 - win - loss


def naive_playout(position, policy, guided, chance):
    """Play by the rules to the horizon of a policy; return the score and the chance of a draw."""
    position = position.copy()
    last = policy.at(position) + policy.horizon
    while not position.over:
        if guided and policy.at(position) == last:
            return policy.score(position)
        joint = random_joint(position, chance)
        if guided and len(joint) == 1:
            (seat,) = joint
            noisy = [worth + chance.randrange(NOISE) for worth in sums(position)]
            joint = {seat: position.legal(seat)[noisy.index(max(noisy))]}
        position.apply(joint, chance.getrandbits(64))
    return position.scores[0], float(position.scores[0] == 0.5)


def positions(game, chance):
    """All positions of a random match in which a seat must decide."""
    position = Position.deal(game, chance.getrandbits(64))
    found = []
    while not position.over:
        found.append(position.copy())
        position.apply(random_joint(position, chance), chance.getrandbits(64))
    return found


def two_copies():
    """A ruleset in which hands often hold two copies of a card."""
    cards = [
        {"title": str(card), "element": 1 + card % 2, "copies": 2 + card % 2}
        | {edge: (card * 7 + i * 3) % 5 for i, edge in enumerate(EDGES)}
        for card in range(8)
    ]
    return {"cards": cards, "hand_limit": 60, "special_fields": 1}


def game_under(name):
    """The game under a ruleset of the facts, or another one."""
    if name == "two copies":
        return game_of("skystones", "default")[0].__class__(two_copies())
    return game_of("skystones", name)[0]


@pytest.mark.parametrize("name", RULESETS)
def test_choices_have_their_probabilities(name):
    game = game_under(name)
    policy = PlayoutPolicy.of(game)
    statistic, freedom = 0.0, 0
    for seed in range(30):
        chance = seeded("choices", name, seed)
        for ply, position in enumerate(positions(game, chance)[seed % 3 :: 3]):
            for seat in position.deciders:
                with note_on_failure(seed=seed, ply=seed % 3 + 3 * ply, seat=seat):
                    expected = expected_choices(position, seat)
                    drawn = Counter(
                        policy.action(position, seat, chance.getrandbits(64)) for _ in range(DRAWS)
                    )
                    assert all(expected[action] > 0 for action in drawn)
                    # The expected counts are exact, as those of an unlimited sample.
                    due = Counter({action: share * 1e12 for action, share in expected.items()})
                    found, degrees = compare(drawn, due)
                    assert upper_tail(found, degrees) > P / 1000
                    statistic, freedom = statistic + found, freedom + degrees
    assert freedom > 20
    assert P < upper_tail(statistic, freedom) < 1 - P, f"{statistic:.0f} for {freedom}"


@pytest.mark.parametrize("name", RULESETS)
def test_estimates_are_those_of_a_random_walk(name):
    game = game_under(name)
    policy = PlayoutPolicy.of(game)
    for seed in range(10):
        for ply, position in enumerate(positions(game, seeded("estimates", name, seed))):
            with note_on_failure(seed=seed, ply=ply):
                assert policy.score(position) == pytest.approx(estimate(position), abs=1e-4)


@pytest.mark.parametrize("name", PLAYED)
@pytest.mark.parametrize(("guided", "horizon"), [(True, 1), (True, 2), (True, 99), (False, 99)])
def test_playouts_score_as_those_of_the_rules(name, guided, horizon):
    game = game_under(name)
    policy = PlayoutPolicy.of(game) if guided else PlayoutPolicy.uniform(game)
    policy.horizon = horizon
    statistic, freedom = 0.0, 0
    for seed in range(30 if LONG_FORM else 15):
        chance = seeded("playouts", name, guided, horizon, seed)
        with note_on_failure(seed=seed):
            position = chance.choice(positions(game, chance))
            naive = Counter(
                naive_playout(position, policy, guided, chance) for _ in range(PLAYOUTS)
            )
            fast = Counter(
                policy.playouts(position, 1, chance.getrandbits(64)) for _ in range(5 * PLAYOUTS)
            )
            found, degrees = compare(naive, fast)
            assert upper_tail(found, degrees) > P / 1000
            statistic, freedom = statistic + found, freedom + degrees
    assert freedom > 2
    assert upper_tail(statistic, freedom) > P, f"{statistic:.0f} for {freedom}"
