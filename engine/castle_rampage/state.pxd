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

    NO_SEAT = 255                # Instead of a seat.

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

    # What everyone sees of a hand is told in bytes: what happened, and above it a card or number.
    # RESHUFFLED and SHOWED are followed by how many of each card, from the first on, the new draw
    # pile or the hand holds, and a 0.
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
    RESHUFFLED = 7
    TOLD_BITS = 3
    TOLD_MASK = (1 << TOLD_BITS) - 1
    MAX_TOLD_VALUE = 31
    MAX_STORY = 1600
    MAX_DRAWN = 800

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
    int story_length
    uint8_t story[MAX_STORY]

cdef packed struct Common:       # What everyone sees.
    uint8_t phase
    uint8_t set_ups              # Done.
    uint8_t turn                 # From 1 on, of both seats together.
    uint8_t active               # The seat whose turn it is, or who starts.
    uint8_t strengthened         # Whether it has strengthened in this turn.
    uint8_t winner               # NO_SEAT for a draw.
    uint8_t draw_size
    uint8_t discards[CARDS]
    Side sides[SEATS]

cdef packed struct Own:          # What only the seat itself knows.
    uint8_t hand[CARDS]
    uint8_t kept                 # From the first set-up, until the second is done.
    int drawn_length
    uint8_t drawn[MAX_DRAWN]    # The cards it ever drew; 0 is a reshuffle in between.

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
