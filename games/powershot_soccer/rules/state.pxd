"""The constants of PowerShot Soccer, and the structs that are laid over its states and views."""

from engine.game cimport SEATS
from engine.integers cimport uint8_t

cdef enum:
    # Roles. Those up to STAR_PLAYER are printed on cards; a Star Player is played in a basic role.
    PASS = 1
    DRIBBLE
    CROSS
    FANCY_FOOTWORK
    SHOOT
    LONG_RANGE_SHOT
    TACKLE
    INTERCEPT
    SAVE
    STAR_PLAYER
    GIVE_UP
    DECLINE
    ROLES

    MAX_TYPES = 60
    MAX_DECK = 90
    MAX_COPIES = 15
    MAX_POWER = 20
    MAX_HAND = 11
    MAX_ROLES = 4                # In which one card can be played at a time.
    MAX_PLAYS = 2 * MAX_DECK     # In one half: each play draws a card.

    # After so many equal pairs of kick-off cards chance decides. Otherwise the kick-off would never
    # end where all cards that can be shown are equal.
    MAX_KICK_OFFS = 8

    NEEDED_TO_SHOOT = 2          # Standing possession cards,
    NEEDED_FOR_LONG_RANGE = 1    # for a Long Range Shot.
    BONUS = 2
    MAX_SAVE = 8                 # A shot above it is a PowerShot.

    # An action: the card, and in the lower four bits the role it is played in.
    ROLE_BITS = 4

    # Phases
    OVER = 0
    ATTACK
    DEFEND

    # Outcomes of an exchange, or of giving up
    OPEN = 0                     # Not answered, perhaps not yet.
    STANDS                       # The possession card counts.
    REPELLED                     # The defence was equal: the attacker begins a new attack.
    LOST                         # The defence was higher: the defender wins possession.
    GOAL
    GIVEN_UP

    # Events
    SHUFFLED = 1
    SHUFFLED_HIDDEN
    DRAWN
    DRAWN_HIDDEN
    KICK_OFF_SHOWN
    HALF_STARTED
    PLAYED
    EXCHANGE_DECIDED
    HALF_ENDED

cdef struct Play:
    uint8_t seat
    uint8_t card
    uint8_t role
    uint8_t outcome              # Of the exchange that it opened; OPEN for an answer.

cdef struct Common:              # What everyone sees.
    uint8_t phase
    uint8_t half
    uint8_t possession
    uint8_t first_kick_off       # The seat that kicked off the first half.
    uint8_t kick_offs            # Pairs of cards that were shown for it.
    uint8_t kick_off_cards[MAX_KICK_OFFS][SEATS]
    uint8_t goals[SEATS]
    uint8_t draw_sizes[SEATS]
    uint8_t standing             # Possession cards of this attack.
    uint8_t attack_start         # The plays from this index on lie in the play piles.
    uint8_t play_count
    Play plays[MAX_PLAYS]        # Of this half, in order.

cdef struct Own:
    uint8_t hand[MAX_TYPES]     # Only the seat itself sees it.
    uint8_t draw_pile[MAX_DECK]     # The top card last; nobody sees the order.

cdef struct SoccerState:               # Laid over a State.
    Common common
    Own own[SEATS]

cdef struct SoccerView:               # Laid over a View.
    uint8_t seat
    Common common
    uint8_t hand[MAX_TYPES]     # Zero for a spectator.
