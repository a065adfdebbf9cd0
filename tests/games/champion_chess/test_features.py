"""What the choices of a model tell of hands in Champion Chess, compared with slow sums."""

import collections
import itertools
import random

import pytest

from engine import games
from engine.position import Position
from engine.sampler import Sampler
from tests.games import spread
from tests.games.champion_chess import (
    KING,
    NAMES,
    NOBLES,
    card_list,
    copies,
    counts_of,
    remove,
)
from tests.support.chi_squared import p_of_distribution
from tests.support.long_form import LONG_FORM
from tests.support.models import likelihoods, random_model, shared
from tests.support.play import note_on_failure

UNIFORM = 0.1
CHAMPION = 1
ROOK = NAMES.index("ROOK")
DRAWS = 2000
MATCHES = 20 if LONG_FORM else 5
TURN = 3  # Decisions of a seat.
STEPS = 2 * TURN
P = 0.001
# In each, the first two turns need no more cards than there are.
RULESETS = {
    "castling": {"hand_size": 3, "cards": card_list(KING=1, ROOK=2, PAWN=3, SWORD=2, MAGIC=2)},
    "several": {
        "hand_size": 3,
        "castling": False,
        "cards": card_list(KING=1, QUEEN=1, KNIGHT=2, PAWN=3, SHIELD=2, FEINT=1),
    },
    "large": {
        "hand_size": 5,
        "cards": card_list(KING=1, QUEEN=1, BISHOP=1, ROOK=2, PAWN=3, STEED=2, ARMOR=1, SWORD=1),
    },
}


def chances(position, seat, model):
    """The probability of each legal action of a seat, by the weights of a model."""
    legal = position.legal(seat)
    return {
        action: UNIFORM / len(legal) + (1 - UNIFORM) * likely
        for action, likely in shared(likelihoods(position, seat, model)).items()
    }


def draws_of(cards, n):
    """Every multiset of `n` of some cards, and its probability."""
    counted = collections.Counter(itertools.combinations(sorted(cards), n))
    return {drawn: ways / counted.total() for drawn, ways in counted.items()}


class Hands:
    """All that a seat's hand can be, with its deck and the castling flag, by a model's choices."""

    def __init__(self, model, seat):
        self.model, self.seat, self.game = model, seat, model.features.game
        deck = tuple(spread(copies(self.game)))
        self.worlds = {((), deck, False): 1.0}
        self.fill()

    def add(self, worlds):
        """Takes worlds with their probabilities; one may come several times."""
        self.worlds = collections.defaultdict(float)
        for world, p in worlds:
            self.worlds[world] += p
        total = sum(self.worlds.values())
        self.worlds = {world: p / total for world, p in self.worlds.items()}

    def fill(self):
        """Draws until the hand is full, and keeps the hands that hold a noble."""
        size = self.game.ruleset["hand_size"]
        self.add(
            [
                ((tuple(sorted(hand + drawn)), tuple(remove(deck, drawn)), used), p * share)
                for (hand, deck, used), p in self.worlds.items()
                for drawn, share in draws_of(deck, size - len(hand)).items()
                if any(card < len(NOBLES) for card in hand + drawn)
            ]
        )

    def choose(self, position, action):
        """The seat chooses an action in a position that is like this but for its cards."""
        worlds = []
        for (hand, deck, used), p in self.worlds.items():
            fields = position.fields
            own = fields["own"][self.seat]
            own["hand"], own["castling_used"] = counts_of(list(hand)), used
            fields["deck"][self.seat][: len(deck)] = deck
            chance = chances(Position.from_fields(self.game, fields), self.seat, self.model)
            if action not in chance:
                continue
            made = self.game.read_action(action)
            taken = [made["noble"]] if "noble" in made else made["cards"]
            after, used_after = tuple(remove(hand, taken)), used
            if fields["phase"] == CHAMPION:
                nobles = [card for card in hand if card < len(NOBLES)]
                used_after = used or (self.game.ruleset["castling"] and nobles == [KING])
                if made["castle"]:
                    deck = (KING, *remove(deck, [ROOK]))
            worlds.append(((after, tuple(sorted(deck)), bool(used_after)), p * chance[action]))
        self.add(worlds)

    def by_hand(self):
        """The probabilities of the hands."""
        found = collections.defaultdict(float)
        for (hand, _, _), p in self.worlds.items():
            found[hand] += p
        return found


@pytest.mark.parametrize("ruleset", RULESETS)
def test_hands_have_the_likelihood_of_the_choices(ruleset):
    game = games()["champion_chess"](RULESETS[ruleset])
    compared = 0
    for seed in range(MATCHES):
        model, chance = random_model(game, seed, most=300), random.Random(seed)
        hands = [Hands(model, seat) for seat in range(2)]
        position = Position.deal(game, seed)
        for step in range(STEPS):
            # After a mulligan, the memory begins there.
            decks = [side["memory"]["deck"] for side in position.fields["side"]]
            if position.over or any(deck != copies(game) for deck in decks):
                break
            for seat in range(2):
                exact, drawn = hands[1 - seat].by_hand(), collections.Counter()
                sampler, earlier = Sampler.of(position.view(seat), model), None
                for number in range(DRAWS):
                    earlier = sampler.sample(number, earlier)
                    drawn[tuple(spread(earlier.hidden(seat)["opponent_hand"]))] += 1
                with note_on_failure(seed=seed, step=step, seat=seat, exact=dict(exact)):
                    assert p_of_distribution(drawn, exact) > P / (MATCHES * STEPS * 2)
                compared += len(exact) > 2
            joint = {seat: chance.choice(position.legal(seat)) for seat in position.deciders}
            for seat, action in joint.items():
                hands[seat].choose(position, action)
                if step == TURN - 1:
                    hands[seat].fill()
            position.apply(joint, chance.getrandbits(64))
    assert compared > 3 * MATCHES
