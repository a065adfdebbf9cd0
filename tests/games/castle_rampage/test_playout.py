"""The playout policy of Castle Rampage: how it pays for schemes, and sensible set-ups."""

import itertools
from collections import Counter

from engine import games
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from tests.games.castle_rampage.layout import GRANARY, NAMES, counts_of, read_cards
from tests.support.play import random_joint, seeded

KNIGHT, VOLLEY = read_cards("Knight Volley")
CARDS = len(NAMES)
SET_UPS = 20_000
SET_UP_MATCHES = 750  # Each is played from both seats.


def test_schemes_are_paid_for_as_the_first_listed_action_with_most_cards():
    game = games()["castle_rampage"]()
    policy = PlayoutPolicy.of(game)
    rng = seeded("schemes")
    position = Position.deal(game, 0)
    while len(position.deciders) == 2:
        position.apply(random_joint(position, rng), rng.getrandbits(64))
    fields, seat = position.fields, position.deciders[0]
    possible = played = 0
    # No scheme needs more copies of a unit card.
    counts = range(3), range(3), range(3), range(4), range(5)
    for *units, scheme in itertools.product(*counts, range(VOLLEY, CARDS)):
        hand = [0] * CARDS
        hand[KNIGHT : KNIGHT + len(units)] = units
        hand[scheme] = 1
        fields["own"][seat]["hand"] = hand
        fields["common"]["sides"][seat]["hand_size"] = sum(hand)
        changed = Position.from_fields(game, fields)
        listed = [game.read_action(action) for action in changed.legal(seat)]
        ways = [use for use in listed if (use["kind"], use.get("card")) == ("play", scheme)]
        best = max(ways, key=lambda use: use["choice"], default=None)
        seen = [game.read_action(policy.action(changed, seat, n)) for n in range(20)]
        assert all(use in listed for use in seen), hand
        schemes = [use for use in seen if (use["kind"], use.get("card")) == ("play", scheme)]
        assert all(use == best for use in schemes), hand
        possible, played = possible + bool(ways), played + bool(schemes)
    assert played > 0.95 * possible > 1000, (played, possible)


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
