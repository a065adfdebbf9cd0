"""The exact distribution of the hidden cards in Skystones, by a naive filter.

The filter keeps every world that a seat cannot tell from the true one, with its probability if the
opponent chooses uniformly among its legal actions. The filter has slow rules of its own.
"""

import random
from collections import Counter
from itertools import combinations

import pytest

from engine import games
from engine.position import Position
from engine.sampler import Sampler
from tests.games.skystones import read_card_list, spread
from tests.support.long_form import LONG_FORM
from tests.support.play import chances, note_on_failure

EDGES = ("north", "east", "south", "west")
PICK, PLACE = 1 << 60, 2 << 60


SIX = "A FIRE 0100, B FIRE 2010, C EARTH 0002, D EARTH 1111, E ELECTRO 0302, F WATER 1010"
SEVEN = f"{SIX}, G AIR 0003"
COPIES = "A FIRE 0100 *3, B EARTH 2010 *2, C EARTH 0002 *4, D AIR 1031 *2, E AIR 0000, F WATER 0101"
ALIKE = ", ".join(
    f"{i} {'WATER' if i % 2 else 'FIRE'} {i % 2}1{i // 6}{1 - i % 2}" for i in range(11)
)
RULESETS = {
    "seven": {"board_size": 2, "hand_size": 2, "hand_limit": 8, "cards": SEVEN},
    "seven, three special fields": {
        "board_size": 2,
        "hand_size": 2,
        "hand_limit": 8,
        "special_fields": 3,
        "cards": SEVEN,
    },
    "six, an even number": {
        "board_size": 2,
        "hand_size": 2,
        "hand_limit": 7,
        "special_fields": 2,
        "cards": SIX,
    },
    "cards alike": {
        "board_size": 2,
        "hand_size": 3,
        "hand_limit": 9,
        "special_fields": 2,
        "cards": ALIKE,
    },
    "copies": {"board_size": 2, "hand_size": 3, "hand_limit": 11, "cards": COPIES},
    "copies, special fields": {
        "board_size": 3,
        "hand_size": 3,
        "hand_limit": 10,
        "special_fields": 9,
        "cards": COPIES,
    },
}


class World:
    """One world under the rules, as lists of cards."""

    def __init__(self, ruleset, fields, piles, starter):
        self.cards = ruleset["cards"]
        self.side = ruleset["board_size"]
        self.hand_size = ruleset["hand_size"]
        self.limit = ruleset["hand_limit"]
        self.fields = fields
        self.piles = [sorted(pile) for pile in piles]
        self.hands = [[], []]
        self.points = [0, 0]
        self.round = 0
        self.starter = starter
        self.begin(starter)

    def copy(self):
        other = object.__new__(World)
        other.__dict__.update(self.__dict__)
        for name in ("piles", "hands"):
            setattr(other, name, [list(cards) for cards in getattr(self, name)])
        other.points, other.board = list(self.points), dict(self.board)
        return other

    def total(self, cards):
        return sum(self.cards[card][edge] for card in cards for edge in EDGES)

    def completed(self, hand, pile):
        missing = self.hand_size - len(hand)
        return any(
            self.total(hand) + self.total(rest) <= self.limit
            for rest in combinations(pile, missing)
        )

    def begin(self, starter):
        self.board = {}
        self.phase = 0
        self.turn = self.starter
        if all(self.completed([], pile) for pile in self.piles):
            self.phase = 1
            self.round += 1
            self.starter = self.turn = starter

    def legal(self, seat):
        if self.phase == 1:
            found = []
            for pick in sorted(set(self.piles[seat])):
                pile = list(self.piles[seat])
                pile.remove(pick)
                if self.completed([*self.hands[seat], pick], pile):
                    found.append(PICK | pick)
            return found
        return [
            PLACE | card << 8 | square
            for card in sorted(set(self.hands[seat]))
            for square in range(self.side**2)
            if square not in self.board and self.fields[square] in (0, self.cards[card]["element"])
        ]

    def apply(self, joint):
        if self.phase == 1:
            for seat in (0, 1):
                self.piles[seat].remove(joint[seat] & 255)
                self.hands[seat] = sorted([*self.hands[seat], joint[seat] & 255])
            if len(self.hands[0]) < self.hand_size:
                return self
            self.phase = 2
            seat = self.starter
        else:
            seat = self.turn
            placed, square = joint[seat] >> 8 & 255, joint[seat] & 255
            self.hands[seat].remove(placed)
            self.board[square] = (placed, seat)
            column = square % self.side
            for there, step in ((column, -1), (self.side - 1 - column, 1), (9, -3), (9, 3)):
                other = square + (step if abs(step) == 1 else step // 3 * self.side)
                if there and other in self.board and self.board[other][1] != seat:
                    mine, its = {
                        -1: ("west", "east"),
                        1: ("east", "west"),
                        -3: ("north", "south"),
                        3: ("south", "north"),
                    }[step]
                    if self.cards[placed][mine] > self.cards[self.board[other][0]][its]:
                        self.board[other] = (self.board[other][0], seat)
            seat = 1 - seat
        for turn in (seat, 1 - seat):
            if self.legal(turn):
                self.turn = turn
                return self
        chips = Counter(owner for _, owner in self.board.values())
        placed = len(self.board)
        for seat in (0, 1):
            self.piles[seat] = sorted(self.piles[seat] + self.hands[seat])
            self.hands[seat] = []
        if chips[0] == chips[1]:
            starter = 1 - self.starter
        else:
            starter = int(chips[0] > chips[1])
            self.points[1 - starter] += 1
        if placed:
            self.begin(starter)
        else:
            self.phase, self.board, self.turn = 0, {}, self.starter
        return self

    def public(self):
        board = [self.board.get(square) for square in range(9)]
        return (
            self.phase,
            self.round,
            self.starter,
            self.turn,
            tuple(self.points),
            tuple(card_owner[0] + 1 if card_owner else 0 for card_owner in board),
            tuple(card_owner[1] if card_owner else 0 for card_owner in board),
        )

    def hidden(self, other):
        return tuple(self.piles[other]), tuple(self.hands[other])


def public(position):
    common = position.fields["common"]
    return (
        *[common[name] for name in ("phase", "round", "starter", "turn")],
        tuple(side["points"] for side in common["sides"]),
        tuple(square["card"] for square in common["board"]),
        tuple(square["owner"] for square in common["board"]),
    )


def hidden(position, other):
    fields = position.fields
    return tuple(spread(fields["piles"][other])), tuple(spread(fields["hands"][other]))


def positions(game, seed, seat):
    """Yield each position of a random match with the worlds that `seat` cannot tell from it."""
    chance = random.Random(seed)
    other = 1 - seat
    position = Position.deal(game, seed)
    fields = position.fields
    common = fields["common"]
    unseen = Counter(spread(fields["piles"][other]))
    if fields["aside"]:
        unseen[fields["aside"] - 1] += 1
    worlds = {}
    for aside in list(unseen) if fields["aside"] else [None]:
        piles = [[], []]
        piles[seat] = spread(fields["piles"][seat])
        piles[other] = list((unseen - Counter([aside])).elements())
        world = World(
            game.ruleset,
            [square["field"] for square in common["board"]],
            piles,
            common["first_starter"],
        )
        worlds[world.hidden(other)] = (world, unseen[aside] if fields["aside"] else 1)
    while True:
        yield position, {key: weight for key, (_, weight) in worlds.items()}
        if position.over:
            return
        true_world = worlds[hidden(position, other)][0]
        for decider in position.deciders:
            assert list(position.legal(decider)) == true_world.legal(decider)
        joint = {decider: chance.choice(position.legal(decider)) for decider in position.deciders}
        after = position.copy()
        after.apply(joint, 0)
        shown = public(after)
        updated = {}
        for world, weight in worlds.values():
            choices = world.legal(other) if other in joint else [None]
            for choice in choices:
                if other in joint and world.phase == 2 and choice != joint[other]:
                    continue
                next_world = world.copy().apply({**joint, other: choice})
                if next_world.public() == shown:
                    key = next_world.hidden(other)
                    before = updated[key][1] if key in updated else 0
                    updated[key] = (next_world, before + weight / len(choices))
        position, worlds = after, updated


def distance(expected, drawn, draws):
    """Chi-squared and its degrees of freedom; rare outcomes are counted together."""
    whole = sum(expected.values())
    cells = [[draws * weight / whole, drawn[key]] for key, weight in expected.items()]
    rare = [cell for cell in cells if cell[0] < 8]
    cells = [cell for cell in cells if cell[0] >= 8]
    if rare:
        cells.append([sum(cell[0] for cell in rare), sum(cell[1] for cell in rare)])
    return sum((seen - due) ** 2 / due for due, seen in cells), len(cells) - 1


@pytest.mark.parametrize("name", RULESETS)
def test_draws_are_in_proportion(name):
    game = games()["skystones"](
        {**RULESETS[name], "cards": read_card_list(RULESETS[name]["cards"])}
    )
    total, freedom, several = 0.0, 0, 0
    draws = 600
    seeds = random.Random(name)
    for seed in range(12 if LONG_FORM else 6):
        with note_on_failure(seed=seed):
            for position, expected in positions(game, seed, seed % 2):
                sampler = Sampler.of(position.view(seed % 2))
                samples = [sampler.sample(seeds.getrandbits(64)) for _ in range(draws)]
                drawn = Counter(hidden(sample, 1 - seed % 2) for sample in samples)
                assert set(drawn) <= set(expected), "an impossible world is drawn"
                several += len(expected) > 1
                chi, degrees = distance(expected, drawn, draws)
                assert chi < degrees + 5.5 * (2 * degrees) ** 0.5 + 12
                total += chi
                freedom += degrees
    assert several > 20
    assert abs(total - freedom) < 4 * (2 * freedom) ** 0.5, f"{total:.0f} for {freedom}"


@pytest.mark.parametrize("name", RULESETS)
def test_all_worlds_have_their_probability(name):
    game = games()["skystones"](
        {**RULESETS[name], "cards": read_card_list(RULESETS[name]["cards"])}
    )
    several = 0
    for seed in range(10 if LONG_FORM else 5):
        with note_on_failure(seed=seed):
            seat = seed % 2
            for position, expected in positions(game, seed, seat):
                worlds = Sampler.of(position.view(seat)).worlds(2_000)
                if worlds is not None:
                    found = chances(worlds, lambda world, other=1 - seat: hidden(world, other))
                    whole = sum(expected.values())
                    assert found == pytest.approx({key: n / whole for key, n in expected.items()})
                    several += len(found) > 1
    assert several > 10
