"""Betting in Leduc poker, computed from the decisions of a match in their order.

`rounds`, `max_raises` and `raise_by` are those of the game.
"""

from libc.string cimport memset

from engine.game cimport SEATS
from engine.integers cimport uint8_t
from games.leduc_poker.rules.state cimport ANTE, CALL, CHECK, FOLD, MAX_DECISIONS, RAISE, ROUNDS


# A round

cdef inline int decisions_made(const uint8_t* decisions) noexcept nogil:
    cdef int n = 0
    while n < MAX_DECISIONS and decisions[n]:
        n += 1
    return n


cdef inline int raises(const uint8_t* decisions) noexcept nogil:
    cdef int i, n = 0
    for i in range(MAX_DECISIONS):
        n += decisions[i] == RAISE
    return n


cdef inline bint faces_raise(const uint8_t* decisions) noexcept nogil:
    cdef int n = decisions_made(decisions)
    return n > 0 and decisions[n - 1] == RAISE


cdef inline bint is_round_over(const uint8_t* decisions) noexcept nogil:
    cdef int n = decisions_made(decisions)
    return n > 0 and (decisions[n - 1] == CALL or (n == 2 and decisions[1] == CHECK))


# A match

cdef inline int round_of(const uint8_t* decisions, int rounds) noexcept nogil:
    return 1 if rounds > 1 and is_round_over(decisions) else 0


cdef inline const uint8_t* latest(const uint8_t* decisions, int rounds) noexcept nogil:
    # The decisions of the present round.
    return decisions + MAX_DECISIONS * round_of(decisions, rounds)


cdef inline int to_decide(const uint8_t* decisions, int rounds) noexcept nogil:
    return decisions_made(latest(decisions, rounds)) % SEATS


cdef inline bint is_showdown(const uint8_t* decisions, int rounds) noexcept nogil:
    return is_round_over(decisions + MAX_DECISIONS * (rounds - 1))


cdef inline bint is_over(const uint8_t* decisions, int rounds) noexcept nogil:
    cdef const uint8_t* now = latest(decisions, rounds)
    cdef int n = decisions_made(now)
    return is_showdown(decisions, rounds) or (n > 0 and now[n - 1] == FOLD)


cdef inline int stake(const uint8_t* decisions, int raise_by, int seat) noexcept nogil:
    # The amount that a seat has put in.
    cdef int put_in[SEATS]
    cdef int now, i, side
    put_in[0] = put_in[1] = ANTE
    for now in range(ROUNDS):
        for i in range(MAX_DECISIONS):
            side = i % SEATS
            if decisions[MAX_DECISIONS * now + i] == RAISE:
                put_in[side] = put_in[1 - side] + raise_by * (now + 1)
            elif decisions[MAX_DECISIONS * now + i] == CALL:
                put_in[side] = put_in[1 - side]
    return put_in[seat]


cdef inline bint is_history(const uint8_t* decisions, int rounds,
                            int max_raises) noexcept nogil:
    # Whether a match can begin with these decisions.
    cdef uint8_t past[ROUNDS * MAX_DECISIONS]
    cdef const uint8_t* now
    cdef int i, decision
    memset(past, 0, sizeof(past))
    for i in range(ROUNDS * MAX_DECISIONS):
        decision = decisions[i]
        if decision == 0:
            continue
        now = latest(past, rounds)
        if is_over(past, rounds) or now + decisions_made(now) != past + i:
            return False
        if faces_raise(now):
            if not (decision == CALL or decision == FOLD
                    or (decision == RAISE and raises(now) < max_raises)):
                return False
        elif decision != CHECK and decision != RAISE:
            return False
        past[i] = decision
    return True
