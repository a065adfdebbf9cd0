"""A sampler draws the worlds, full states, that fit one view.

Each game has its own in the module `sampler` of its folder.
"""

from array import array
from itertools import accumulate
from typing import NamedTuple

from cpython.bytes cimport PyBytes_AS_STRING
from libc.string cimport memcmp, memset

from engine.chance cimport (
    Rng, Script, rng_seed, rng_weighted, script_next, script_probability, script_start,
)
from engine.faults cimport raise_fault
from engine.game cimport CARD_TYPES, MAX_PLACES, SEATS, Cards, SeatView, State
from engine.integers cimport uint32_t, uint64_t
from engine.position cimport Position

from engine.errors import ViewError
from engine.parts import part


cdef enum:
    BELIEF_SLICE = 64          # Worlds drawn without asking whether to go on.


class CardBelief(NamedTuple):
    """A card that may lie at a hidden place. `card` is its index among the game's cards.

    `expected` is the mean number of copies there, `probability` that of at least one copy.
    """

    place: str
    card: int
    expected: float
    probability: float


class Beliefs(NamedTuple):
    """The CardBeliefs about hidden places, by place and card, and the worlds they rest on."""

    worlds: int
    cards: list


cdef class Sampler:
    """Draws worlds that fit one view."""

    @staticmethod
    def of(SeatView view not None, model=None):
        """A sampler of the view's game. Raises ViewError if no world fits the view.

        With a model of the game, worlds are drawn by the likelihood of the opponent's past choices.
        """
        sampler = part(type(view.game), "play.sampler", Sampler)
        if sampler is Sampler:
            sampler = view.game.stand_in("sampler") or Sampler
        return sampler(view) if model is None else sampler(view, model)

    def __init__(self, SeatView view not None, model=None):
        self.model = model
        self.game = view.game
        self.seat = view.seat
        self.view = view.view
        if self.seat >= SEATS:
            raise ViewError("seat", "must be 0 or 1: a spectator's view has no seat to search for")

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        memset(state, 0, self.game.state_bytes)

    cdef check_whole(self):
        # Of a view that is right in all that its counts cover: raises ViewError for anything else,
        # which shows in a world, whose view of the seat then differs.
        cdef State state
        cdef View shown
        cdef Rng rng
        rng_seed(&rng, 0)
        memset(&state, 0, sizeof(state))
        self.draw(&state, &rng)
        self.game.view(&state, self.seat, &shown)
        raise_fault()
        if memcmp(&shown, &self.view, sizeof(View)):
            raise ViewError("", "must be 0 beyond its counts")

    def sample(self, uint64_t seed, Position earlier=None):
        """Draws one position. An `earlier` one of the game is drawn over and returned."""
        cdef Position position = Position(self.game) if earlier is None else earlier
        cdef Rng rng
        rng_seed(&rng, seed)
        with nogil:
            self.draw(&position.state, &rng)
        raise_fault()
        return position

    def draws(self, int n, uint64_t seed):
        """Draws `n` states and keeps none, to measure the speed."""
        cdef State state
        cdef Rng rng
        cdef int _n
        rng_seed(&rng, seed)
        memset(&state, 0, sizeof(state))
        with nogil:
            for _n in range(n):
                self.draw(&state, &rng)
        raise_fault()

    def worlds(self, int most):
        """All positions that can be drawn, each with its probability.

        None if there are more than `most` ways to draw, or if a script cannot enumerate them.
        """
        cdef Position position
        cdef Script script
        cdef Rng rng
        chances = {}
        script_start(&script, &rng)
        for _ in range(most):
            position = Position(self.game)
            self.draw(&position.state, &rng)
            raise_fault()
            if script.broken:
                return None
            if not script.rejected:
                chance = script_probability(&script)
                chances[position] = chances.get(position, 0.0) + chance
            if not script_next(&script):
                total = sum(chances.values())
                return {position: chance / total for position, chance in chances.items()}
        return None

    def beliefs(self, int worlds, uint64_t seed, interrupted=None):
        """The Beliefs about the places that the seat does not see.

        Each CardBelief is a mean over `worlds` drawn worlds. Cards that lie at a place in none of
        these worlds are left out. `interrupted` is called after every 64 worlds; when it returns
        true, the Beliefs rest on the worlds drawn so far.
        """
        cdef State state
        cdef Cards[MAX_PLACES] places
        cdef uint64_t[MAX_PLACES][CARD_TYPES] copies
        cdef uint32_t[MAX_PLACES][CARD_TYPES] present
        cdef Rng rng
        cdef int _world, place, card, drawn = 0, slice, n = len(self.game.hidden_places)
        rng_seed(&rng, seed)
        memset(&state, 0, sizeof(state))
        memset(copies, 0, sizeof(copies))
        memset(present, 0, sizeof(present))
        while drawn < worlds and not (drawn and interrupted is not None and interrupted()):
            slice = min(worlds - drawn, BELIEF_SLICE)
            drawn += slice
            with nogil:
                for _world in range(slice):
                    memset(places, 0, n * sizeof(Cards))
                    self.draw(&state, &rng)
                    self.game.hidden(&state, self.seat, places)
                    for place in range(n):
                        for card in range(CARD_TYPES):
                            copies[place][card] += places[place][card]
                            present[place][card] += places[place][card] > 0
            raise_fault()
        return Beliefs(drawn, [
            CardBelief(self.game.hidden_places[place], card,
                       copies[place][card] / <double> drawn, present[place][card] / <double> drawn)
            for place in range(n) for card in range(CARD_TYPES) if present[place][card]])


cdef class KnownWorld(Sampler):
    """Draws one position, as if a seat saw all cards; order that nobody has seen varies."""

    cdef Position world

    def __init__(self, Position position not None, int seat):
        super().__init__(position.view(seat))
        self.world = position.copy()

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        state[0] = self.world.state
        self.game.shuffle_unseen(state, rng)


cdef class WeightedWorlds(Sampler):
    """Draws given worlds of a view by their weights; order that nobody has seen varies."""

    cdef bytes joined            # The states of the worlds.
    cdef object sums             # Of the weights up to each.
    cdef const State* first
    cdef const double* first_sum
    cdef size_t count

    def __init__(self, view, worlds, weights, model=None):
        """Each weight belongs to one of the worlds. Raises ValueError unless one is above 0."""
        cdef const double[::1] sums
        super().__init__(view, model)
        self.joined = b"".join(map(bytes, worlds))
        self.sums = array("d", accumulate(weights))
        self.count = len(self.sums)
        if len(self.joined) != self.count * sizeof(State) or not max(self.sums, default=0) > 0:
            raise ValueError("each world must have a weight, and one be above 0")
        sums = self.sums
        self.first = <const State*> PyBytes_AS_STRING(self.joined)
        self.first_sum = &sums[0]

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        state[0] = self.first[rng_weighted(rng, self.first_sum, self.count)]
        self.game.shuffle_unseen(state, rng)
