"""How likely the play of a seat in one round of Skystones was, with each hand.

By Bayes' theorem, a card set aside and a hand are as likely, given the play, as the product of

    the weight of the card set aside,
    picks         the probability to pick this hand: the sum, over all orders of its cards, of the
                  products of 1 / (number of cards that could be picked),
    placements    the product of 1 / (number of placements that the hand allowed) over the
                  placements. It is 0 if a card that was not placed fits a square that was open when
                  the seat passed, or if none fits though the seat can place now.

That holds if every decision is uniform. Where it was learned how likely each choice is, the sums of
the likelihoods of the possible choices stand for their numbers.

There are too many hands to weigh one by one, so cards that are alike are weighed together:

    class      cards that the picks do not tell apart: the single cards of one total. A card of
               which the pile holds several copies is a class, and a kind, of its own.
    kind       cards of a class that the placements do not tell apart either: those of one element,
               or of elements that no square told apart. With likelihoods, each card is a kind.
    absence    cards set aside that change the picks alike.

With likelihoods, what the cards that were picked before leave to be picked is computed as if the
single cards of one total were alike: that is exact where they are.

`weigh_hands` fills in what all hands have in common (`prepare`), goes through all hands as classes
(`choose_classes`), for each of which the picks are weighed (`weigh_picks`), and completes them as
kinds (`choose_kinds`), for which the placements are weighed (`weigh_placements`). What is found is
added up by candidate for the card set aside, and becomes a row.
"""

from libc.stdlib cimport realloc
from libc.string cimport memcpy, memset

from games.skystones.rules.stack cimport count_bits, find_lowest_sums, stack_up, take_out
from games.skystones.rules.state cimport ANY_ELEMENT, FIRE, Stack


# What is left to pick is never less likely, however inexact the mean likelihoods are.
cdef double LEAST_PICKS = 0.1


cdef bint tells(const Play* play) noexcept nogil:
    return play.barred or (play.needed and play.needed != ANY_ELEMENT)


cdef int cheapest(Skystones game, const uint8_t* pile, int missing, int n,
                  int barred) noexcept nogil:
    cdef Stack stack
    cdef int[MAX_HAND + 1] sums
    cdef int element
    stack_up(pile, &stack)
    if missing != NONE and pile[missing]:
        take_out(&stack, missing)
    for element in range(FIRE, ELEMENTS):
        if barred & 1 << element:
            stack.types &= ~game.of_element[element]
    find_lowest_sums(game, &stack, n, sums)
    return sums[n]


cdef bint could_play(Skystones game, const Play* play, const uint8_t* pile, int aside,
                     uint8_t* left) noexcept nogil:
    cdef int i, total = 0
    memcpy(left, pile, MAX_TYPES)
    for i in range(play.placed):
        if left[play.cards[i]] == 0:
            return False
        left[play.cards[i]] -= 1
        total += game.totals[play.cards[i]]
    return total + cheapest(game, left, aside, game.hand_size - play.placed,
                            play.barred) <= game.hand_limit


# What all hands have in common

cdef void weigh_hands(Skystones game, Hands* hands, const Play* play, const uint8_t* pile,
                      const Candidates* aside, const Likelihoods* likelihoods, Rows* rows,
                      uint64_t* work_left) noexcept nogil:
    memset(hands, 0, sizeof(Hands))
    hands.play = play[0]
    hands.aside = aside
    hands.rows = rows
    hands.work_left = work_left
    hands.likelihoods = likelihoods
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
                hands.options[i] += hands.likelihoods.options[i][play.cards[j]]
    memcpy(hands.pile, pile, MAX_TYPES)
    for i in range(game.types):
        card = game.by_total[i]
        for _copy in range(pile[card]):
            if n < game.hand_size:
                hands.cheapest[n] = game.totals[card]
                n += 1
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
            hands.mean_pick[total] += hands.likelihoods.picks[card]
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
                        hands.kind_count += hands.likelihoods.known
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


# All hands

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
        weigh_placements(hands)
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


# Picks

cdef struct Places:              # The cards of a hand, by ascending total.
    int totals[MAX_HAND]
    int cards[MAX_HAND]          # A card of which the pile holds several copies; else NONE.
    int groups[MAX_HAND]         # The set of places that hold the same card.
    double repeats               # How many orders of the places are one order of the cards.

cdef struct Spent:               # The groups of places that take the last copy out of the pile.
    int count
    int groups[MAX_HAND]
    int totals[MAX_HAND]


cdef void weigh_picks(Skystones game, Hands* hands) noexcept nogil:
    # The probability to pick this hand, for each absence. The likelihoods of its own cards are
    # still missing.
    cdef Places places
    cdef Spent spent
    cdef const Absence* absent
    cdef int room[1 << MAX_HAND]
    cdef int room_now[1 << MAX_HAND]
    cdef const int* rooms
    cdef int g
    find_places(game, hands, &places)
    leave_room(game, hands, &places, -1, room)
    for g in range(hands.absence_count):
        absent = &hands.absences[g]
        find_spent(game, hands, &places, absent, &spent)
        rooms = room
        if 0 <= absent.total <= hands.cheapest[game.hand_size - 1]:
            leave_room(game, hands, &places, absent.total, room_now)
            rooms = room_now
        hands.picked[g] = all_orders(game, hands, &spent, absent, rooms) / places.repeats
    hands.work_left[0] -= min(hands.work_left[0], <uint64_t> (8 * hands.absence_count))


cdef void find_places(Skystones game, const Hands* hands, Places* places) noexcept nogil:
    cdef int* totals = places.totals
    cdef int* cards = places.cards
    cdef int i, j, n, copies
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
    places.repeats = 1
    for i in range(game.hand_size):
        places.groups[i] = 1 << i
        copies = 1
        for j in range(game.hand_size):
            if i != j and cards[i] != NONE and cards[i] == cards[j]:
                places.groups[i] |= 1 << j
                copies += j < i
        places.repeats *= copies


cdef void leave_room(Skystones game, const Hands* hands, const Places* places, int absent,
                     int* room) noexcept nogil:
    # For each part of the hand, as a set of places: the highest total that can be picked next. That
    # is what the limit leaves when the cheapest cards of the pile complete the hand, without one of
    # the total `absent` (-1: with all). The totals of both ascend.
    cdef int part, i, j, others, missing
    for part in range((1 << game.hand_size) - 1):
        room[part] = game.hand_limit
        others = game.hand_size - 1 - count_bits(part)
        for i in range(game.hand_size):
            if part & 1 << i:
                room[part] -= places.totals[i]
        missing = absent
        i = j = 0
        while others > 0:
            while i < game.hand_size and not part & 1 << i:
                i += 1
            if i < game.hand_size and places.totals[i] == hands.cheapest[j]:
                i += 1                   # It is in hand already.
            elif missing == hands.cheapest[j]:
                missing = -1
            else:
                room[part] -= hands.cheapest[j]
                others -= 1
            j += 1


cdef void find_spent(Skystones game, const Hands* hands, const Places* places,
                     const Absence* absent, Spent* spent) noexcept nogil:
    cdef int i, card, copies
    spent.count = 0
    for i in range(game.hand_size):
        card = places.cards[i]
        copies = 1 if card == NONE else hands.pile[card] - (card == absent.card)
        # At the last place of each group.
        if places.groups[i] >> i == 1 and count_bits(places.groups[i]) == copies:
            spent.groups[spent.count] = places.groups[i]
            spent.totals[spent.count] = places.totals[i]
            spent.count += 1


cdef double all_orders(Skystones game, const Hands* hands, const Spent* spent,
                       const Absence* absent, const int* rooms) noexcept nogil:
    # The sum over all orders of the places, by dynamic programming over the sets of places that
    # were picked so far.
    cdef double orders[1 << MAX_HAND]
    cdef double share
    cdef int part, i, whole = (1 << game.hand_size) - 1
    memset(orders, 0, sizeof(orders))
    orders[0] = 1
    for part in range(whole):
        share = orders[part] / left_to_pick(hands, spent, absent, part, rooms[part])
        for i in range(game.hand_size):
            if not part & 1 << i:
                orders[part | 1 << i] += share
    return orders[whole]


cdef double left_to_pick(const Hands* hands, const Spent* spent, const Absence* absent, int part,
                         int room) noexcept nogil:
    # The sum of the likelihoods of the cards that can be picked after a part of the hand.
    cdef double left = hands.picks_up_to[max(0, min(room, MAX_TOTAL))]
    cdef int i
    if absent.card == NONE and 0 <= absent.total <= room:
        left -= hands.mean_pick[absent.total]
    for i in range(spent.count):
        if spent.groups[i] & part == spent.groups[i] and spent.totals[i] <= room:
            left -= hands.mean_pick[spent.totals[i]]
    return max(left, LEAST_PICKS)


# Placements

cdef void weigh_placements(Hands* hands) noexcept nogil:
    # Completes the weight of a hand, given as kinds, and adds it to each candidate.
    cdef const Candidates* aside = hands.aside
    cdef double weights[MAX_TYPES]
    cdef double likely, chance
    cdef int i, j
    cdef bint any = False
    hands.work_left[0] -= min(hands.work_left[0], <uint64_t> aside.count)
    if hands.work_left[0] == 0 and hands.rows == NULL:
        hands.too_many = True
    if not has_needed(hands):
        return
    chance = chance_of_members(hands)
    for i in range(hands.play.placed):
        chance = after_placement(hands, i, chance)
    memset(weights, 0, hands.absence_count * sizeof(double))
    for i in range(aside.count):
        j = hands.absence_of[i]
        likely = chance * hands.picked[j] * left_over(hands, aside.cards[i], hands.kind_at)
        hands.likelihood[i] += likely
        weights[j] += likely * aside.weights[i]
        any = any or weights[j] > 0
    if hands.rows != NULL and any:
        if hands.play.placed == 0 and hands.rows.count == MAX_ROWS:
            hands.too_many = True
            return
        add_row(hands, weights)


cdef bint has_needed(const Hands* hands) noexcept nogil:
    # Whether the seat can place, as it must be able to.
    cdef int i
    for i in range(hands.unplayed):
        if hands.play.needed & 1 << hands.kinds[hands.kind_at[i]].element:
            return True
    return hands.play.needed == 0


cdef double chance_of_members(const Hands* hands) noexcept nogil:
    # In how many ways the kinds of the unplayed cards are cards, and the likelihoods of these.
    cdef const Kind* kind
    cdef double chance = 1
    cdef int i, run
    for i in range(hands.unplayed):
        run = 1
        while i >= run and hands.kind_at[i - run] == hands.kind_at[i]:
            run += 1
        kind = &hands.kinds[hands.kind_at[i]]
        if kind.copies == 1:
            chance *= <double> (kind.size - run + 1) / run
        chance *= hands.likelihoods.picks[kind.cards[0]]
    return chance


cdef double after_placement(const Hands* hands, int i, double chance) noexcept nogil:
    # A chance times that of the i-th placement, among all that the hand allowed then. Another copy
    # of a card allowed no others.
    cdef const Likelihoods* likelihoods = hands.likelihoods
    cdef const Kind* kind
    cdef double options = hands.options[i]
    cdef int j, card, choices = hands.base[i]
    for j in range(hands.unplayed):
        kind = &hands.kinds[hands.kind_at[j]]
        card = kind.cards[0]
        if hands.pile[card] == 1 or not (
                (j > 0 and hands.kind_at[j - 1] == hands.kind_at[j])
                or shown_later(&hands.play, i, card)):
            choices += hands.play.open[i][kind.element]
            options += likelihoods.options[i][card]
    if not likelihoods.known:
        return chance / choices
    return chance * (likelihoods.uniform / choices
                     + (1 - likelihoods.uniform) * likelihoods.placed[i] / options)


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
