"""What luck was worth in a match, for AIVAT: see lab/arena.py.

A step of a match is all that happens between two positions: the decisions of the seats, and the
chance that follows. If it is known with which probabilities each decision was made, the step is one
draw from a known distribution, and so are other draws of it. Let v be any number that depends on
the position after the step. Then

    the mean of v over other draws  -  v after the draw that happened

is 0 on average, whatever v is and however the players play. Added to the score of the match, it
changes no expectation. If v says how good a position is, it takes away luck, and with it variance.

    N. Burch, M. Schmid, M. Moravčík, D. Morrill, M. Bowling, "AIVAT: A New Variance Reduction
    Technique for Agent Evaluation in Imperfect Information Games", AAAI 2018.

AIVAT also averages over the hands that a known strategy could hold where the other seat cannot tell
them apart. That needs its probabilities at decisions that it did not face, which a search does not
have, so it is left out here.

v is the mean score of seat 0 in playouts of the game's policy. All draws share the random numbers
of their playouts. How far the means differ by nothing but the chance of the playouts is estimated
from all draws alike, and the correction is made smaller by this share. Where no draw pile has an
order, and there are few outcomes, all of them are enumerated.

*Draw piles.* The order of a pile is drawn when it is shuffled, but only matters as cards are taken
from it. As long as nobody has seen it, it is as if each card were drawn as it is taken. So the
piles are shuffled again before each draw of a step and before each playout, and a step in which a
seat draws a card is a chance event.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport sqrt
from libc.string cimport memcmp, memset

from engine.chance cimport (
    Rng, Script, rng_double, rng_seed, script_next, script_probability, script_start,
)
from engine.game cimport SEATS, VIEW_BYTES, Action, Game, State, View
from engine.integers cimport uint64_t
from engine.playout_policy cimport PlayoutPolicy
from engine.position cimport Position

cdef enum:
    MAX_OUTCOMES = 64          # That are enumerated.


cdef class Luck:
    """Measures what luck was worth in the steps of matches of one game.

    `samples` are the other draws of a step where not all outcomes are enumerated, and `playouts`
    are those of each position, by a model, or by what was learned of the game.
    """

    cdef Game game
    cdef PlayoutPolicy policy
    cdef public bint piles         # Whether order that nobody has seen is drawn again.
    # The standard deviation of the last correction, of the chance of playouts and of draws.
    cdef readonly double deviation
    cdef int samples, playouts
    cdef State* outcomes
    cdef double* weights
    cdef double* scores        # Of playouts: a row for each position.
    cdef double* column_means

    def __cinit__(self, Game game not None, int samples, int playouts, model=None):
        cdef size_t count = max(samples, <int> MAX_OUTCOMES)
        if samples < 1 or playouts < 1:
            raise ValueError("samples and playouts must be 1 or more")
        self.game = game
        self.policy = PlayoutPolicy.of(game, model)
        self.piles = game.unseen_order
        self.samples = samples
        self.playouts = playouts
        self.outcomes = <State*> PyMem_Malloc(count * sizeof(State))
        self.weights = <double*> PyMem_Malloc(count * sizeof(double))
        self.scores = <double*> PyMem_Malloc((count + 1) * playouts * sizeof(double))
        self.column_means = <double*> PyMem_Malloc(playouts * sizeof(double))
        if (self.outcomes == NULL or self.weights == NULL or self.scores == NULL
                or self.column_means == NULL):
            raise MemoryError
        # A State has bytes that its game never writes.
        memset(self.outcomes, 0, count * sizeof(State))

    def __dealloc__(self):
        PyMem_Free(self.outcomes)
        PyMem_Free(self.weights)
        PyMem_Free(self.scores)
        PyMem_Free(self.column_means)

    def correction(self, Position before not None, choices, Position after not None,
                   uint64_t seed):
        """What to add to the score of seat 0 for a step of a match.

        `choices` are by seat: pairs of an action and its probability, of which one was drawn; none
        for a seat that did not decide. `seed` must be new for each step.
        """
        cdef int count = 0
        cdef bint sampled
        supports = [[(action, share) for action, share in choice if share > 0] or [(0, 1.0)]
                    for choice in choices]
        if not self.piles:
            count = self.enumerate(&before.state, supports)
        sampled = count == 0
        if sampled:
            count = self.sample(&before.state, supports, seed)
        return self.compare(&after.state, count, sampled, seed)

    def deal(self, Position dealt not None, uint64_t seed):
        """What to add to the score of seat 0 for the deal, and the mean score of other deals.

        The correction is as of a step: 0 on average. The mean says how good it is to be seat 0.
        """
        cdef Rng rng
        cdef double mean = 0
        cdef int i
        rng_seed(&rng, seed)
        for i in range(self.samples):
            memset(&self.outcomes[i], 0, sizeof(State))
            self.game.deal(&self.outcomes[i], &rng, NULL)
            self.weights[i] = 1.0 / self.samples
        if self.alike(&dealt.state, self.samples):
            self.deviation = 0
            return 0.0, self.value(&dealt.state, 0, ~seed)
        correction = self.compare(&dealt.state, self.samples, True, seed)
        for i in range(self.samples * self.playouts):
            mean += self.scores[i] / (self.samples * self.playouts)
        return correction, mean

    cdef double compare(self, const State* after, int count, bint sampled, uint64_t seed):
        # The mean of `count` outcomes less the value of the one that happened, without noise.
        cdef double mean = 0, actual, signal, difference, noise = 0, between = 0
        cdef int row, i, n = self.playouts
        self.deviation = 0
        with nogil:
            if self.alike(after, count):
                return 0
            for row in range(count):
                actual = self.value(&self.outcomes[row], row, ~seed)
                mean += self.weights[row] * actual
                between += self.weights[row] * actual * actual
            actual = self.value(after, count, ~seed)
            signal = self.signal(count + sampled)
            if n > 1:
                for i in range(n):
                    difference = -self.scores[count * n + i] - (mean - actual)
                    for row in range(count):
                        difference += self.weights[row] * self.scores[row * n + i]
                    noise += difference * difference
                noise /= <double> n * (n - 1)
            if sampled and count > 1:
                noise += max(0.0, between - mean * mean) / (count - 1)
            self.deviation = signal * sqrt(noise)
        return signal * (mean - actual)

    def mean_score(self, Position position not None, uint64_t seed):
        """The mean score of seat 0 in playouts from a position."""
        return self.value(&position.state, 0, seed)

    def shuffled(self, Position position not None, uint64_t seed):
        """The position with its draw piles in another order, for tests."""
        cdef Position other = position.copy()
        cdef Rng rng
        rng_seed(&rng, seed)
        self.shuffle(&other.state, &rng)
        return other

    cdef int enumerate(self, const State* before, list supports) except -1:
        # All outcomes with their probabilities; returns 0 if they are too many.
        cdef Script script
        cdef Rng rng
        cdef Action joint[SEATS]
        cdef double total
        cdef int count = 0, first, i
        for joint[0], share in supports[0]:
            for joint[1], other_share in supports[1]:
                script_start(&script, &rng)
                first = count
                total = 0
                while True:
                    if count == MAX_OUTCOMES:
                        return 0
                    self.outcomes[count] = before[0]
                    self.game.apply(&self.outcomes[count], joint, &rng, NULL)
                    if script.broken:
                        return 0
                    if not script.rejected:
                        self.weights[count] = script_probability(&script)
                        total += self.weights[count]
                        count += 1
                    if not script_next(&script):
                        break
                for i in range(first, count):
                    self.weights[i] *= share * other_share / total
        return count

    cdef int sample(self, const State* before, list supports, uint64_t seed) except -1:
        cdef Rng rng
        cdef Action joint[SEATS]
        cdef int i, seat
        rng_seed(&rng, seed)
        for i in range(self.samples):
            for seat in range(SEATS):
                joint[seat] = drawn(supports[seat], rng_double(&rng))
            self.outcomes[i] = before[0]
            self.shuffle(&self.outcomes[i], &rng)
            self.game.apply(&self.outcomes[i], joint, &rng, NULL)
            self.weights[i] = 1.0 / self.samples
        return self.samples

    cdef bint alike(self, const State* after, int count) noexcept nogil:
        # Whether both seats see the same in all draws. All are then worth the same, so the rest
        # would be noise.
        cdef View view, other
        cdef int seat, i
        for seat in range(SEATS):
            self.game.view(after, seat, &view)
            for i in range(count):
                self.game.view(&self.outcomes[i], seat, &other)
                if memcmp(&view, &other, VIEW_BYTES) != 0:
                    return False
        return True

    cdef double value(self, const State* state, int row, uint64_t seed) noexcept nogil:
        # Keeps the scores of the playouts in a row of the table.
        cdef Rng rng
        cdef State copy
        cdef double total = 0, draw = 0
        cdef double* scores = self.scores + row * self.playouts
        cdef int i
        rng_seed(&rng, seed)
        for i in range(self.playouts):
            copy = state[0]
            self.shuffle(&copy, &rng)
            scores[i] = self.policy.playout(&copy, &rng, &draw)
            total += scores[i]
        return total / self.playouts

    cdef double signal(self, int rows) noexcept nogil:
        # The share of the variance between the rows' means that is not noise of the playouts.
        cdef double mean, all_mean = 0, between = 0, noise = 0, rest
        cdef int row, i, n = self.playouts
        if n == 1 or rows == 1:
            return 1
        for i in range(n):
            self.column_means[i] = 0
        for row in range(rows):
            for i in range(n):
                self.column_means[i] += self.scores[row * n + i] / rows
        for i in range(n):
            all_mean += self.column_means[i] / n
        for row in range(rows):
            mean = 0
            for i in range(n):
                mean += self.scores[row * n + i] / n
            between += (mean - all_mean) * (mean - all_mean)
            for i in range(n):
                rest = self.scores[row * n + i] - mean - self.column_means[i] + all_mean
                noise += rest * rest
        between /= rows - 1
        noise /= <double> (rows - 1) * (n - 1) * n
        return 1 - noise / between if noise < between else 0

    cdef void shuffle(self, State* state, Rng* rng) noexcept nogil:
        # Puts the draw piles into an order that fits all that anybody has seen.
        if self.piles:
            self.game.shuffle_unseen(state, rng)


cdef Action drawn(list support, double threshold):
    for action, share in support:
        threshold -= share
        if threshold < 0:
            return action
    return support[0][0]
