"""How likely a model makes the past choices of a seat, for each hand that it may have.

A seat that holds a hand H plays a card c with the probability u(c) / Z(H), where Z(H) is the sum of
the weights u of the cards in H. They depend on what is answered, or on how many cards stand. That c
was played is known, so what it tells is in Z: a card that would have been played rather than c,
such as an Intercept that beats a Pass which stood, was probably not in H.

How long a card has been in the hand is known in probability: as long as choices tell nothing, each
of the n cards in a hand is equally likely to be the one that was drawn last. So a card of the hand
was there one play ago with the probability q = (n - 1) / n, and k plays ago with q^k. Let V_j be
how likely the first j choices were with a card in the hand H_j of the last of them, in proportion
to how likely they were without it. Then V_j = r_j (q V_(j-1) + 1 - q) and V_0 = 1, with

    r_j = E[P(choice j) | the card is in H_j] / E[P(choice j) | another card is in its place].

A card that is known to have been drawn, as it was shown at the kick-off, has V_0 = 0 instead, and
what comes out is divided by 1 - q^N, for N choices.

The other cards in H_j are taken for independent. Each is there with the probability that these ages
and its own V_(j-1) give it (assumed density filtering: X. Boyen, D. Koller, "Tractable Inference
for Complex Stochastic Processes", UAI 1998). The expectation of 1 / Z follows from 1 / Z = integral
of exp(-s Z) ds over s > 0, since exp(-s Z) is a product over cards. The integral is a sum over
points s in geometric progression, the trapezoid rule for log s, which converges exponentially fast
(L. N. Trefethen, J. A. C. Weideman, "The Exponentially Convergent Trapezoidal Rule", SIAM Review
56(3), 2014). Each point is four times the one before, so exp(-s u) there is the fourth power of
that at the one before, and all exponentials come from a table.
"""

from engine.features cimport UNIFORM
from games.powershot_soccer.rules.state cimport MAX_DECK, MAX_TYPES

cdef enum:
    POINTS = 5                   # Of the integral,
    FACTOR = 4                   # each so many times the one before.
    # How many choices are looked at: a card that is in the hand now was there 24 plays ago with a
    # probability of 0.1.
    MOST_CHOICES = 24

cdef extern from *:
    """
    #define LOG_OF_FACTOR 1.3862943611198906
    """
    const double LOG_OF_FACTOR


cdef inline double fourth_power(double x) noexcept nogil:
    x *= x
    return x * x


cdef void weigh_unseen(PowerShotSoccerFeatures learned, const PastChoices* past,
                       const uint8_t* unseen, const bint* drawn, int hand_size,
                       double* weights) noexcept nogil:
    cdef double stays = (hand_size - 1.0) / hand_size
    cdef double before[MAX_TYPES]        # The likelihood of the choices up to the last one.
    cdef double products[POINTS]         # Of the cards, then the terms of the integral,
    cdef double others[POINTS]           # those times exp(-s u) of a mean other card.
    cdef const Choice* choice
    cdef const double* u
    cdef const double* decays
    cdef double share, chance, held, decay, played, part, with_card, without, scale
    cdef double ages[MAX_DECK + 1]       # The powers of `stays`.
    cdef double chances[MAX_TYPES]
    cdef int i, j, k, _copy, card, first, n = past.count, kinds = learned.rules.types, left = 0
    ages[0] = 1
    for i in range(n):
        ages[i + 1] = ages[i] * stays
    first = max(0, n - MOST_CHOICES)
    for card in range(kinds):
        before[card] = 1 - ages[first] if drawn[card] else 1
        left += unseen[card]
    share = <double> hand_size / left if left else 0
    for j in range(first, n):
        choice = &past.choices[j]
        u = learned.likely[choice.context]
        decays = learned.decays[choice.context]
        # How many other cards are there, and the chance of each.
        held = 0
        for card in range(kinds):
            if unseen[card]:
                chance = min(0.999, share * ages[n - j])
                chance = chance * before[card] / (1 - chance)
                chances[card] = chance / (1 + chance)
                held += unseen[card] * chances[card]
        for i in range(j + 1, n):
            held += ages[i - j]
        if held == 0:
            continue
        # One of them is the card in question, or another in its place.
        scale = min(1.0, max(0, hand_size - 2) / held)
        for k in range(POINTS):
            products[k] = 1
            others[k] = 0
        for card in range(kinds):
            if unseen[card]:
                decay = decays[card]
                chance = chances[card] * scale
                for k in range(POINTS):
                    part = 1 - chance * (1 - decay)
                    for _copy in range(unseen[card]):
                        products[k] *= part
                        others[k] += chances[card] * decay
                    decay = fourth_power(decay)
        for i in range(j + 1, n):
            decay = decays[past.choices[i].card]
            chance = ages[i - j] * scale
            for k in range(POINTS):
                products[k] *= 1 - chance * (1 - decay)
                others[k] += ages[i - j] * decay
                decay = fourth_power(decay)
        decay = decays[choice.card]
        scale = LOG_OF_FACTOR * learned.first_point
        without = 0
        for k in range(POINTS):
            products[k] *= decay * scale
            without += products[k] * others[k] / held
            decay = fourth_power(decay)
            scale *= FACTOR
        played = (1 - UNIFORM) * u[choice.card]
        without = 1 / (UNIFORM / hand_size + played * without)
        for card in range(kinds):
            if unseen[card]:
                with_card = 0
                decay = decays[card]
                for k in range(POINTS):
                    with_card += products[k] * decay
                    decay = fourth_power(decay)
                before[card] *= (UNIFORM / hand_size + played * with_card) * without
                # As it is one play later: the card may have been drawn since.
                before[card] = stays * before[card] + 1 - stays
    for card in range(kinds):
        weights[card] = before[card]
        if drawn[card] and n > 0:
            weights[card] /= 1 - ages[n]
