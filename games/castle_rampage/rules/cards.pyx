"""The cards of Castle Rampage: their names and texts, the checks of a card list, and its tables."""

import itertools
from pathlib import Path

from libc.stdint cimport uint16_t
from libc.string cimport memset

from engine.integers cimport uint64_t, uint8_t
from games.castle_rampage.rules.actions cimport discard
from games.castle_rampage.rules.state cimport *

from engine.card_list import copies, read_csv
from engine.errors import RulesetError

CARD_NAMES = ("none", "knight", "archer", "axe_man", "giant", "mercenary", "veteran", "dragon",
              "digger", "ogre", "bomber", "saboteur", "spy", "jester", "summoner", "priest",
              "catapult", "granary", "volley", "charge", "skirmish", "grand_assault")
UNIT_NAMES = {KNIGHT_UNIT: "Knight", ARCHER_UNIT: "Archer", AXE_MAN_UNIT: "Axe Man"}
SCHEME_UNITS = {  # The units to discard, and the extra unit that adds the bonus.
    VOLLEY: ((KNIGHT_UNIT, ARCHER_UNIT), ARCHER_UNIT),
    CHARGE: ((KNIGHT_UNIT, AXE_MAN_UNIT), KNIGHT_UNIT),
    SKIRMISH: ((ARCHER_UNIT, AXE_MAN_UNIT), AXE_MAN_UNIT),
    GRAND_ASSAULT: ((KNIGHT_UNIT, ARCHER_UNIT, AXE_MAN_UNIT), KNIGHT_UNIT),
}
CARD_TEXTS = {
    KNIGHT: "Attack.",
    ARCHER: "The opponent discards a random card of the hand. Attack.",
    AXE_MAN: "Draw 1 card. Attack.",
    GIANT: "Attack. Counts as a Knight or an Axe Man.",
    MERCENARY: "Discard up to 2 cards. Attack, stronger by the bonus for each. Counts as any unit.",
    VETERAN: "Attack. Returns to your hand if a higher defence stops it.",
    DRAGON: "Attack.",
    DIGGER: "Attack the Castle, even if the Gate stands.",
    OGRE: "Attack. To put it under a structure, discard 2 cards.",
    BOMBER: "Destroy the top card of the opposing Gate. "
            "If it is destroyed in an attack, so is the attacker, at once.",
    SABOTEUR: "Destroy a permanent card of the opponent. "
              "If it is destroyed in an attack, the attacker discards 2 random cards.",
    SPY: "Look at the top card of each opposing structure. Draw 1 card. "
         "If it is destroyed in an attack, draw 2 cards.",
    JESTER: "Destroy the top card of your own Castle. Then draw 3 cards.",
    SUMMONER: "Destroy the top card of both Castles. If both are empty then, you lose.",
    PRIEST: "Name a unit. The opponent shows the hand and discards all that counts as it.",
    CATAPULT: "Permanent. Each of your attacks is stronger by 1.",
    GRANARY: "Permanent. Draw 1 card more at the start of each of your turns.",
    VOLLEY: "Discard a Knight and an Archer; one more Archer adds the bonus. Attack.",
    CHARGE: "Discard a Knight and an Axe Man; one more Knight adds the bonus. Attack.",
    SKIRMISH: "Discard an Archer and an Axe Man; one more Axe Man adds the bonus. Attack.",
    GRAND_ASSAULT: "Discard a Knight, an Archer and an Axe Man; one more Knight adds the bonus. "
                   "Attack.",
}


def default_cards():
    """The card list of the reconstruction."""
    numbers = ("copies", "gate", "castle", "attack", "bonus", "cost")
    return [{"card": CARD_NAMES.index(row["card"].lower()), **{name: row[name] for name in numbers}}
            for row in read_csv(Path(__file__).parents[1] / "cards.csv", numbers)]


def read_cards(given):
    """Complete a card list that was given; raise RulesetError.

    A number that is not given comes from the default list. A card that is not listed is not in the
    deck.
    """
    defaults = {spec["card"]: spec for spec in default_cards()}
    cards = {}
    for i, spec in enumerate(given):
        at = f"cards[{i}]"
        if spec.get("card") not in defaults:
            raise RulesetError(f"{at}.card", f"must be 1 to {CARDS - 1}", "OUT_OF_RANGE")
        default = defaults[spec["card"]]
        card = {**default, **spec}
        attacks, scheme = default["attack"] > 0, card["card"] >= VOLLEY
        for name, least, most in (
            ("copies", 0, MAX_COPIES),
            ("gate", 1, MAX_DEFENCE),
            ("castle", 1, MAX_DEFENCE),
            ("attack", int(attacks), MAX_ATTACK if attacks else 0),
            ("bonus", 0, MAX_ATTACK if default["bonus"] else 0),
            # The cost of a scheme is its units; for a Mercenary, the seat decides what to discard.
            ("cost", 0, 0 if scheme or card["card"] == MERCENARY else MAX_COST),
        ):
            if not least <= card[name] <= most:
                rule = f"must be {least} to {most}" if most else "must be 0 for this card"
                raise RulesetError(f"{at}.{name}", rule, "OUT_OF_RANGE")
        if card["card"] in cards:
            raise RulesetError(
                at, "must not be listed twice: say how many copies", "DUPLICATE_CARD")
        cards[card["card"]] = card
    if copies(cards.values()) > MAX_DECK:
        raise RulesetError("cards", f"must be a deck of at most {MAX_DECK} cards", "TOO_MANY_CARDS")
    return [cards[card] for card in sorted(cards)]


def card_title(card):
    """The title of a card."""
    return CARD_NAMES[card].replace("_", " ").title()


def card_kind(card):
    """The kind of a card: unit, attack, purple, special, permanent or scheme."""
    if card >= VOLLEY:
        return "scheme"
    if card >= CATAPULT:
        return "permanent"
    if OGRE <= card <= SPY:
        return "purple"
    return "unit" if card < UNITS_END else "attack" if card <= DIGGER else "special"


def card_numbers(spec):
    """The numbers on a card, by their titles."""
    titles = {"gate": "Gate", "castle": "Castle", "attack": "Attack", "bonus": "Bonus",
              "cost": "Cost"}
    return {title: spec[name] for name, title in titles.items()
            if spec[name] or name in ("gate", "castle")}


cdef fill_tables(Tables* tables, specs):
    memset(tables, 0, sizeof(Tables))
    for row, spec in enumerate(specs):
        card = spec["card"]
        tables.row[card] = row
        tables.copies[card] = spec["copies"]
        tables.defence[GATE * CARDS + card] = spec["gate"]
        tables.defence[CASTLE * CARDS + card] = spec["castle"]
        tables.attack[card] = spec["attack"]
        tables.bonus[card] = spec["bonus"]
        tables.cost[card] = spec["cost"]
    fill_ways(tables)
    fill_first_ways(tables)


cdef fill_ways(Tables* tables):
    # Every multiset of unit cards that pays for a scheme, in the order of their actions.
    cdef Way* way
    for scheme, (units, extra) in SCHEME_UNITS.items():
        for paid in range(2):
            wanted = units + (extra,) * paid
            at = (scheme - VOLLEY) * 2 + paid
            for cards in itertools.combinations_with_replacement(
                    range(KNIGHT, UNITS_END), len(wanted)):
                if not any(all(counts_as(card, unit) for card, unit in zip(order, wanted))
                           for order in itertools.permutations(cards)):
                    continue
                way = &tables.ways[at * MAX_WAYS + tables.way_count[at]]
                tables.way_count[at] += 1
                for i, card in enumerate(cards):
                    way.discards |= discard(card, i)
                    way.units += <uint64_t> 1 << (8 * (card - KNIGHT))


cdef fill_first_ways(Tables* tables):
    cdef uint8_t counts[CARDS]
    cdef int knights, archers, axe_men, giants, mercenaries, scheme
    cdef uint16_t* first
    for knights, archers, axe_men, giants, mercenaries in itertools.product(
            range(KNIGHTS_NEEDED), range(KNIGHTS_NEEDED), range(KNIGHTS_NEEDED),
            range(GIANTS_NEEDED), range(MERCENARIES_NEEDED)):
        counts[KNIGHT], counts[ARCHER], counts[AXE_MAN] = knights, archers, axe_men
        counts[GIANT], counts[MERCENARY] = giants, mercenaries
        first = tables.first_ways + holding_of(counts) * SCHEMES
        for scheme in range(SCHEMES):
            first[scheme] = first_way(tables, units_of(counts), scheme)


cdef int first_way(const Tables* tables, uint64_t units, int scheme):
    cdef int extra, at, i
    for extra in range(1, -1, -1):
        at = scheme * 2 + extra
        for i in range(tables.way_count[at]):
            if can_pay(units, &tables.ways[at * MAX_WAYS + i]):
                return at * MAX_WAYS + i
    return NO_WAY
