"""How the facts of Castle Rampage are written.

A card is written as its title, with _ for spaces: Axe_Man. The option `cards` is a list of cards,
with copies and with the numbers that are not those of the default list:

    ruleset.cards = Knight*16 Axe_Man*4 Ogre*2:gate=5:cost=1

A position is in a turn of red, with whole structures, unless something else is said:

    active = blue
    turn = 5                   the first one in which this can be, if not said
    strengthened = true        the active seat put its last structure card there in this turn
    decisions = 799            the number in this turn; if not said, those that the fields imply
    red.hand = Knight*2 Spy    if not said, as many cards as the turns give
    red.gate = Giant:seen Ogre:shown    from the top; the other seat has seen the Giant by a Spy,
                               everyone the Ogre. The last cards went there after the set-up: all
                               from the first purple card on, and all beyond the number that the
                               set-up places. If fewer others are left, the first ones of the
                               set-up were destroyed
    red.castle = ...
    red.permanents = Catapult
    discards = Archer Spy      completed by all cards that had to be destroyed or discarded before
    top = Knight Dragon        the next cards of the draw pile, the first one first; or
    pile = Knight Dragon       the whole draw pile; cards without a place are then discarded
    red.history = 1590         the hand history is filled up to so many bytes
    red.dealt = ...            five cards: a position in the first set-up instead

Places that are not said are filled up with cards that are not purple, the cards with most copies
first. The hand histories hold a past that can lead to the position.

An action is written as its kind and cards, with its structure or choice in lower case:

    set_up Knight Archer / Giant Spy / Dragon
    strengthen Ogre castle Knight Archer
    play Priest archer Knight
    play Charge Knight Knight Axe_Man extra
    end_turn
"""

import itertools
from collections import Counter
from typing import ClassVar

from engine.position import Position
from tests.games import Facts
from tests.games.castle_rampage.layout import (
    CARD_BITS,
    CARD_MASK,
    CATAPULT,
    ENTRIES,
    ENTRY_BITS,
    GRANARY,
    KNOWN,
    NAMES,
    PHASES,
    PLACED,
    PRIEST,
    REASONS,
    SABOTEUR,
    SHOWN,
    STRUCTURES,
    UNITS,
    Layout,
    counts_of,
    padded,
    read_cards,
    show_cards,
    spread,
)


def read_card_list(text):
    """Read a card list for a ruleset from its text."""
    cards = []
    for word in text.split():
        spec, *numbers = word.split(":")
        name, _, copies = spec.partition("*")
        card = {"card": NAMES.index(name), "copies": int(copies or 1)}
        for number in numbers:
            name, _, value = number.partition("=")
            card[name] = int(value)
        cards.append(card)
    return cards


COSTLY = (
    "Knight*9:cost=2 Archer*9:cost=2 Axe_Man*9:cost=2 Giant*4:cost=2 Veteran*3:cost=2 Dragon*3 "
    "Digger*3:cost=2 Ogre*3 Bomber*2:cost=2 Spy*2:cost=2 Jester*2:cost=2 Summoner*2:cost=2 "
    "Priest*2:cost=2 Catapult*3 Saboteur*2:cost=2 Charge*2"
)
PURPLE = (
    "Knight*10:attack=2 Archer*10:castle=1 Ogre*15:gate=3:castle=3:cost=0 Bomber*15 Saboteur*15 "
    "Spy*15:gate=2 Catapult*6:cost=0 Granary*6:cost=0"
)
TINY = (
    "Knight*3 Archer*2 Axe_Man*3 Mercenary Jester Spy Bomber Saboteur Granary:cost=0 Volley Charge"
)
INFORMERS = (
    "Knight*4 Axe_Man*4 Giant*2:cost=0 Mercenary*2 Veteran*9:cost=0 Ogre*8:gate=4 Spy*12 "
    "Priest*9:cost=0 Skirmish*3:bonus=1"
)
# The set-ups deal nearly always the same cards, so that equal views come up often.
SMALL_PRIEST = "Priest*10:cost=0 Knight:cost=2 Bomber*2"
SMALL_VETERAN = "Veteran*10:cost=0:attack=1:castle=3 Knight:cost=1 Spy*2"
SMALL_RESHUFFLE = "Archer*10:gate=2 Bomber Spy"
SMALL_WHOLE = "Knight*20:cost=2 Archer:gate=2 Spy*2"


class CastleRampageFacts(Facts):
    """Castle Rampage."""

    rulesets: ClassVar[dict] = {
        "default": {},
        "one_set_up": {"set_ups": 1},
        "short": {"turns": 7},
        "costly": {"turns": 30, "cards": read_card_list(COSTLY)},
        "purple": {"turns": 60, "cards": read_card_list(PURPLE)},
        "tiny": {"set_ups": 1, "cards": read_card_list(TINY)},
        "informers": {"turns": 40, "cards": read_card_list(INFORMERS)},
    }
    small_rulesets: ClassVar[dict] = {
        "priest": {"set_ups": 1, "turns": 6, "cards": read_card_list(SMALL_PRIEST)},
        "veteran": {"set_ups": 1, "turns": 6, "cards": read_card_list(SMALL_VETERAN)},
        "reshuffle": {"set_ups": 1, "turns": 6, "cards": read_card_list(SMALL_RESHUFFLE)},
        "two_set_ups": {"turns": 6, "cards": read_card_list(SMALL_WHOLE)},
    }
    # Turns of 800 decisions, after the set-up.
    longest = 160002

    def read_option(self, name, text):
        return read_card_list(text) if name == "cards" else super().read_option(name, text)

    def set_up(self, game, given):
        given = dict(given)
        fields = Position.deal(game, 0).fields
        if any(f"{name}.dealt" in given for name in self.seats):
            self.deal(game, given, fields)
        else:
            Layout(game, given, self.seats).fill_fields(fields)
        if given:
            raise ValueError(f"no such field: {', '.join(given)}")
        return fields

    def deal(self, game, given, fields):
        """The fields of a position in the first set-up."""
        rest = Counter({spec["card"]: spec["copies"] for spec in game.ruleset["cards"]})
        dealt = [read_cards(given.pop(f"{name}.dealt")) for name in self.seats]
        top = read_cards(given.pop("top", ""))
        rest.subtract([*dealt[0], *dealt[1], *top])
        fields["common"]["active"] = self.seats.index(given.pop("active", self.seats[0]))
        for own, cards in zip(fields["own"], dealt, strict=True):
            own |= {"hand": counts_of(cards), "drawn": padded(cards, own["drawn"])}
        pile = top + sorted(rest.elements())
        fields["draw_pile"] = padded(pile[::-1], fields["draw_pile"])

    def read_action(self, position, seat, text):
        kind, _, rest = text.partition(" ")
        if kind == "set_up":
            gate, castle, keep = (read_cards(part) for part in rest.split("/"))
            return {"kind": kind, "gate": gate, "castle": castle, "keep": keep[0]}
        words = rest.split()
        cards = read_cards(" ".join(word for word in words if word[0].isupper() or word == "-"))
        where = [word for word in words if word[0].islower() or word.isdecimal()]
        if kind == "end_turn":
            return {"kind": kind}
        fields = {"kind": kind, "card": cards[0], "discards": cards[1:]}
        name = "structure" if kind == "strengthen" else "choice"
        return fields | {name: self.read_choice(cards[0], where[0]) if where else 0}

    def read_choice(self, card, word):
        """The number of a structure or a choice."""
        if word.isdecimal():
            return int(word)
        if word == "extra":
            return 1
        for words in (STRUCTURES, UNITS):
            if word in words:
                return words.index(word)
        return NAMES.index(word.title())

    def show_action(self, game, fields):
        if fields["kind"] == "end_turn":
            return "end_turn"
        if fields["kind"] == "set_up":
            parts = [fields["gate"], fields["castle"], [fields["keep"]]]
            return "set_up " + " / ".join(" ".join(NAMES[card] for card in part) for part in parts)
        card = fields["card"]
        if fields["kind"] == "strengthen":
            choice = STRUCTURES[fields["structure"]]
        else:
            choice = self.show_choice(card, fields["choice"])
        words = [fields["kind"], NAMES[card], choice, *[NAMES[card] for card in fields["discards"]]]
        if choice == "extra":
            words = [*words[:2], *words[3:], choice]
        return " ".join(word for word in words if word)

    def show_choice(self, card, choice):
        """The choice of a card as text."""
        if card == PRIEST:
            return UNITS[choice]
        if card == SABOTEUR:
            return NAMES[choice].lower()
        return "extra" if choice else ""

    def show_common(self, fields):
        """The public part of a state or view."""
        common = fields["common"]
        shown = {"phase": PHASES[common["phase"]], "turn": str(common["turn"])}
        shown["active"] = self.seats[common["active"]]
        shown["strengthened"] = "true" if common["strengthened"] else ""
        shown["decisions"] = str(common["decisions"])
        shown["pile_size"] = str(common["draw_size"])
        shown["discards"] = show_cards(spread(common["discards"]))
        for seat, name in enumerate(self.seats):
            side = common["sides"][seat]
            shown[f"{name}.hand_size"] = str(side["hand_size"])
            for structure, title in enumerate(STRUCTURES):
                stack = fields["stacks"][seat * len(STRUCTURES) + structure]
                shown[f"{name}.{title}"] = self.show_stack(stack)
            permanents = [CATAPULT] * side["catapults"] + [GRANARY] * side["granaries"]
            shown[f"{name}.permanents"] = show_cards(permanents)
            shown[f"{name}.history"] = show_history(side["history"][: side["history_length"]])
        return shown

    def show_stack(self, stack):
        """The standing cards of a structure."""
        standing = slice(stack["top"], stack["count"])
        return " ".join(
            (NAMES[card] if card else "?") + KNOWN[known]
            for card, known in zip(stack["cards"][standing], stack["known"][standing], strict=True)
        )

    def show_own(self, own):
        """The private part of a seat."""
        drawn = own["drawn"][: own["drawn_length"]]
        eras = [
            show_cards(cards)
            for shuffled, cards in itertools.groupby(drawn, key=lambda card: card == 0)
            if not shuffled
        ]
        kept = NAMES[own["kept"]] if own["kept"] else ""
        return {"hand": show_cards(spread(own["hand"])), "kept": kept, "drawn": " | ".join(eras)}

    def show_state(self, game, fields):
        shown = self.show_common(fields)
        for name, own in zip(self.seats, fields["own"], strict=True):
            shown |= {f"{name}.{part}": text for part, text in self.show_own(own).items()}
        shown["pile"] = show_cards(fields["draw_pile"][: fields["common"]["draw_size"]][::-1])
        return shown

    def show_view(self, game, fields):
        own = self.show_own(fields["own"]) if fields["seat"] < len(self.seats) else {}
        return own | self.show_common(fields)

    def show_event(self, game, event):
        kind, values = event.kind.removesuffix("_hidden"), list(event.values)
        if event.kind.endswith("_hidden"):
            text = " ".join(STRUCTURES[n] if kind == "strengthened" else str(n) for n in values)
        elif kind == "turn_started":
            text = str(values[0])
        elif kind == "played":
            text = f"{NAMES[values[0]]} {self.show_choice(*values)}"
        elif kind in ("strengthened", "revealed", "held", "destroyed"):
            where = [*STRUCTURES, "permanent"][values[0]]
            text = f"{where} {NAMES[values[1]]}"
            if kind == "revealed":
                text += f" with {values[2]} against {values[3]}"
        elif kind == "discarded":
            text = f"{REASONS[values[0]]} {show_cards(values[1:])}"
        elif kind == "cards_set_up":
            parts = values[:PLACED], values[PLACED : 2 * PLACED], values[2 * PLACED :]
            text = " / ".join(show_cards(part) for part in parts)
        else:
            text = show_cards(values)
        seat = self.seats[event.seat] if 0 <= event.seat < len(self.seats) else ""
        return f"{seat} {kind} {text}".strip()

    def check_conserved(self, game, fields):
        common = fields["common"]
        pile = fields["draw_pile"]
        cards = Counter(pile[: common["draw_size"]])
        assert not any(pile[common["draw_size"] :]), "nothing above the pile"
        cards.update(spread(common["discards"]))
        for own, side in zip(fields["own"], common["sides"], strict=True):
            cards.update(spread(own["hand"]))
            cards.update([own["kept"]] if own["kept"] else [])
            cards.update({CATAPULT: side["catapults"], GRANARY: side["granaries"]})
            assert sum(own["hand"]) == side["hand_size"]
        for stack in fields["stacks"]:
            cards.update(stack["cards"][stack["top"] : stack["count"]])
            assert all(stack["cards"][: stack["count"]])
            assert not any(stack["cards"][stack["count"] :] + stack["known"][stack["count"] :])
            assert all(known == SHOWN for known in stack["known"][: stack["top"]])
        copies = {spec["card"]: spec["copies"] for spec in game.ruleset["cards"]}
        assert +cards == +Counter(copies)

    def hidden(self, game, fields, seat):
        other = fields["own"][1 - seat]
        size = fields["common"]["draw_size"]
        stacks = fields["stacks"][2 * (1 - seat) :][: len(STRUCTURES)]
        down = [
            card
            for stack in stacks
            for card, known in zip(stack["cards"], stack["known"], strict=True)
            if not known
        ]
        next_cards = fields["draw_pile"][max(size - 2, 0) : size]
        return (*other["hand"], other["kept"], *down, *next_cards)


def show_history(history):
    """The entries of a hand history."""
    words, left = [], list(history)
    while left:
        first = left.pop(0)
        kind, value = ENTRIES[first & (1 << ENTRY_BITS) - 1], first >> ENTRY_BITS
        text = str(value)
        if kind == "decided":
            flags = ("strengthened", "catapult", "granary")
            text = " ".join(flag for i, flag in enumerate(flags) if value >> i & 1)
        elif kind in ("spent", "lost", "took_back"):
            text = NAMES[value]
        elif kind == "placed":
            text = STRUCTURES[value]
        elif kind == "showed":
            text = f"{UNITS[value]} {take_counts(left)}"
        elif kind == "new_pile" and not value:
            kind, text = "reshuffled", take_counts(left)
        elif kind == "new_pile":
            size, *stacks = (left.pop(0) for _ in range(1 + 2 * len(STRUCTURES)))
            kind, text = "summed_up", f"hand {size}"
            for name, top, count in zip(STRUCTURES, stacks[::2], stacks[1::2], strict=True):
                text += f" {name} {top}-{count}"
            text += f" of {take_counts(left)}"
        words.append(f"{kind} {text}".strip())
    return ", ".join(words)


def take_counts(left):
    """Take the counts of cards from the beginning of the rest of a hand history."""
    cards = []
    while run := left.pop(0):
        cards += [run & CARD_MASK] * ((run >> CARD_BITS) + 1)
    return show_cards(cards)
