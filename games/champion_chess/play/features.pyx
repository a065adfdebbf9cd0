"""What is learned of Champion Chess: what describes its decisions.

A *champion* is described by the card, by the aid in hand, and by how many nobles the seat has left.
*Aid* is described by the cards, and by how far the seat would be ahead, against the champions on
the table alone: its leads in the three categories, in order, since two of them win the challenge.
*Discards* are described card by card, by what else is in hand and by what the seat has left.

Nothing but a decision's own cards, how many cards of each kind are in hand, and what both seats see
is looked at, so that the sampler can have the likelihoods of all hands from small tables
(games/champion_chess/play/likelihoods.pyx).

The probability of an action is a mixture: a share UNIFORM of uniform play, so that no choice of an
opponent is taken for impossible, and otherwise a softmax of the weighted features.
"""

from libc.string cimport memset

from engine.chance cimport Rng, rng_double
from engine.features cimport likely, weighted
from engine.game cimport State
from games.champion_chess.rules.hand cimport count_in, nobles, one_of, total
from games.champion_chess.rules.state cimport (
    AID, CASTLE, CHAMPION, DISCARD_TO_RESERVE, KIND_SHIFT, KING, PLAY_AID, QUEEN, Side,
)

# Nodes try actions, and the first action after them is chosen, by the likelihoods to this power:
# what the search leaves open is no reason to try worse actions.
cdef enum:
    SHARPNESS = 2

cdef int* MARK = [-6, -3, 0, 2, 3, 4, 6, 8, 10, 12]

NOBLE_NAMES = ("king", "queen", "bishop", "rook", "knight")
AID_NAMES = ("pawn", "steed", "armor", "sword", "feint", "shield", "magic")
CHAMPION_NAMES = (*NOBLE_NAMES, "castles", "several", "queen, aid in hand", "queen, nobles left",
                  "king, nobles left")
AID_PLAYED = (
    *AID_NAMES, "none", "one card", "one category", "two categories", "three categories",
    *(f"lead above {MARK[i]}" for i in range(MARKS)), "king, cards", "against king, cards",
    "king, wins", "against king, wins", "a king, lead above 6", "a king, lead above 12",
    "least lead", "greatest lead", "wasted", "surplus", "queen, cards", "queen, wins",
    "queen, none", "against queen, cards", "against queen, wins", "against queen, none",
    "cards, nobles left", "wins, nobles left", "cards, aid left", "cards, playable",
    "wins, playable", "none, playable")
DISCARD_NAMES = (
    *NOBLE_NAMES, *AID_NAMES, "of several", "nobles, nobles in hand", "aid, nobles in hand",
    "nobles, aid in hand", "aid, aid in hand", "nobles, deck", "aid, deck", "nobles, nobles left",
    "aid, nobles left", "king, nobles left", "king, nobles in hand")


cdef uint64_t cards_of_set(int set) noexcept nogil:
    cdef uint64_t cards = (set >> KINDS) * one_of(PAWN)
    cdef int kind
    for kind in range(KINDS):
        cards += (set >> kind & 1) * one_of(PAWN + 1 + kind)
    return cards


cdef inline int drawn(const double* likelihoods, int n, double sum, Rng* rng) noexcept nogil:
    # Draws a number below n in proportion to the likelihoods, whose sum is given.
    cdef double at = rng_double(rng) * sum
    cdef int i = 0
    while i < n - 1 and at >= likelihoods[i]:
        at -= likelihoods[i]
        i += 1
    return i


cdef class ChampionChessFeatures(Features):
    """Describes champions, aid and discards."""

    uses = ("beliefs", "playouts")
    holding = ("playouts",)

    def __init__(self, game, weights=None, net=None):
        super().__init__(game, weights, net)
        self.rules = game
        if weights is not None:
            for i, weight in enumerate(weights["champion"]):
                self.champion_weights[i] = weight
            for i, weight in enumerate(weights["aid"]):
                self.aid_weights[i] = weight
            for i, weight in enumerate(weights["discards"]):
                self.discard_weights[i] = weight
            self.fill_sets()

    @property
    def decisions(self):
        return {"champion": CHAMPION_NAMES, "aid": AID_PLAYED, "discards": DISCARD_NAMES}

    @property
    def moments(self):
        return ()                    # No scores are too high, but all are too near one half.

    cdef int moment(self, const State* state, int seat) noexcept nogil:
        return -1

    cdef int decision_kind(self, const State* state, int seat) noexcept nogil:
        return (<const ChessState*> state).phase - CHAMPION

    cdef void describe_action(self, const State* state, int seat, Action action,
                              int* row) noexcept nogil:
        cdef const ChessState* chess = <const ChessState*> state
        cdef const uint8_t* hand = chess.own[seat].hand
        cdef Circumstances at = self.circumstances(chess, seat)
        cdef int card, held = total(hand), most = nobles(hand)
        if chess.phase == CHAMPION:
            self.describe_champion(&at, hand[action & 255], held - most, action & 255,
                                   action & CASTLE != 0, row)
        elif chess.phase == AID:
            self.describe_aid(&at, size_of_set(set_of(hand)), action, row)
        else:
            memset(row, 0, DISCARD_FEATURES * sizeof(int))
            for card in range(CARDS):
                self.describe_discard(&at, most, held - most, card, hand[card],
                                      count_in(action, card), row)

    cdef Circumstances circumstances(self, const ChessState* chess, int seat) noexcept nogil:
        cdef const Side* side = &chess.side[seat]
        cdef Circumstances at
        cdef int card
        memset(&at, 0, sizeof(at))
        for card in range(CARDS):
            if card < NOBLES:
                at.nobles_left += self.rules.copies[card] - side.defeated[card]
            else:
                at.aid_left += self.rules.copies[card] - side.defeated[card]
        at.deck_size = side.deck_size
        if chess.phase == AID:
            at.champion = side.champion - 1
            at.against = chess.side[1 - seat].champion - 1
        return at

    # Features

    cdef void describe_champion(self, const Circumstances* at, int held, int aid, int noble,
                                bint castles, int* row) noexcept nogil:
        memset(row, 0, CHAMPION_FEATURES * sizeof(int))
        if castles:
            row[CASTLES] = 1
            return
        row[noble] = 1
        row[SEVERAL] = held > 1
        if noble == QUEEN:
            row[QUEEN_AID] = aid
            row[QUEEN_LEFT] = at.nobles_left
        elif noble == KING:
            row[KING_LEFT] = at.nobles_left

    cdef void describe_aid(self, const Circumstances* at, int playable, uint64_t cards,
                           int* row) noexcept nogil:
        cdef int leads[3]
        cdef int before[3]
        cdef int card, category, lead, mark, n = 0, ahead = 0, least, greatest, middle = 0, wins
        memset(row, 0, AID_FEATURES * sizeof(int))
        for category in range(3):
            before[category] = (<int> self.rules.points[at.champion][category]
                                - self.rules.points[at.against][category])
            leads[category] = before[category]
        for card in range(PAWN, CARDS):
            row[card - NOBLES] = count_in(cards, card)
            n += row[card - NOBLES]
            for category in range(3):
                leads[category] += row[card - NOBLES] * self.rules.points[card][category]
        for category in range(3):
            lead = leads[category] - before[category]
            ahead += leads[category] > 0
            middle += leads[category]
            if leads[category] <= 0:
                row[WASTED] += lead
            if before[category] > 0:
                row[SURPLUS] += lead
        least = min(leads[0], leads[1], leads[2])
        greatest = max(leads[0], leads[1], leads[2])
        middle -= least + greatest
        wins = ahead > 1
        row[NO_AID] = n == 0
        row[ONE_CARD] = n == 1
        if ahead:
            row[AHEAD + ahead - 1] = 1
        for mark in range(MARKS):
            row[BEYOND + mark] = middle > MARK[mark]
        if at.champion == KING:
            row[KING_CARDS] = n
            row[KING_WINS] = wins
        if at.against == KING:
            row[AGAINST_KING_CARDS] = n
            row[AGAINST_KING_WINS] = wins
        if at.champion == KING or at.against == KING:
            row[KINGS_6] = middle > 6
            row[KINGS_12] = middle > 12
        row[LEAST] = least
        row[GREATEST] = greatest
        if at.champion == QUEEN:
            row[QUEEN_CARDS] = n
            row[QUEEN_WINS] = wins
            row[QUEEN_NO_AID] = n == 0
        if at.against == QUEEN:
            row[AGAINST_QUEEN_CARDS] = n
            row[AGAINST_QUEEN_WINS] = wins
            row[AGAINST_QUEEN_NO_AID] = n == 0
        row[LEFT_CARDS] = n * at.nobles_left
        row[LEFT_WINS] = wins * at.nobles_left
        row[AID_LEFT_CARDS] = n * at.aid_left
        row[PLAYABLE_CARDS] = n * playable
        row[PLAYABLE_WINS] = wins * playable
        row[PLAYABLE_NO_AID] = (n == 0) * playable

    cdef void describe_discard(self, const Circumstances* at, int of_nobles, int aid, int card,
                               int held, int n, int* row) noexcept nogil:
        cdef int kind = card >= NOBLES
        row[card] += n
        if kind and held > 1:
            row[OF_SEVERAL] += n
        row[BY_NOBLES + kind] += n * of_nobles
        row[BY_AID + kind] += n * aid
        row[BY_DECK + kind] += n * at.deck_size
        row[BY_LEFT + kind] += n * at.nobles_left
        if card == KING:
            row[KING_BY_LEFT] += n * at.nobles_left
            row[KING_BY_NOBLES] += n * (of_nobles - held)

    # What the weights give

    cdef void fill_sets(self) noexcept nogil:
        cdef Circumstances at
        cdef int row[AID_FEATURES]
        cdef int own, other, aid
        memset(&at, 0, sizeof(at))
        for own in range(NOBLES):
            for other in range(NOBLES):
                at.champion = own
                at.against = other
                for aid in range(SETS):
                    if size_of_set(aid) >= MAX_HAND:
                        continue
                    self.describe_aid(&at, 1, cards_of_set(aid), row)
                    self.shapes[own][other][aid] = 2 * size_of_set(aid) + row[PLAYABLE_WINS]
                    self.describe_aid(&at, 0, cards_of_set(aid), row)
                    self.sets[own][other][aid] = likely(
                        SHARPNESS * weighted(self.aid_weights, row, AID_FEATURES))

    cdef Action choose(self, const ChessState* chess, int seat, Rng* rng) noexcept nogil:
        if chess.phase == CHAMPION:
            return self.choose_champion(chess, seat, rng)
        if chess.phase == AID:
            return self.choose_aid(chess, seat, rng)
        return self.choose_discards(chess, seat, rng)

    cdef Action choose_champion(self, const ChessState* chess, int seat, Rng* rng) noexcept nogil:
        cdef Circumstances at = self.circumstances(chess, seat)
        cdef const uint8_t* hand = chess.own[seat].hand
        cdef Action actions[NOBLES + 1]
        cdef double likelihoods[NOBLES + 1]
        cdef int row[CHAMPION_FEATURES]
        cdef double sum = 0
        cdef int i, noble, n = self.rules.legal_champions(chess, seat, actions)
        cdef int aid = total(hand) - nobles(hand)
        for i in range(n):
            noble = actions[i] & 255
            self.describe_champion(&at, hand[noble], aid, noble, actions[i] & CASTLE != 0, row)
            likelihoods[i] = likely(
                SHARPNESS * weighted(self.champion_weights, row, CHAMPION_FEATURES))
            sum += likelihoods[i]
        n = drawn(likelihoods, n, sum, rng)
        return actions[n]

    cdef Action choose_aid(self, const ChessState* chess, int seat, Rng* rng) noexcept nogil:
        cdef Circumstances at = self.circumstances(chess, seat)
        cdef const int* weights = self.aid_weights
        cdef const double* sets = self.sets[at.champion][at.against]
        cdef const uint8_t* shapes = self.shapes[at.champion][at.against]
        cdef int playable = set_of(chess.own[seat].hand)
        cdef int size = size_of_set(playable)
        cdef int some = playable & KIND_BITS, pawns, aid, n = 0
        cdef double factors[2 * MAX_HAND]
        cdef double likelihoods[1 << MAX_HAND]
        cdef int found[1 << MAX_HAND]
        cdef double sum = 0
        # What each card is worth by what is left, a win, and no card at all.
        cdef double card = likely(SHARPNESS * (weights[LEFT_CARDS] * at.nobles_left
                                               + weights[AID_LEFT_CARDS] * at.aid_left
                                               + weights[PLAYABLE_CARDS] * size))
        cdef double win = likely(SHARPNESS * (weights[LEFT_WINS] * at.nobles_left
                                              + weights[PLAYABLE_WINS] * size))
        factors[0] = likely(SHARPNESS * weights[PLAYABLE_NO_AID] * size)
        factors[1] = factors[0] * win
        for pawns in range(1, size + 1):
            factors[2 * pawns] = (1 if pawns == 1 else factors[2 * pawns - 2]) * card
            factors[2 * pawns + 1] = factors[2 * pawns] * win
        while True:
            for pawns in range((playable >> KINDS) + 1):
                aid = pawns << KINDS | some
                found[n] = aid
                likelihoods[n] = sets[aid] * factors[shapes[aid]]
                sum += likelihoods[n]
                n += 1
            if some == 0:
                break
            some = (some - 1) & playable & KIND_BITS
        n = drawn(likelihoods, n, sum, rng)
        return <Action> PLAY_AID << KIND_SHIFT | cards_of_set(found[n])

    cdef Action choose_discards(self, const ChessState* chess, int seat, Rng* rng) noexcept nogil:
        cdef Circumstances at = self.circumstances(chess, seat)
        cdef const uint8_t* hand = chess.own[seat].hand
        cdef Action action = <Action> DISCARD_TO_RESERVE << KIND_SHIFT
        cdef double likelihoods[MAX_HAND + 1]
        cdef int row[DISCARD_FEATURES]
        cdef double each, sum
        cdef int card, n, held = nobles(hand), aid = total(hand) - held
        for card in range(CARDS):
            if hand[card]:
                memset(row, 0, sizeof(row))
                self.describe_discard(&at, held, aid, card, hand[card], 1, row)
                each = likely(
                    SHARPNESS * weighted(self.discard_weights, row, DISCARD_FEATURES))
                sum = likelihoods[0] = 1
                for n in range(1, hand[card] + 1):
                    likelihoods[n] = likelihoods[n - 1] * each
                    sum += likelihoods[n]
                action += drawn(likelihoods, hand[card] + 1, sum, rng) * one_of(card)
        return action
