"""The cards, for display. They are numbered from 1, suit by suit, as in the schema."""

from typing import Any

RANKS = (
    "Ace", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Jack", "Queen",
    "King",
)  # fmt: skip
SUITS = ("Clubs", "Diamonds", "Hearts", "Spades")
MAX_VALUE = 10

# By suit: the data of an SVG path, for a box of 24 by 24.
GLYPHS = (
    "M12 2a4.6 4.6 0 0 0-3.9 7A4.6 4.6 0 1 0 11 15.4c-.2 2.8-1 4.9-2.5 6.6h7"
    "c-1.5-1.7-2.3-3.8-2.5-6.6A4.6 4.6 0 1 0 15.9 9 4.6 4.6 0 0 0 12 2z",
    "M12 2l7.5 10L12 22 4.5 12z",
    "M12 21.5C6 16.5 2.5 12.7 2.5 8.3c0-2.9 2.1-5 4.7-5 2 0 3.8 1.2 4.8 3.3"
    " 1-2.1 2.8-3.3 4.8-3.3 2.6 0 4.7 2.1 4.7 5 0 4.4-3.5 8.2-9.5 13.2z",
    "M12 2c3.5 5 8.5 7.5 8.5 11.9 0 2.6-1.9 4.4-4.2 4.4-1.3 0-2.5-.6-3.3-1.6"
    ".2 2.2.9 3.9 2.5 5.3h-7c1.6-1.4 2.3-3.1 2.5-5.3-.8 1-2 1.6-3.3 1.6"
    "-2.3 0-4.2-1.8-4.2-4.4C3.5 9.5 8.5 7 12 2z",
)


def title(card: int) -> str:
    """Returns the title of a card, such as "Ace of Clubs"."""
    suit, rank = divmod(card - 1, len(RANKS))
    return f"{RANKS[rank]} of {SUITS[suit]}"


def describe(ranks: int, suits: int) -> list[dict[str, Any]]:
    """Returns the cards of a deck with the lowest ranks and the first suits."""
    return [
        {
            "id": title(card).upper().replace(" ", "_"),
            "title": title(card),
            "kind": SUITS[suit],
            "copies": 1,
            "numbers": {"Value": min(rank + 1, MAX_VALUE)},
            "text": "",
            "glyph": GLYPHS[suit],
        }
        for suit in range(suits)
        for rank in range(ranks)
        for card in [1 + suit * len(RANKS) + rank]
    ]
