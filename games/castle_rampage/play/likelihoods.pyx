"""How likely a model makes the past choices of a seat, for each hand that it may have.

A seat that holds a hand H chooses an action with the probability u / Z(H), where Z(H) is the sum of
the weights u of all that can be done with the cards in H, and of ending the turn. Which action it
was is known, so what it tells of the other cards is in Z: a card that would have been played, such
as a Granary, was probably not in H. Let V be how likely the choices so far were with a card in the
place of a blank of the hand, in proportion. A choice multiplies it by the square root of

    r = UNIFORM / n + (1 - UNIFORM) * u / (Z' + u(card)),

n being about the number of legal actions, u(card) the weight of all that the card can be used for,
and Z' that of ending the turn and of the other cards in hand, of each of which the mean is taken.
A card of the hand that may have been drawn since then has not been chosen from. So when n cards
come to m of the same pool, V becomes (m V + n) / (m + n).

The cards are taken for independent, as in games/powershot_soccer/play/likelihoods.pyx, where an
integral instead of the means tells little more. But the choices of a turn say the same again and
again: a card that cannot be paid for is not played in any of them. So r itself would be too sure;
the loss of self-play was less with its root.
"""

from libc.math cimport sqrt

from engine.features cimport UNIFORM
from games.castle_rampage.play.features cimport HAND_SIZES, KEPT
from games.castle_rampage.rules.history cimport Entry
from games.castle_rampage.rules.state cimport PLACED_UNDER, SPENT

cdef double MOST_SURE = 1e6      # No card is so many times more or less likely than another.


cdef void begin_hand(HandWeights* weights, CastleRampageFeatures learned, int kept,
                     int others) noexcept nogil:
    cdef int pool, card
    for card in range(CARDS):
        weights.kept[card] = learned.set_up[KEPT][card]
    weights.kept_held = kept
    for pool in range(MAX_POOLS):
        open_pool_of(weights, pool)
    weights.held[0] = others


cdef void open_pool_of(HandWeights* weights, int pool) noexcept nogil:
    cdef int card
    weights.held[pool] = 0
    for card in range(CARDS):
        weights.pools[pool][card] = 1


cdef void add_drawn_card(HandWeights* weights, int pool) noexcept nogil:
    cdef double* of_pool = weights.pools[pool]
    cdef double held = weights.held[pool]
    cdef int card
    for card in range(CARDS):
        of_pool[card] = (held * of_pool[card] + 1) / (held + 1)
    weights.held[pool] = held + 1


cdef void take_card(HandWeights* weights, int hand_size) noexcept nogil:
    cdef double stays = (hand_size - 1.0) / hand_size
    cdef int pool
    weights.kept_held *= stays
    for pool in range(MAX_POOLS):
        weights.held[pool] *= stays


cdef inline double bounded(double weight) noexcept nogil:
    return max(1 / MOST_SURE, min(MOST_SURE, weight))


cdef void weigh_choice(HandWeights* weights, CastleRampageFeatures learned, const History* history,
                       int at, int hand_size) noexcept nogil:
    cdef const Entry* entry = &history.entries[at]
    cdef const uint8_t* copies = learned.rules.tables.copies
    cdef int size = min(hand_size, HAND_SIZES - 1)
    cdef const double* used = learned.used[entry.value & 7][size]
    cdef double end = learned.ends[entry.value & 7][size]
    cdef double chosen = end, rest, held, mean, uniform
    cdef int pool, card, i = at + 1
    # The mean weight of a card in hand.
    held = weights.kept_held
    rest = held * mean_of(used, weights.kept, copies)
    for pool in range(MAX_POOLS):
        if weights.held[pool] > 0:
            held += weights.held[pool]
            rest += weights.held[pool] * mean_of(used, weights.pools[pool], copies)
    if held <= 0:
        return
    mean = rest / held
    # A play begins with a card that is spent; a card put under a structure may be unknown. The turn
    # ends where no card leaves the hand before the seat draws for its next turn.
    if i < history.entry_count and history.entries[i].kind == SPENT:
        chosen = used[history.entries[i].value] if history.entries[i].value < CARDS else mean
        chosen = max(chosen, 0.1 * mean)
    elif i < history.entry_count and history.entries[i].kind == PLACED_UNDER:
        chosen = mean
    rest = end + (hand_size - 1) * mean
    uniform = UNIFORM / (3 * hand_size + 1)
    mean = uniform + (1 - UNIFORM) * chosen / (rest + mean)
    for card in range(1, CARDS):
        held = sqrt((uniform + (1 - UNIFORM) * chosen / (rest + used[card])) / mean)
        weights.kept[card] = bounded(weights.kept[card] * held)
        for pool in range(MAX_POOLS):
            weights.pools[pool][card] = bounded(weights.pools[pool][card] * held)
