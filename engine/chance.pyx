"""Chance: a fast generator, a tape of prepared bytes, or a script that enumerates every outcome.

Only Cython code can use this module. engine/chance.pxd documents each function.
"""

from libc.string cimport memset

cdef enum:
    # Cards drawn with one random word, from at most so many: their product is at most 2^56.
    BATCH = 7
    MOST_CARDS = 256

cdef uint64_t MOST_REJECTED = <uint64_t> 1 << (8 * BATCH)


cdef void rng_seed(Rng* rng, uint64_t seed) noexcept nogil:
    # SplitMix64 spreads a seed over the state of another generator.
    cdef int i
    for i in range(4):
        rng.s[i] = splitmix(&seed)
    rng.tape = NULL
    rng.tape_left = 0
    rng.tape_ran_out = False
    rng.script = NULL


cdef uint64_t rng_next_prepared(Rng* rng) noexcept nogil:
    cdef uint64_t result = 0
    cdef int i
    if rng.script != NULL:
        rng.script.broken = True
        return 0
    if rng.tape_left < 8:
        rng.tape_ran_out = True
        return 0
    for i in range(8):               # Little-endian on every machine.
        result |= (<uint64_t> rng.tape[i]) << (8 * i)
    rng.tape += 8
    rng.tape_left -= 8
    return result


cdef uint32_t rng_below_prepared(Rng* rng, uint32_t n) noexcept nogil:
    cdef uint64_t m
    cdef uint32_t threshold
    if rng.script != NULL:
        return script_below(rng.script, n)
    m = (rng_next(rng) >> 32) * n
    if <uint32_t> m < n:
        threshold = (<uint32_t> (-<int64_t> n)) % n
        while <uint32_t> m < threshold and not rng.tape_ran_out:
            m = (rng_next(rng) >> 32) * n
    return <uint32_t> (m >> 32)


cdef size_t rng_weighted(Rng* rng, const double* sums, size_t n) noexcept nogil:
    cdef size_t low = 0, high = n - 1, middle
    cdef double at
    if rng.script != NULL:
        return script_weighted(rng.script, sums, n)
    at = rng_double(rng) * sums[n - 1]
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > at:
            high = middle
        else:
            low = middle + 1
    return low


cdef bint rng_reject(Rng* rng) noexcept nogil:
    if rng.script == NULL:
        return False
    rng.script.rejected = True
    return True


cdef void rng_shuffle(Rng* rng, uint8_t* cards, int n) noexcept nogil:
    cdef int i
    for i in range(n - 1, 0, -1):
        swap(cards, i, rng_below(rng, i + 1) if rng.script == NULL
             else script_card(rng.script, cards, i + 1))


cdef void rng_shuffle_quickly(Rng* rng, uint8_t* cards, int n) noexcept nogil:
    if rng.script == NULL and rng.tape == NULL:
        draw_to_the_end(rng, cards, n, n - 1)
    else:
        rng_shuffle(rng, cards, n)


cdef void rng_part(Rng* rng, uint8_t* cards, int n, int k) noexcept nogil:
    cdef double sums[2]
    cdef int i, end = n
    if rng.script == NULL:
        if rng.tape == NULL:
            draw_to_the_end(rng, cards, n, k)
            return
        for i in range(n - 1, n - 1 - k, -1):
            swap(cards, i, rng_below(rng, i + 1))
        return
    for i in range(n - 1, -1, -1):
        sums[0] = k - n + end
        sums[1] = i + 1
        if script_weighted(rng.script, sums, 2) == 0:
            end -= 1
            swap(cards, i, end)


cdef void rng_part_and_shuffle(Rng* rng, uint8_t* cards, int n, int k) noexcept nogil:
    if rng.script == NULL and rng.tape == NULL:
        draw_to_the_end(rng, cards, n, n - 1)
    else:
        rng_part(rng, cards, n, k)
        rng_shuffle(rng, cards, n - k)


cdef void draw_to_the_end(Rng* rng, uint8_t* cards, int n, int k) noexcept nogil:
    # Moves `k` cards, drawn one after the other, to the end. One random word is enough for several
    # of them: N. Brackett-Rozinsky, D. Lemire, "Batched Ranged Random Integer Generation",
    # Software: Practice and Experience 55(1), 2025. What is left of the word says, as for a single
    # number, whether to reject it for the sake of uniformity. Two words are used at a time, since
    # each number waits for the one before it from the same word.
    cdef uint32_t places[2 * BATCH]
    cdef uint64_t first, second
    cdef int i
    while k > 0:
        if n > MOST_CARDS:
            swap(cards, n - 1, rng_below(rng, n))
            n -= 1
            k -= 1
            continue
        first = rng_next(rng)
        second = rng_next(rng)
        if n >= 2 * BATCH:
            for i in range(BATCH):
                places[i] = digit(&first, n - i)
                places[BATCH + i] = digit(&second, n - BATCH - i)
        else:
            for i in range(min(n, BATCH)):
                places[i] = digit(&first, n - i)
            for i in range(BATCH, n):
                places[i] = digit(&second, n - i)
        if (first < MOST_REJECTED and is_rejected(first, n)
                or second < MOST_REJECTED and is_rejected(second, n - BATCH)):
            continue
        for i in range(min(k, 2 * BATCH)):
            swap(cards, n - 1 - i, places[i])
        n -= 2 * BATCH
        k -= 2 * BATCH


cdef bint is_rejected(uint64_t bits, int n) noexcept nogil:
    # `bits` are what is left of a word after numbers below n, n - 1 and so on.
    cdef uint64_t product = 1
    cdef int i
    for i in range(min(n, BATCH)):
        product *= n - i
    return bits < (0 - product) % product


cdef inline void swap(uint8_t* cards, int i, int j) noexcept nogil:
    cdef uint8_t card = cards[i]
    cards[i] = cards[j]
    cards[j] = card


# Scripts

cdef uint32_t script_below(Script* script, uint32_t n) noexcept nogil:
    cdef int at = script_draw(script, n)
    if at < 0:
        return 0
    script.divisors[at] = n
    return script.digits[at]


cdef int script_draw(Script* script, uint32_t n) noexcept nogil:
    # The index of the next digit, which can have `n` values; -1: it is 0 and takes no index.
    cdef int at = script.drawn
    if n == 1:
        return -1
    if at == MAX_DRAWS:
        script.broken = True
        return -1
    if script.sizes[at] == 0:           # The first draw after these earlier digits.
        script.digits[at] = 0
        script.sizes[at] = n
    script.drawn += 1
    return at


cdef size_t script_weighted(Script* script, const double* sums, size_t n) noexcept nogil:
    # Indices of weight 0 are skipped, since they have no outcome.
    cdef size_t digit = 0
    cdef double before
    cdef int at
    while n > 1 and sums[n - 1] <= sums[n - 2]:
        n -= 1
    at = script_draw(script, n)
    if at >= 0:
        digit = script.digits[at]
    while digit < n - 1 and sums[digit] <= (sums[digit - 1] if digit else 0):
        digit += 1
    if at >= 0:
        before = sums[digit - 1] if digit else 0
        script.digits[at] = digit
        script.divisors[at] = sums[n - 1] / (sums[digit] - before)
    return digit


cdef int script_card(Script* script, const uint8_t* cards, int n) noexcept nogil:
    # The index of one of the cards. Equal cards are one outcome.
    cdef double sums[256]
    cdef int places[256]
    cdef int i, j, count = 0
    for i in range(n):
        j = 0
        while j < count and cards[places[j]] != cards[i]:
            j += 1
        if j == count:
            places[j] = i
            sums[j] = 0
            count += 1
        sums[j] += 1
    for j in range(1, count):
        sums[j] += sums[j - 1]
    return places[script_weighted(script, sums, count)]


cdef void script_start(Script* script, Rng* rng) noexcept nogil:
    memset(script, 0, sizeof(Script))
    rng_seed(rng, 0)
    rng.script = script


cdef double script_probability(const Script* script) noexcept nogil:
    cdef double probability = 1
    cdef int i
    for i in range(script.drawn):
        probability /= script.divisors[i]
    return probability


cdef bint script_next(Script* script) noexcept nogil:
    cdef int at = script.drawn - 1
    script.drawn = 0
    script.rejected = False
    while at >= 0:
        script.digits[at] += 1
        if script.digits[at] < script.sizes[at]:
            return True
        script.sizes[at] = 0
        at -= 1
    return False
