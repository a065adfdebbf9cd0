"""Dealing cards to the blanks of a guess, by how likely each card is at each place.

The blanks are dealt cards one after the other, in the order in which the sampler takes them. Each
gets one of the cards that are left, with a probability in proportion to how likely that card is at
its place. It comes from a table of the cards that any guess has in the pool (A. J. Walker, "An
Efficient Method for Generating Discrete Random Variables with General Distributions", ACM
Transactions on Mathematical Software 3(3), 1977), and is taken with the probability that it is
left, so one table serves all guesses. Where a card is refused again and again, the cards that are
left are looked through instead.
"""

from libc.string cimport memcpy, memset

from engine.castle_rampage.features cimport KEPT, CastleRampageFeatures
from engine.castle_rampage.guesses cimport (
    BLANK, KEPT_BLANK, Population, set_up_blanks, shuffle_to_end,
)
from engine.castle_rampage.past_choices cimport HandWeights
from engine.castle_rampage.state cimport OGRE, is_purple
from engine.chance cimport rng_double, rng_next
from engine.integers cimport uint64_t

cdef enum:
    TRIES = 8                    # Cards drawn for a blank before those left are looked through.
    LEFT_BITS = 16               # Of a number that says whether a card is left,
    WORD_BITS = SLOT_BITS + SHARE_BITS + LEFT_BITS    # and of all that one try takes.


cdef void fill_lots(Lots* lots, const uint8_t* copies, const double* weights) noexcept nogil:
    # Walker's method, with the small and the large slots in two stacks (M. D. Vose, 1991).
    cdef double chances[SLOTS]
    cdef int small[SLOTS]
    cdef int large[SLOTS]
    cdef int smalls = 0, larges = 0, slot, other
    cdef double sum = 0
    memset(chances, 0, sizeof(chances))
    memset(lots, 0, sizeof(Lots))
    for slot in range(1, CARDS):
        lots.weights[slot] = weights[slot]
        chances[slot] = copies[slot] * weights[slot]
        sum += chances[slot]
    if sum <= 0:
        return
    for slot in range(SLOTS):
        chances[slot] *= SLOTS / sum
        lots.others[slot] = slot
        if chances[slot] < 1:
            small[smalls] = slot
            smalls += 1
        else:
            large[larges] = slot
            larges += 1
    while smalls and larges:
        smalls -= 1
        slot, other = small[smalls], large[larges - 1]
        lots.shares[slot] = <uint16_t> (chances[slot] * (1 << SHARE_BITS))
        # No card that can be there is ruled out.
        if chances[slot] > 0 and lots.shares[slot] == 0:
            lots.shares[slot] = 1
        lots.others[slot] = other
        chances[other] -= 1 - chances[slot]
        if chances[other] < 1:
            larges -= 1
            small[smalls] = other
            smalls += 1
    while larges:
        larges -= 1
        lots.shares[large[larges]] = 1 << SHARE_BITS
    while smalls:                # By rounding.
        smalls -= 1
        lots.shares[small[smalls]] = 1 << SHARE_BITS if chances[small[smalls]] > 0.5 else 0


cdef prepare_lots(Dealing* dealing, HandAccount account, int pools):
    cdef CastleRampageFeatures learned = account.learned
    cdef const HandWeights* weights = &account.weights
    cdef const Population* guesses = account.now
    cdef double products[CARDS]
    cdef double flat[CARDS]
    cdef uint8_t* most = dealing.most
    cdef int i, card, pool, structure
    memset(most, 0, sizeof(dealing.most))
    for i in range(guesses.count):
        for card in range(pools * CARDS):
            most[card] = max(most[card], guesses.guesses[i].pools[card])
    for card in range(CARDS):
        flat[card] = not is_purple(card)
        products[card] = weights.kept[card] * flat[card]
    for i in range(DEAL):
        if i == KEPT:
            fill_lots(&dealing.set_up[i], most, products)
        else:
            fill_lots(&dealing.set_up[i], most, learned.set_up[i])
    fill_lots(&dealing.set_up[DEAL], most, flat)
    for structure in range(STRUCTURES):
        for card in range(CARDS):
            products[card] = (learned.set_up[KEPT][card] * learned.under[structure][card]
                              * flat[card])
        fill_lots(&dealing.kept_under[structure], most, products)
    for pool in range(pools):
        fill_lots(&dealing.hand[pool], most + pool * CARDS, weights.pools[pool])
        for structure in range(STRUCTURES):
            memcpy(products, learned.under[structure], sizeof(products))
            products[OGRE] = 0
            fill_lots(&dealing.under[pool * STRUCTURES + structure], most + pool * CARDS, products)


cdef inline int draw_lot(const Lots* lots, const uint8_t* most, uint8_t* left, uint64_t* bits,
                         Rng* rng) noexcept nogil:
    # Takes one of the cards that are left.
    cdef uint64_t word = bits[0]
    cdef int _try, card
    for _try in range(TRIES):
        if word == 0:
            word = rng_next(rng)
        card = word & (SLOTS - 1)
        if <int> (word >> SLOT_BITS & ((1 << SHARE_BITS) - 1)) >= lots.shares[card]:
            card = lots.others[card]
        if (word >> (SLOT_BITS + SHARE_BITS) & ((1 << LEFT_BITS) - 1)) * most[card] < (
                <uint64_t> left[card] << LEFT_BITS):
            left[card] -= 1
            bits[0] = word >> WORD_BITS
            return card
        word >>= WORD_BITS
    bits[0] = word
    card = look_through(lots, left, rng)
    left[card] -= 1
    return card


cdef int look_through(const Lots* lots, const uint8_t* left, Rng* rng) noexcept nogil:
    cdef double at, sum = 0
    cdef int card, last = 0
    for card in range(1, CARDS):
        sum += left[card] * lots.weights[card]
    at = rng_double(rng) * sum
    for card in range(1, CARDS):
        if left[card] and lots.weights[card] > 0:
            last = card
            at -= left[card] * lots.weights[card]
            if at < 0:
                break
    return last


cdef int deal_pool(const Dealing* dealing, const Guess* guess, int pool, int hidden,
                   uint8_t* cards, Rng* rng) noexcept nogil:
    # From the end: the cards of the set-up, those put under structures, those in hand, the pile.
    cdef const uint8_t* most = dealing.most + pool * CARDS
    cdef const uint8_t* counts = guess.pools + pool * CARDS
    cdef uint8_t left[CARDS]
    cdef uint64_t bits = 0
    cdef int card, i, n = 0, end, _copy
    memcpy(left, counts, CARDS)
    for card in range(1, CARDS):
        n += left[card]
    end = n
    if set_up_blanks(guess, pool, hidden):
        for i in range(dealing.set_up_places):
            end -= 1
            cards[end] = draw_lot(&dealing.set_up[dealing.at_set_up[i]], most, left, &bits, rng)
        for i in range(guess.kept):
            end -= 1
            cards[end] = draw_lot(&dealing.set_up[DEAL if i < dealing.dealt else KEPT], most,
                                  left, &bits, rng)
        for i in range(guess.placed_count):
            if guess.placed[i] == KEPT_BLANK:
                end -= 1
                cards[end] = draw_lot(&dealing.kept_under[dealing.structures[i]], most, left,
                                      &bits, rng)
    for i in range(guess.placed_count):
        if guess.placed[i] == BLANK + pool:
            end -= 1
            cards[end] = draw_lot(
                &dealing.under[pool * STRUCTURES + dealing.structures[i]], most, left, &bits, rng)
    for _copy in range(guess.blanks[pool]):
        end -= 1
        cards[end] = draw_lot(&dealing.hand[pool], most, left, &bits, rng)
    i = 0
    for card in range(1, CARDS):
        for _copy in range(left[card]):
            cards[i] = card
            i += 1
    shuffle_to_end(cards, end, end, rng)
    return n
