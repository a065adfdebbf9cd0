"""The constants of Castle Rampage, its structs, and the tables of a card list."""

from libc.stdint cimport uint16_t

from engine.game cimport SEATS, Action
from engine.integers cimport uint64_t, uint8_t

cdef enum:
    # Cards. The first five are units.
    KNIGHT = 1
    ARCHER
    AXE_MAN
    GIANT
    MERCENARY
    VETERAN
    DRAGON
    DIGGER
    OGRE                         # From here to the Spy: purple.
    BOMBER
    SABOTEUR
    SPY
    JESTER
    SUMMONER
    PRIEST
    CATAPULT                     # Permanent, as is the Granary.
    GRANARY
    VOLLEY                       # From here on: schemes.
    CHARGE
    SKIRMISH
    GRAND_ASSAULT
    CARDS                        # Card 0 stands for no card, or for an unknown one.
    UNITS_END = MERCENARY + 1
    SCHEMES = CARDS - VOLLEY

    # Units
    KNIGHT_UNIT = 1
    ARCHER_UNIT
    AXE_MAN_UNIT

    # Structures
    GATE = 0
    CASTLE
    STRUCTURES

    MAX_DECK = 160
    MAX_COPIES = 20
    MAX_DEFENCE = 20
    MAX_ATTACK = 30
    MAX_COST = 2
    DEAL = 5                     # Cards dealt to a seat for one set-up,
    PLACED = 2                   # and the number of them that go under each structure.
    MAX_SET_UPS = 2
    MAX_TURNS = 200
    # A seat has every other turn, and puts at most one card under a structure in each.
    MAX_STACK = MAX_SET_UPS * PLACED + MAX_TURNS // 2
    MAX_WAYS = 70                # Multisets of four of the five unit cards: C(8, 4).

    # Phases
    OVER = 0
    SET_UP
    TURN

    # The knowledge of a card in a structure, its owner aside
    HIDDEN = 0                   # Nobody knows the card.
    SEEN                         # The other seat has seen it with a Spy.
    SHOWN                        # Everyone has seen it.

    # Kinds of actions. An action has, from its high bits to its low ones, the kind, the card, the
    # choice and four discards of five bits each, the lowest card first and 0 for none. The choice
    # depends on the kind; an action that is not listed here has choice 0:
    # - STRENGTHEN: the structure under which the card goes;
    # - PLAY, of a Priest: the unit that the seat names;
    # - PLAY, of a Saboteur: the permanent card to destroy, CATAPULT or GRANARY;
    # - PLAY, of a scheme: 1 if the discards include the extra unit for the bonus, else 0.
    # SET_UP_CARDS has five cards in its low bits instead: two for the Gate, two for the Castle and
    # one to keep.
    SET_UP_CARDS = 1
    STRENGTHEN
    PLAY
    END_TURN
    CARD_BITS = 5
    CARD_MASK = (1 << CARD_BITS) - 1
    MAX_DISCARDS = 4
    CHOICE_SHIFT = 5 * CARD_BITS
    CARD_SHIFT = 6 * CARD_BITS
    KIND_SHIFT = 7 * CARD_BITS

    # Entries of a hand history, which holds what everyone has seen of a hand: see
    # rules/history.pyx. The first byte of an entry has its kind in the low bits and
    # its value in the high bits.
    DECIDED = 0                  # The seat decided. The value is flags: with the hand, they tell
    STRENGTHENED_BEFORE = 1      # which actions were legal.
    CATAPULT_OPPOSED = 2
    GRANARY_OPPOSED = 4
    DREW = 1                     # The value is the number of cards drawn.
    SPENT = 2                    # The value is a card that the seat chose to play or to discard.
    LOST = 3                     # The value is a card discarded at random.
    PLACED_UNDER = 4             # A card went under a structure. The value is the structure.
    TOOK_BACK = 5                # The value is a card that returned: a Veteran that was stopped.
    # The seat showed its hand, whose counts follow, and discarded each card that counts as a unit.
    # The value is the unit.
    SHOWED = 6
    NEW_PILE = 7                 # A draw pile began, whose counts follow. The value is its origin:
    OF_DISCARDS = 0              # the discard pile,
    SUMMED_UP = 1                # or none: the entry sums up the history before it.
    ENTRY_BITS = 3
    ENTRY_MASK = (1 << ENTRY_BITS) - 1
    MAX_ENTRY_VALUE = 31
    MAX_HISTORY = 1600           # Bytes.
    MAX_RUN = 8                  # Equal cards that one byte can count.
    MAX_DRAWN = 800

    # The 800th decision of a turn ends the turn, because some turns would never end otherwise: with
    # the right cards, each Spy draws the Spy that was played before it.
    MAX_DECISIONS = 800

    # Events
    SHUFFLED = 1
    SHUFFLED_HIDDEN
    DRAWN
    DRAWN_HIDDEN
    CARDS_SET_UP
    CARDS_SET_UP_HIDDEN
    TURN_STARTED
    STRENGTHENED
    STRENGTHENED_HIDDEN
    PLAYED
    DISCARDED
    REVEALED
    HELD
    DESTROYED
    RETURNED
    LOOKED
    LOOKED_HIDDEN
    HAND_SHOWN
    TURN_CUT
    STARTER_DRAWN

    # Reasons of discards
    PAID = 1                     # The seat paid for a card, or to strengthen with an Ogre.
    AT_RANDOM                    # An Archer or a Saboteur of the other seat hit the hand.
    TO_PRIEST                    # The cards count as the unit that the other seat's Priest named.

# Packed, because padding would keep its old bytes when a view is filled from its fields.

cdef struct Stack:               # A structure: all cards that were ever put there, in that order.
    uint8_t count
    uint8_t top                  # The first card that stands; the cards before it were destroyed.
    uint8_t cards[MAX_STACK]
    uint8_t known[MAX_STACK]

cdef packed struct Side:         # The public part of a seat, its structures aside.
    uint8_t hand_size
    uint8_t catapults
    uint8_t granaries
    int history_length
    uint8_t history[MAX_HISTORY]

cdef packed struct Common:       # The public part of a state.
    uint8_t phase
    uint8_t set_ups              # The number of set-ups done.
    uint8_t turn                 # The turns of both seats together count from 1; 0 in the set-up.
    uint8_t active               # The seat whose turn it is; in the set-up, the starter.
    uint8_t strengthened         # Whether the active seat has strengthened in this turn.
    int decisions                # The decisions of the active seat in this turn so far.
    uint8_t winner               # NO_SEAT for a draw.
    uint8_t draw_size
    uint8_t discards[CARDS]
    Side sides[SEATS]

cdef packed struct Own:          # The part of a state that one seat alone knows.
    uint8_t hand[CARDS]          # Copies of each card.
    uint8_t kept                 # The card kept in the first set-up, until the second is done.
    int drawn_length
    # The cards that the seat drew, with a 0 for each reshuffle in between. If the history is summed
    # up, the list begins with the cards that were then in the seat's hand and structures.
    uint8_t drawn[MAX_DRAWN]

cdef packed struct CastleState:        # Laid over a State.
    Common common
    Own own[SEATS]
    Stack stacks[SEATS * STRUCTURES]
    uint8_t draw_pile[MAX_DECK]     # The top card is last; nobody sees the order.

cdef packed struct CastleView:        # Laid over a View.
    uint8_t seat
    Common common
    Own own                      # All 0 for a spectator.
    Stack stacks[SEATS * STRUCTURES]     # Card 0 where the viewer does not know the card.


cdef inline Stack* stack_of(CastleState* rampage, int seat, int structure) noexcept nogil:
    return &rampage.stacks[seat * STRUCTURES + structure]

# The number of cards that stand in a structure.
cdef inline int standing(const Stack* stack) noexcept nogil:
    return stack.count - stack.top

# Whether a card can count as a unit.
cdef inline bint counts_as(int card, int unit) noexcept nogil:
    if card == GIANT:
        return unit != ARCHER_UNIT
    return card == MERCENARY or card == unit

cdef inline bint is_purple(int card) noexcept nogil:
    return OGRE <= card <= SPY


# The tables of a card list

cdef enum:
    # One more than the most copies of a unit card with which a scheme is paid for.
    KNIGHTS_NEEDED = 3           # Also of an Archer and of an Axe Man.
    GIANTS_NEEDED = 4
    MERCENARIES_NEEDED = 5
    HOLDINGS = KNIGHTS_NEEDED * KNIGHTS_NEEDED * KNIGHTS_NEEDED * GIANTS_NEEDED * MERCENARIES_NEEDED
    NO_WAY = 0xFFFF

cdef struct Way:                 # One way to pay for a scheme.
    Action discards
    uint64_t units               # The copies of each unit card among the discards: see `units_of`.

cdef struct Tables:
    uint8_t row[CARDS]           # The index of the card in the card list and in `Game.cards`.
    uint8_t copies[CARDS]
    uint8_t defence[STRUCTURES * CARDS]     # By structure, then by card.
    uint8_t attack[CARDS]
    uint8_t bonus[CARDS]
    uint8_t cost[CARDS]
    Way ways[SCHEMES * 2 * MAX_WAYS]        # By scheme, without and with the extra unit.
    int way_count[SCHEMES * 2]
    # By holding, then by scheme: the index in `ways` of the first way that the holding can pay,
    # with the extra unit if possible, or NO_WAY.
    uint16_t first_ways[HOLDINGS * SCHEMES]


# The copies of each unit card, a byte each. No hand holds 128 copies, so the high bits are free.
cdef inline uint64_t units_of(const uint8_t* counts) noexcept nogil:
    cdef uint64_t units = 0
    cdef int card
    for card in range(KNIGHT, UNITS_END):
        units |= <uint64_t> counts[card] << (8 * (card - KNIGHT))
    return units

# Whether a hand with these units can pay in this way: no byte of the difference borrows.
cdef inline bint can_pay(uint64_t units, const Way* way) noexcept nogil:
    cdef uint64_t high = <uint64_t> 0x8080808080808080
    return ((units | high) - way.units) & high == high

# The unit cards of a hand, as far as a scheme can need them.
cdef inline int holding_of(const uint8_t* counts) noexcept nogil:
    cdef int holding = min(counts[MERCENARY], MERCENARIES_NEEDED - 1)
    holding = holding * GIANTS_NEEDED + min(counts[GIANT], GIANTS_NEEDED - 1)
    holding = holding * KNIGHTS_NEEDED + min(counts[AXE_MAN], KNIGHTS_NEEDED - 1)
    holding = holding * KNIGHTS_NEEDED + min(counts[ARCHER], KNIGHTS_NEEDED - 1)
    return holding * KNIGHTS_NEEDED + min(counts[KNIGHT], KNIGHTS_NEEDED - 1)
