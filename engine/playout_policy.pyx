"""A playout policy chooses the actions of the playouts of a search.

A game may have one in its module `playout`, which plays sensibly, and the search follows it. The
base class, which chooses uniformly among the legal actions, stands in for it.
"""

from engine.chance cimport Rng, rng_below, rng_seed
from engine.faults cimport raise_fault
from engine.game cimport MAX_ACTIONS, NOBODY, SEATS, Action, Game, State
from engine.integers cimport uint64_t
from engine.position cimport Position

from engine.model import learned
from engine.parts import part

cdef class PlayoutPolicy:
    """Plays one game cheaply. This base class chooses uniformly."""

    @staticmethod
    def of(Game game not None, model=None):
        """The sensible playout policy of a game, uniform if the game has none of its own.

        It plays and estimates by a model, by default what was learned of the game.
        """
        policy = part(type(game), "play.playout", PlayoutPolicy)
        if policy is PlayoutPolicy:
            stand_in = game.stand_in("playout")
            return PlayoutPolicy(game) if stand_in is None else stand_in(game, True)
        if model is None:
            model = learned(game)
        return policy(game) if model is None else policy(game, model)

    @staticmethod
    def uniform(Game game not None):
        """The playout policy that chooses uniformly and plays to the end of the match."""
        return (game.stand_in("playout") or PlayoutPolicy)(game)

    def __init__(self, Game game not None):
        self.game = game
        self.horizon = 1

    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil:
        cdef Action actions[MAX_ACTIONS]
        return actions[rng_below(rng, self.game.legal(state, seat, actions))]

    cdef int stage(self, const State* state) noexcept nogil:
        return 0

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        draw[0] = 0
        return 0.5

    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil:
        cdef Action joint[SEATS]
        cdef int seat, owed
        cdef int last = self.stage(state) + self.horizon
        while True:
            owed = self.game.deciders(state)
            if owed == NOBODY:
                return self.at_end(state, draw)
            if self.stage(state) >= last:
                return self.estimate(state, draw)
            for seat in range(SEATS):
                joint[seat] = 0
                if owed & (1 << seat):
                    joint[seat] = self.choose(state, seat, rng)
            self.game.apply(state, joint, rng, NULL)

    def action(self, Position position not None, int seat, uint64_t seed):
        """The action that the policy chooses for a seat that must decide."""
        cdef Rng rng
        cdef Action action
        rng_seed(&rng, seed)
        action = self.choose(&position.state, seat, &rng)
        raise_fault()
        return action

    def score(self, Position position not None):
        """The estimated score of seat 0 and probability of a draw, without a playout."""
        cdef double draw = 0
        cdef double score = self.estimate(&position.state, &draw)
        raise_fault()
        return score, draw

    def at(self, Position position not None):
        """The stage of a position."""
        cdef int stage = self.stage(&position.state)
        raise_fault()
        return stage

    def playouts(self, Position position not None, int n, uint64_t seed):
        """The mean score of seat 0 and the share of draws in `n` playouts."""
        cdef State state
        cdef Rng rng
        cdef double score = 0, draw = 0, draws = 0
        rng_seed(&rng, seed)
        for _ in range(n):
            state = position.state
            with nogil:
                score += self.playout(&state, &rng, &draw)
            raise_fault()
            draws += draw
        return score / n, draws / n
