"""How the facts of Skystones are written.

A card is written as its title, with _ for spaces: Furnace_Ram. The option `cards` is written as
titles, elements and points, north east south west, with copies if there are several:

    ruleset.cards = A FIRE 0120, B EARTH 1000 *2

A position is in round 1, and before the first pick unless hands are given:

    first.hand = Furnace_Ram ...   the cards picked, in that order, as many for each seat. If only
                                   one hand is given, the other is of the cheapest cards
    first.pile = ...               cards that are still in the pile
    aside = Ashwing                the card set aside
    fields = 0 BLOCKED, 4 FIRE     the special fields
    starter = second               first if not said

The other cards fill up the pile of the first seat, then that of the second, and then are aside.

An action is written as `Furnace_Ram` to pick and `Furnace_Ram 4` to place on square 4.
"""

from collections import Counter
from typing import ClassVar

from engine.position import Position
from tests.games import Facts

ELEMENTS = ["", "FIRE", "EARTH", "ELECTRO", "WATER", "AIR", "BLOCKED"]
EDGES = ("north", "east", "south", "west")
PHASES = ["over", "pick", "place"]
NO_SEAT = 255


def read_card_list(text):
    """Read a card list for a ruleset from its text."""
    cards = []
    for spec in text.split(","):
        title, element, points, *copies = spec.split()
        cards.append(
            {"title": title, "element": ELEMENTS.index(element)}
            | {edge: int(digit) for edge, digit in zip(EDGES, points, strict=True)}
            | ({"copies": int(copies[0].removeprefix("*"))} if copies else {})
        )
    return cards


def spread(counts):
    """The sorted cards of a multiset."""
    return [card for card, count in enumerate(counts) for _ in range(count)]


FIVE = "A FIRE 0100, B EARTH 2001, C EARTH 0012, D ELECTRO 1111, E AIR 0203"
COPIES = "A FIRE 0100 *3, B EARTH 2001 *2, C EARTH 0012 *4, D AIR 1030 *2, E AIR 0000, F WATER 0101"


class SkystonesFacts(Facts):
    """Skystones."""

    rulesets: ClassVar[dict] = {
        "default": {},
        "fields": {"special_fields": 4},
        "all_fields": {"special_fields": 9, "hand_size": 4, "hand_limit": 14},
        "small_board": {"board_size": 2, "hand_size": 2, "hand_limit": 9, "special_fields": 1},
        "copies": {"cards": read_card_list(COPIES), "hand_size": 3, "hand_limit": 11},
        "even": {"cards": read_card_list(f"{COPIES}, G FIRE 1100 *3"), "special_fields": 2},
    }
    small_rulesets: ClassVar[dict] = {
        "five": {
            "board_size": 2, "hand_size": 2, "hand_limit": 9, "cards": read_card_list(FIVE),
        },
        "copies": {
            "board_size": 2, "hand_size": 2, "hand_limit": 7,
            "cards": read_card_list("A FIRE 0100 *3, B EARTH 2001 *2, C EARTH 0012 *2"),
        },
    }  # fmt: skip
    # Each of the 45 rounds with hand_size 1 takes at most three joint actions; small_board has at
    # most 11 rounds, of six.
    longest = 130

    def read_option(self, name, text):
        return read_card_list(text) if name == "cards" else super().read_option(name, text)

    def title(self, card, cards):
        """The text of a card."""
        return cards[card]["title"].replace(" ", "_")

    def titles(self, game, cards):
        """The text of some cards."""
        return " ".join(self.title(card, game.ruleset["cards"]) for card in cards)

    def read_cards(self, game, text):
        """The cards of a list."""
        specs = game.ruleset["cards"]
        names = [self.title(card, specs) for card in range(len(specs))]
        return [names.index(word) for word in text.split()]

    def set_up(self, game, given):
        given = dict(given)
        fields = Position.deal(game, 0).fields
        common = fields["common"]
        hands = [self.read_cards(game, given.pop(f"{name}.hand", "")) for name in self.seats]
        piles = [
            hands[seat] + self.read_cards(game, given.pop(f"{name}.pile", ""))
            for seat, name in enumerate(self.seats)
        ]
        aside = self.read_cards(game, given.pop("aside", ""))
        common["starter"] = self.seats.index(given.pop("starter", self.seats[0]))
        common["first_starter"] = common["turn"] = common["starter"]
        for square in common["board"]:
            square["field"] = 0
        for laid in given.pop("fields", "").split(","):
            if laid:
                square, kind = laid.split()
                common["board"][int(square)]["field"] = ELEMENTS.index(kind)
        if given:
            raise ValueError(f"no such field: {', '.join(given)}")
        rest = Counter(spread(spec["copies"] for spec in game.ruleset["cards"]))
        rest -= Counter([*piles[0], *piles[1], *aside])
        left = list(rest.elements())
        for seat, pile in enumerate(piles):
            missing = common["sides"][seat]["pile_size"] - len(pile)
            pile += left[:missing]
            left = left[missing:]
        fields["piles"] = [self.counts(pile, fields["piles"][0]) for pile in piles]
        fields["aside"] = (aside + left)[0] + 1 if aside + left else 0
        return self.pick(game, fields, hands) if any(hands) else fields

    def counts(self, cards, like):
        """The multiset of some cards, with as many counts as `like`."""
        return [cards.count(card) for card in range(len(like))]

    def pick(self, game, fields, hands):
        """The fields after both hands are picked."""
        position = Position.from_fields(game, fields)
        for seat, hand in enumerate(hands):
            if not hand:
                pile = sorted(spread(fields["piles"][seat]), key=lambda card: total(game, card))
                hand += pile[: len(hands[1 - seat])]
        for picks in zip(*hands, strict=True):
            joint = {
                seat: game.make_action({"kind": "pick_card", "card": card})
                for seat, card in enumerate(picks)
            }
            position.apply(joint, 0)
        return position.fields

    def read_action(self, position, seat, text):
        name, *square = text.split()
        card = self.read_cards(position.game, name)[0]
        if square:
            return {"kind": "place_card", "card": card, "square": int(square[0])}
        return {"kind": "pick_card", "card": card}

    def show_action(self, game, fields):
        title = self.titles(game, [fields["card"]])
        return f"{title} {fields['square']}" if "square" in fields else title

    def show_common(self, game, common):
        """The public part of a state or view."""
        shown = {"phase": PHASES[common["phase"]], "round": str(common["round"])}
        for name in ("starter", "turn"):
            shown[name] = self.seats[common[name]]
        shown["fields"] = ", ".join(
            f"{i} {ELEMENTS[square['field']]}"
            for i, square in enumerate(common["board"])
            if square["field"]
        )
        shown["board"] = ", ".join(
            f"{i} {self.titles(game, [square['card'] - 1])} of {self.seats[square['owner']]}"
            for i, square in enumerate(common["board"])
            if square["card"]
        )
        for name in ("points", "hand_size", "pile_size"):
            shown[name] = " ".join(str(side[name]) for side in common["sides"])
        shown["placements"] = ", ".join(
            f"{placed['round']} {self.seats[placed['seat']]} "
            f"{self.titles(game, [placed['card']])} {placed['square']}"
            for placed in common["placements"][: common["placement_count"]]
        )
        return shown

    def show_state(self, game, fields):
        shown = self.show_common(game, fields["common"])
        for seat, name in enumerate(self.seats):
            shown[f"{name}.hand"] = self.titles(game, spread(fields["hands"][seat]))
            shown[f"{name}.pile"] = self.titles(game, spread(fields["piles"][seat]))
        shown["aside"] = self.titles(game, [fields["aside"] - 1] if fields["aside"] else [])
        return shown

    def show_view(self, game, fields):
        shown = self.show_common(game, fields["common"])
        shown["hand"] = self.titles(game, spread(fields["hand"]))
        shown["pile"] = self.titles(game, spread(fields["pile"]))
        return shown

    def show_event(self, game, event):
        kind, values = event.kind.removesuffix("_hidden"), list(event.values)
        if event.kind in ("dealt", "set_aside", "picked"):
            text = self.titles(game, values)
        elif kind in ("dealt", "round_started"):
            text = str(values[0])
        elif kind == "field_laid":
            text = f"{ELEMENTS[values[1]]} on {values[0]}"
        elif kind == "placed":
            taken = " ".join(str(square) for square in values[2:])
            text = f"{self.titles(game, values[:1])} {values[1]}"
            text += f" taking {taken}" if taken else ""
        elif kind == "round_ended":
            winner = "nobody" if values[1] == NO_SEAT else self.seats[values[1]]
            text = f"{values[0]} won by {winner}, chips {values[2]} {values[3]}, "
            text += f"returned {values[4]} {values[5]}"
        else:
            text = ""
        seat = self.seats[event.seat] if event.seat >= 0 else ""
        return f"{seat} {kind} {text}".strip()

    def check_conserved(self, game, fields):
        common = fields["common"]
        cards = Counter([fields["aside"] - 1] if fields["aside"] else [])
        placed = common["placements"][: common["placement_count"]]
        cards.update(placement["card"] for placement in placed)
        for seat, side in enumerate(common["sides"]):
            for place, size in (("hands", "hand_size"), ("piles", "pile_size")):
                cards.update(spread(fields[place][seat]))
                assert sum(fields[place][seat]) == side[size]
        copies = [spec["copies"] for spec in game.ruleset["cards"]]
        assert cards == {card: count for card, count in enumerate(copies) if count}
        on_board = [square["card"] - 1 for square in common["board"] if square["card"]]
        now = [placement["card"] for placement in placed if placement["round"] == common["round"]]
        if common["phase"] != PHASES.index("over"):
            assert sorted(on_board) == sorted(now)

    def hidden(self, game, fields, seat):
        return fields["aside"], *fields["hands"][1 - seat]


def total(game, card):
    """The sum of the edges of a card."""
    return sum(game.ruleset["cards"][card][edge] for edge in EDGES)
