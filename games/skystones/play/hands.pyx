"""The hands that a seat may have had in one round of Skystones, and how likely each was.

If every decision is uniform, a hand is picked with a probability that is a sum over all orders of
its cards, and each placement has the probability 1 / (number of placements that the hand allowed
then). A seat that passed holds no card that fits an open square.

There are too many hands to weigh one by one, so cards that are alike are weighed together. For the
picks, single cards of one total are alike (a class). For the placements, cards of one element are
alike, or of elements that no square told apart (a kind).

Where it was learned how likely each choice is, a card is picked in proportion to its likelihood,
and each card is a kind of its own. What the cards that were picked before leave to be picked is
computed as if the single cards of one total were alike: that is exact where they are.
"""

from libc.stdlib cimport realloc
from libc.string cimport memcpy, memset

from games.skystones.rules.state cimport ANY_ELEMENT, FIRE


# What is left to pick is never less likely, however inexact the mean likelihoods are.
cdef double LEAST_PICKS = 0.1


cdef int bits(int n) noexcept nogil:
    # How many bits are set.
    cdef int count = 0
    while n:
        n &= n - 1
        count += 1
    return count


cdef bint tells(const Play* play) noexcept nogil:
    return play.barred or (play.needed and play.needed != ANY_ELEMENT)


cdef bint could_play(Skystones game, const Play* play, const uint8_t* pile, int aside,
                     uint8_t* left) noexcept nogil:
    cdef int i, total = 0
    memcpy(left, pile, MAX_TYPES)
    for i in range(play.placed):
        if left[play.cards[i]] == 0:
            return False
        left[play.cards[i]] -= 1
        total += game.totals[play.cards[i]]
    return total + game.cheapest(left, aside, game.hand_size - play.placed,
                                 play.barred) <= game.hand_limit


cdef void weigh_hands(Skystones game, Hands* hands, const Play* play, const uint8_t* pile,
                      const Candidates* aside, Rows* rows, uint64_t* work_left,
                      const Likelihoods* learned) noexcept nogil:
    memset(hands, 0, sizeof(Hands))
    hands.play = play[0]
    hands.aside = aside
    hands.rows = rows
    hands.work_left = work_left
    hands.learned = learned
    prepare(game, hands, pile)
    choose_classes(game, hands, 0, 0, hands.unplayed_limit)


cdef void prepare(Skystones game, Hands* hands, const uint8_t* pile) noexcept nogil:
    # Fills in what all hands have in common.
    cdef const Play* play = &hands.play
    cdef uint8_t alike[ELEMENTS]
    cdef int i, j, _copy, card, n = 0
    hands.unplayed = game.hand_size - play.placed
    hands.unplayed_limit = game.hand_limit
    for i in range(play.placed):
        hands.unplayed_limit -= game.totals[play.cards[i]]
        for j in range(i, play.placed):
            if not shown_later(play, j + 1, play.cards[j]):
                hands.base[i] += play.open[i][game.elements[play.cards[j]]]
                if hands.learned != NULL:
                    hands.options[i] += hands.learned.options[i][play.cards[j]]
    memcpy(hands.pile, pile, MAX_TYPES)
    for i in range(game.types):
        card = game.by_total[i]
        hands.types_up_to[game.totals[card]] += pile[card] > 0
        for _copy in range(pile[card]):
            if n < game.hand_size:
                hands.cheapest[n] = game.totals[card]
                n += 1
    for i in range(MAX_TOTAL):
        hands.types_up_to[i + 1] += hands.types_up_to[i]
    if hands.learned != NULL:
        sum_picks(game, hands)
    for i in range(FIRE, ELEMENTS):
        alike[i] = i
        for j in range(i - 1, FIRE - 1, -1):
            if look_alike(play, i, j):
                alike[i] = j
    sort_out(game, hands, alike)
    for i in range(hands.aside.count):
        hands.absence_of[i] = absence(game, hands, hands.aside.cards[i])


cdef void sum_picks(Skystones game, Hands* hands) noexcept nogil:
    cdef int cards[MAX_TOTAL + 1]
    cdef int i, card, total
    memset(cards, 0, sizeof(cards))
    for card in range(game.types):
        if hands.pile[card]:
            total = game.totals[card]
            hands.mean_pick[total] += hands.learned.picks[card]
            cards[total] += 1
    for i in range(MAX_TOTAL + 1):
        hands.picks_up_to[i] = hands.mean_pick[i] + (hands.picks_up_to[i - 1] if i else 0)
        hands.mean_pick[i] /= max(cards[i], 1)


cdef bint shown_later(const Play* play, int first, int card) noexcept nogil:
    cdef int i
    for i in range(first, play.placed):
        if play.cards[i] == card:
            return True
    return False


cdef bint look_alike(const Play* play, int element, int other) noexcept nogil:
    cdef int i
    for i in range(play.placed):
        if play.open[i][element] != play.open[i][other]:
            return False
    return ((play.barred >> element ^ play.barred >> other) & 1 == 0
            and (play.needed >> element ^ play.needed >> other) & 1 == 0)


cdef void sort_out(Skystones game, Hands* hands, const uint8_t* alike) noexcept nogil:
    # Sorts the cards that can be unplayed into kinds and classes, by ascending total.
    cdef uint8_t left[MAX_TYPES]
    cdef Class* single
    cdef int i, j, end, card, element
    memcpy(left, hands.pile, MAX_TYPES)
    memset(hands.kind_of, NONE, MAX_TYPES)
    for i in range(hands.play.placed):
        left[hands.play.cards[i]] -= 1
    i = 0
    while i < game.types:
        end = i
        while end < game.types and game.totals[game.by_total[end]] == game.totals[game.by_total[i]]:
            end += 1
        single = &hands.classes[hands.class_count]
        single.total = game.totals[game.by_total[i]]
        single.card = NONE
        single.first = hands.kind_count
        for element in range(FIRE, ELEMENTS):
            if alike[element] == element and not hands.play.barred & 1 << element:
                for j in range(i, end):
                    card = game.by_total[j]
                    if (left[card] and hands.pile[card] == 1
                            and alike[game.elements[card]] == element):
                        add_card(hands, card, element, 1)
                        single.size += 1
                        hands.kind_count += hands.learned != NULL
                hands.kind_count += hands.kinds[hands.kind_count].size > 0
        single.end = hands.kind_count
        hands.class_count += single.size > 0
        for j in range(i, end):
            card = game.by_total[j]
            if (left[card] and hands.pile[card] > 1
                    and not hands.play.barred & 1 << game.elements[card]):
                single = &hands.classes[hands.class_count]
                single.total = game.totals[card]
                single.card = card
                single.size = left[card]
                single.first = hands.kind_count
                single.end = hands.kind_count + 1
                add_card(hands, card, game.elements[card], left[card])
                hands.class_count += 1
                hands.kind_count += 1
        i = end


cdef void add_card(Hands* hands, int card, int element, int copies) noexcept nogil:
    cdef Kind* kind = &hands.kinds[hands.kind_count]
    kind.element = element
    kind.copies = copies
    kind.cards[kind.size] = card
    kind.size += 1
    hands.kind_of[card] = hands.kind_count


cdef int absence(Skystones game, Hands* hands, int card) noexcept nogil:
    # The index of the absence of a card; cards of the same absence share it.
    cdef int total = -1 if card == NONE else game.totals[card]
    cdef int several = card if card != NONE and hands.pile[card] > 1 else NONE
    cdef int i
    for i in range(hands.absence_count):
        if hands.absences[i].total == total and hands.absences[i].card == several:
            return i
    hands.absences[hands.absence_count].total = total
    hands.absences[hands.absence_count].card = several
    hands.absence_count += 1
    return hands.absence_count - 1


cdef void choose_classes(Skystones game, Hands* hands, int first, int n, int limit) noexcept nogil:
    # Completes a hand with n unplayed cards in every way, as classes.
    cdef int i
    if hands.too_many:
        return
    if n == hands.unplayed:
        weigh_picks(game, hands)
        choose_kinds(hands, 0)
        return
    for i in range(first, hands.class_count):
        if hands.classes[i].total * (hands.unplayed - n) > limit:
            return
        if hands.of_class[i] < hands.classes[i].size:
            hands.class_at[n] = i
            hands.of_class[i] += 1
            choose_classes(game, hands, i, n + 1, limit - hands.classes[i].total)
            hands.of_class[i] -= 1


cdef void choose_kinds(Hands* hands, int n) noexcept nogil:
    cdef const Class* of = &hands.classes[hands.class_at[n]] if n < hands.unplayed else NULL
    cdef int i, first
    if n == hands.unplayed:
        weigh(hands)
        return
    first = of.first
    if n > 0 and hands.class_at[n - 1] == hands.class_at[n]:
        first = hands.kind_at[n - 1]
    for i in range(first, of.end):
        if hands.of_kind[i] < hands.kinds[i].size * hands.kinds[i].copies:
            hands.kind_at[n] = i
            hands.of_kind[i] += 1
            choose_kinds(hands, n + 1)
            hands.of_kind[i] -= 1


cdef void weigh_picks(Skystones game, Hands* hands) noexcept nogil:
    # The probability to pick this hand, for each absence: the sum, over all orders of its cards, of
    # the products of 1 / (number of types that could be picked). It is added up by dynamic
    # programming over the sets of cards picked so far. With `learned`, the number is a sum of
    # likelihoods, and the likelihoods of the cards themselves are still missing.
    cdef int totals[MAX_HAND]
    cdef int cards[MAX_HAND]    # A card with several copies; else NONE.
    cdef int groups[MAX_HAND]   # The set of places in the hand that hold the same card.
    cdef int room[1 << MAX_HAND]
    cdef int room_now[1 << MAX_HAND]
    cdef const int* rooms
    cdef double orders[1 << MAX_HAND]
    cdef double share, repeats = 1
    cdef double pick_sum
    cdef double spent_picks[MAX_HAND]
    cdef bint learned = hands.learned != NULL
    cdef int i, j, g, n = 0, copies, part, whole, legal, spent_count
    cdef int spent[MAX_HAND]    # The groups that take the last copy out of the pile.
    cdef int spent_totals[MAX_HAND]
    cdef const Absence* absent
    for i in range(game.hand_size):
        if i < hands.play.placed:
            n = hands.play.cards[i]
            totals[i] = game.totals[n]
            cards[i] = n if hands.pile[n] > 1 else NONE
        else:
            n = hands.class_at[i - hands.play.placed]
            totals[i] = hands.classes[n].total
            cards[i] = hands.classes[n].card
        j = i
        while j > 0 and totals[j - 1] > totals[j]:
            totals[j - 1], totals[j] = totals[j], totals[j - 1]
            cards[j - 1], cards[j] = cards[j], cards[j - 1]
            j -= 1
    n = game.hand_size
    whole = (1 << n) - 1
    for i in range(n):
        groups[i] = 1 << i
        copies = 1
        for j in range(n):
            if i != j and cards[i] != NONE and cards[i] == cards[j]:
                groups[i] |= 1 << j
                copies += j < i
        repeats *= copies
    leave_room(game, hands, totals, -1, room)
    for g in range(hands.absence_count):
        absent = &hands.absences[g]
        rooms = room
        if 0 <= absent.total <= hands.cheapest[n - 1]:
            leave_room(game, hands, totals, absent.total, room_now)
            rooms = room_now
        spent_count = 0
        for i in range(n):
            copies = 1
            if cards[i] != NONE:
                copies = hands.pile[cards[i]] - (cards[i] == absent.card)
            if groups[i] >> i == 1 and bits(groups[i]) == copies:
                spent[spent_count] = groups[i]
                spent_totals[spent_count] = totals[i]
                spent_picks[spent_count] = hands.mean_pick[totals[i]]
                spent_count += 1
        memset(orders, 0, sizeof(orders))
        orders[0] = 1
        for part in range(whole):
            legal = hands.types_up_to[max(0, min(rooms[part], MAX_TOTAL))]
            if absent.card == NONE and 0 <= absent.total <= rooms[part]:
                legal -= 1
            for i in range(spent_count):
                legal -= spent[i] & part == spent[i] and spent_totals[i] <= rooms[part]
            pick_sum = max(legal, 1)
            if learned:
                pick_sum = hands.picks_up_to[max(0, min(rooms[part], MAX_TOTAL))]
                if absent.card == NONE and 0 <= absent.total <= rooms[part]:
                    pick_sum -= hands.mean_pick[absent.total]
                for i in range(spent_count):
                    if spent[i] & part == spent[i] and spent_totals[i] <= rooms[part]:
                        pick_sum -= spent_picks[i]
                pick_sum = max(pick_sum, LEAST_PICKS)
            share = orders[part] / pick_sum
            for i in range(n):
                if not part & 1 << i:
                    orders[part | 1 << i] += share
        hands.picked[g] = orders[whole] / repeats
    hands.work_left[0] -= min(hands.work_left[0], <uint64_t> (8 * hands.absence_count))


cdef void leave_room(Skystones game, const Hands* hands, const int* totals, int absent,
                     int* room) noexcept nogil:
    # For each part of the hand, as a set of places: the highest total that can be picked next. The
    # totals of the hand and those of the cheapest cards ascend.
    cdef int part, i, j, others, missing
    for part in range((1 << game.hand_size) - 1):
        room[part] = game.hand_limit
        others = game.hand_size - 1 - bits(part)
        for i in range(game.hand_size):
            if part & 1 << i:
                room[part] -= totals[i]
        missing = absent
        i = j = 0
        while others > 0:
            while i < game.hand_size and not part & 1 << i:
                i += 1
            if i < game.hand_size and totals[i] == hands.cheapest[j]:
                i += 1                   # It is in hand already.
            elif missing == hands.cheapest[j]:
                missing = -1
            else:
                room[part] -= hands.cheapest[j]
                others -= 1
            j += 1


cdef void weigh(Hands* hands) noexcept nogil:
    # Adds the likelihood of a hand, given as kinds, to each candidate.
    cdef const Play* play = &hands.play
    cdef const Candidates* aside = hands.aside
    cdef const Kind* kind
    cdef double weights[MAX_TYPES]
    cdef double likely, options, chance = 1
    cdef const Likelihoods* learned = hands.learned
    cdef int i, j, choices, run, n = hands.unplayed
    cdef bint needed = play.needed != 0, any = False
    hands.work_left[0] -= min(hands.work_left[0], <uint64_t> aside.count)
    if hands.work_left[0] == 0 and hands.rows == NULL:
        hands.too_many = True
    for i in range(n):
        run = 1
        while i >= run and hands.kind_at[i - run] == hands.kind_at[i]:
            run += 1
        kind = &hands.kinds[hands.kind_at[i]]
        if kind.copies == 1:
            chance *= <double> (kind.size - run + 1) / run       # Ways to choose these cards.
        if learned != NULL:
            chance *= learned.picks[kind.cards[0]]
        if play.needed & 1 << kind.element:
            needed = False
    if needed:
        return
    for i in range(play.placed):
        choices = hands.base[i]
        options = hands.options[i]
        for j in range(n):
            kind = &hands.kinds[hands.kind_at[j]]
            if hands.pile[kind.cards[0]] == 1 or not (
                    (j > 0 and hands.kind_at[j - 1] == hands.kind_at[j])
                    or shown_later(play, i, kind.cards[0])):
                choices += play.open[i][kind.element]
                if learned != NULL:
                    options += learned.options[i][kind.cards[0]]
        if learned == NULL:
            chance /= choices
        else:
            chance *= (learned.uniform / choices
                       + (1 - learned.uniform) * learned.placed[i] / options)
    memset(weights, 0, hands.absence_count * sizeof(double))
    for i in range(aside.count):
        j = hands.absence_of[i]
        likely = chance * hands.picked[j] * left_over(hands, aside.cards[i], hands.kind_at)
        hands.likelihood[i] += likely
        weights[j] += likely * aside.weights[i]
        any = any or weights[j] > 0
    if hands.rows != NULL and any:
        if play.placed == 0 and hands.rows.count == MAX_ROWS:
            hands.too_many = True
            return
        add_row(hands, weights)


# Rows

cdef void add_row(const Hands* hands, const double* weights) noexcept nogil:
    cdef Rows* rows = hands.rows
    cdef size_t room, i
    cdef void* memory
    if rows.count == rows.room:
        room = 2 * rows.room if rows.room else 256
        memory = realloc(rows.sums, room * hands.absence_count * sizeof(double))
        if memory != NULL:
            rows.sums = <double*> memory
            memory = realloc(rows.kinds, room * MAX_HAND)
        if memory == NULL:
            rows.out_of_memory = True
            return
        rows.kinds = <uint8_t*> memory
        rows.room = room
    for i in range(hands.absence_count):
        rows.sums[rows.count * hands.absence_count + i] = weights[i]
    memcpy(rows.kinds + rows.count * MAX_HAND, hands.kind_at, MAX_HAND)
    rows.count += 1


cdef void cumulate(const Hands* hands, Rows* rows) noexcept nogil:
    cdef size_t i
    for i in range(1, rows.count * hands.absence_count):
        rows.sums[i] += rows.sums[i - 1]
