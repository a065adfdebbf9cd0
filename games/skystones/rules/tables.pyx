"""The tables that a ruleset of Skystones gives, and the checks of the ruleset.

The rules are in games/skystones/rules/rules.pyx.
"""

import csv
from pathlib import Path

from engine.game cimport SEATS, State, View
from games.skystones.rules.lanes cimport LANE, LANE_BITS, LANE_ONES
from games.skystones.rules.state cimport (
    AIR, FIRE, MAX_CARDS, MAX_COPIES, MAX_EDGE, MAX_HAND, MAX_LIMIT, MAX_SIDE, MAX_TITLE,
    SkystonesState, SkystonesView,
)

from engine.card_list import check_ranges, copies, read_options
from engine.errors import RulesetError

ELEMENT_NAMES = ("", "Fire", "Earth", "Electro", "Water", "Air")
EDGE_KEYS = ("north", "east", "south", "west")
RANGES = {"element": (FIRE, AIR), "copies": (1, MAX_COPIES),
          **dict.fromkeys(EDGE_KEYS, (0, MAX_EDGE))}

assert sizeof(SkystonesState) <= sizeof(State)
assert sizeof(SkystonesView) <= sizeof(View)


cdef class SkystonesTables(Game):
    """Skystones under one ruleset, without its rules.

    The options are `special_fields`, `board_size`, `hand_size`, `hand_limit` and `cards`.
    """

    def read_ruleset(self, given):
        self.state_bytes = sizeof(SkystonesState)
        ruleset = read_options(given, {
            "special_fields": 0, "board_size": MAX_SIDE, "hand_size": MAX_HAND, "hand_limit": 20,
            "cards": None}, self.title)
        check_ranges(ruleset, {"board_size": (2, MAX_SIDE), "hand_size": (1, MAX_HAND),
                               "hand_limit": (0, MAX_LIMIT),
                               "special_fields": (0, ruleset["board_size"] ** 2)})
        ruleset["cards"] = read_cards(ruleset["cards"]) if ruleset["cards"] else default_cards()
        self.special_fields = ruleset["special_fields"]
        self.hand_size = ruleset["hand_size"]
        self.hand_limit = ruleset["hand_limit"]
        self.set_board(ruleset["board_size"])
        self.set_cards(ruleset["cards"])
        self.set_bits()
        if self.pile_size < self.hand_size:
            raise RulesetError(
                "cards", f"must give each seat the {self.hand_size} cards of a hand",
                "TOO_FEW_CARDS")
        # The worst deal gives a seat the half of the cards with the highest totals. Even then it
        # must be able to form a hand.
        totals = sorted(self.totals[card] for card in range(self.types)
                        for _ in range(self.copies[card]))
        cheapest = sum(totals[self.deck_size - self.pile_size:][:self.hand_size])
        if cheapest > self.hand_limit:
            raise RulesetError("hand_limit", f"must allow a first hand whatever the deal: the "
                               f"{self.hand_size} cheapest of the {self.pile_size} dearest cards "
                               f"add up to {cheapest}", "HAND_LIMIT")
        return ruleset

    cdef set_board(self, int side):
        cdef int square, row, column
        self.squares = side * side
        self.on_board = 0
        for square in range(self.squares):
            row, column = square // side, square % side
            self.lanes[square] = LANE_BITS * (MAX_SIDE * row + column)
            self.squares_at[self.lanes[square]] = square
            self.on_board |= <uint64_t> LANE << self.lanes[square]

    cdef set_bits(self):
        cdef int byte, bit, n
        for byte in range(256):
            n = 0
            for bit in range(8):
                if byte >> bit & 1:
                    self.bits_of_bytes[byte][n] = bit
                    n += 1

    cdef set_cards(self, specs):
        self.types = len(specs)
        self.deck_size = copies(specs)
        self.pile_size = self.deck_size // SEATS
        for card, spec in enumerate(specs):
            self.copies[card] = spec["copies"]
            self.elements[card] = spec["element"]
            for edge, key in enumerate(EDGE_KEYS):
                self.edges[card][edge] = spec[key]
                self.points[card][edge] = spec[key] * LANE_ONES
            self.totals[card] = sum(spec[key] for key in EDGE_KEYS)
            self.of_element[self.elements[card]] |= <uint64_t> 1 << card
        for i, card in enumerate(sorted(range(self.types), key=lambda card: self.totals[card])):
            self.by_total[i] = card
        self.all_single = self.deck_size == self.types
        self.level_count = 0
        for total in range(MAX_TOTAL + 1):
            cards = 0
            for card in range(self.types):
                cards |= (self.totals[card] == total) << card
            self.below[total + 1] = self.below[total] | cards
            if cards:
                self.level_totals[self.level_count] = total
                self.levels[self.level_count] = cards
                self.level_count += 1

    def cards(self):
        return [
            {"id": str(card), "title": spec["title"], "kind": ELEMENT_NAMES[spec["element"]],
             "copies": spec["copies"],
             "numbers": {"Total": self.totals[card],
                         **{key.capitalize(): spec[key] for key in EDGE_KEYS}},
             "text": ""}
            for card, spec in enumerate(self.ruleset["cards"])
        ]


def default_cards():
    """Return the characters of the rule sheet, as a card list."""
    with open(Path(__file__).parents[1] / "cards.csv", newline="") as file:
        return [{"title": row["title"],
                 "element": ELEMENT_NAMES.index(row["element"].capitalize()),
                 "copies": 1, **{key: int(row[key]) for key in EDGE_KEYS}}
                for row in csv.DictReader(file)]


def read_cards(given):
    """Return a card list completed by its defaults; raise RulesetError if it breaks a rule."""
    if len(given) > MAX_TYPES:
        raise RulesetError("cards", f"must be at most {MAX_TYPES}", "TOO_MANY_TYPES")
    cards = []
    for i, spec in enumerate(given):
        card = {"title": "", "element": 0, "copies": 1, **dict.fromkeys(EDGE_KEYS, 0), **spec}
        if len(card) > 7:
            raise RulesetError(
                f"cards[{i}]", "must have title, element, copies and edges only",
                "UNKNOWN_OPTION")
        if len(card["title"]) > MAX_TITLE:
            raise RulesetError(
                f"cards[{i}].title", f"must be at most {MAX_TITLE} characters",
                "TITLE_TOO_LONG")
        check_ranges(card, RANGES, f"cards[{i}]")
        cards.append(card)
    if copies(cards) > MAX_CARDS:
        raise RulesetError(
            "cards", f"must be at most {MAX_CARDS} with all copies", "TOO_MANY_CARDS")
    return cards
