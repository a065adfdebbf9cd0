"""How likely a model makes the choices of one turn, for every hand that may have made them.

The sampler asks for thousands of hands, which differ little in what a model looks at. So each
answer is looked up: a champion by whether there are several of it and by the aid in hand; the
normalizer of aid by which cards can be played; and the discards of each card by how many copies
there are, and how many nobles and aid cards are in hand. Sets of aid that are contained in others
are described once, and what is not asked for is not computed.

If the opposing champion is not known any more, aid is as likely as on average against the nobles
of which there are most.
"""

from libc.string cimport memcpy, memset

from engine.features cimport UNIFORM, likely, weighted
from engine.integers cimport uint64_t
from games.champion_chess.play.features cimport (
    AID_FEATURES, CHAMPION_FEATURES, DISCARD_FEATURES, KIND_BITS, KINDS, cards_of_set, set_of,
    size_of_set,
)
from games.champion_chess.rules.hand cimport nobles, total
from games.champion_chess.rules.state cimport BISHOP, KNIGHT, ROOK


cdef inline double mixed(double chance, int choices) noexcept nogil:
    return UNIFORM / choices + (1 - UNIFORM) * chance


cdef class TurnLikelihoods:
    """The likelihoods of one turn of a seat, and then of its next."""

    def __init__(self, features):
        self.features = features

    cdef void begin(self, int nobles_left, int aid_left) noexcept nogil:
        cdef int row[CHAMPION_FEATURES]
        cdef const int* weights = self.features.champion_weights
        cdef int noble, several, aid
        memset(&self.at, 0, sizeof(self.at))
        self.at.nobles_left = nobles_left
        self.at.aid_left = aid_left
        for noble in range(NOBLES):
            for several in range(2):
                for aid in range(MAX_HAND):
                    self.features.describe_champion(&self.at, 1 + several, aid, noble, False, row)
                    self.champions[noble][several][aid] = likely(
                        weighted(weights, row, CHAMPION_FEATURES))
        self.features.describe_champion(&self.at, 1, 0, KING, True, row)
        self.castles = likely(weighted(weights, row, CHAMPION_FEATURES))

    cdef void show_aid(self, int champion, int against, const uint8_t* cards) noexcept nogil:
        cdef int i
        self.at.champion = champion
        self.aid_shown = set_of(cards)
        self.foes = 1 if against >= 0 else MAX_FOES
        for i in range(self.foes):
            self.at.against = against if against >= 0 else BISHOP + i
            self.fill_aid(&self.aid[i])

    cdef void fill_aid(self, AidChances* chances) noexcept nogil:
        cdef int row[AID_FEATURES]
        cdef const int* weights = self.features.aid_weights
        cdef uint64_t cards
        cdef int set
        memset(chances.known, 0, sizeof(chances.known))
        memset(chances.totals, 0, sizeof(chances.totals))
        for set in range(SETS):
            if size_of_set(set) >= MAX_HAND:
                continue
            cards = cards_of_set(set)
            self.features.describe_aid(&self.at, 0, cards, row)
            chances.sums[set] = weighted(weights, row, AID_FEATURES)
            self.features.describe_aid(&self.at, 1, cards, row)
            chances.slopes[set] = weighted(weights, row, AID_FEATURES) - chances.sums[set]

    cdef void show_discards(self, int deck_size, int nobles_left,
                            const uint8_t* cards) noexcept nogil:
        self.at.deck_size = deck_size
        self.at.nobles_left = nobles_left
        memcpy(self.discarded, cards, CARDS)
        memset(self.discards_known, 0, sizeof(self.discards_known))

    cdef double of_champion(self, const uint8_t* hand, int card, bint castled, bint may_castle,
                            int choices) noexcept nogil:
        cdef int noble, aid = total(hand) - nobles(hand)
        cdef double sum = self.castles if may_castle else 0
        for noble in range(NOBLES):
            if hand[noble]:
                sum += self.champions[noble][hand[noble] > 1][aid]
        return mixed((self.castles if castled else self.champions[card][hand[card] > 1][aid])
                     / sum, choices)

    cdef double of_aid(self, const uint8_t* hand, int choices) noexcept nogil:
        cdef AidChances* chances
        cdef int playable = set_of(hand)
        cdef int size = size_of_set(playable)
        cdef int i
        cdef double sum = 0, whole
        for i in range(self.foes):
            chances = &self.aid[i]
            whole = chances.totals[playable]
            if whole == 0:
                whole = self.total_of(chances, playable, size)
            sum += chances.likely[size][self.aid_shown] / whole
        return mixed(sum / self.foes, choices)

    cdef double total_of(self, AidChances* chances, int playable, int size) noexcept nogil:
        cdef double* likelihoods = chances.likely[size]
        cdef double sum = 0
        cdef int mask = playable & KIND_BITS
        cdef int pawns = playable >> KINDS, set, some, n
        if not chances.known[size]:
            chances.known[size] = True
            for set in range(SETS):
                if size_of_set(set) <= size:
                    likelihoods[set] = likely(chances.sums[set] + size * chances.slopes[set])
        some = mask
        while True:
            for n in range(pawns + 1):
                sum += likelihoods[n << KINDS | some]
            if some == 0:
                break
            some = (some - 1) & mask
        chances.totals[playable] = sum
        return sum

    cdef double of_discards(self, const uint8_t* hand, int choices) noexcept nogil:
        cdef int card, n = nobles(hand), aid = total(hand) - n
        cdef double chance = 1
        if not self.discards_known[n][aid]:
            self.fill_discards(n, aid)
        for card in range(CARDS):
            if hand[card]:
                chance *= self.discards[n][aid][card][hand[card]]
        return mixed(chance, choices)

    cdef void fill_discards(self, int of_nobles, int aid) noexcept nogil:
        cdef int row[DISCARD_FEATURES]
        cdef double each, power, whole, shown
        cdef int card, held, n
        self.discards_known[of_nobles][aid] = True
        for card in range(CARDS):
            for held in range(1, (of_nobles if card < NOBLES else aid) + 1):
                if held <= 2 or card == KING:
                    memset(row, 0, sizeof(row))
                    self.features.describe_discard(&self.at, of_nobles, aid, card, held, 1, row)
                    each = likely(weighted(self.features.discard_weights, row, DISCARD_FEATURES))
                whole = shown = power = 1
                for n in range(1, held + 1):
                    power *= each
                    whole += power
                    if n == self.discarded[card]:
                        shown = power
                self.discards[of_nobles][aid][card][held] = shown / whole


assert KNIGHT - BISHOP + 1 == MAX_FOES and BISHOP < ROOK < KNIGHT
