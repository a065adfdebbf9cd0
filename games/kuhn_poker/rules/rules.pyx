"""Kuhn poker: the smallest game that has every part of a game. A reference game.

There are three cards: Jack, Queen and King; the higher card wins. Each seat antes 1 and is dealt
one card, which only it sees; nobody sees the third card. First checks or bets 1.
- After a check, Second checks (showdown) or bets; after that bet, First calls (showdown) or folds.
- After First's bet, Second calls (showdown) or folds.
A seat that folds loses its ante and shows nothing. At a showdown both cards are shown, and the seat
with the higher card takes 1 from the other after two checks, 2 after a call.

So it is Leduc poker with one card of each rank, one round, one raise of 1, and no common card.

Source: Harold W. Kuhn, "A simplified two-person poker", 1950. First loses 1/18 a match if both play
as well as possible.
"""

from libc.string cimport memset

from engine.chance cimport Rng, rng_shuffle
from engine.events cimport EventLog, log_private, to_seat
from engine.game cimport ABI, SEATS, State
from engine.integers cimport uint8_t
from games.leduc_poker.rules.rules cimport DEALT, DECIDED, SHOWN, LeducPoker
from games.leduc_poker.rules.state cimport CALL, CHECK, FOLD, KING, RAISE, LeducState


cdef class KuhnPoker(LeducPoker):
    """Kuhn poker. It has no options."""

    id = "kuhn_poker"
    abi = ABI
    title = "Kuhn poker"
    summary = __doc__
    event_kinds = {DEALT: "dealt", DECIDED: "decided", SHOWN: "shown"}
    action_kinds = {CHECK: "check", RAISE: "bet", CALL: "call", FOLD: "fold"}

    def __init__(self, ruleset=None):
        super().__init__(ruleset)
        self.suits = self.rounds = self.max_raises = self.raise_by = 1
        self.max_loss = 2

    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil:
        cdef LeducState* poker = <LeducState*> state
        cdef uint8_t deck[KING]
        cdef int i, seat
        for i in range(KING):
            deck[i] = i + 1
        rng_shuffle(rng, deck, KING)
        memset(state, 0, sizeof(State))
        for seat in range(SEATS):
            poker.cards[seat] = deck[seat]
            log_private(log, to_seat(seat), seat, DEALT, &deck[seat], 1, DEALT, NULL, 0)
