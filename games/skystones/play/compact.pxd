"""A position of Skystones in the compact form in which playouts play it, by the same rules."""

from engine.chance cimport Rng
from engine.game cimport SEATS
from engine.integers cimport uint64_t
from games.skystones.play.board cimport Board, clear_board, put, set_up_board
from games.skystones.rules.lanes cimport count_lanes
from games.skystones.rules.stack cimport (
    Picks, Stack, forms_hand, lowest_bit, pick_card, stack_up, start_picks, take_out,
)
from games.skystones.rules.state cimport ELEMENTS, FIRE, OVER, PICK, PLACE, SkystonesState
from games.skystones.rules.tables cimport SkystonesTables

cdef struct Compact:
    int phase
    int starter
    int turn
    int points[SEATS]
    int unplaced                 # Cards in the piles and hands.
    int hand_size                # Cards in the hand of each seat, in the picking phase.
    Board board
    Stack piles[SEATS]
    Stack hands[SEATS]


cdef inline void compact_of(SkystonesTables tables, const SkystonesState* stones,
                            Compact* compact) noexcept nogil:
    cdef int seat
    compact.phase = stones.common.phase
    compact.starter = stones.common.starter
    compact.turn = stones.common.turn
    compact.unplaced = 0
    compact.hand_size = stones.common.sides[0].hand_size
    set_up_board(tables, stones.common.board, &compact.board)
    for seat in range(SEATS):
        compact.points[seat] = stones.common.sides[seat].points
        stack_up(stones.piles[seat], &compact.piles[seat])
        stack_up(stones.hands[seat], &compact.hands[seat])
        compact.unplaced += (stones.common.sides[seat].hand_size
                             + stones.common.sides[seat].pile_size)


# Completes both hands by random picks, in proportion to likelihoods where there are any (not NULL).
cdef inline void pick_hands(SkystonesTables tables, Compact* compact, const double** likelihoods,
                            Rng* rng) noexcept nogil:
    cdef Picks[SEATS] picks
    cdef int seat
    for seat in range(SEATS):
        start_picks(tables, &compact.piles[seat], &compact.hands[seat], compact.hand_size,
                    &picks[seat])
    # The seats take turns, so that the processor can overlap the picks of both.
    while picks[0].missing > 0:
        for seat in range(SEATS):
            pick_card(tables, &compact.piles[seat], &compact.hands[seat], &picks[seat],
                      likelihoods[seat], rng)
    compact.phase = PLACE
    compact.turn = compact.starter
    if not can_place(tables, compact, compact.turn):
        compact.turn = 1 - compact.turn


cdef inline bint can_place(SkystonesTables tables, const Compact* compact,
                           int seat) noexcept nogil:
    cdef uint64_t hand = compact.hands[seat].types
    cdef int element
    if not tables.special_fields:
        return hand and compact.board.empty
    for element in range(FIRE, ELEMENTS):
        if (hand & tables.of_element[element]
                and compact.board.empty & compact.board.accepting[element]):
            return True
    return False


# Puts a card on the square whose lane begins at this bit. The next turn is for the other seat, if
# it can place.
cdef inline void place(SkystonesTables tables, Compact* compact, const uint64_t* facing, int card,
                       int at) noexcept nogil:
    cdef int seat = compact.turn
    put(tables, &compact.board, facing, seat, card, at)
    take_out(&compact.hands[seat], card)
    compact.unplaced -= 1
    if can_place(tables, compact, 1 - seat):
        compact.turn = 1 - seat


cdef inline void end_round(SkystonesTables tables, Compact* compact) noexcept nogil:
    cdef Stack* hand
    cdef int seat, card
    cdef int lead = count_lanes(compact.board.owned[0]) - count_lanes(compact.board.owned[1])
    # A round in which nothing was placed changes nothing: the match could go on for ever.
    compact.phase = PICK if compact.board.owned[0] | compact.board.owned[1] else OVER
    compact.points[0] += lead > 0
    compact.points[1] += lead < 0
    compact.starter = lead > 0 if lead else 1 - compact.starter
    compact.hand_size = 0
    clear_board(&compact.board)
    for seat in range(SEATS):
        hand = &compact.hands[seat]
        compact.piles[seat].types |= hand.types
        while hand.types:
            card = lowest_bit(hand.types)
            hand.types &= hand.types - 1
            compact.piles[seat].copies[card] += hand.copies[card]
            hand.copies[card] = 0
        if not forms_hand(tables, &compact.piles[seat]):
            compact.phase = OVER
