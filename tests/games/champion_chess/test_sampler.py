"""The exact distribution of the opponent's cards in Champion Chess, by a naive filter.

The filter follows every order that the opponent's deck can have, one by one, through the events
that the seat sees. It has rules of its own, and is independent of the engine's inference.
"""

import collections
import itertools

import pytest

from engine import games
from engine.match import Match
from engine.position import Position
from engine.sampler import Sampler
from tests.games import spread
from tests.games.champion_chess import KING, NAMES, NOBLES, card_list, copies
from tests.support.chi_squared import p_of_distribution
from tests.support.long_form import LONG_FORM
from tests.support.play import note_on_failure, random_joint, random_secret, seeded

ROOK, PAWN = NAMES.index("ROOK"), NAMES.index("PAWN")
DRAWS = 5000
MATCHES = 25 if LONG_FORM else 10
STEPS = 8
P = 0.001

RULESETS = {
    "mulligans": {"hand_size": 3, "cards": card_list(KING=1, KNIGHT=1, PAWN=3, SWORD=2)},
    "castling": {"hand_size": 3, "cards": card_list(KING=1, ROOK=2, PAWN=2, SWORD=1, MAGIC=1)},
    "reshuffles": {
        "hand_size": 4,
        "castling": False,
        "cards": card_list(KING=1, QUEEN=1, KNIGHT=1, PAWN=3, SWORD=2),
    },
    "hand_of_2": {"hand_size": 2, "cards": card_list(KING=1, QUEEN=1, ROOK=1, KNIGHT=2, PAWN=2)},
}


def has_noble(hand):
    return any(card < len(NOBLES) for card in hand)


def without(cards, taken):
    """The sorted cards without those taken; None if they are not all there."""
    left = list(cards)
    for card in taken:
        if card not in left:
            return None
        left.remove(card)
    return tuple(left)


def orders(cards):
    """Every order of some cards and its probability."""
    counted = collections.Counter(itertools.permutations(cards))
    return {order: n / counted.total() for order, n in counted.items()}


def choices_of_aid(hand):
    """Count the choices of aid of a hand: any number of Pawns, one of every other kind."""
    aid = [card for card in hand if card >= len(NOBLES)]
    chosen = {
        tuple(sorted(some)) for n in range(len(aid) + 1) for some in itertools.combinations(aid, n)
    }
    return sum(all(card == PAWN or some.count(card) == 1 for card in some) for some in chosen)


def choices_of_discards(hand):
    """Count the different multisets of cards that can be discarded."""
    return len(
        {
            tuple(sorted(some))
            for n in range(len(hand) + 1)
            for some in itertools.combinations(hand, n)
        }
    )


class Filter:
    """All that a seat's hand (sorted), deck (top first) and castling flag can be."""

    def __init__(self, game, seat):
        self.size = game.ruleset["hand_size"]
        self.castling = game.ruleset["castling"]
        self.seat = seat
        self.reserve = ()
        self.worlds = {((), deck, False): p for deck, p in orders(spread(copies(game))).items()}
        self.choosing = True
        self.fill()

    def follow(self, step):
        """Replace each world by those that `step` gives for it, with their probabilities."""
        worlds = collections.defaultdict(float)
        for world, p in self.worlds.items():
            for after, share in step(*world):
                if after[0] is not None:
                    worlds[after] += p * share
        total = sum(worlds.values())
        self.worlds = {world: p / total for world, p in worlds.items()}

    def fill(self):
        """Draw until the hand is full, or nothing is left to draw."""
        ran_out = False

        def draw(hand, deck, used):
            nonlocal ran_out
            if len(hand) == self.size or (not deck and not self.reserve):
                return [((hand, deck, used), 1)]
            if deck:
                return [((tuple(sorted((*hand, deck[0]))), deck[1:], used), 1)]
            ran_out = True
            return [((hand, order, used), p) for order, p in orders(self.reserve).items()]

        # The hands and decks of all worlds have equal sizes, so all decks run out at the same time.
        while True:
            before = self.worlds
            self.follow(draw)
            if ran_out:
                self.reserve, ran_out = (), False
            elif self.worlds.keys() == before.keys():
                return

    def see(self, event):
        """Follow an event of this seat as everyone sees it."""
        kind, values = event.kind, event.values
        if kind == "mulligan":
            self.follow(
                lambda hand, deck, used: (
                    [(((), deck, used), float(hand == values))]
                    if hand == values and not has_noble(hand)
                    else []
                )
            )
            self.reserve += values
            self.fill()
        elif kind == "champion_revealed":
            self.choose()
            self.choosing = False
            self.follow(lambda *world: self.play(*world, *values))
        elif kind == "aid_revealed":
            self.follow(
                lambda hand, deck, used: [
                    ((without(hand, values), deck, used), 1 / choices_of_aid(hand))
                ]
            )
        elif kind == "challenge_decided":
            self.reserve += values[:1] if values[1] else ()
        elif kind == "discarded":
            self.follow(
                lambda hand, deck, used: [
                    ((without(hand, values), deck, used), 1 / choices_of_discards(hand))
                ]
            )
            self.reserve += values
            self.choosing = True
            self.fill()

    def choose(self):
        """Drop worlds without a noble in hand: the seat chooses a champion."""
        if self.choosing:
            self.follow(lambda *world: [(world, 1)] if has_noble(world[0]) else [])

    def play(self, hand, deck, used, champion, castled):
        """The worlds after a champion is played, with the probability of that choice."""
        nobles = [card for card in hand if card < len(NOBLES)]
        forced = self.castling and nobles == [KING]
        may_castle = forced and not used and ROOK in deck
        share = 1 / (len(set(nobles)) + may_castle)
        if not castled:
            return [((without(hand, [champion]), deck, used or forced), share)]
        if not may_castle:
            return []
        deck = (*without(deck, [ROOK]), KING)
        return [
            ((without(hand, [KING]), order, True), share * p) for order, p in orders(deck).items()
        ]


def places_of(game, seat):
    """The places of a seat's hand, castling flag and deck in a state: the bytes that change."""
    fields = Position.deal(game, 0).fields
    before = bytes(Position.from_fields(game, fields))

    def place():
        after = bytes(Position.from_fields(game, fields))
        return next(i for i, byte in enumerate(after) if byte != before[i])

    own, deck = fields["own"][seat], fields["deck"][seat]
    places = []
    for part, key, other in ((own["hand"], 0, 99), (own, "castling_used", 99), (deck, 0, 99)):
        part[key], kept = other, part[key]
        places.append(place())
        part[key] = kept
    return places


def draw_worlds(game, sampler, seat, deck_size, rng):
    """Count how often each hand, flag and next card is drawn. Reading all fields takes longer."""
    hand, flag, deck = places_of(game, seat)
    top = deck + deck_size - 1
    drawn = collections.Counter()
    for _ in range(DRAWS):
        world = bytes(sampler.sample(rng.getrandbits(64)))
        drawn[world[hand : hand + len(NAMES)], world[flag], world[top] if deck_size else None] += 1
    return collections.Counter(
        {(tuple(spread(counts)), bool(used), card): n for (counts, used, card), n in drawn.items()}
    )


def joint_with_much_to_infer(position, rng):
    """A joint action. About half of the actions keep all cards that they can: that tells most."""
    first = {seat: position.legal(seat)[0] for seat in position.deciders}
    return {
        seat: rng.choice([action, first[seat]])
        for seat, action in random_joint(position, rng).items()
    }


@pytest.mark.parametrize("ruleset", RULESETS)
def test_the_drawn_worlds_have_the_exact_distribution(ruleset):
    game = games()["champion_chess"](RULESETS[ruleset])
    tests = MATCHES * STEPS * 2
    partly_known = certain = flag_open = 0
    for seed in range(MATCHES):
        rng = seeded("exact", ruleset, seed)
        match = Match(game, random_secret(rng))
        filters = [Filter(game, seat) for seat in range(2)]
        events = match.events
        for step in range(STEPS):
            for other, oracle in enumerate(filters):
                for event in events:
                    if event.seat == other and event.seen_by(2):
                        oracle.see(event)
                if match.position.fields["phase"] == 1:
                    oracle.choose()
                exact = collections.defaultdict(float)
                for (hand, deck, used), p in oracle.worlds.items():
                    exact[hand, used, deck[0] if deck else None] += p
                view = match.view(1 - other)
                with note_on_failure(seed=seed, step=step, seat=1 - other, exact=dict(exact)):
                    known = spread(view.fields["side"][other]["known"])
                    hands = {hand for hand, _, _ in exact}
                    assert all(without(hand, known) is not None for hand in hands)
                    sampler = Sampler.of(view)
                    size = view.fields["side"][other]["deck_size"]
                    drawn = draw_worlds(game, sampler, other, size, rng)
                    assert p_of_distribution(drawn, exact) > P / tests
                    never = {world: p for world, p in exact.items() if world not in drawn}
                    assert all(p < 30 / DRAWS for p in never.values())
                partly_known += len(known) > 0 and len(hands) > 1
                certain += len(hands) == 1
                flag_open += len({used for _, used, _ in exact}) > 1
            if match.over:
                break
            joint = joint_with_much_to_infer(match.position, rng)
            events = []
            for seat, action in joint.items():
                events += match.apply(seat, action)
    assert certain
    assert partly_known or ruleset != "reshuffles"
    assert flag_open or ruleset != "castling"
