"""The exact distribution of the opponent's hand in PowerShot Soccer, by a naive filter.

The filter keeps every hand that the opponent may have, with its probability if the opponent chooses
uniformly among its legal actions, by the rules.
"""

import random
from collections import Counter, defaultdict
from itertools import combinations

import pytest

from engine import games
from engine.errors import ViewError
from engine.position import Position
from engine.sampler import Sampler
from tests.games import spread
from tests.games.powershot_soccer import read_card_list
from tests.support.chi_squared import p_of_distribution
from tests.support.long_form import LONG_FORM
from tests.support.play import chances, check_uniform, note_on_failure

RULESETS = {
    "one of each": (
        3,
        "PASS 1, PASS 3, DRIBBLE 2, CROSS 4, SHOOT 2, SAVE 3, TACKLE 1, TACKLE 4, INTERCEPT 2,"
        "LONG_RANGE_SHOT 5, STAR_PLAYER 4",
    ),
    "copies": (
        4,
        "PASS 2 *2, SHOOT 1, STAR_PLAYER 3, INTERCEPT 2 *2, LONG_RANGE_SHOT 4 *3, SAVE 4, TACKLE 1",
    ),
    "stars": (3, "STAR_PLAYER 1 *2, STAR_PLAYER 5 *3, CROSS 1 *2, SHOOT 20 *2, SAVE 3"),
    "short halves": (5, "PASS 1 *3, STAR_PLAYER 2 *2, DRIBBLE 4, LONG_RANGE_SHOT 2, SAVE 1"),
}
SHARE = 0.3  # The share of positions that are tested.
DRAWS = 15  # Worlds drawn for each hand that the opponent may have.


def first_hands(deck, hand_size, shown):
    """The hands that an opponent may be dealt if its draw pile then shows these cards."""
    hands = Counter()
    for hand in combinations(deck, hand_size):
        pile = Counter(deck) - Counter(hand)
        weight = 1
        for card in shown:
            weight *= pile[card]
        if weight:
            hands[hand] += weight
    return hands


def after_choice(position, seat, hands, unseen, action):
    """The hands of a seat after it has chosen an action and drawn a card."""
    fields, choices = position.fields, {}
    places = range(len(fields["own"][seat]["hand"]))
    for card in unseen:
        # What can be done with a card does not depend on the others in hand.
        fields["own"][seat]["hand"] = [int(each == card) for each in places]
        choices[card] = Position.from_fields(position.game, fields).legal(seat)
    played = action >> 4
    after = defaultdict(float)
    for hand, weight in hands.items():
        if played not in hand or action not in choices[played]:
            continue
        rest = list(hand)
        rest.remove(played)
        pile = unseen - Counter(hand)
        number = sum(len(choices[card]) for card in set(hand))
        for card, count in pile.items():
            after[tuple(sorted([*rest, card]))] += weight / number * count / pile.total()
    return after


def positions(game, seed, seat):
    """Yield each position of a random match with `seat`'s knowledge of the opponent's hand."""
    chance = random.Random(seed)
    hand_size = game.ruleset["hand_size"]
    deck = spread(card["copies"] for card in game.ruleset["cards"])
    position, half = Position.deal(game, seed), 0
    while not position.over:
        common = position.fields["common"]
        if common["half"] != half:
            half = common["half"]
            shows = common["kick_off_cards"][: common["kick_offs"]] if half == 1 else []
            hands = first_hands(deck, hand_size, [pair[1 - seat] for pair in shows])
            unseen = Counter(deck)
        yield position, hands
        [mover] = position.deciders
        action = chance.choice(position.legal(mover))
        if mover != seat:
            hands = after_choice(position, mover, hands, unseen, action)
            unseen[action >> 4] -= 1
        position = position.copy()
        position.apply({mover: action}, chance.getrandbits(60))


def opponents_hand(position, seat):
    return tuple(spread(position.fields["own"][1 - seat]["hand"]))


@pytest.mark.parametrize("name", RULESETS)
def test_draws_are_in_proportion(name):
    hand_size, cards = RULESETS[name]
    game = games()["powershot_soccer"]({"hand_size": hand_size, "cards": read_card_list(cards)})
    p_values = []
    chance = random.Random(name)
    for seed in range(12 if LONG_FORM else 6):
        seat = seed % 2
        with note_on_failure(seed=seed):
            for position, hands in positions(game, seed, seat):
                whole = sum(hands.values())
                expected = {hand: weight / whole for hand, weight in hands.items() if weight}
                if len(expected) == 1 or chance.random() > SHARE:
                    continue
                sampler = Sampler.of(position.view(seat))
                drawn = Counter(
                    opponents_hand(sampler.sample(chance.getrandbits(64)), seat)
                    for _ in range(DRAWS * len(expected))
                )
                assert drawn.keys() <= expected.keys(), "an impossible hand is drawn"
                p_values.append(p_of_distribution(drawn, expected))
    check_uniform(p_values)


@pytest.mark.parametrize("name", RULESETS)
def test_all_worlds_have_their_probability(name):
    hand_size, cards = RULESETS[name]
    game = games()["powershot_soccer"]({"hand_size": hand_size, "cards": read_card_list(cards)})
    several = 0
    for seed in range(5):
        with note_on_failure(seed=seed):
            seat = seed % 2
            for position, hands in positions(game, seed, seat):
                worlds = Sampler.of(position.view(seat)).worlds(1_000)
                if worlds is not None:
                    found = chances(worlds, lambda world, seat=seat: opponents_hand(world, seat))
                    whole = sum(hands.values())
                    expected = {hand: n / whole for hand, n in hands.items() if n}
                    assert found == pytest.approx(expected)
                    several += len(found) > 1
    assert several > 10


def test_a_hand_that_could_not_have_been_played_is_refused():
    # Away answers with the only copy of a card that it showed at the kick-off, before it drew any.
    game = games()["powershot_soccer"]()
    for seed in range(20):
        with note_on_failure(seed=seed):
            position = Position.deal(game, seed)
            for _ in range(2):
                mover = position.deciders[0]
                position.apply({mover: position.legal(mover)[0]}, seed)
            fields = position.view(0).fields
            common = fields["common"]
            answer = next(play["card"] for play in common["plays"] if play["seat"] == 1)
            lead = game.cards()[common["kick_off_cards"][0][0]]["numbers"]["Power"]
            lead -= game.cards()[answer]["numbers"]["Power"]
            if common["kick_offs"] == 1 and lead and (lead < 0) == common["first_kick_off"]:
                common["kick_off_cards"][0][1] = answer
                with pytest.raises(ViewError):
                    Sampler.of(type(position.view(0)).from_fields(game, fields))
                return
    pytest.fail("no such view came up")
