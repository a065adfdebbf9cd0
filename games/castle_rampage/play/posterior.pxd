"""The posterior of a hand: the particles that fit its history, with their weights."""

from engine.chance cimport Rng
from engine.integers cimport uint8_t
from games.castle_rampage.play.features cimport CastleRampageFeatures
from games.castle_rampage.play.particles cimport (
    MAX_POOLS, Particle, Past, Population, place_of_pool,
)
from games.castle_rampage.play.likelihoods cimport HandWeights
from games.castle_rampage.rules.history cimport Entry
from games.castle_rampage.rules.rules cimport CastleRampage
from games.castle_rampage.rules.state cimport CARDS, MAX_DRAWN, CastleView


cdef class HandPosterior:
    cdef CastleRampage rules
    cdef const CastleView* seen  # Owned by the sampler.
    cdef int other               # The seat whose hand it is: the opponent.
    cdef Past past
    cdef CastleRampageFeatures learned  # None: choices are taken for uniform.
    cdef HandWeights weights     # By what was learned: of the blanks in the hand,
    cdef double kept_mean        # and the means of those weights;
    cdef double means[MAX_POOLS]
    cdef double kept_under       # how likely a mean blank goes under a structure, in proportion.
    cdef double blank_under[MAX_POOLS]
    cdef bint exact              # Whether the weights assume uniform choices among legal actions.
    cdef int exact_most          # The most particles that an exact posterior may have.
    cdef Population populations[2]
    # During a step: the particles after and before it.
    cdef Population* now
    cdef Population* then
    cdef bint overflowed         # Whether a step made more particles than there is room for.
    cdef int attempt             # The number of failed attempts before this one.
    cdef bint thinned            # Whether any particle was left out at random.
    cdef Rng thinning
    cdef int most                # The number of particles to which a population is thinned out,
    cdef double power            # and the power of the weights that decides which are kept.
    # The opponent's draws from piles that have run out, in a fixed order, for its `drawn`.
    cdef int drawn_length
    cdef uint8_t drawn[MAX_DRAWN]

    # Goes through the history. Returns a fault, with the byte of the faulty entry in `at`, or 0.
    cdef int go_through(self, int* at) noexcept nogil
    cdef int replay(self, int* at) noexcept nogil
    cdef int follow(self, const Entry* entry) noexcept nogil
    cdef int start(self) noexcept nogil
    cdef int start_structure(self, Particle* particle, int structure) noexcept nogil
    cdef bint open_pool(self, Particle* particle) noexcept nogil
    cdef void next_step(self) noexcept nogil
    cdef void keep(self, const Particle* particle, double weight) noexcept nogil
    cdef void decide(self, int flags) noexcept nogil
    cdef void identify_kept(self) noexcept nogil
    cdef void draw_one(self) noexcept nogil
    cdef void drop_card(self) noexcept nogil
    cdef void take_means(self) noexcept nogil
    cdef void take_means_under(self, int structure) noexcept nogil
    cdef double kept_card(self, const Particle* particle, int card) noexcept nogil
    cdef double blank_card(self, const Particle* particle, int pool, int card) noexcept nogil
    cdef void give_up(self, int card, bint at_random) noexcept nogil
    cdef void place(self, int structure, int card) noexcept nogil
    cdef void leave(self, const Particle* before, double weight, int card,
                    bint at_random) noexcept nogil
    cdef void place_hidden(self, const Particle* before, double weight,
                           int structure) noexcept nogil
    cdef void keep_placed(self, Particle* particle, double weight, int card) noexcept nogil
    cdef void take_back(self) noexcept nogil
    cdef void show(self, int unit, const uint8_t* hand) noexcept nogil
    cdef void lay_open(self, const Particle* before, double weight, int card,
                       int left) noexcept nogil
    cdef int reshuffle(self) noexcept nogil
    cdef bint make_room(self, Particle* particle, int pool) noexcept nogil
    cdef void remember_pool(self) noexcept nogil
    cdef void look_ahead(self) noexcept nogil
    cdef void thin(self) noexcept nogil

    # The cards of the newest draw pile at its start, without those that the seat of the view has
    # drawn from it.
    cdef inline const uint8_t* last_pile(self) noexcept nogil:
        return self.past.piles + (self.past.pool_count - 1) * CARDS

    # The place of the newest pool in a particle.
    cdef inline int newest(self) noexcept nogil:
        return place_of_pool(self.past.pool_count - 1)
