"""The exact distribution of the opponent's hand in PowerShot Soccer, by a naive filter.

The filter keeps every hand that the opponent may have, with its probability if the opponent chooses
uniformly among its legal actions. The filter has slow rules of its own.
"""

import random
from collections import Counter, defaultdict
from itertools import combinations

import pytest

from engine import games
from engine.errors import ViewError
from engine.position import Position
from engine.sampler import Sampler
from lab.chi_squared import p_of_distribution
from tests.games.powershot_soccer import ROLES, read_card_list, spread
from tests.support.long_form import LONG_FORM
from tests.support.play import chances, note_on_failure

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
DEFENCES = {"pass": "intercept", "dribble": "tackle", "shoot": "save"}


class Half:
    """The public part of a half, under the rules."""

    def __init__(self, cards, hand_size, attacker):
        self.cards = cards
        self.attacker = attacker
        self.attack = []  # The standing cards with the roles in which they were played.
        self.pending = None  # The card that the defender must answer.
        self.goals = [0, 0]
        deck = sum(card.get("copies", 1) for card in cards)
        self.left = [deck - hand_size] * 2

    def seat(self):
        return self.attacker if self.pending is None else 1 - self.attacker

    def roles(self, card):
        kind = ROLES[self.cards[card]["role"]]
        star = kind == "star_player"
        if self.pending is not None:
            defence = DEFENCES[self.pending[1]]
            return [defence, "decline"] if star else [defence if kind == defence else "decline"]
        can_shoot = len(self.attack) >= (1 if kind == "long_range_shot" else 2)
        if star:
            return ["pass", "dribble", *["shoot"] * can_shoot, "give_up"]
        if kind in ("pass", "cross"):
            return ["pass"]
        if kind in ("dribble", "fancy_footwork"):
            return ["dribble"]
        if kind in ("shoot", "long_range_shot") and can_shoot:
            return ["shoot"]
        return ["give_up"]

    def choices(self, hand):
        return [(card, role) for card in sorted(set(hand)) for role in self.roles(card)]

    def play(self, card, role):
        """Play a card. Return whether that ends the half."""
        self.left[self.seat()] -= 1
        if self.pending is None:
            if role == "give_up":
                self.start(1 - self.attacker)
            else:
                self.pending = (card, role)
        else:
            self.answer(card, role)
        return 0 in self.left and not (self.pending and self.pending[1] == "shoot")

    def start(self, attacker):
        self.attacker = attacker
        self.attack = []

    def answer(self, card, role):
        (played, played_role), self.pending = self.pending, None
        power = self.cards[played]["power"]
        defence = 0 if role == "decline" else self.cards[card]["power"]
        if played_role != "shoot":
            if defence == power:
                self.start(self.attacker)
            elif defence > power:
                self.start(1 - self.attacker)
            else:
                self.attack.append(played)
            return
        long_range = ROLES[self.cards[played]["role"]] == "long_range_shot"
        power += 2 * (len(self.attack) - (1 if long_range else 2))
        if ROLES[self.cards[self.attack[-1]]["role"]] in ("cross", "fancy_footwork"):
            power += 2
        if power > 8 or defence < power:
            self.goals[self.attacker] += 1
            self.start(1 - self.attacker)
        else:
            self.start(self.attacker if defence == power else 1 - self.attacker)


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


def after_play(half, hands, unseen, played):
    """The hands after the opponent has played a card and drawn one."""
    after = defaultdict(float)
    for hand, weight in hands.items():
        choices = half.choices(hand)
        if played not in choices:
            continue
        rest = list(hand)
        rest.remove(played[0])
        pile = unseen - Counter(hand)
        for card, count in pile.items():
            share = weight / len(choices) * count / pile.total()
            after[tuple(sorted([*rest, card]))] += share
    return after


def positions(game, seed, seat):
    """Yield each position of a random match with `seat`'s knowledge of the opponent's hand."""
    chance = random.Random(seed)
    cards, hand_size = game.ruleset["cards"], game.ruleset["hand_size"]
    deck = spread(card["copies"] for card in cards)
    position = Position.deal(game, seed)
    common = position.fields["common"]
    goals = [0, 0]
    for number in (1, 2):
        shows = common["kick_off_cards"][: common["kick_offs"]] if number == 1 else []
        attacker = common["first_kick_off"] ^ (number == 2)
        half = Half(cards, hand_size, attacker)
        hands = first_hands(deck, hand_size, [pair[1 - seat] for pair in shows])
        unseen = Counter(deck)
        over = False
        while not over:
            fields = position.fields
            common = fields["common"]
            assert (common["half"], position.deciders) == (number, (half.seat(),))
            assert common["goals"] == [a + b for a, b in zip(goals, half.goals, strict=True)]
            assert common["standing"] == len(half.attack)
            yield position, hands
            mover = half.seat()
            legal = position.legal(mover)
            action = chance.choice(legal)
            choices = half.choices(spread(fields["own"][mover]["hand"]))
            assert len(choices) == len(legal)
            played = choices[legal.index(action)]
            fields = {"kind": "play_card", "card": played[0], "role": ROLES.index(played[1])}
            assert game.make_action(fields) == action
            if mover != seat:
                hands = after_play(half, hands, unseen, played)
                unseen[played[0]] -= 1
            over = half.play(*played)
            position.apply({mover: action}, chance.getrandbits(60))
        goals = [a + b for a, b in zip(goals, half.goals, strict=True)]
    assert position.over and position.fields["common"]["goals"] == goals
    assert position.scores[0] == 0.5 * (1 + (goals[0] > goals[1]) - (goals[0] < goals[1]))


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
    # The p-values are uniform if all draws are right.
    n = len(p_values)
    assert n > 20
    assert min(p_values) > 1e-3 / n
    assert abs(sum(p_values) / n - 0.5) < 4 / (12 * n) ** 0.5


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
