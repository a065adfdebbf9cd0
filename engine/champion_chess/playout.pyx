"""The playout policy of Champion Chess, and its estimate of a match that is not over.

A seat keeps its King in hand while it has another noble. It adds aid card by card, in random order,
until it would win the challenge by a random margin against the champion on the table alone, and
plays no aid in a challenge that it cannot win. Where a King fights, both seats play most of their
aid.

A playout stops after some challenges. The estimate then depends on the points that each side has
left, and on which seat must fight with its King next.
"""

from libc.stdint cimport uint64_t

from engine.champion_chess.hand cimport only_noble_is_king, playable_aid
from engine.champion_chess.rules cimport ChampionChess
from engine.champion_chess.state cimport (
    AID, CARDS, CHAMPION, DISCARD_TO_RESERVE, KIND_SHIFT, KING, MAX_HAND, NOBLES, PAWN, PLAY_AID,
    ChessState,
)
from engine.chance cimport Rng, rng_below, rng_next, rng_shuffle
from engine.game cimport Action, State
from engine.integers cimport uint8_t
from engine.numerics cimport exp, log
from engine.playout_policy cimport PlayoutPolicy

cdef enum:
    CATEGORIES = 3
    MARGIN = 7                   # The margin against the opponent's aid is less than this.
    HORIZON = 2                  # Challenges.
    TO_THE_END = 1000
    SMALL_DECK = 16              # Cards. The regression below does not hold for such a deck.

# Weights in log odds: for each factor of e in the points of nobles and of aid, and for a King that
# is the only noble in hand. A logistic regression fitted them to 4,500 positions of 200 matches of
# plain UCT (lab/uct.pyx, 600 iterations) against itself. Weights fitted to matches of this policy
# against itself are lower, most of all for aid, because the policy wastes aid; a search with those
# weights wastes it, too.
cdef double NOBLE_POINTS = 6.0
cdef double AID_POINTS = 6.6
cdef double MORE_POINTS = 20     # Added to both points, since a side without points can go on.
cdef double KING_ALONE = -0.38
cdef double DRAWS = 0.08         # Probability of a draw at equal prospects; less at unequal ones.


cdef class ChampionChessPlayoutPolicy(PlayoutPolicy):
    """Plays to win the present challenge."""

    cdef ChampionChess rules

    def __init__(self, game):
        super().__init__(game)
        self.rules = game
        self.horizon = HORIZON if sum(self.rules.copies) > SMALL_DECK else TO_THE_END

    cdef int stage(self, const State* state) noexcept nogil:
        return (<const ChessState*> state).challenge

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        cdef const ChessState* chess = <const ChessState*> state
        cdef double score = 1 / (1 + exp(self.prospects(chess, 1) - self.prospects(chess, 0)))
        draw[0] = 4 * DRAWS * score * (1 - score)
        return score

    cdef double prospects(self, const ChessState* chess, int seat) noexcept nogil:
        cdef int points[2]
        cdef int card, category, left
        cdef double prospects
        points[0] = points[1] = 0
        for card in range(CARDS):
            left = self.rules.copies[card] - chess.side[seat].defeated[card]
            for category in range(CATEGORIES):
                points[card >= NOBLES] += left * self.rules.points[card][category]
        prospects = (NOBLE_POINTS * log(points[0] + MORE_POINTS)
                     + AID_POINTS * log(points[1] + MORE_POINTS))
        if only_noble_is_king(chess.own[seat].hand):
            prospects += KING_ALONE
        return prospects

    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil:
        cdef const ChessState* chess = <const ChessState*> state
        if chess.phase == CHAMPION:
            return self.champion(chess, seat, rng)
        if chess.phase == AID:
            return self.aid(chess, seat, rng)
        return self.discards(chess.own[seat].hand, rng)

    cdef Action champion(self, const ChessState* chess, int seat, Rng* rng) noexcept nogil:
        cdef Action actions[NOBLES + 1]
        cdef int n = self.rules.legal_champions(chess, seat, actions)
        # The King is listed first, castling last.
        if n > 1 and chess.own[seat].hand[KING]:
            return actions[1 + rng_below(rng, n - 1)]
        return actions[rng_below(rng, n)]

    cdef Action aid(self, const ChessState* chess, int seat, Rng* rng) noexcept nogil:
        cdef int own = chess.side[seat].champion - 1
        cdef int other = chess.side[1 - seat].champion - 1
        cdef bint king = own == KING or other == KING
        cdef int margin = rng_below(rng, MARGIN)
        cdef int ahead[CATEGORIES]
        cdef uint8_t most[CARDS]
        cdef uint8_t cards[MAX_HAND]
        cdef int card, category, i, _i, n = 0
        cdef Action action = <Action> PLAY_AID << KIND_SHIFT
        playable_aid(chess.own[seat].hand, most)
        for card in range(PAWN, CARDS):
            for _i in range(most[card]):
                cards[n] = card
                n += 1
        for category in range(CATEGORIES):
            ahead[category] = (<int> self.rules.points[own][category]
                               - <int> self.rules.points[other][category])
        if king:
            margin += MARGIN
        elif rng_below(rng, 4) == 0:
            n = 0
        rng_shuffle(rng, cards, n)
        for i in range(n):
            if won(ahead, margin):
                break
            if not king and not useful(self.rules.points[cards[i]], ahead, margin):
                continue
            action += <Action> 1 << (4 * cards[i])
            for category in range(CATEGORIES):
                ahead[category] += self.rules.points[cards[i]][category]
        # Aid that is not enough to win is mostly saved, unless a King fights.
        if not king and not won(ahead, 0) and rng_below(rng, 4):
            return <Action> PLAY_AID << KIND_SHIFT
        return action

    cdef Action discards(self, const uint8_t* hand, Rng* rng) noexcept nogil:
        cdef Action action = <Action> DISCARD_TO_RESERVE << KIND_SHIFT
        cdef uint64_t bits = rng_next(rng)
        cdef int card, _i
        for card in range(CARDS):
            for _i in range(hand[card]):
                action += <Action> (bits & 3 == 0) << (4 * card)
                bits >>= 2
        return action


cdef inline bint won(const int* ahead, int margin) noexcept nogil:
    return (ahead[0] > margin) + (ahead[1] > margin) + (ahead[2] > margin) >= 2


cdef inline bint useful(const uint8_t* points, const int* ahead, int margin) noexcept nogil:
    # Whether a card adds to a category that is not won yet.
    return (points[0] and ahead[0] <= margin or points[1] and ahead[1] <= margin
            or points[2] and ahead[2] <= margin)
