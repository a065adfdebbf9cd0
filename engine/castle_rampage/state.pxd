"""The constants of Castle Rampage, and the structs that are laid over its states and views."""

from engine.game cimport SEATS
from engine.integers cimport uint8_t

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
    CARDS                        # 0 is no card, or one that is not known.
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
    DEAL = 5                     # Cards of one set-up,
    PLACED = 2                   # and how many of them each structure gets.
    MAX_SET_UPS = 2
    MAX_TURNS = 200
    MAX_STACK = MAX_SET_UPS * PLACED + MAX_TURNS // 2    # One a turn goes under.
    MAX_WAYS = 70               # Ways to pick four of the five units.

    # Phases
    OVER = 0
    SET_UP
    TURN

    # Who besides its owner knows a card of a structure
    HIDDEN = 0
    SEEN                         # The other seat, by a Spy.
    SHOWN                        # Everyone.

    # Actions: the kind, the card and the choice above four discards of five bits each, the lowest
    # card first; SET_UP_CARDS has five cards instead: two for the gate, two for the castle, one to
    # keep.
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

    # A hand history holds what everyone has seen of a hand: see engine/castle_rampage/history.pyx.
    # The kind of an entry is in the low bits of its first byte, a card or number above it.
    DECIDED = 0                  # A decision; with these flags it could be:
    STRENGTHENED_BEFORE = 1
    CATAPULT_OPPOSED = 2
    GRANARY_OPPOSED = 4
    DREW = 1                     # So many cards.
    SPENT = 2                    # A card that the seat chose to play or to discard.
    LOST = 3                     # A random card, discarded.
    PLACED_UNDER = 4             # A card, face down, under this structure.
    TOOK_BACK = 5                # A Veteran that was stopped.
    SHOWED = 6                   # The hand, and discarded every card that can be this unit.
    NEW_PILE = 7                 # The cards of a new draw pile: it was made of the discard pile,
    OF_DISCARDS = 0
    SUMMED_UP = 1                # or the entry sums up the history before it.
    ENTRY_BITS = 3
    ENTRY_MASK = (1 << ENTRY_BITS) - 1
    MAX_ENTRY_VALUE = 31
    MAX_HISTORY = 1600           # Bytes.
    MAX_RUN = 8                  # Of equal cards that one byte counts.
    MAX_DRAWN = 800

    # A turn ends with its 800th decision, because some turns would never end otherwise: with the
    # right cards, each Spy draws the Spy that was played before it. Under the first rules a match
    # was a draw before a turn had so many, as each decision takes two bytes of a history.
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

    # Why cards are discarded
    PAID = 1                     # To play a card, or to put an Ogre under a structure.
    AT_RANDOM                    # For an Archer or a Saboteur of the other seat.
    TO_PRIEST                    # As those that count as the unit it named.

# Packed: bytes of padding would keep what was there when a view is filled from its fields.

cdef struct Stack:               # A structure: all cards it ever had, as they were put there.
    uint8_t count
    uint8_t top                  # The first that stands; those before it were destroyed.
    uint8_t cards[MAX_STACK]
    uint8_t known[MAX_STACK]

cdef packed struct Side:         # What everyone sees of a seat, its structures aside.
    uint8_t hand_size
    uint8_t catapults
    uint8_t granaries
    int history_length
    uint8_t history[MAX_HISTORY]

cdef packed struct Common:       # What everyone sees.
    uint8_t phase
    uint8_t set_ups              # Done.
    uint8_t turn                 # From 1 on, of both seats together.
    uint8_t active               # The seat whose turn it is, or who starts.
    uint8_t strengthened         # Whether it has strengthened in this turn,
    int decisions                # and how many decisions it has made in it.
    uint8_t winner               # NO_SEAT for a draw.
    uint8_t draw_size
    uint8_t discards[CARDS]
    Side sides[SEATS]

cdef packed struct Own:          # What the seat alone knows.
    uint8_t hand[CARDS]
    uint8_t kept                 # From the first set-up, until the second is done.
    int drawn_length
    # The cards it drew; 0 is a reshuffle in between. If its history is summed up, the first cards
    # are those that it had in its hand and its structures then.
    uint8_t drawn[MAX_DRAWN]

cdef packed struct CastleState:        # Laid over a State.
    Common common
    Own own[SEATS]
    Stack stacks[SEATS * STRUCTURES]
    uint8_t draw_pile[MAX_DECK]     # The top card last; nobody sees the order.

cdef packed struct CastleView:        # Laid over a View.
    uint8_t seat
    Common common
    Own own                      # Zero for a spectator.
    Stack stacks[SEATS * STRUCTURES]     # 0 for a card that is not known.


cdef inline Stack* stack_of(CastleState* rampage, int seat, int structure) noexcept nogil:
    return &rampage.stacks[seat * STRUCTURES + structure]

# How many cards of a structure stand.
cdef inline int standing(const Stack* stack) noexcept nogil:
    return stack.count - stack.top

# Whether a card can count as a unit.
cdef inline bint counts_as(int card, int unit) noexcept nogil:
    if card == GIANT:
        return unit != ARCHER_UNIT
    return card == MERCENARY or card == unit

cdef inline bint is_purple(int card) noexcept nogil:
    return OGRE <= card <= SPY
