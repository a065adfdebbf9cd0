"""Looking ahead in a hand history: whether a guess can fit it to its end.

Each card that the hand needs later is either known or a blank. A pool limits the number of blanks
and the copies of each card. Until the hand is shown next, both limits are kept at the same time.
After that, each card is counted as if all blanks were there for it alone.
"""

from libc.string cimport memcpy, memset

from engine.castle_rampage.guesses cimport MAX_POOLS, place_of_pool
from engine.castle_rampage.state cimport (
    DREW, LOST, NEW_PILE, OF_DISCARDS, OGRE, PLACED_UNDER, SHOWED, SPENT, TOOK_BACK, VETERAN,
    counts_as,
)

cdef enum:
    POOLS_AHEAD = MAX_POOLS + MAX_PILES

cdef struct Needs:               # The cards that a guess has for the rest of the history.
    int hand[CARDS]              # Known cards that have not left the hand.
    int newest                   # The index of the newest pool; the oldest is 0.
    int pile                     # The draw pile of the newest pool.
    int blanks[POOLS_AHEAD]      # Blanks that came to the hand since it was last shown.
    int places                   # Face-down cards put under structures since then.
    uint8_t pools[POOLS_AHEAD * CARDS]   # The cards that the blanks can be,
    uint8_t taken[POOLS_AHEAD * CARDS]   # and the cards that blanks must have been since then.
    bint shown                   # Whether the hand has been shown. Until then, a matching:
    int dealt[POOLS_AHEAD]       # the number of blanks that were given a card,
    uint8_t cards[POOLS_AHEAD * CARDS]   # the cards given to them,
    bint passed[POOLS_AHEAD]     # and the pools visited while an augmenting path is sought.


cdef void read_piles(Past* past, const uint8_t* copies, const Own* own) noexcept nogil:
    cdef const Entry* entry
    cdef int pile = 0, at, i
    memcpy(past.piles, copies, CARDS)
    for i in range(past.history.entry_count):
        entry = &past.history.entries[i]
        if entry.kind == NEW_PILE:
            pile += entry.value == OF_DISCARDS
            memcpy(past.piles + pile * CARDS, counts_of(past, entry), CARDS)
    past.pile_count = pile + 1
    pile = 0
    for i in range(own.drawn_length):
        if own.drawn[i] == 0:
            pile += 1
        elif pile < MAX_PILES:
            at = pile * CARDS + own.drawn[i]
            if past.piles[at]:
                past.piles[at] -= 1
            else:
                past.foreign[pile] = True


cdef bint can_go_on(const Past* past, const Guess* guess) noexcept nogil:
    cdef const Entry* entry
    cdef Needs needs
    cdef int value, card, i, pool
    cdef int placed[STRUCTURES]
    clear_needs(past, &needs)
    memcpy(placed, past.placed, sizeof(placed))
    for card in range(1, CARDS):
        needs.hand[card] = guess.known[card]
    needs.pile = past.pool_count - 1
    needs.newest = min(needs.pile, MAX_POOLS - 1)
    for i in range(needs.newest + 1):
        pool = place_of_pool(needs.pile - needs.newest + i if i else 0)
        memcpy(needs.pools + i * CARDS, guess.pools + pool * CARDS, CARDS)
        needs.blanks[i] = guess.blanks[pool] + (0 if i else guess.kept)
    for i in range(past.next_entry, past.history.entry_count):
        entry = &past.history.entries[i]
        value = entry.value
        if entry.kind == DREW:
            needs.blanks[needs.newest] += value
        elif entry.kind == SPENT or entry.kind == LOST:
            if not 0 < value < CARDS or not need(&needs, value):
                return False
        elif entry.kind == PLACED_UNDER:
            if value >= STRUCTURES or placed[value] >= past.stacks[value].count:
                return False
            card = past.stacks[value].cards[placed[value]]
            placed[value] += 1
            if card == 0:
                needs.places += 1
            elif not need(&needs, card):
                return False
        elif entry.kind == TOOK_BACK:
            needs.hand[VETERAN] += 1
        elif entry.kind == SHOWED:
            if not need_all(&needs, value, counts_of(past, entry)):
                return False
        elif entry.kind == NEW_PILE:
            needs.pile += 1
            needs.newest += 1
            memcpy(needs.pools + needs.newest * CARDS, past.piles + needs.pile * CARDS, CARDS)
    return True


cdef void clear_needs(const Past* past, Needs* needs) noexcept nogil:
    # Clears only as many pools as there can be, which are few beside the room for them.
    cdef int pools = min(past.pile_count + MAX_POOLS, POOLS_AHEAD)
    memset(needs.hand, 0, sizeof(needs.hand))
    memset(needs.blanks, 0, pools * sizeof(int))
    memset(needs.taken, 0, pools * CARDS)
    memset(needs.dealt, 0, pools * sizeof(int))
    memset(needs.cards, 0, pools * CARDS)
    needs.places = 0
    needs.shown = False


cdef bint need(Needs* needs, int card) noexcept nogil:
    # Takes a card from the hand: a known card, or else a blank of the oldest pool that can be the
    # card, which leaves the newer pools for later needs. Returns False if there is neither.
    cdef int i
    if needs.hand[card]:
        needs.hand[card] -= 1
        return True
    for i in range(needs.newest + 1):
        if needs.taken[i * CARDS + card] < min(needs.blanks[i], needs.pools[i * CARDS + card]):
            needs.taken[i * CARDS + card] += 1
            memset(needs.passed, 0, (needs.newest + 1) * sizeof(bint))
            return needs.shown or deal_blank(needs, card)
    return False


cdef bint deal_blank(Needs* needs, int card) noexcept nogil:
    # Gives this card to a blank. Other blanks may have to change their cards: an augmenting path.
    cdef int pool, other
    for pool in range(needs.newest + 1):
        if (needs.passed[pool] or needs.blanks[pool] == 0
                or needs.cards[pool * CARDS + card] == needs.pools[pool * CARDS + card]):
            continue
        needs.passed[pool] = True
        if needs.dealt[pool] < needs.blanks[pool]:
            needs.dealt[pool] += 1
            needs.cards[pool * CARDS + card] += 1
            return True
        for other in range(1, CARDS):
            if needs.cards[pool * CARDS + other] and deal_blank(needs, other):
                needs.cards[pool * CARDS + other] -= 1
                needs.cards[pool * CARDS + card] += 1
                return True
    return False


cdef bint need_all(Needs* needs, int unit, const uint8_t* hand) noexcept nogil:
    # The hand is shown. Other cards that were known must lie under structures by now, and none of
    # them is an Ogre.
    cdef int card, number, _copy
    cdef int last = needs.newest * CARDS
    for card in range(1, CARDS):
        number = needs.hand[card] - hand[card]
        if number > 0:
            if card == OGRE or number > needs.places:
                return False
            needs.places -= number
        else:
            needs.hand[card] = 0
            for _copy in range(-number):
                if not need(needs, card):
                    return False
        needs.hand[card] = 0 if counts_as(card, unit) else hand[card]
    for card in range(CARDS):    # No blanks of the older pools are left in the hand.
        needs.pools[card] = needs.pools[last + card] - needs.taken[last + card]
    memset(needs.taken, 0, (needs.newest + 1) * CARDS)
    memset(needs.blanks, 0, (needs.newest + 1) * sizeof(int))
    needs.newest = 0
    needs.places = 0
    needs.shown = True
    return True
