"""The cards of German Whist, and the structures that lie over its states and views."""

from ctypes import Structure, c_uint8, c_uint64

SUITS = ("clubs", "diamonds", "hearts", "spades")
RANKS = ("2", "3", "4", "5", "6", "7", "8", "9", "10", "Jack", "Queen", "King", "Ace")
CARDS = 52  # A card is 13 * suit + rank: clubs first, the 2 lowest.
HAND = 13
IN_RANKS = 13

# Bits of the cards of each suit, in a set of cards.
SUIT_SETS = tuple(((1 << IN_RANKS) - 1) << (IN_RANKS * suit) for suit in range(4))


class State(Structure):
    """Everything about a position. What both seats no longer remember is not in it."""

    _fields_ = (
        ("hands", c_uint64 * 2),  # By seat: a set of cards, one bit for each.
        ("leader", c_uint8),  # The seat that leads, or has led, to the present trick.
        ("tricks", c_uint8 * 2),  # Won in the second phase.
        ("stock_count", c_uint8),
        ("stock", c_uint8 * 26),  # The cards face down; the next one is the last of them.
        ("exposed_count", c_uint8),
        ("exposed", c_uint8 * 13),  # The cards that were turned up so far.
        ("plays_count", c_uint8),
        ("plays", c_uint8 * CARDS),  # All cards that were played, two for each trick.
    )


class View(Structure):
    """What one seat knows. Which of its cards it drew at which time makes no difference."""

    _fields_ = (
        ("seat", c_uint8),
        ("trump", c_uint8),  # The suit.
        ("leader", c_uint8),
        ("tricks", c_uint8 * 2),
        ("hand_count", c_uint8),
        ("hand", c_uint8 * HAND),  # Sorted; empty for a spectator.
        ("exposed_count", c_uint8),
        ("exposed", c_uint8 * 13),
        ("plays_count", c_uint8),
        ("plays", c_uint8 * CARDS),
    )


def cards_of(hand: int) -> list[int]:
    """Returns the cards of a set, sorted."""
    cards = []
    while hand:
        lowest = hand & -hand
        cards.append(lowest.bit_length() - 1)
        hand ^= lowest
    return cards


def set_of(cards: "list[int]") -> int:
    """Returns the set of these cards."""
    bits = 0
    for card in cards:
        bits |= 1 << card
    return bits


def beats(second: int, first: int, trump: int) -> bool:
    """Returns whether the second card of a trick wins it."""
    if second // IN_RANKS == first // IN_RANKS:
        return second > first
    return second // IN_RANKS == trump
