"""Checks that a view of Castle Rampage does not contradict itself."""

from engine.events cimport NO_SEAT
from engine.game cimport SEATS
from games.castle_rampage.play.particles cimport MAX_POOLS, Particle, set_up_blanks, total
from games.castle_rampage.rules.state cimport (
    CARDS, CATAPULT, DEAL, GRANARY, HIDDEN, MAX_DECISIONS, MAX_DECK, MAX_DRAWN, MAX_HISTORY,
    MAX_STACK, OVER, PLACED, SET_UP, SHOWN, STRUCTURES, TURN, Common, Stack,
)

from engine.errors import ViewError


cdef check_ranges(CastleRampage rules, const CastleView* seen):
    cdef const Common* common = &seen.common
    cdef const Stack* stack
    cdef int other = 1 - seen.seat
    cdef int seat, at, i, least, placed = 0
    if common.phase > TURN:
        raise ViewError("common.phase", f"must be at most {TURN}")
    if common.turn > rules.turn_limit or (common.phase == SET_UP) != (common.turn == 0):
        raise ViewError("common.turn", f"must fit the phase and be at most {rules.turn_limit}")
    if common.strengthened > 1:
        raise ViewError("common.strengthened", "must be 0 or 1")
    if not common.strengthened <= common.decisions <= MAX_DECISIONS or (
            common.phase == SET_UP and common.decisions):
        raise ViewError("common.decisions",
                        f"must fit the phase and strengthened, and be at most {MAX_DECISIONS}")
    if common.active >= SEATS:
        raise ViewError("common.active", "must be 0 or 1")
    if common.set_ups > rules.set_ups or (
            (common.phase == SET_UP) != (common.set_ups < rules.set_ups)):
        raise ViewError("common.set_ups", f"must fit the phase and be at most {rules.set_ups}")
    if common.winner != NO_SEAT and (common.phase != OVER or common.winner >= SEATS):
        raise ViewError("common.winner", f"must be {NO_SEAT} before the end")
    if common.discards[0] or seen.own.hand[0]:
        raise ViewError("common.discards[0]" if common.discards[0] else "own.hand[0]",
                        "must be 0, since 0 is no card")
    if common.draw_size > MAX_DECK:
        raise ViewError("common.draw_size", f"must be at most {MAX_DECK}")
    if not 0 <= seen.own.drawn_length <= MAX_DRAWN:
        raise ViewError("own.drawn_length", f"must be 0 to {MAX_DRAWN}")
    if seen.own.kept >= CARDS:
        raise ViewError("own.kept", f"must be at most {CARDS - 1}")
    for i in range(seen.own.drawn_length):
        if seen.own.drawn[i] >= CARDS:
            raise ViewError(f"own.drawn[{i}]", f"must be at most {CARDS - 1}")
    for seat in range(SEATS):
        if not 0 <= common.sides[seat].history_length <= MAX_HISTORY:
            raise ViewError(f"common.sides[{seat}].history_length",
                            f"must be 0 to {MAX_HISTORY}")
    for at in range(SEATS * STRUCTURES):
        stack = &seen.stacks[at]
        least = PLACED * common.set_ups
        if not least <= stack.count <= MAX_STACK:
            raise ViewError(f"stacks[{at}].count", f"must be {least} to {MAX_STACK}")
        placed += stack.count - least
        if at % STRUCTURES == STRUCTURES - 1:
            if placed > turns_of(common, at // STRUCTURES):
                raise ViewError(f"stacks[{at}].count", "must grow by at most one card a turn")
            placed = 0
        if stack.top > stack.count:
            raise ViewError(f"stacks[{at}].top", "must be at most the count")
        if common.phase == SET_UP and stack.count != least:
            raise ViewError(f"stacks[{at}].count", f"must be {least} in the set-up")
        for i in range(stack.count, MAX_STACK):
            if stack.cards[i] or stack.known[i]:
                raise ViewError(f"stacks[{at}].count", "must be the number of its cards")
        for i in range(stack.count):
            if stack.cards[i] >= CARDS:
                raise ViewError(f"stacks[{at}].cards[{i}]", f"must be at most {CARDS - 1}")
            if stack.known[i] > SHOWN or (i < stack.top and stack.known[i] != SHOWN):
                raise ViewError(f"stacks[{at}].known[{i}]",
                                f"must be at most {SHOWN}, and {SHOWN} for a destroyed card")
            if (stack.cards[i] == 0) != (
                    at // STRUCTURES == other and stack.known[i] == HIDDEN):
                raise ViewError(f"stacks[{at}].cards[{i}]",
                                "must be 0 if and only if the seat does not know the card")
    if common.phase == SET_UP:
        for seat in range(SEATS):
            if common.sides[seat].history_length or common.sides[seat].hand_size != DEAL:
                raise ViewError(f"common.sides[{seat}]",
                                f"must have {DEAL} cards and no history in the set-up")


cdef int turns_of(const Common* common, int seat) noexcept nogil:
    # The number of turns in which a seat can have strengthened.
    if seat == common.active:
        return (common.turn - 1) // 2 + common.strengthened
    return common.turn // 2


cdef check_posterior(HandPosterior posterior):
    # Without the cards that the view and one particle place, each card of the ruleset must be used
    # up, and each pool must hold as many cards as its blanks and the draw pile.
    cdef const CastleView* seen = posterior.seen
    cdef const Common* common = &seen.common
    cdef const Particle* particle = &posterior.now.particles[0]
    cdef int card, at, i
    cdef int left[CARDS]
    cdef int size = posterior.past.hand_size - (common.set_ups if common.phase == SET_UP else 0)
    if common.sides[posterior.other].hand_size != size:
        raise ViewError(f"common.sides[{posterior.other}].hand_size",
                        "must be the number of cards that the hand history leaves")
    if common.sides[seen.seat].hand_size != total(seen.own.hand):
        raise ViewError("own.hand", "must be as many cards as the hand size says")
    for card in range(CARDS):
        left[card] = (posterior.rules.tables.copies[card] - seen.own.hand[card]
                      - common.discards[card])
        left[card] -= particle.known[card]
        for i in range(MAX_POOLS):
            left[card] -= particle.pools[i * CARDS + card]
    left[seen.own.kept] -= seen.own.kept > 0
    left[CATAPULT] -= common.sides[0].catapults + common.sides[1].catapults
    left[GRANARY] -= common.sides[0].granaries + common.sides[1].granaries
    for at in range(SEATS * STRUCTURES):
        for i in range(seen.stacks[at].top, seen.stacks[at].count):
            left[seen.stacks[at].cards[i]] -= seen.stacks[at].cards[i] > 0
    for i in range(particle.placed_count):
        if particle.placed[i] < CARDS:
            left[particle.placed[i]] -= 1
    for card in range(1, CARDS):
        if left[card]:
            raise ViewError("", f"must hold each copy of card {card} in one place")
    for i in range(MAX_POOLS):
        size = particle.blanks[i] + particle.blanks_placed[i]
        size += set_up_blanks(particle, i, posterior.past.hidden_set_up)
        if i == posterior.newest():
            size += common.draw_size
        if size != total(particle.pools + i * CARDS):
            raise ViewError("common.draw_size",
                            "must be the number of cards that the draws have left")
