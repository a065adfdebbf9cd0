"""What is learned of Castle Rampage: what describes its decisions, and the weights of a model."""

from engine.features cimport Features
from engine.game cimport Action
from games.castle_rampage.rules.rules cimport CastleRampage
from games.castle_rampage.rules.state cimport (
    CARDS, MAX_DISCARDS, OGRE, SPY, STRUCTURES, CastleState,
)

cdef enum:
    # Places of a set-up, in the order of its action.
    GATE_TOP = 0
    GATE_LOW
    CASTLE_TOP
    CASTLE_LOW
    KEPT
    SET_UP_PLACES

    # Of a set-up, for each card that can be dealt: whether it is on top of the Gate, under the
    # Castle, on top of the Castle, or kept.
    PLAIN = CARDS - 1 - (SPY - OGRE + 1)
    ON_GATE = 0
    UNDER_CASTLE = ON_GATE + PLAIN
    ON_CASTLE = UNDER_CASTLE + PLAIN
    KEEPS = ON_CASTLE + PLAIN
    SET_UP_FEATURES = KEEPS + PLAIN

    # Of an action of a turn, for each card: whether it is played, goes under the Gate or under the
    # Castle, or how many copies are paid for another; and for each unit, how many go to a scheme.
    ENDS = 0
    PLAYS = ENDS + 1
    TO_STRUCTURE = PLAYS + CARDS - 1
    PAYS = TO_STRUCTURE + STRUCTURES * (CARDS - 1)
    UNITS = PAYS + CARDS - 1
    UNIT_CARDS = 5
    FACTS = UNITS + UNIT_CARDS
    ENDS_UNSTRENGTHENED = FACTS  # The turn ends without strengthening,
    ENDS_CARDS                   # with so many cards in hand.
    STRENGTHENS_CARDS            # Strengthening by these,
    GATE_BY_GATE                 # that of the Gate by the cards in the own structures,
    GATE_BY_CASTLE
    CASTLE_BY_GATE               # and that of the Castle.
    CASTLE_BY_CASTLE
    PLAYS_UNSTRENGTHENED         # A card is played before strengthening,
    PLAYS_CARDS                  # by the cards in hand.
    STRENGTH                     # Of an attack.
    AT_CASTLE                    # It meets the Castle,
    AT_CASTLE_STRENGTH
    AT_CASTLE_CARDS              # with so many cards,
    AT_CASTLE_LAST               # or with one.
    BEATS                        # The card that it meets is known, and lower,
    BEATS_MARGIN                 # by so much,
    EQUALS                       # or equal,
    STOPPED                      # or higher,
    STOPS_VETERAN                # and the attacker comes back.
    BONUS                        # A scheme with the extra unit.
    MERCENARY_PAID               # Cards discarded for a Mercenary.
    ARCHER_HAND                  # Cards in the opposing hand, for an Archer,
    PRIEST_HAND                  # and for a Priest,
    PRIEST_ARCHERS               # who names Archers
    PRIEST_AXE_MEN               # or Axe Men.
    SABOTEUR_GRANARY             # The Saboteur destroys a Granary, not a Catapult.
    BOMBER_GATE                  # Cards in the opposing Gate.
    JESTER_CASTLE                # Cards in the own Castle, for a Jester,
    JESTER_LAST                  # who ends the match,
    SUMMONER_CASTLE              # and for a Summoner;
    SUMMONER_OTHER               # those in the opposing one.
    SUMMONER_WINS
    SUMMONER_LOSES
    TURN_FEATURES

    # Inputs of the net for the start of a turn: of each side, first of the seat to move.
    OF_HAND = 0                  # How many of each card.
    OF_STRUCTURES = CARDS - 1    # The same for each structure, first for all of its cards,
    TOP_OF = CARDS - 1           # then for the one on top,
    SIZE_OF = 2 * (CARDS - 1)    # their number, and whether it is
    IS_EMPTY                     # 0
    IS_OF_ONE                    # or 1.
    STRUCTURE_INPUTS
    OF_CATAPULTS = OF_STRUCTURES + STRUCTURES * STRUCTURE_INPUTS
    OF_GRANARIES
    HAND_SIZE
    SIDE_INPUTS

    FLAGS = 8                    # Of a decision: see the entries of a history.
    HAND_SIZES = 10              # The last one stands for larger hands.
    MEAN_HAND = 4                # Cards in hand, and in a structure, where the true number is not
    MEAN_STANDING = 4            # known.

# The number of a card among those that can be dealt for a set-up.
cdef inline int plain(int card) noexcept nogil:
    return card - 1 if card < OGRE else card - 1 - (SPY - OGRE + 1)


# The weight of all ways to pay `n` of some cards, by that of a mean card.
cdef inline double payments(int n, int cards, double paid) noexcept nogil:
    if n == 0:
        return 1
    return cards * paid if n == 1 else cards * (cards - 1) // 2 * paid * paid


cdef class CastleRampageFeatures(Features):
    cdef CastleRampage rules
    cdef int set_up_weights[SET_UP_FEATURES]
    cdef int turn_weights[TURN_FEATURES]
    cdef double mean_paid        # The weight of a mean card as payment.
    # For beliefs, in proportion to a card drawn at random: how likely each card is at a place of a
    # set-up, and under each structure if it was put there in a turn.
    cdef double set_up[SET_UP_PLACES][CARDS]
    cdef double under[STRUCTURES][CARDS]
    # By the flags of a decision and the size of the hand: the weight of all actions that use a
    # card, against that of ending the turn.
    cdef double used[FLAGS][HAND_SIZES][CARDS]
    cdef double ends[FLAGS][HAND_SIZES]
    cdef void describe_set_up(self, Action action, int* row) noexcept nogil
    cdef void describe_turn(self, const CastleState* rampage, int seat, Action action,
                            int* row) noexcept nogil
    cdef void describe_attack(self, const CastleState* rampage, int seat, Action action,
                              int* row) noexcept nogil
    cdef void weigh_set_ups(self) noexcept nogil
    cdef void weigh_uses(self) noexcept nogil
    cdef double weight_under(self, int structure, int card, int hand_size) noexcept nogil
    cdef double weight_of_play(self, int flags, int card, int hand_size) noexcept nogil
    cdef void weigh_structures(self) noexcept nogil
