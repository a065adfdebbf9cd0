"""Random playouts of Skystones: no actions are listed.

A pile is a list of cards by total, so the legal picks are its first cards, and the open squares are
a list too.
"""

from libc.string cimport memcpy, memmove

from engine.chance cimport Rng, rng_below
from engine.game cimport SEATS, State
from engine.integers cimport uint8_t
from engine.playout_policy cimport PlayoutPolicy
from engine.skystones.state cimport (
    BLOCKED, EDGES, MAX_HAND, MAX_SQUARES, MAX_TYPES, NONE, OVER, PICK, PLACE, Common,
    SkystonesState, accepts,
)
from engine.skystones.tables cimport SkystonesTables, takes


cdef struct Playout:
    Stack piles[SEATS]
    Stack hands[SEATS]
    int hand_sizes[SEATS]
    int hand_totals[SEATS]
    int starter
    int open_count
    uint8_t open[MAX_SQUARES]   # Empty squares that are not blocked, in any order.
    uint8_t fields[MAX_SQUARES]
    uint8_t cards[MAX_SQUARES]
    uint8_t owners[MAX_SQUARES + 1]     # NONE: an empty square, or beyond the board.


cdef void take_at(Stack* stack, int i) noexcept nogil:
    cdef int card = stack.cards[i]
    stack.copies[card] -= 1
    if stack.copies[card] == 0:
        stack.size -= 1
        memmove(stack.cards + i, stack.cards + i + 1, stack.size - i)


cdef void stack_up(SkystonesTables tables, const uint8_t* counts, Stack* stack) noexcept nogil:
    cdef int i, card
    stack.size = 0
    for i in range(tables.types):
        card = tables.by_total[i]
        if counts[card]:
            stack.cards[stack.size] = card
            stack.size += 1
    memcpy(stack.copies, counts, MAX_TYPES)


cdef int pickable(SkystonesTables tables, const Stack* pile, int hand_size,
                  int hand_total) noexcept nogil:
    # The same rule as `legal_picks`.
    cdef int most = tables.hand_limit - hand_total
    cdef int others = tables.hand_size - hand_size - 1
    cdef int copies, i = 0, n = pile.size
    while others > 0:
        copies = min(others, pile.copies[pile.cards[i]])
        most -= copies * tables.totals[pile.cards[i]]
        others -= copies
        i += 1
    while tables.totals[pile.cards[n - 1]] > most:
        n -= 1
    return n


cdef void start_playout(SkystonesTables tables, const SkystonesState* stones,
                        Playout* playout) noexcept nogil:
    cdef int seat, i, card, square
    for seat in range(SEATS):
        stack_up(tables, stones.piles[seat], &playout.piles[seat])
        stack_up(tables, stones.hands[seat], &playout.hands[seat])
        playout.hand_sizes[seat] = stones.common.sides[seat].hand_size
        playout.hand_totals[seat] = 0
        for i in range(playout.hands[seat].size):
            card = playout.hands[seat].cards[i]
            playout.hand_totals[seat] += playout.hands[seat].copies[card] * tables.totals[card]
    playout.starter = stones.common.starter
    playout.open_count = 0
    for square in range(tables.squares):
        playout.fields[square] = stones.common.board[square].field
        playout.cards[square] = stones.common.board[square].card - 1
        playout.owners[square] = stones.common.board[square].owner
        if stones.common.board[square].card == 0:
            playout.owners[square] = NONE
            if stones.common.board[square].field != BLOCKED:
                playout.open[playout.open_count] = square
                playout.open_count += 1
    playout.owners[MAX_SQUARES] = NONE


cdef void pick(SkystonesTables tables, Playout* playout, int seat, Rng* rng) noexcept nogil:
    cdef Stack* pile = &playout.piles[seat]
    cdef int i = rng_below(rng, pickable(tables, pile, playout.hand_sizes[seat],
                                         playout.hand_totals[seat]))
    cdef int card = pile.cards[i]
    take_at(pile, i)
    playout.hand_sizes[seat] += 1
    playout.hand_totals[seat] += tables.totals[card]
    if playout.hands[seat].copies[card] == 0:
        playout.hands[seat].cards[playout.hands[seat].size] = card
        playout.hands[seat].size += 1
    playout.hands[seat].copies[card] += 1


cdef void put_back(SkystonesTables tables, Stack* pile, int card, int copies) noexcept nogil:
    cdef int i = pile.size
    if pile.copies[card] == 0:
        while i > 0 and tables.rank[pile.cards[i - 1]] > tables.rank[card]:
            pile.cards[i] = pile.cards[i - 1]
            i -= 1
        pile.cards[i] = card
        pile.size += 1
    pile.copies[card] += copies


cdef int placements(SkystonesTables tables, const Playout* playout, int seat, int i) noexcept nogil:
    # How many open squares take the i-th card of a hand.
    cdef int element = tables.elements[playout.hands[seat].cards[i]]
    cdef int j, n = 0
    if tables.special_fields == 0:
        return playout.open_count
    for j in range(playout.open_count):
        n += accepts(playout.fields[playout.open[j]], element)
    return n


cdef bint can_place(SkystonesTables tables, const Playout* playout, int seat) noexcept nogil:
    cdef int i
    for i in range(playout.hands[seat].size):
        if placements(tables, playout, seat, i):
            return True
    return False


cdef void place(SkystonesTables tables, Playout* playout, int seat, Rng* rng) noexcept nogil:
    cdef Stack* hand = &playout.hands[seat]
    cdef int choices[MAX_HAND]
    cdef int i, j, edge, card, square, other, n = 0
    for i in range(hand.size):
        choices[i] = placements(tables, playout, seat, i)
        n += choices[i]
    n = rng_below(rng, n)
    i = 0
    while n >= choices[i]:
        n -= choices[i]
        i += 1
    card = hand.cards[i]
    j = n
    if tables.special_fields:
        j = 0
        while n > 0 or not accepts(playout.fields[playout.open[j]], tables.elements[card]):
            n -= accepts(playout.fields[playout.open[j]], tables.elements[card])
            j += 1
    square = playout.open[j]
    playout.open_count -= 1
    playout.open[j] = playout.open[playout.open_count]
    take_at(hand, i)
    playout.hand_sizes[seat] -= 1
    playout.cards[square] = card
    playout.owners[square] = seat
    for edge in range(EDGES):
        other = tables.beside[square][edge]
        if (playout.owners[other] == 1 - seat
                and takes(tables, card, edge, playout.cards[other])):
            playout.owners[other] = seat


cdef void end_round(SkystonesTables tables, Playout* playout, Common* common) noexcept nogil:
    cdef int square, seat, i, card, loser, placed = 0, lead = 0
    cdef Stack* hand
    playout.open_count = 0
    for square in range(tables.squares):
        lead += (playout.owners[square] == 0) - (playout.owners[square] == 1)
        placed += playout.owners[square] != NONE
        playout.owners[square] = NONE
        if playout.fields[square] != BLOCKED:
            playout.open[playout.open_count] = square
            playout.open_count += 1
    if lead:
        loser = lead > 0
        common.sides[1 - loser].points += 1
        playout.starter = loser
    else:
        playout.starter = 1 - playout.starter
    common.phase = PICK if placed else OVER
    for seat in range(SEATS):
        hand = &playout.hands[seat]
        for i in range(hand.size):
            card = hand.cards[i]
            put_back(tables, &playout.piles[seat], card, hand.copies[card])
            hand.copies[card] = 0
        hand.size = 0
        playout.hand_sizes[seat] = 0
        playout.hand_totals[seat] = 0
        if not forms_hand(tables, &playout.piles[seat]):
            common.phase = OVER


cdef bint forms_hand(SkystonesTables tables, const Stack* pile) noexcept nogil:
    cdef int copies, i, sum = 0, n = tables.hand_size
    for i in range(pile.size):
        copies = min(n, pile.copies[pile.cards[i]])
        sum += copies * tables.totals[pile.cards[i]]
        n -= copies
        if n == 0:
            return sum <= tables.hand_limit
    return False


cdef void play_to_end(SkystonesTables tables, SkystonesState* stones, Rng* rng) noexcept nogil:
    # Updates only the phase and the points of the state, from which the outcome is read.
    cdef Common* common = &stones.common
    cdef Playout playout
    cdef int seat, turn
    start_playout(tables, stones, &playout)
    while common.phase != OVER:
        if common.phase == PICK:
            for seat in range(SEATS):
                while playout.hand_sizes[seat] < tables.hand_size:
                    pick(tables, &playout, seat, rng)
            turn = playout.starter
            common.phase = PLACE
            if not can_place(tables, &playout, turn):
                turn = 1 - turn
        else:
            turn = common.turn
        while can_place(tables, &playout, turn):
            place(tables, &playout, turn, rng)
            if can_place(tables, &playout, 1 - turn):
                turn = 1 - turn
        end_round(tables, &playout, common)


cdef class SkystonesRandomPlayout(PlayoutPolicy):
    """Chooses uniformly."""

    cdef SkystonesTables tables

    def __init__(self, game):
        super().__init__(game)
        self.tables = game

    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil:
        play_to_end(self.tables, <SkystonesState*> state, rng)
        return self.at_end(state, draw)
