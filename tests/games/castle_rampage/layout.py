"""How a position of Castle Rampage is laid out from the fields of a fact.

The top of tests/games/castle_rampage/__init__.py describes the fields.
"""

from collections import Counter
from dataclasses import dataclass
from functools import partial

from tests.games import read_named, show_named

NAMES = ["-", "Knight", "Archer", "Axe_Man", "Giant", "Mercenary", "Veteran", "Dragon", "Digger",
         "Ogre", "Bomber", "Saboteur", "Spy", "Jester", "Summoner", "Priest", "Catapult", "Granary",
         "Volley", "Charge", "Skirmish", "Grand_Assault"]  # fmt: skip
OGRE, SABOTEUR, SPY, PRIEST = (NAMES.index(name) for name in ("Ogre", "Saboteur", "Spy", "Priest"))
CATAPULT, GRANARY = NAMES.index("Catapult"), NAMES.index("Granary")
PLACED = 2
OGRE_COST = 2  # Discards that strengthening with an Ogre takes.
STRUCTURES = ["gate", "castle"]
UNITS = ["", "knight", "archer", "axe_man"]
PHASES = ["over", "set_up", "turn"]
KNOWN = ["", ":seen", ":shown"]
SHOWN = 2
REASONS = ["", "paid", "at random", "to a priest"]  # Reasons of discards.
PAID, AT_RANDOM, TO_PRIEST = range(1, 4)
ENTRIES = ["decided", "drew", "spent", "lost", "placed", "took_back", "showed", "new_pile"]
ENTRY_BITS = 3
MAX_ENTRY_VALUE = 31
CARD_BITS = 5
CARD_MASK = (1 << CARD_BITS) - 1


def is_purple(card):
    """Whether a card is not dealt for the set-up."""
    return OGRE <= card <= SPY


read_cards = partial(read_named, names=NAMES)
show_cards = partial(show_named, names=NAMES)


def counts_of(cards):
    """The multiset of some cards."""
    return [list(cards).count(card) for card in range(len(NAMES))]


def padded(values, like):
    """Fill values up with zeros to the length of another list."""
    return list(values) + [0] * (len(like) - len(values))


@dataclass
class Half:
    """The cards of one seat in a position that is set up."""

    set_ups: int
    hand: list | None
    permanents: list
    stacks: list  # For each structure, its cards, each with its `known`.
    destroyed: list  # For each structure, the destroyed cards that lay above.
    spent: list
    paid: list  # The discards for Ogres, two each.

    @property
    def under(self):
        """The cards that went under structures after the set-up, each with its structure."""
        stood = PLACED * self.set_ups
        return [
            (structure, card)
            for structure, (stack, gone) in enumerate(zip(self.stacks, self.destroyed, strict=True))
            for card, _ in stack[stood - len(gone) :]
        ]

    @property
    def handled(self):
        """All cards that have been in the hand since the set-up."""
        under = [card for _, card in self.under]
        return self.permanents + self.spent + self.paid + under + (self.hand or [])

    @property
    def kept(self):
        """The cards kept in the set-ups."""
        return [card for card in self.handled if not is_purple(card)][: self.set_ups]

    @property
    def drawn(self):
        """All cards drawn, in a possible order."""
        cards, later = [], self.handled
        for i, kept in enumerate(self.kept):
            for stack, gone in zip(self.stacks, self.destroyed, strict=True):
                cards += (gone + [card for card, _ in stack])[PLACED * i :][:PLACED]
            cards.append(kept)
            later.remove(kept)
        return cards + later

    def history(self, draws, strengthened, opposed):
        """The hand history of a past with `draws`, the number of cards drawn in each turn.

        `strengthened` is None if it is not the turn of this seat; `opposed` are the permanent cards
        of the other seat.
        """
        history = []

        def add(kind, value=0):
            history.append(ENTRIES.index(kind) | value << ENTRY_BITS)

        def decide(after=False):
            flags = (after, CATAPULT in opposed, GRANARY in opposed)
            add("decided", sum(flag << i for i, flag in enumerate(flags)))

        under, paid = list(self.under), list(self.paid)

        def strengthen():
            structure, card = under.pop(0)
            decide()
            for _ in range(OGRE_COST * (card == OGRE)):
                add("spent", paid.pop(0))
            add("placed", structure)

        left = len(self.handled) - self.set_ups
        past = len(draws) - (strengthened is not None)
        now = min([*draws[past:], left, len(self.hand) + bool(strengthened)]) if past else left
        left -= now
        for turn in range(past):
            drawn = left if turn == past - 1 else min(draws[turn], left)
            left -= drawn
            for some in range(drawn, 0, -MAX_ENTRY_VALUE):
                add("drew", min(some, MAX_ENTRY_VALUE))
            for card in (self.permanents + self.spent) * (turn == past - 1):
                decide()
                add("spent", card)
            strengthens = len(under) - bool(strengthened) >= past - turn
            if strengthens:
                strengthen()
            decide(strengthens)
        if strengthened is not None and now:
            add("drew", now)
        if strengthened:
            strengthen()
        return history


class Layout:
    """The cards of a position in a turn, and a past that leads to it."""

    def __init__(self, game, given, names):
        self.set_ups = game.ruleset["set_ups"]
        self.rest = Counter({spec["card"]: spec["copies"] for spec in game.ruleset["cards"]})
        self.active = names.index(given.pop("active", names[0]))
        self.strengthened = given.pop("strengthened", "false") == "true"
        self.decisions = int(given.pop("decisions", self.strengthened))
        self.lengths = [int(given.pop(f"{name}.history", 0)) for name in names]
        discards, top = self.take(given.pop("discards", "")), self.take(given.pop("top", ""))
        pile = self.take(given.pop("pile")) if "pile" in given else None
        self.halves = [self.read_half(given, name) for name in names]
        for half in self.halves:
            self.complete_structures(half, discards)
            ogres = [card for _, card in half.under if card == OGRE]
            half.paid = self.fill(OGRE_COST * len(ogres))
        self.discard(discards)
        self.turn = self.first_turn()
        if "turn" in given:
            self.turn, first = int(given.pop("turn")), self.turn
            if self.turn < first - 1:
                raise ValueError(f"this takes until turn {first}")
        for seat, half in enumerate(self.halves):
            self.complete_hand(half, sum(self.draws(seat)))
        left = sorted(self.rest.elements())
        self.pile = top + left if pile is None else pile
        if pile is not None:
            self.discard(left)

    def take(self, text):
        """Read the cards of a list and take them from the rest."""
        cards = read_cards(text)
        for card in cards:
            if not self.rest[card]:
                raise ValueError(f"there are not so many {NAMES[card]}")
            self.rest[card] -= 1
        return cards

    def fill(self, number):
        """Take `number` cards that are not purple from the rest."""
        cards = []
        for _ in range(number):
            left = [card for card in self.rest if not is_purple(card)]
            cards += self.take(NAMES[max(left, key=lambda card: (self.rest[card], -card))])
        return cards

    def discard(self, cards):
        """Add discards to the past of both seats."""
        for i, card in enumerate(cards):
            self.halves[self.active ^ i % 2].spent.append(card)

    def read_half(self, given, name):
        """Read the given fields of a seat."""
        stacks = []
        for structure in STRUCTURES:
            stack = [] if f"{name}.{structure}" in given else None
            for word in given.pop(f"{name}.{structure}", "").split():
                cards, _, known = word.partition(":")
                who = KNOWN.index(known and f":{known}")
                stack += [(card, SHOWN if card == OGRE else who) for card in self.take(cards)]
            stacks.append(stack)
        hand = self.take(given.pop(f"{name}.hand")) if f"{name}.hand" in given else None
        permanents = self.take(given.pop(f"{name}.permanents", ""))
        return Half(self.set_ups, hand, permanents, stacks, [[], []], [], [])

    def complete_structures(self, half, discards):
        """Fill up structures that are not given; destroy the cards that stood above the rest."""
        whole = PLACED * self.set_ups
        half.stacks = [
            [(card, 0) for card in self.fill(whole)] if stack is None else stack
            for stack in half.stacks
        ]
        for stack, gone in zip(half.stacks, half.destroyed, strict=True):
            after = [i for i, (card, _) in enumerate(stack) if is_purple(card)]
            for _ in range(
                PLACED * self.set_ups - min([PLACED * self.set_ups, len(stack), *after])
            ):
                fitting = [card for card in discards if not is_purple(card)]
                if fitting:
                    discards.remove(fitting[0])
                gone += fitting[:1] or self.fill(1)

    def first_turn(self):
        """The first turn that can have this position, if red started."""
        mine, other = self.halves[self.active], self.halves[1 - self.active]
        before = max(len(mine.under) - self.strengthened, bool(mine.spent + mine.permanents))
        others = max(len(other.under), len(other.handled) > self.set_ups)
        if self.active == 0:
            return 1 + 2 * max(before, others)
        return 2 * max(before + 1, others)

    def draws(self, seat):
        """The number of cards that a seat draws in each of its turns so far."""
        first = 1 + (self.turn - 1 + (seat != self.active)) % 2
        return [1 if turn == 1 else 2 for turn in range(first, self.turn + 1, 2)]

    def complete_hand(self, half, draws):
        """Fill up the hand, and discard the kept cards that are not in it."""
        if half.hand is None:
            half.hand = self.fill(max(self.set_ups + draws - len(half.handled), 0))
        half.spent += self.fill(self.set_ups - len(half.kept))

    def fill_fields(self, fields):
        """Write the position into the fields of a state."""
        common = fields["common"]
        common |= {"phase": PHASES.index("turn"), "set_ups": self.set_ups, "turn": self.turn}
        common |= {"active": self.active, "strengthened": self.strengthened}
        common["decisions"] = self.decisions
        discards = []
        for seat, half in enumerate(self.halves):
            own, side = fields["own"][seat], common["sides"][seat]
            opposed = self.halves[1 - seat].permanents
            strengthened = self.strengthened if seat == self.active else None
            history = half.history(self.draws(seat), strengthened, opposed)
            history += [ENTRIES.index("decided")] * (self.lengths[seat] - len(history))
            own |= {"hand": counts_of(half.hand), "drawn_length": len(half.drawn)}
            own["drawn"] = padded(half.drawn, own["drawn"])
            side |= {"hand_size": len(half.hand), "history_length": len(history)}
            side |= {"catapults": half.permanents.count(CATAPULT)}
            side |= {"granaries": half.permanents.count(GRANARY)}
            side["history"] = padded(history, side["history"])
            for structure, (stack, gone) in enumerate(
                zip(half.stacks, half.destroyed, strict=True)
            ):
                filled = fields["stacks"][seat * len(STRUCTURES) + structure]
                filled |= {"count": len(gone) + len(stack), "top": len(gone)}
                cards, known = gone + [card for card, _ in stack], [who for _, who in stack]
                filled["cards"] = padded(cards, filled["cards"])
                filled["known"] = padded([SHOWN] * len(gone) + known, filled["known"])
            discards += half.spent + half.paid + half.destroyed[0] + half.destroyed[1]
        common |= {"discards": counts_of(discards), "draw_size": len(self.pile)}
        fields["draw_pile"] = padded(self.pile[::-1], fields["draw_pile"])
