"""Betting in Kuhn poker, computed from the decisions of a match in their order."""

from libc.string cimport memset

from engine.game cimport SEATS
from engine.integers cimport uint8_t
from engine.kuhn_poker.state cimport BET, CALL, CHECK, FOLD, MAX_DECISIONS


cdef inline int decisions_made(const uint8_t* decisions) noexcept nogil:
    cdef int n = 0
    while n < MAX_DECISIONS and decisions[n]:
        n += 1
    return n


cdef inline int to_decide(const uint8_t* decisions) noexcept nogil:
    return decisions_made(decisions) % SEATS


cdef inline bint faces_bet(const uint8_t* decisions) noexcept nogil:
    cdef int n = decisions_made(decisions)
    return n > 0 and decisions[n - 1] == BET


cdef inline bint is_showdown(const uint8_t* decisions) noexcept nogil:
    cdef int n = decisions_made(decisions)
    return n > 0 and (decisions[n - 1] == CALL or (n == 2 and decisions[1] == CHECK))


cdef inline bint is_over(const uint8_t* decisions) noexcept nogil:
    cdef int n = decisions_made(decisions)
    return is_showdown(decisions) or (n > 0 and decisions[n - 1] == FOLD)


cdef inline int stake(const uint8_t* decisions) noexcept nogil:
    return 2 if decisions[decisions_made(decisions) - 1] == CALL else 1


cdef inline bint is_history(const uint8_t* decisions) noexcept nogil:
    # Whether a match can begin with these decisions.
    cdef uint8_t past[MAX_DECISIONS]
    cdef int i, n = decisions_made(decisions)
    memset(past, 0, sizeof(past))
    for i in range(MAX_DECISIONS):
        if i >= n:
            if decisions[i]:
                return False
            continue
        if is_over(past):
            return False
        if faces_bet(past):
            if decisions[i] != CALL and decisions[i] != FOLD:
                return False
        elif decisions[i] != CHECK and decisions[i] != BET:
            return False
        past[i] = decisions[i]
    return True
