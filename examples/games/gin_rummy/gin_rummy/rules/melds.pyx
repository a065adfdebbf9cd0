"""Melding: the division of a hand into runs, sets and deadwood.

A run is three or more cards of one suit in sequence, the ace low; a set is three or four cards of
one rank. Each card belongs to one meld at most. What is in no meld is deadwood: an ace counts 1, a
Jack, Queen or King 10, any other card its rank.

A set of cards is a word of 64 bits with 16 for each suit. The highest three of them are never set,
so shifts by up to two ranks do not reach into another suit. Once it is chosen which cards go into
sets, all sequences of three or more of the rest are runs, and three shifts find them in all suits.
So the search goes over the sets alone: none, all, or all but one of each rank. A hand of eleven
cards has at most three ranks with a set, and usually none that shares a card with a run.
"""

from engine.integers cimport uint8_t, uint64_t

cdef enum:
    MAX_VALUE = 10
    SUITS = 4
    LANE = 16                    # Bits of a suit.
    LANE_CARDS = 1 << 13

# A card of each suit, or of one rank when it is shifted.
cdef uint64_t COLUMN = <uint64_t> 0x0001000100010001

cdef uint8_t[LANE_CARDS] VALUES      # Of any cards of one suit.


cdef void fill_values():
    cdef int cards, rank
    for cards in range(1, LANE_CARDS):
        rank = lowest_one(cards)
        VALUES[cards] = VALUES[cards & (cards - 1)] + min(rank + 1, MAX_VALUE)


fill_values()


cdef int value(uint64_t cards) noexcept nogil:
    return (VALUES[cards & (LANE_CARDS - 1)]
            + VALUES[cards >> LANE & (LANE_CARDS - 1)]
            + VALUES[cards >> 2 * LANE & (LANE_CARDS - 1)]
            + VALUES[cards >> 3 * LANE & (LANE_CARDS - 1)])


cdef inline uint64_t in_runs(uint64_t cards) noexcept nogil:
    cdef uint64_t first = cards & cards >> 1 & cards >> 2
    return first | first << 1 | first << 2


cdef inline uint64_t ranks_of_sets(uint64_t cards) noexcept nogil:
    # The ranks with three cards or more, in the bits of the first suit.
    cdef uint64_t a = cards, b = cards >> LANE, c = cards >> 2 * LANE, d = cards >> 3 * LANE
    return (a & b & (c | d) | c & d & (a | b)) & (LANE_CARDS - 1)


cdef uint64_t meldable(uint64_t cards) noexcept nogil:
    return in_runs(cards) | cards & ranks_of_sets(cards) * COLUMN


# Deadwood

cdef int deadwood(uint64_t cards) noexcept nogil:
    cdef uint64_t sets = 0
    return least(cards, &sets)


cdef int unmelded(uint64_t cards, uint64_t* loose) noexcept nogil:
    cdef uint64_t sets = 0
    cdef int found = least(cards, &sets)
    loose[0] = cards & ~sets
    loose[0] &= ~in_runs(loose[0])
    return found


cdef inline int least(uint64_t cards, uint64_t* sets) noexcept nogil:
    # The least deadwood; writes the cards in sets.
    cdef uint64_t ranks = ranks_of_sets(cards)
    cdef uint64_t runs, shared
    if not ranks:
        return value(cards & ~in_runs(cards))
    # A set that shares no card with any run is melded whole.
    runs = in_runs(cards)
    shared = runs & ranks * COLUMN
    shared |= shared >> 2 * LANE
    shared |= shared >> LANE
    shared &= ranks
    sets[0] = cards & (ranks & ~shared) * COLUMN
    if not shared:
        return value(cards & ~sets[0] & ~runs)
    return least_with(cards, sets, shared)


cdef int least_with(uint64_t cards, uint64_t* sets, uint64_t ranks) noexcept nogil:
    # The least deadwood with these cards in sets, and more of these ranks, which it writes.
    cdef uint64_t rest = cards & ~sets[0]
    cdef uint64_t column, tried, left, best_sets
    cdef int best, found
    if not ranks:
        return value(rest & ~in_runs(rest))
    column = cards & (ranks & -ranks) * COLUMN
    ranks &= ranks - 1
    best_sets = sets[0]
    best = least_with(cards, &best_sets, ranks)
    tried = sets[0] | column
    found = least_with(cards, &tried, ranks)
    if found < best:
        best, best_sets = found, tried
    if count(column) == SUITS:
        left = column
        while left:
            tried = sets[0] | column & ~(left & -left)
            left &= left - 1
            found = least_with(cards, &tried, ranks)
            if found < best:
                best, best_sets = found, tried
    sets[0] = best_sets
    return best


cdef uint64_t knocking(uint64_t cards, uint64_t among, int limit) noexcept nogil:
    # A card that is in no possible meld is deadwood in any case, unless it is discarded. For most
    # hands that is enough to see that no discard leaves so little.
    cdef uint64_t loose = cards & ~meldable(cards)
    cdef uint64_t card, found = 0
    cdef int total = value(loose)
    if total > limit + MAX_VALUE:
        return 0
    while among:
        card = among & -among
        among ^= card
        if total - value(card & loose) <= limit and deadwood(cards ^ card) <= limit:
            found |= card
    return found


# Melding

cdef void meld(uint64_t cards, uint64_t deck, Melding* best) noexcept nogil:
    # Of the ways with the least deadwood, the one on which the fewest other cards can be laid off
    # at once.
    cdef Melding trial
    cdef int best_score = 1 << 30
    trial.sets = trial.laid_off = 0
    try_melding(cards, deck, ranks_of_sets(cards), NULL, &trial, best, &best_score)


cdef void lay_off(uint64_t cards, uint64_t deck, const Melding* shown,
                  Melding* best) noexcept nogil:
    cdef Melding trial
    cdef int best_score = 1 << 30
    trial.sets = trial.laid_off = 0
    try_melding(cards, deck, ranks_of_sets(cards), shown, &trial, best, &best_score)


cdef void try_melding(uint64_t cards, uint64_t deck, uint64_t ranks, const Melding* shown,
                      Melding* trial, Melding* best, int* best_score) noexcept nogil:
    # Tries every choice of sets of these ranks.
    cdef uint64_t before = trial.sets
    cdef uint64_t column, left, rest
    cdef int score
    if ranks:
        column = cards & (ranks & -ranks) * COLUMN
        ranks &= ranks - 1
        trial.sets = before | column
        try_melding(cards, deck, ranks, shown, trial, best, best_score)
        trial.sets = before
        try_melding(cards, deck, ranks, shown, trial, best, best_score)
        left = column if count(column) == SUITS else 0
        while left:
            trial.sets = before | column & ~(left & -left)
            left &= left - 1
            try_melding(cards, deck, ranks, shown, trial, best, best_score)
        trial.sets = before
        return
    rest = cards & ~trial.sets
    trial.runs = in_runs(rest)
    rest &= ~trial.runs
    if shown != NULL:
        trial.laid_off = fitting(rest, deck, shown)
        rest &= ~trial.laid_off
    trial.deadwood = value(rest)
    score = trial.deadwood << 8
    if shown == NULL:
        score |= count(open_ends(deck, trial) & ~cards)
    if score < best_score[0]:
        best_score[0] = score
        best[0] = trial[0]


cdef uint64_t fourth_cards(uint64_t deck, const Melding* melds) noexcept nogil:
    # The cards that complete sets of three.
    cdef uint64_t ranks = ranks_of_sets(melds.sets)
    return ranks * COLUMN & deck & ~melds.sets


cdef uint64_t open_ends(uint64_t deck, const Melding* melds) noexcept nogil:
    # The cards that can be added to melds.
    cdef uint64_t beside = (melds.runs << 1 | melds.runs >> 1) & deck & ~melds.runs
    return beside | fourth_cards(deck, melds)


cdef uint64_t fitting(uint64_t cards, uint64_t deck, const Melding* shown) noexcept nogil:
    # The cards that can be laid off: one that prolongs a run may let another one follow. A card
    # that fits two melds goes to the run, since to a set of four nothing can be added.
    cdef uint64_t laid_off = 0
    cdef uint64_t runs = shown.runs
    cdef uint64_t beside = (runs << 1 | runs >> 1) & cards
    while beside:
        laid_off |= beside
        runs |= beside
        beside = (runs << 1 | runs >> 1) & cards & ~runs
    return laid_off | fourth_cards(deck, shown) & cards


# For Python

def deadwood_of(cards):
    """The least deadwood of distinct cards, at most eleven."""
    cdef uint64_t held = 0
    for card in cards:
        held |= bit(card)
    return deadwood(held)
