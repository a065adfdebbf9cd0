"""The cards of Champion Chess: their names and texts, and which lists of them are valid."""

from pathlib import Path

from games.champion_chess.rules.state cimport (
    CARDS, KING, MAX_COPIES, MAX_DECK, MAX_NOBLES, MAX_POINTS, NOBLES, PAWN,
)

from engine.card_list import check_ranges, copies, read_csv
from engine.errors import RulesetError

CARD_NAMES = ("King", "Queen", "Bishop", "Rook", "Knight",
              "Pawn", "Steed", "Armor", "Sword", "Feint", "Shield", "Magic")
CARD_TEXTS = {
    KING: "Who loses the King loses the match. "
          "The first time that he is your only noble, a Rook of your deck may take his place.",
    PAWN: "Any number may be played together.",
}
CATEGORIES = ("movement", "attack", "defend")
NUMBERS = {"copies": (0, MAX_COPIES), **dict.fromkeys(CATEGORIES, (0, MAX_POINTS))}


def default_cards():
    """Return the card list of the rule sheet, in the order of the cards."""
    rows = read_csv(Path(__file__).parents[1] / "cards.csv", NUMBERS)
    return [{"card": card, **{field: row[field] for field in NUMBERS}}
            for card, row in enumerate(rows)]


def read_cards(given):
    """Return a whole card list, in the order of the cards; raise RulesetError if it is not valid.

    Cards that are not listed have no copies.
    """
    cards = [{"card": card, **dict.fromkeys(NUMBERS, 0)} for card in range(CARDS)]
    seen = set()
    for i, spec in enumerate(given):
        check_ranges(spec, {"card": (0, CARDS - 1)}, f"cards[{i}]")
        if spec["card"] in seen:
            raise RulesetError(f"cards[{i}].card", "must not be listed twice", "DUPLICATE_CARD")
        seen.add(spec["card"])
        check_ranges(spec, NUMBERS, f"cards[{i}]")
        cards[spec["card"]] = dict(spec)
    if cards[KING]["copies"] != 1:
        raise RulesetError("cards", "must hold exactly one King", "KING_COUNT")
    if copies(cards) > MAX_DECK:
        raise RulesetError("cards", f"must hold at most {MAX_DECK} cards", "TOO_MANY_CARDS")
    if copies(cards[:NOBLES]) > MAX_NOBLES:
        raise RulesetError("cards", f"must hold at most {MAX_NOBLES} nobles", "TOO_MANY_NOBLES")
    return cards
