"""Playing a card: its effect, its attack, and its place afterwards.

Each card has a function; cards that are played alike share one. An effect comes before the attack.
The function returns the place of the card afterwards: DISCARD, STAY or RETURN.
"""

from engine.castle_rampage.actions cimport card_of, choice_of, discard_of
from engine.castle_rampage.effects cimport (
    destroy_permanent, destroy_top, discard_at_random, discard_payment, draw, look, show_hand,
    spend,
)
from engine.castle_rampage.history cimport add_entry
from engine.castle_rampage.state cimport (
    ARCHER, AXE_MAN, BOMBER, CARDS, CASTLE, CATAPULT, CHARGE, DIGGER, DRAGON, GATE, GIANT, GRANARY,
    GRAND_ASSAULT, HELD, JESTER, KNIGHT, MERCENARY, OGRE, OVER, PLAYED, PRIEST, RETURNED, REVEALED,
    SABOTEUR, SHOWN, SKIRMISH, SPY, SUMMONER, TOOK_BACK, VETERAN, VOLLEY, CastleState, Stack,
    stack_of, standing,
)
from engine.castle_rampage.tables cimport Tables
from engine.chance cimport Rng
from engine.events cimport TO_PUBLIC, TO_RECORD, EventLog, log_event
from engine.game cimport Action
from engine.integers cimport uint8_t

cdef enum:
    # Places of a card after it was played
    DISCARD = 0                  # The discard pile.
    STAY                         # In front of its owner, as a permanent card.
    RETURN                       # The hand of its owner.

    # Ends of an attack
    SPENT_UP = 0                 # The attacking card was destroyed, or won the match.
    STOPPED                      # A higher defence stopped it.

    LOST_TO_ARCHER = 1
    LOST_TO_SABOTEUR = 2
    DRAWN_BY_AXE_MAN = 1
    DRAWN_BY_SPY = 1             # By a Spy that is played,
    DRAWN_BY_DESTROYED_SPY = 2   # and by a Spy that is destroyed in an attack.
    DRAWN_BY_JESTER = 3

cdef struct Play:                # A card that is being played.
    const Tables* tables
    CastleState* rampage
    int seat
    int other
    int card
    int choice
    Action action
    Rng* rng
    EventLog* log

ctypedef int (*Effect)(const Play*) noexcept nogil


cdef void play(const Tables* tables, CastleState* rampage, int seat, Action action, Rng* rng,
               EventLog* log) noexcept nogil:
    cdef Play played
    cdef int card = card_of(action)
    cdef int fate
    cdef uint8_t values[2]
    played.tables = tables
    played.rampage = rampage
    played.seat = seat
    played.other = 1 - seat
    played.card = card
    played.choice = choice_of(action)
    played.action = action
    played.rng = rng
    played.log = log
    values[0] = card
    values[1] = played.choice
    spend(rampage, seat, card)
    log_event(log, TO_PUBLIC | TO_RECORD, PLAYED, seat, values, 2)
    discard_payment(rampage, seat, action, log)
    fate = EFFECTS[card](&played)
    if fate == DISCARD:
        rampage.common.discards[card] += 1
    elif fate == RETURN:
        rampage.own[seat].hand[card] += 1
        rampage.common.sides[seat].hand_size += 1
        add_entry(&rampage.common.sides[seat], TOOK_BACK, card)
        log_event(log, TO_PUBLIC | TO_RECORD, RETURNED, seat, values, 1)


# Attacks

cdef int attack(const Play* played, int bonus, bint dig) noexcept nogil:
    # An attack goes against the other Gate while cards stand in it, else against the Castle; an
    # attack that digs always goes against the Castle. The top card is revealed. If its defence is
    # higher than the strength, the attacking card is destroyed and the defender goes back on top,
    # face down. If it is equal, both are destroyed. If it is lower, the defender is destroyed, its
    # defence is taken off the strength, and the next card is revealed, in the Castle when the Gate
    # has fallen. Each Catapult of the attacking seat adds 1 to the strength.
    cdef CastleState* rampage = played.rampage
    cdef int other = played.other
    cdef int strength = (played.tables.attack[played.card] + bonus
                         + CATAPULT_BONUS * rampage.common.sides[played.seat].catapults)
    cdef int structure, defender, defence
    cdef Stack* stack
    cdef uint8_t values[4]
    while True:
        structure = CASTLE if dig or not standing(stack_of(rampage, other, GATE)) else GATE
        stack = stack_of(rampage, other, structure)
        defender = stack.cards[stack.top]
        defence = played.tables.defence[structure * CARDS + defender]
        values[0] = structure
        values[1] = defender
        values[2] = defence
        values[3] = strength
        log_event(played.log, TO_PUBLIC | TO_RECORD, REVEALED, other, values, 4)
        if defence > strength:
            stack.known[stack.top] = SHOWN
            log_event(played.log, TO_PUBLIC | TO_RECORD, HELD, other, values, 2)
            return STOPPED
        destroy_top(rampage, other, structure, played.log)
        # The match is over at once when the last card of a Castle is destroyed.
        if rampage.common.phase == OVER or destroyed(played, defender) or defence == strength:
            return SPENT_UP
        strength -= defence


cdef bint destroyed(const Play* played, int defender) noexcept nogil:
    # The effect of a purple card that is destroyed in an attack, and not otherwise: for a Saboteur
    # the attacking seat discards 2 random cards, for a Spy its owner draws 2, and a Bomber destroys
    # the attacking card. Returns whether the attacking card was destroyed.
    if defender == SABOTEUR:
        discard_at_random(played.rampage, played.seat, LOST_TO_SABOTEUR, played.rng, played.log)
    elif defender == SPY:
        draw(played.rampage, played.other, DRAWN_BY_DESTROYED_SPY, played.rng, played.log)
    return defender == BOMBER


# Cards that attack

cdef int play_attacker(const Play* played) noexcept nogil:
    # Knight, Giant, Dragon, Ogre: attack.
    attack(played, 0, False)
    return DISCARD


cdef int play_archer(const Play* played) noexcept nogil:
    # The opponent discards a random card. Attack.
    discard_at_random(played.rampage, played.other, LOST_TO_ARCHER, played.rng, played.log)
    return play_attacker(played)


cdef int play_axe_man(const Play* played) noexcept nogil:
    # Draw 1 card. Attack.
    draw(played.rampage, played.seat, DRAWN_BY_AXE_MAN, played.rng, played.log)
    return play_attacker(played)


cdef int play_mercenary(const Play* played) noexcept nogil:
    # Discard up to 2 cards. Attack, with the bonus for each discard.
    cdef int i, n = 0
    for i in range(MERCENARY_DISCARDS):
        n += discard_of(played.action, i) > 0
    attack(played, n * played.tables.bonus[MERCENARY], False)
    return DISCARD


cdef int play_veteran(const Play* played) noexcept nogil:
    # Attack. If a higher defence stops the Veteran, it returns to the hand instead of being
    # destroyed.
    return RETURN if attack(played, 0, False) == STOPPED else DISCARD


cdef int play_digger(const Play* played) noexcept nogil:
    # Attack the Castle, even if the Gate stands.
    attack(played, 0, True)
    return DISCARD


cdef int play_scheme(const Play* played) noexcept nogil:
    # Attack, with the bonus if the choice is 1: the discards then include the scheme's extra unit.
    # Volley: a Knight and an Archer; the extra unit is an Archer.
    # Charge: a Knight and an Axe Man; the extra unit is a Knight.
    # Skirmish: an Archer and an Axe Man; the extra unit is an Axe Man.
    # Grand Assault: a Knight, an Archer and an Axe Man; the extra unit is a Knight.
    attack(played, played.choice * played.tables.bonus[played.card], False)
    return DISCARD


# Cards that do not attack

cdef int play_bomber(const Play* played) noexcept nogil:
    # Destroy the top card of the opposing Gate, if there is one.
    if standing(stack_of(played.rampage, played.other, GATE)):
        destroy_top(played.rampage, played.other, GATE, played.log)
    return DISCARD


cdef int play_saboteur(const Play* played) noexcept nogil:
    # Destroy a permanent card of the opponent.
    destroy_permanent(played.rampage, played.other, played.choice, played.log)
    return DISCARD


cdef int play_spy(const Play* played) noexcept nogil:
    # Look at the top card of each opposing structure. Draw 1 card.
    look(played.rampage, played.seat, played.log)
    draw(played.rampage, played.seat, DRAWN_BY_SPY, played.rng, played.log)
    return DISCARD


cdef int play_jester(const Play* played) noexcept nogil:
    # Destroy the top card of your own Castle; if it was the last card, the match is lost. Draw 3
    # cards.
    destroy_top(played.rampage, played.seat, CASTLE, played.log)
    if played.rampage.common.phase != OVER:
        draw(played.rampage, played.seat, DRAWN_BY_JESTER, played.rng, played.log)
    return DISCARD


cdef int play_summoner(const Play* played) noexcept nogil:
    # Destroy the top card of both Castles. Your own Castle comes second: if both are empty
    # afterwards, the seat that played the Summoner loses.
    destroy_top(played.rampage, played.other, CASTLE, played.log)
    destroy_top(played.rampage, played.seat, CASTLE, played.log)
    return DISCARD


cdef int play_priest(const Play* played) noexcept nogil:
    # Name a unit. The opponent shows the hand and discards every card that counts as that unit.
    show_hand(played.rampage, played.other, played.choice, played.log)
    return DISCARD


cdef int play_catapult(const Play* played) noexcept nogil:
    # Permanent. Each of your attacks has 1 more strength.
    played.rampage.common.sides[played.seat].catapults += 1
    return STAY


cdef int play_granary(const Play* played) noexcept nogil:
    # Permanent. Draw 1 more card at the start of each of your turns.
    played.rampage.common.sides[played.seat].granaries += 1
    return STAY


cdef Effect[CARDS] EFFECTS
EFFECTS[KNIGHT] = EFFECTS[GIANT] = EFFECTS[DRAGON] = EFFECTS[OGRE] = play_attacker
EFFECTS[ARCHER] = play_archer
EFFECTS[AXE_MAN] = play_axe_man
EFFECTS[MERCENARY] = play_mercenary
EFFECTS[VETERAN] = play_veteran
EFFECTS[DIGGER] = play_digger
EFFECTS[BOMBER] = play_bomber
EFFECTS[SABOTEUR] = play_saboteur
EFFECTS[SPY] = play_spy
EFFECTS[JESTER] = play_jester
EFFECTS[SUMMONER] = play_summoner
EFFECTS[PRIEST] = play_priest
EFFECTS[CATAPULT] = play_catapult
EFFECTS[GRANARY] = play_granary
EFFECTS[VOLLEY] = EFFECTS[CHARGE] = EFFECTS[SKIRMISH] = EFFECTS[GRAND_ASSAULT] = play_scheme
