"""Positions of Gin Rummy in words, and rules that are written once more, naively."""

import itertools
from functools import cache

from engine.position import Position
from gin_rummy.rules.rules import GinRummy

OFFERED, TO_DRAW, TO_DISCARD = 1, 2, 3  # Phases.
RANKS = "A23456789TJQK"
SUITS = "CDHS"
SMALL = {"ranks": 3, "suits": 2, "hand_size": 1, "knock_limit": 1}
MIDDLE = {"ranks": 4, "suits": 3, "hand_size": 3, "knock_limit": 3}


def cards(text):
    """The numbers of cards such as "AC TD"."""
    return [1 + 13 * SUITS.index(word[1]) + RANKS.index(word[0]) for word in text.split()]


def text(numbers):
    """The cards of numbers, ascending."""
    return " ".join(RANKS[(n - 1) % 13] + SUITS[(n - 1) // 13] for n in sorted(numbers))


def bits(numbers):
    """A set of cards as the state has it."""
    return sum(1 << (n - 1 + 3 * ((n - 1) // 13)) for n in numbers)


def members(hand):
    """The cards of a set of the state."""
    return [n for n in range(1, 53) if hand & bits([n])]


def position(north, south, pile="", stock="", phase=TO_DISCARD, taken="", **common):
    """A position in which it is North's turn. The stock ends with `stock`, its top card last."""
    ruleset = {name: common.pop(name) for name in ("target",) if name in common}
    game = GinRummy(ruleset)
    state = Position.deal(game, 1).fields
    hands = [cards(north), cards(south)]
    top, turned_up = cards(stock), cards(pile)
    rest = [n for n in range(1, 53) if n not in (*hands[0], *hands[1], *top, *turned_up)]
    drawn = 31 - len(top)
    left = common.pop("left", len(rest[:drawn]) + len(top))
    stock_cards = [*rest[:drawn], *top][-left:]
    state["hands"] = list(map(bits, hands))
    state["known"] = [bits(cards(taken)), 0]
    state["stock"] = stock_cards + [0] * (52 - len(stock_cards))
    state["common"] |= {
        "phase": phase,
        "dealer": 1,
        "to_play": 0,
        "taken": cards(taken)[0] if taken else 0,
        "stock_size": len(stock_cards),
        "pile": turned_up + [0] * (52 - len(turned_up)),
        "pile_count": len(turned_up),
        **common,
    }
    return Position.from_fields(game, state)


def act(where, kind, card=""):
    """Plays an action of the seat whose turn it is; returns what the record tells of it."""
    fields = {"kind": kind, **({"card": cards(card)[0]} if card else {})}
    [seat] = where.deciders
    events = where.apply({seat: where.game.make_action(fields)}, 1)
    return [(event.kind, event.seat, event.values) for event in events if event.recorded]


def may(where):
    """The legal actions of the seat whose turn it is, as words: by kind, the cards."""
    [seat] = where.deciders
    found = {}
    for action in where.legal(seat):
        fields = where.game.read_action(action)
        found.setdefault(fields["kind"], []).append(fields.get("card", 0))
    return {kind: text(filter(None, held)) for kind, held in found.items()}


# Rules, naively


def values(held):
    """The sum of the values of cards."""
    return sum(min((n - 1) % 13 + 1, 10) for n in held)


@cache
def all_melds():
    """Every run and every set."""
    runs = [
        frozenset(range(1 + 13 * suit + low, 1 + 13 * suit + low + length))
        for suit in range(4)
        for length in range(3, 14)
        for low in range(14 - length)
    ]
    columns = [[1 + 13 * suit + rank for suit in range(4)] for rank in range(13)]
    sets = [
        frozenset(chosen)
        for column in columns
        for n in (3, 4)
        for chosen in itertools.combinations(column, n)
    ]
    return tuple(runs + sets)


@cache
def meldings(held):
    """Every way to meld some of the cards, as the cards that are in melds."""
    found = {frozenset()}
    for one in (one for one in all_melds() if one <= held):
        found |= {melded | one for melded in found if not melded & one}
    return found


@cache
def least_deadwood(held):
    """The least deadwood of cards."""
    return min(values(held - melded) for melded in meldings(held))


def least_after_laying_off(held, shown):
    """The least deadwood of cards that may be laid off on melds."""

    @cache
    def least(rest, melds):
        best = values(rest)
        for card, (place, one) in itertools.product(rest, enumerate(melds)):
            longer = one | {card}
            if longer in all_melds():
                changed = (*melds[:place], longer, *melds[place + 1 :])
                best = min(best, least(rest - {card}, changed))
        return best

    return min(least(held - melded, tuple(shown)) for melded in meldings(held))
