"""What is learned of Champion Chess, compared with slow sums of its own."""

import collections
import itertools
import math
import random
import struct

import pytest

from engine import games
from engine.features import SCALE, Features
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from lab.chi_squared import p_of_distribution
from tests.games.champion_chess import (
    KING,
    NAMES,
    NOBLES,
    card_list,
    cards_of,
    copies,
    counts_of,
    remove,
)
from tests.support.long_form import LONG_FORM
from tests.support.models import positions, random_model
from tests.support.play import note_on_failure

UNIFORM = 0.1
SHARPNESS = 2  # Of the playout policy.
CHAMPION, AID = 1, 2
QUEEN, ROOK, PAWN = (NAMES.index(name) for name in ("QUEEN", "ROOK", "PAWN"))
CATEGORIES = ("movement", "attack", "defend")
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


def left_of(fields, game, seat):
    """What is not defeated of a seat."""
    return [
        n - lost for n, lost in zip(copies(game), fields["side"][seat]["defeated"], strict=True)
    ]


def described(position, seat, action):
    """The features of an action by their names; those that are left out are 0."""
    fields, game = position.fields, position.game
    hand, left = fields["own"][seat]["hand"], left_of(fields, game, seat)
    nobles, aid = sum(hand[:PAWN]), sum(hand[PAWN:])
    nobles_left, aid_left = sum(left[:PAWN]), sum(left[PAWN:])
    made = game.read_action(action)
    if fields["phase"] == CHAMPION:
        if made["castle"]:
            return {"castles": 1}
        noble = made["noble"]
        found = {NAMES[noble].lower(): 1, "several": hand[noble] > 1}
        if noble == QUEEN:
            found |= {"queen, aid in hand": aid, "queen, nobles left": nobles_left}
        if noble == KING:
            found["king, nobles left"] = nobles_left
        return found
    cards = counts_of(made["cards"])
    if fields["phase"] != AID:
        some_nobles, some_aid = sum(cards[:PAWN]), sum(cards[PAWN:])
        found = {name.lower(): n for name, n in zip(NAMES, cards, strict=True)}
        found["of several"] = sum(cards[card] for card in range(PAWN, 12) if hand[card] > 1)
        for what, n in (
            ("nobles in hand", nobles),
            ("aid in hand", aid),
            ("deck", fields["side"][seat]["deck_size"]),
            ("nobles left", nobles_left),
        ):
            found |= {f"nobles, {what}": some_nobles * n, f"aid, {what}": some_aid * n}
        found["king, nobles left"] = cards[KING] * nobles_left
        found["king, nobles in hand"] = cards[KING] * (nobles - hand[KING])
        return found
    own, other = (fields["side"][each]["champion"] - 1 for each in (seat, 1 - seat))
    numbers = game.ruleset["cards"]
    before = [numbers[own][each] - numbers[other][each] for each in CATEGORIES]
    adds = [sum(numbers[card][each] for card in made["cards"]) for each in CATEGORIES]
    leads = [a + b for a, b in zip(before, adds, strict=True)]
    n, ahead, middle = len(made["cards"]), sum(lead > 0 for lead in leads), sorted(leads)[1]
    wins, none = ahead >= 2, n == 0
    playable = hand[PAWN] + sum(held > 0 for held in hand[PAWN + 1 :])
    kings = KING in (own, other)
    found = {NAMES[card].lower(): cards[card] for card in range(PAWN, 12)}
    found |= {
        "none": none,
        "one card": n == 1,
        "one category": ahead == 1,
        "two categories": ahead == 2,
        "three categories": ahead == 3,
        "a king, lead above 6": kings and middle > 6,
        "a king, lead above 12": kings and middle > 12,
        "least lead": min(leads),
        "greatest lead": max(leads),
        "wasted": sum(add for add, lead in zip(adds, leads, strict=True) if lead <= 0),
        "surplus": sum(add for add, lead in zip(adds, before, strict=True) if lead > 0),
        "cards, nobles left": n * nobles_left,
        "wins, nobles left": wins * nobles_left,
        "cards, aid left": n * aid_left,
        "cards, playable": n * playable,
        "wins, playable": wins * playable,
        "none, playable": none * playable,
    }
    for name, noble in (("king", KING), ("queen", QUEEN)):
        for who, champion in ((name, own), (f"against {name}", other)):
            is_it = champion == noble
            found |= {f"{who}, cards": is_it * n, f"{who}, wins": is_it * wins}
            if noble == QUEEN:
                found[f"{who}, none"] = is_it * none
    for mark in (-6, -3, 0, 2, 3, 4, 6, 8, 10, 12):
        found[f"lead above {mark}"] = middle > mark
    return found


def numbers_of(packed):
    return struct.unpack(f"{len(packed) // 2}h", packed)


def test_actions_are_described_as_by_slow_sums():
    game = games()["champion_chess"]()
    features = Features.of(game)
    compared = collections.Counter()
    for seed in range(20):
        for position in positions(game, seed):
            for seat in position.deciders:
                if (rows := features.rows(position, seat)) is None:
                    continue
                kind, packed = rows
                names, numbers = features.decisions[kind], numbers_of(packed)
                for i, action in enumerate(position.legal(seat)):
                    row = numbers[i * len(names) : (i + 1) * len(names)]
                    expected = described(position, seat, action)
                    assert expected.keys() <= set(names)
                    assert dict(zip(names, row, strict=True)) == {
                        name: expected.get(name, 0) for name in names
                    }, (seed, game.read_action(action))
                    compared[kind] += 1
    assert all(compared[kind] > 300 for kind in features.decisions)


# The likelihood of the opponent's past choices


def chances(position, seat, model, uniform=UNIFORM, sharpness=1):
    """The probability of each legal action of a seat, by the weights of a model."""
    legal = position.legal(seat)
    kind = ("champion", "aid", "discards")[position.fields["phase"] - CHAMPION]
    likelihoods = [
        math.exp(
            sharpness
            * sum(
                model.weights[kind][name] * n
                for name, n in described(position, seat, action).items()
            )
            / SCALE
        )
        for action in legal
    ]
    return {
        action: uniform / len(legal) + (1 - uniform) * each / sum(likelihoods)
        for action, each in zip(legal, likelihoods, strict=True)
    }


def draws_of(cards, n):
    """Every multiset of `n` of some cards, and its probability."""
    counted = collections.Counter(itertools.combinations(sorted(cards), n))
    return {drawn: ways / counted.total() for drawn, ways in counted.items()}


class Hands:
    """All that a seat's hand can be, with its deck and the castling flag, by a model's choices."""

    def __init__(self, model, seat):
        self.model, self.seat, self.game = model, seat, model.features.game
        deck = tuple(cards_of(copies(self.game)))
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
                    drawn[tuple(cards_of(earlier.hidden(seat)["opponent_hand"]))] += 1
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


# Choices by a model


def test_the_policy_chooses_by_a_sharp_softmax():
    game = games()["champion_chess"]()
    compared = collections.Counter()
    tests = 60
    for seed in range(4):
        model = random_model(game, seed, uses=("playouts",), most=200)
        policy = PlayoutPolicy.of(game, model)
        for position in itertools.islice(positions(game, seed), 2, 17):
            for seat in position.deciders:
                exact = chances(position, seat, model, uniform=0, sharpness=SHARPNESS)
                if len(exact) < 2 or len(exact) > 40:
                    continue
                drawn = collections.Counter(
                    policy.action(position, seat, number) for number in range(DRAWS)
                )
                with note_on_failure(seed=seed, exact=exact):
                    assert p_of_distribution(drawn, exact) > P / tests
                compared[position.fields["phase"]] += 1
    assert len(compared) == 3 and all(n > 5 for n in compared.values())
