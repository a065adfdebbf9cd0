"""How the facts of Champion Chess are written.

Cards are written as KING QUEEN PAWN*2, in any order. A position is in a Champion phase:

    white.hand = KING PAWN*2 ...   as many cards as hand_size, unless nothing can be drawn
    white.top = ROOK SWORD         the next cards of the battle deck, the first one first; or
    white.deck = ROOK SWORD        the whole deck; cards without a place are then defeated
    white.reserve = ...            empty if not said
    white.defeated = ...
    white.castling_used = true

and the same for black. Cards without a place are in the deck, below the cards that are given. A
hand that is not given holds one of each card, nobles first. Only the owner knows which cards are in
the hand and which in the deck.

An action is written as its cards, `-` for none, and `KING castle`. The phase tells its kind;
another kind is written with `champion`, `aid` or `end` in front.
"""

import itertools
from collections import Counter
from typing import ClassVar

from engine.position import Position
from tests.games import Facts

NOBLES = ["KING", "QUEEN", "BISHOP", "ROOK", "KNIGHT"]
NAMES = [*NOBLES, "PAWN", "STEED", "ARMOR", "SWORD", "FEINT", "SHIELD", "MAGIC"]
KING = 0
PHASES = ["over", "champion", "aid", "end"]
KINDS = {"champion": "play_champion", "aid": "play_aid", "end": "discard_to_reserve"}
CASTLING = ["unused", "used", "unknown"]
TURN_FLAGS = ("mulligan", "champion", "castled", "won", "aid_count", "discard_count")


def read_cards(text):
    """The cards of a list, in the order in which they are written."""
    cards = []
    for word in text.split():
        name, _, copies = word.partition("*")
        cards += [NAMES.index(name)] * int(copies or 1)
    return cards


def show_cards(cards):
    """Write a list of cards; equal neighbours are counted."""
    words = []
    for card in cards:
        if words and words[-1][0] == card:
            words[-1][1] += 1
        else:
            words.append([card, 1])
    return " ".join(f"{NAMES[card]}*{n}" if n > 1 else NAMES[card] for card, n in words)


def cards_of(counts):
    """The sorted cards of a multiset."""
    return [card for card, n in enumerate(counts) for _ in range(n)]


def counts_of(cards):
    """The multiset of some cards."""
    return [cards.count(card) for card in range(len(NAMES))]


def show_counts(counts):
    """Write a multiset."""
    return show_cards(cards_of(counts))


def remove(cards, taken):
    """The cards without those taken."""
    left = list(cards)
    for card in taken:
        left.remove(card)
    return left


def copies(game):
    """The copies of each card in a deck."""
    return [spec["copies"] for spec in game.ruleset["cards"]]


def card_list(**copies):
    """A list of cards for a ruleset, with the printed points."""
    points = {
        "KING": (2, 2, 10), "QUEEN": (10, 10, 2), "BISHOP": (8, 6, 4), "ROOK": (6, 4, 8),
        "KNIGHT": (4, 8, 6), "PAWN": (2, 2, 2), "STEED": (6, 0, 0), "ARMOR": (0, 0, 6),
        "SWORD": (0, 6, 0), "FEINT": (3, 0, 3), "SHIELD": (0, 3, 3), "MAGIC": (3, 3, 0),
    }  # fmt: skip
    return [
        {"card": NAMES.index(name), "copies": n}
        | dict(zip(("movement", "attack", "defend"), points[name], strict=True))
        for name, n in copies.items()
    ]


class ChampionChessFacts(Facts):
    """Champion Chess."""

    rulesets: ClassVar[dict] = {
        "default": {},
        "no_castling": {"castling": False},
        "hand_of_1": {"hand_size": 1},
        "hand_of_3": {"hand_size": 3},
        "few_nobles": {"cards": card_list(KING=1, ROOK=2, KNIGHT=1, PAWN=6, STEED=3, SHIELD=2)},
        "many_nobles": {"cards": card_list(KING=1, QUEEN=9, ROOK=10, KNIGHT=10, PAWN=4, MAGIC=1)},
        "king_alone": {"cards": card_list(KING=1, PAWN=3)},
    }
    # The mulligan, the reshuffle and castling all come up within the first turns.
    small_rulesets: ClassVar[dict] = {
        "castling": {"hand_size": 2, "cards": card_list(KING=1, ROOK=1, PAWN=2)},
        "reshuffle": {"hand_size": 3, "cards": card_list(KING=1, KNIGHT=1, PAWN=1, SWORD=1)},
        "mulligan": {"hand_size": 2, "castling": False,
                     "cards": card_list(KING=1, KNIGHT=1, PAWN=3)},
    }  # fmt: skip
    # A challenge captures a noble and takes three decisions: 59 with the 30 nobles of many_nobles.
    longest = 180

    def read_option(self, name, text):
        if name == "cards":
            return card_list(**Counter(NAMES[card] for card in read_cards(text)))
        return super().read_option(name, text)

    def set_up(self, game, given):
        given = dict(given)
        fields = Position.deal(game, 0).fields
        fields |= {"phase": PHASES.index("champion"), "challenge": 1, "half_points": 0}
        for seat, name in enumerate(self.seats):
            piles = {
                pile: read_cards(given.pop(f"{name}.{pile}"))
                for pile in ("hand", "top", "deck", "reserve", "defeated")
                if f"{name}.{pile}" in given
            }
            used = given.pop(f"{name}.castling_used", "false") == "true"
            self.lay_out(game, fields, seat, piles, used)
        if given:
            raise ValueError(f"no such field: {', '.join(given)}")
        return fields

    def lay_out(self, game, fields, seat, piles, used):
        """Lay out the cards of one seat."""
        rest = [card for card, n in enumerate(copies(game)) for _ in range(n)]
        for card in itertools.chain.from_iterable(piles.values()):
            rest.remove(card)
        limit = game.ruleset["hand_size"]
        if "hand" not in piles:
            one_of_each = list(dict.fromkeys(rest))
            piles["hand"] = (one_of_each + remove(rest, one_of_each))[:limit]
            rest = remove(rest, piles["hand"])
        reserve, defeated = piles.get("reserve", []), piles.get("defeated", [])
        if "deck" in piles:
            deck, defeated = piles["deck"], defeated + rest
        else:
            deck = piles.get("top", []) + rest
        if len(piles["hand"]) != limit and (len(piles["hand"]) > limit or deck or reserve):
            raise ValueError(f"the hand of {self.seats[seat]} has not {limit} cards")
        if KING in defeated:
            raise ValueError(f"the King of {self.seats[seat]} is nowhere")
        room = len(fields["deck"][seat])
        fields["deck"][seat] = deck[::-1] + [0] * (room - len(deck))
        fields["own"][seat] = {"hand": counts_of(piles["hand"]), "castling_used": used}
        fields["side"][seat] |= {
            "hand_size": len(piles["hand"]),
            "deck_size": len(deck),
            "reserve": counts_of(reserve),
            "defeated": counts_of(defeated),
        }
        memory = fields["side"][seat]["memory"]
        no_turn = {"cards": [0] * 7} | dict.fromkeys(TURN_FLAGS, 0)
        fields["side"][seat]["memory"] = {
            "hand": counts_of([]),
            "deck": counts_of(piles["hand"] + deck),
            "reserve": counts_of(reserve),
            "castling": CASTLING.index("used" if used else "unused"),
            "size": 0,
            "turns": [no_turn] * len(memory["turns"]),
        }

    def read_action(self, position, seat, text):
        phase = PHASES[position.fields["phase"]]
        first, _, rest = text.partition(" ")
        if first in KINDS:
            phase, text = first, rest
        if phase == "champion":
            castle = text.endswith(" castle")
            noble = NAMES.index(text.removesuffix(" castle"))
            return {"kind": KINDS[phase], "noble": noble, "castle": castle}
        return {"kind": KINDS.get(phase), "cards": read_cards("" if text == "-" else text)}

    def show_action(self, game, fields):
        if fields["kind"] == KINDS["champion"]:
            return NAMES[fields["noble"]] + " castle" * fields["castle"]
        return show_cards(fields["cards"]) or "-"

    def show_state(self, game, fields):
        shown = {"phase": PHASES[fields["phase"]], "challenge": str(fields["challenge"])}
        for seat, name in enumerate(self.seats):
            side, own = fields["side"][seat], fields["own"][seat]
            deck = fields["deck"][seat][: side["deck_size"]]
            shown[f"{name}.hand"] = show_counts(own["hand"])
            shown[f"{name}.deck"] = show_cards(deck[::-1])
            shown |= self.show_side(name, side)
            shown[f"{name}.castling_used"] = "true" if own["castling_used"] else ""
        return shown

    def show_side(self, name, side):
        """The public part of a side, without its sizes."""
        champion = NAMES[side["champion"] - 1] if side["champion"] else ""
        return {
            f"{name}.reserve": show_counts(side["reserve"]),
            f"{name}.defeated": show_counts(side["defeated"]),
            f"{name}.champion": champion + " by castling" * side["castled"],
        }

    def show_view(self, game, fields):
        shown = {"phase": PHASES[fields["phase"]], "challenge": str(fields["challenge"])}
        seat = fields["seat"]
        if seat < len(self.seats):
            shown["hand"] = show_counts(fields["own"]["hand"])
            shown["deck"] = show_counts(self.own_deck(game, fields))
            shown["castling_used"] = "true" if fields["own"]["castling_used"] else ""
        for seat, name in enumerate(self.seats):
            side = fields["side"][seat]
            shown[f"{name}.hand_size"] = str(side["hand_size"])
            shown[f"{name}.deck_size"] = str(side["deck_size"])
            shown |= self.show_side(name, side)
            shown[f"{name}.known"] = show_counts(side["known"])
            shown[f"{name}.memory"] = self.show_memory(side["memory"])
        return shown

    def own_deck(self, game, fields):
        """The cards that the viewer knows to be in its battle deck."""
        side, own = fields["side"][fields["seat"]], fields["own"]
        deck = [
            n - own["hand"][card] - side["reserve"][card] - side["defeated"][card]
            for card, n in enumerate(copies(game))
        ]
        if side["champion"]:
            deck[side["champion"] - 1] -= 1
        return deck

    def show_memory(self, memory):
        """Write a memory in a line: its beginning, then the turns."""
        parts = [
            f"hand {show_counts(memory['hand']) or '-'}",
            f"deck {show_counts(memory['deck']) or '-'}",
            f"reserve {show_counts(memory['reserve']) or '-'}",
            f"castling {CASTLING[memory['castling']]}",
        ]
        for turn in memory["turns"][: memory["size"]]:
            aid = show_cards(turn["cards"][: turn["aid_count"]])
            discards = turn["cards"][turn["aid_count"] :][: turn["discard_count"]]
            champion = NAMES[turn["champion"]] + " by castling" * turn["castled"]
            words = ["mulligan"] if turn["mulligan"] else [champion, aid]
            words += ["won"] if turn["won"] else []
            words += [f"discards {show_cards(discards)}"] if discards else []
            parts.append(" ".join(word for word in words if word))
        return "; ".join(parts)

    def show_event(self, game, event):
        kind, values = event.kind.removesuffix("_hidden"), list(event.values)
        if event.kind in ("drawn_hidden", "shuffled_hidden"):
            text = str(values[-1])
        elif kind in ("drawn", "mulligan", "aid_revealed", "discarded"):
            text = show_cards(values)
        elif kind == "shuffled":
            text = show_cards(values[1:])
        elif kind == "champion_revealed":
            text = NAMES[values[0]] + " by castling" * values[1]
        else:
            text = f"{NAMES[values[0]]} {'won' if values[1] else 'lost'} with "
            text += f"movement {values[2]} attack {values[3]} defend {values[4]}"
        if kind == "shuffled" and values[0]:
            text += " from reserve"
        return f"{self.seats[event.seat]} {kind} {text}".rstrip()

    def check_conserved(self, game, fields):
        for seat in range(2):
            side, own = fields["side"][seat], fields["own"][seat]
            deck = fields["deck"][seat]
            cards = Counter(deck[: side["deck_size"]])
            for pile in (own["hand"], side["reserve"], side["defeated"]):
                cards.update(cards_of(pile))
            if side["champion"]:
                cards[side["champion"] - 1] += 1
            assert counts_of(list(cards.elements())) == copies(game)
            assert sum(own["hand"]) == side["hand_size"] <= game.ruleset["hand_size"]
            assert not any(deck[side["deck_size"] :]), "nothing below the deck"
        # Each challenge captures a noble, and the first King ends the match.
        nobles = sum(copies(game)[: len(NOBLES)])
        assert fields["challenge"] <= 2 * nobles - 1

    def hidden(self, game, fields, seat):
        other = fields["own"][1 - seat]
        tops = [
            deck[side["deck_size"] - 1] if side["deck_size"] else None
            for deck, side in zip(fields["deck"], fields["side"], strict=True)
        ]
        return (*other["hand"], other["castling_used"], *tops)
