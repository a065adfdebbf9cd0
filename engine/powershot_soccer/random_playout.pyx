"""Random playouts of PowerShot Soccer: hands are sets of bits, and no actions are listed."""

from engine.chance cimport Rng, rng_below
from engine.game cimport SEATS, State
from engine.integers cimport uint64_t, uint8_t
from engine.playout_policy cimport PlayoutPolicy
from engine.powershot_soccer.rules cimport (
    PowerShotSoccer, count_ones, half_is_over, held, lowest_one, seat_to_play,
)
from engine.powershot_soccer.state cimport (
    MAX_ROLES, OVER, STAR_PLAYER, Common, SoccerState,
)


cdef class PowerShotSoccerRandomPlayout(PlayoutPolicy):
    """Chooses uniformly."""

    cdef PowerShotSoccer rules

    def __init__(self, game):
        super().__init__(game)
        self.rules = game

    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil:
        cdef SoccerState* soccer = <SoccerState*> state
        cdef Common* common = &soccer.common
        cdef uint8_t roles[MAX_ROLES]
        cdef uint64_t hands[SEATS]
        cdef uint64_t stars = self.rules.of_role[STAR_PLAYER]
        cdef uint64_t cards
        cdef int seat, card, i, cards_held, extra
        for seat in range(SEATS):
            hands[seat] = held(soccer.own[seat].hand)
        while common.phase != OVER:
            seat = seat_to_play(common)
            cards = hands[seat]
            cards_held = count_ones(cards)
            extra = 0
            if cards & stars:
                extra = self.rules.roles_now(common, lowest_one(stars), roles) - 1
            # The choices are the first role of each card, then the other roles of each star.
            i = rng_below(rng, cards_held + extra * count_ones(cards & stars))
            if i >= cards_held:
                i -= cards_held
                cards &= stars
                i, extra = i // extra, 1 + i % extra
            else:
                extra = 0
            while i:
                cards &= cards - 1
                i -= 1
            card = lowest_one(cards)
            self.rules.roles_now(common, card, roles)
            soccer.own[seat].hand[card] -= 1
            if soccer.own[seat].hand[card] == 0:
                hands[seat] &= ~(<uint64_t> 1 << card)
            self.rules.settle(common, card, roles[extra])
            hands[seat] |= <uint64_t> 1 << self.rules.draw_card(soccer, seat)
            if half_is_over(common):
                self.rules.end_half(soccer, rng, NULL)
                for seat in range(SEATS):
                    hands[seat] = held(soccer.own[seat].hand)
        return self.at_end(state, draw)
