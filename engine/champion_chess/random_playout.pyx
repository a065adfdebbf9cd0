"""Random playouts of Champion Chess: aid and discards are drawn card by card and not listed."""

from engine.champion_chess.hand cimport playable_aid
from engine.champion_chess.rules cimport ChampionChess
from engine.champion_chess.state cimport (
    AID, CARDS, CHAMPION, DISCARD_TO_RESERVE, KIND_SHIFT, NOBLES, OVER, PLAY_AID, ChessState,
)
from engine.chance cimport Rng, rng_below, rng_next
from engine.game cimport SEATS, Action, State
from engine.integers cimport uint64_t, uint8_t
from engine.playout_policy cimport PlayoutPolicy


cdef class ChampionChessRandomPlayout(PlayoutPolicy):
    """Chooses uniformly."""

    cdef ChampionChess rules

    def __init__(self, game):
        super().__init__(game)
        self.rules = game

    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil:
        cdef ChessState* chess = <ChessState*> state
        cdef Action actions[NOBLES + 1]
        cdef Action joint[SEATS]
        cdef uint8_t most[CARDS]
        cdef const uint8_t* limit
        cdef int seat, card, n
        cdef uint64_t bits
        while chess.phase != OVER:
            for seat in range(SEATS):
                if chess.phase == CHAMPION:
                    n = self.rules.legal_champions(chess, seat, actions)
                    joint[seat] = actions[rng_below(rng, n)]
                    continue
                limit = chess.own[seat].hand
                joint[seat] = <Action> DISCARD_TO_RESERVE << KIND_SHIFT
                if chess.phase == AID:
                    playable_aid(limit, most)
                    limit = most
                    joint[seat] = <Action> PLAY_AID << KIND_SHIFT
                bits = rng_next(rng)
                for card in range(CARDS):
                    if limit[card] == 1:
                        joint[seat] += (bits & 1) << (4 * card)
                        bits >>= 1
                    elif limit[card]:
                        joint[seat] += <Action> rng_below(rng, limit[card] + 1) << (4 * card)
            self.rules.apply(state, joint, rng, NULL)
        return self.at_end(state, draw)
