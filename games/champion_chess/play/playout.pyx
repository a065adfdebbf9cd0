"""The playout policy of Champion Chess, and its estimate of a match that is not over.

A seat keeps its King in hand while it has another noble. It adds aid card by card, in random order,
until it would win the challenge by a random margin against the champion on the table alone, and
plays no aid in a challenge that it cannot win. Where a King fights, both seats play most of their
aid.

What a model has learned of these choices is for the nodes of a tree alone. In playouts it had -89
Elo (-164 to -14) at 500 iterations in 100 games and -64 (-154 to +25) at 2,000 in 60, though an
iteration took longer besides.

A playout stops after some challenges. The estimate then depends on the points that each side has
left, and on which seat must fight with its King next.
"""

from engine.chance cimport Rng, digit, rng_next, rng_shuffle_quickly
from engine.game cimport SEATS, Action, State
from engine.integers cimport uint64_t, uint8_t
from engine.numerics cimport exp, log
from engine.playout_policy cimport PlayoutPolicy
from games.champion_chess.play.features cimport ChampionChessFeatures
from games.champion_chess.rules.hand cimport (
    NOBLE_BITS, count_in, first_card, king_alone, one_of, pack, size_of, spread_packed, without,
)
from games.champion_chess.rules.rules cimport ChampionChess
from games.champion_chess.rules.state cimport (
    AID, CARDS, CASTLE, CHAMPION, DISCARD_TO_RESERVE, END, KIND_SHIFT, KING, MAX_HAND, NOBLES, OVER,
    PAWN, PLAY_AID, PLAY_CHAMPION, ROOK, ChessState,
)

cdef enum:
    CATEGORIES = 3
    LANE = 16                    # Bits of each category in a vector of points.
    MARGIN = 7                   # The margin against the opponent's aid is less than this.
    HORIZON = 2                  # Challenges.
    TO_THE_END = 1000
    SMALL_DECK = 16              # Cards. The regression below does not hold for such a deck.

# Weights in log odds: for each factor of e in the points of nobles and of aid, and for a King that
# is the only noble in hand. A logistic regression fitted them to 4,500 positions of 200 matches of
# plain UCT (600 iterations) against itself. Weights fitted to matches of this policy
# against itself are lower, most of all for aid, because the policy wastes aid; a search with those
# weights wastes it, too.
cdef double NOBLE_POINTS = 6.0
cdef double AID_POINTS = 6.6
cdef double MORE_POINTS = 20     # Added to both points, since a side without points can go on.
cdef double KING_ALONE = -0.38
cdef double DRAWS = 0.08         # Probability of a draw at equal prospects; less at unequal ones.


cdef uint64_t ONES = 0x000100010001       # One point in each category,
cdef uint64_t SIGNS = 0x800080008000      # and the bit of each that says that it is not below 0.

cdef struct Player:              # What a playout needs of a seat; packed cards.
    uint64_t hand
    uint64_t reserve
    uint8_t* deck                # The top card last.
    int deck_size
    bint castling_used
    int points[2]                # That are not defeated, of nobles and of aid.


cdef class ChampionChessPlayoutPolicy(PlayoutPolicy):
    """Plays to win the present challenge."""

    cdef ChampionChess rules
    cdef uint64_t points[CARDS]  # The points of a card, as a vector;
    cdef uint64_t adds[CARDS]    # the sign bits of the categories to which it adds;
    cdef int total[CARDS]        # and the sum of its points.
    cdef ChampionChessFeatures learned  # None: what a node tries is as written here.

    def __init__(self, game, model=None):
        cdef int card, category
        super().__init__(game)
        if model is not None and "playouts" in model.uses:
            self.learned = model.features
        self.rules = game
        self.horizon = HORIZON if sum(self.rules.copies) > SMALL_DECK else TO_THE_END
        for card in range(CARDS):
            for category in range(CATEGORIES):
                points = self.rules.points[card][category]
                self.points[card] += <uint64_t> points << (LANE * category)
                self.total[card] += points
                if points:
                    self.adds[card] |= <uint64_t> 0x8000 << (LANE * category)

    cdef int stage(self, const State* state) noexcept nogil:
        return (<const ChessState*> state).challenge

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        cdef const ChessState* chess = <const ChessState*> state
        cdef Player players[SEATS]
        cdef int seat
        for seat in range(SEATS):
            self.read(chess, seat, &players[seat])
        return self.expected(players, draw)

    cdef double expected(self, const Player* players, double* draw) noexcept nogil:
        # The difference of the prospects of the seats.
        cdef double lead = (
            NOBLE_POINTS * log((players[0].points[0] + MORE_POINTS)
                               / (players[1].points[0] + MORE_POINTS))
            + AID_POINTS * log((players[0].points[1] + MORE_POINTS)
                               / (players[1].points[1] + MORE_POINTS)))
        cdef double score
        if king_alone(players[0].hand):
            lead += KING_ALONE
        if king_alone(players[1].hand):
            lead -= KING_ALONE
        score = 1 / (1 + exp(-lead))
        draw[0] = 4 * DRAWS * score * (1 - score)
        return score

    cdef void read(self, const ChessState* chess, int seat, Player* player) noexcept nogil:
        cdef int card, left
        player.hand = pack(chess.own[seat].hand)
        player.reserve = pack(chess.side[seat].reserve)
        player.deck = <uint8_t*> chess.deck[seat]
        player.deck_size = chess.side[seat].deck_size
        player.castling_used = chess.own[seat].castling_used
        player.points[0] = player.points[1] = 0
        for card in range(CARDS):
            left = self.rules.copies[card] - chess.side[seat].defeated[card]
            player.points[card >= NOBLES] += left * self.total[card]

    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil:
        cdef const ChessState* chess = <const ChessState*> state
        cdef uint64_t hand, bits
        if self.learned is not None:
            return self.learned.choose(chess, seat, rng)
        hand = pack(chess.own[seat].hand)
        bits = rng_next(rng)
        if chess.phase == CHAMPION:
            return <Action> PLAY_CHAMPION << KIND_SHIFT | (
                self.champion(hand, self.rules.may_castle(chess, seat), bits))
        if chess.phase == AID:
            return <Action> PLAY_AID << KIND_SHIFT | self.aid(
                hand, chess.side[seat].champion - 1, chess.side[1 - seat].champion - 1, bits)
        return <Action> DISCARD_TO_RESERVE << KIND_SHIFT | self.discards(hand, bits)

    cdef inline uint64_t champion(self, uint64_t hand, bint may_castle,
                                  uint64_t bits) noexcept nogil:
        # Any noble but the King, as long as there is another one or a Rook can take his place.
        cdef uint64_t nobles = hand & NOBLE_BITS
        cdef int card, _i, n = 0
        if may_castle:
            return CASTLE | KING
        if without(nobles, KING):
            nobles = without(nobles, KING)
        for card in range(NOBLES):
            n += count_in(nobles, card) > 0
        for _i in range(digit(&bits, n)):
            nobles = without(nobles, first_card(nobles))
        return first_card(nobles)

    cdef inline uint64_t aid(self, uint64_t hand, int own, int other,
                             uint64_t bits) noexcept nogil:
        cdef bint king = own == KING or other == KING
        cdef int margin = digit(&bits, MARGIN)
        # By how much the seat is ahead in each category; 0x8000 is level.
        cdef uint64_t level = SIGNS + self.points[own] - self.points[other]
        cdef uint64_t ahead = level
        cdef uint64_t played = 0
        cdef uint8_t cards[MAX_HAND]
        cdef int card, i, n
        if king:
            margin += MARGIN
        elif digit(&bits, 4) == 0:
            return 0
        # In each category the sign bit says whether the seat is ahead by more than the margin.
        ahead -= (margin + 1) * ONES
        n = playable(hand, cards)
        while n and not most(ahead):
            i = digit(&bits, n)
            card = cards[i]
            n -= 1
            cards[i] = cards[n]
            # A card that adds to no category that is still to be won is saved, unless a King
            # fights.
            if king or self.adds[card] & ~ahead:
                ahead += self.points[card]
                played += one_of(card)
        # Aid that is not enough to win is mostly saved, unless a King fights.
        if (not king and not most(ahead + margin * ONES)
                and digit(&bits, 4)):
            return 0
        return played

    cdef inline uint64_t discards(self, uint64_t hand, uint64_t bits) noexcept nogil:
        # Each card with a probability of 1/4.
        cdef uint64_t discarded = 0
        cdef int card, _i
        while hand:
            card = first_card(hand)
            for _i in range(count_in(hand, card)):
                discarded += (bits & 3 == 0) * one_of(card)
                bits >>= 2
            hand = without(hand, card)
        return discarded

    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil:
        # As that of the base class, without what the seats would remember.
        cdef ChessState* chess = <ChessState*> state
        cdef Player players[SEATS]
        cdef int champions[SEATS]
        cdef int seat, half_points, phase = chess.phase, challenge = chess.challenge
        cdef int last = challenge + self.horizon
        if phase == OVER:
            return self.at_end(state, draw)
        for seat in range(SEATS):
            self.read(chess, seat, &players[seat])
            champions[seat] = chess.side[seat].champion - 1
        while challenge < last:
            if phase == CHAMPION:
                for seat in range(SEATS):
                    champions[seat] = self.play_champion(&players[seat], rng)
            if phase != END:
                half_points = self.challenge(players, champions, rng)
                if half_points >= 0:
                    chess.phase = OVER
                    chess.half_points = half_points
                    return self.at_end(state, draw)
            for seat in range(SEATS):
                self.end_turn(&players[seat], rng)
            phase = CHAMPION
            challenge += 1
        return self.expected(players, draw)

    cdef inline int play_champion(self, Player* player, Rng* rng) noexcept nogil:
        # Returns the card that fights.
        cdef bint may_castle = False
        cdef int i = 0, noble
        if self.rules.castling and king_alone(player.hand):
            while i < player.deck_size and player.deck[i] != ROOK:
                i += 1
            may_castle = not player.castling_used and i < player.deck_size
            player.castling_used = True
        noble = self.champion(player.hand, may_castle, rng_next(rng)) & 255
        player.hand -= one_of(noble)
        if not may_castle:
            return noble
        player.deck[i] = KING
        rng_shuffle_quickly(rng, player.deck, player.deck_size)
        return ROOK

    cdef inline int challenge(self, Player* players, const int* champions,
                              Rng* rng) noexcept nogil:
        # Plays the aid and decides the challenge. Returns the score of seat 0 in half points if
        # that ends the match, else -1.
        cdef uint64_t aid[SEATS]
        cdef uint64_t points[SEATS]
        cdef int wins[SEATS]
        cdef bint king_lost[SEATS]
        cdef uint64_t left
        cdef int seat, card
        for seat in range(SEATS):
            aid[seat] = self.aid(players[seat].hand, champions[seat], champions[1 - seat],
                                 rng_next(rng))
        for seat in range(SEATS):
            players[seat].hand -= aid[seat]
            points[seat] = self.points[champions[seat]]
            left = aid[seat]
            while left:
                card = first_card(left)
                left -= one_of(card)
                points[seat] += self.points[card]
                players[seat].points[1] -= self.total[card]
        for seat in range(SEATS):
            wins[seat] = categories(SIGNS + points[seat] - points[1 - seat] - ONES)
        for seat in range(SEATS):
            king_lost[seat] = False
            if wins[seat] > wins[1 - seat]:
                players[seat].reserve += one_of(champions[seat])
            else:
                king_lost[seat] = champions[seat] == KING
                players[seat].points[0] -= self.total[champions[seat]]
        if not (king_lost[0] or king_lost[1]):
            return -1
        return 1 if king_lost[0] and king_lost[1] else 2 * king_lost[1]

    cdef inline void end_turn(self, Player* player, Rng* rng) noexcept nogil:
        # Discards, and fills the hand.
        cdef uint64_t discarded = self.discards(player.hand, rng_next(rng))
        player.hand -= discarded
        player.reserve += discarded
        self.fill_hand(player, rng)
        # A hand without a noble is shown and drawn again.
        while not player.hand & NOBLE_BITS:
            player.reserve += player.hand
            player.hand = 0
            self.fill_hand(player, rng)

    cdef inline void fill_hand(self, Player* player, Rng* rng) noexcept nogil:
        cdef int size = size_of(player.hand)
        while size < self.rules.max_hand:
            if player.deck_size == 0:
                if player.reserve == 0:
                    return
                player.deck_size = spread_packed(player.reserve, player.deck)
                player.reserve = 0
                rng_shuffle_quickly(rng, player.deck, player.deck_size)
            player.deck_size -= 1
            player.hand += one_of(player.deck[player.deck_size])
            size += 1


cdef inline int categories(uint64_t vector) noexcept nogil:
    # The number of categories whose sign bits are set.
    return (vector >> 15 & 1) + (vector >> 31 & 1) + (vector >> 47 & 1)


cdef inline bint most(uint64_t vector) noexcept nogil:
    # Whether those are two or three.
    vector &= SIGNS
    return vector & (vector - 1) != 0


cdef inline int playable(uint64_t hand, uint8_t* cards) noexcept nogil:
    # Lists the cards that can be played as aid in one turn: at most one of each except Pawns.
    cdef int card, _i, n = 0
    hand &= ~<uint64_t> NOBLE_BITS
    for _i in range(count_in(hand, PAWN)):
        cards[n] = PAWN
        n += 1
    hand = without(hand, PAWN)
    while hand:
        card = first_card(hand)
        cards[n] = card
        n += 1
        hand = without(hand, card)
    return n
