"""Which actions PowerShot Soccer leaves out: those that others dominate."""

import itertools
from collections import Counter

import pytest

from engine import games
from engine.position import Position
from tests.games import facts_of
from tests.games.powershot_soccer import ROLES, read_card_list
from tests.support.long_form import LONG_FORM
from tests.support.play import random_joint, seeded

FACTS = facts_of("powershot_soccer")
RULESETS = {**FACTS.rulesets, **FACTS.small_rulesets}
MATCHES = 10 if LONG_FORM else 4
ENDINGS = 600
ENDING = (
    "PASS 3, PASS 6, CROSS 4, DRIBBLE 2, DRIBBLE 5, SHOOT 2, SHOOT 5, LONG_RANGE_SHOT 4, TACKLE 2,"
    "TACKLE 6, INTERCEPT 3, INTERCEPT 7, SAVE 2, SAVE 6, STAR_PLAYER 5"
)

GAMES = {name: games()["powershot_soccer"](ruleset) for name, ruleset in RULESETS.items()}


def positions(name):
    """Yield positions of random matches, with their seed and the seat that must decide."""
    for seed in range(MATCHES):
        rng = seeded("actions", name, seed)
        position = Position.deal(GAMES[name], seed)
        while not position.over:
            yield seed, position, position.deciders[0]
            position.apply(random_joint(position, rng), rng.getrandbits(64))


def covers(card, other):
    """Whether a card can be played wherever another one can, and is worth as much there."""
    role, other_role = ROLES[card["role"]], ROLES[other["role"]]
    power = card["power"]
    basic = ("pass", "dribble", "shoot", "tackle", "intercept", "save")
    wherever = {
        "cross": ("pass",),
        "fancy_footwork": ("dribble",),
        "long_range_shot": ("shoot",),
        "star_player": basic,
    }
    if role == "long_range_shot" and other_role == "shoot":
        power += 2
    return power >= other["power"] and other_role in (role, *wherever.get(role, ()))


def effect(position, action):
    """The public state after an action, without the card that was played; None if it is open."""
    after = position.copy()
    after.apply({position.deciders[0]: action}, 0)
    common = after.fields["common"]
    if common["phase"] == 2:
        return None
    return [common[key] for key in ("phase", "possession", "standing", "goals")]


@pytest.mark.parametrize("name", GAMES)
def test_the_better_of_two_cards_is_kept(name):
    cards = GAMES[name].ruleset["cards"]
    counts = Counter()
    for seed, position, seat in positions(name):
        fields = position.fields["common"]
        if min(fields["draw_sizes"]) < 2:
            continue  # The end of the half would hide what the action did.
        legal = position.legal(seat)
        effects = {action: effect(position, action) for action in legal}
        expected = [
            action
            for action in legal
            if effects[action] is None
            or not any(
                other != action
                and effects[other] == effects[action]
                and action >> 4 != other >> 4
                and covers(cards[action >> 4], cards[other >> 4])
                for other in legal
            )
        ]
        kept = position.without_dominated(seat)
        assert list(kept) == expected, f"seed {seed}: {position.fields}"
        counts["left out"] += len(legal) - len(kept)
        for action in set(legal) - set(kept):
            counts[ROLES[action & 15]] += 1
    assert counts["left out"] > 20 or name in FACTS.small_rulesets or name == "small"
    if name == "default":
        assert {"give_up", "decline", "save", "tackle", "intercept"} <= set(counts)


def solve(position, low=-1, high=2):
    """The score of seat 0 if both seats play their best with open hands; exact in the window."""
    if position.over:
        return position.scores[0]
    seat = position.deciders[0]
    best = 2 * seat - 1
    for action in position.legal(seat):
        after = position.copy()
        after.apply({seat: action}, 0)
        score = solve(after, low, high)
        if seat == 0:
            best = low = max(low, score)
        else:
            best = high = min(high, score)
        if low >= high:
            break
    return best


def endings(seed, game):
    """Yield positions near the end of random matches, at random scores."""
    for match in itertools.count():
        rng = seeded("endings", seed, match)
        position = Position.deal(game, rng.getrandbits(64))
        while not position.over:
            common = position.fields["common"]
            if common["half"] == 2 and max(common["draw_sizes"]) <= 4:
                fields = position.fields
                fields["common"]["goals"] = [rng.randrange(2), rng.randrange(2)]
                yield Position.from_fields(game, fields)
            position.apply(random_joint(position, rng), rng.getrandbits(64))


@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_out_is_never_better(seed):
    game = games()["powershot_soccer"]({"hand_size": 3, "cards": read_card_list(ENDING)})
    worse = 0
    for position in itertools.islice(endings(seed, game), ENDINGS):
        seat = position.deciders[0]
        legal, kept = position.legal(seat), position.without_dominated(seat)
        if len(legal) == len(kept):
            continue
        scores = {}
        for action in legal:
            after = position.copy()
            after.apply({seat: action}, 0)
            scores[action] = solve(after) if seat == 0 else 1 - solve(after)
        for action in set(legal) - set(kept):
            effects = {other: effect(position, other) for other in kept}
            rivals = [o for o in kept if effects[o] == effect(position, action)]
            assert rivals, f"seed {seed}: {position.fields}"
            best = max(scores[rival] for rival in rivals)
            assert scores[action] <= best, f"seed {seed}: {action} in {position.fields}"
            worse += scores[action] < best
    assert worse >= 5
