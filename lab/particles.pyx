"""A step of a particle filter: what follows in a world, by what one seat observes of the step."""

from libc.string cimport memcmp

from engine.chance cimport Rng, rng_seed
from engine.faults cimport raise_fault
from engine.game cimport MAX_ACTIONS, SEATS, VIEW_BYTES, Action, Game, SeatView, State, View
from engine.integers cimport uint64_t
from engine.position cimport Position

cdef enum:
    KEY_DRAWS = 32             # Without a joint action that looks right, a world is given up.


def after(Position world not None, int seat, Action own, actions, uint64_t key,
          SeatView view not None, int most, uint64_t seed):
    """What follows in a world if `seat` plays `own` and the other seat one of its legal `actions`.

    Each may be 0, for a seat that does not decide. `key` is what `Position.observe` says that
    `seat` saw of the step, and `view` its view after it. Chance, and order that nobody has seen,
    are drawn until something fits both, at most `most` times. Returns what fits in that draw: for
    each such action, the action and the position after it.

    The key does not tell cards that are drawn, so the first draw in which some actions have the
    right key rules out all others.
    """
    cdef Game game = world.game
    cdef Position found
    cdef State drawn, state
    cdef View seen
    cdef Rng rng, start
    cdef Action joint[SEATS]
    cdef Action[MAX_ACTIONS] tried, right
    cdef int i, n, rights, count = 0
    cdef bint pruned = False
    cdef list fits = []
    for action in actions:
        tried[count] = action
        count += 1
    joint[seat] = own
    for n in range(most):
        if fits or (n == KEY_DRAWS and not pruned):
            break
        drawn = world.state
        rng_seed(&start, seed + n)
        game.shuffle_unseen(&drawn, &start)
        rights = 0
        for i in range(count):
            state = drawn
            rng = start
            joint[1 - seat] = tried[i]
            game.apply(&state, joint, &rng, NULL)
            if game.observe(&state, joint, seat) == key:
                right[rights] = tried[i]
                rights += 1
                game.view(&state, seat, &seen)
                if memcmp(&seen, &view.view, VIEW_BYTES) == 0:
                    found = Position(game)
                    found.state = state
                    fits.append((tried[i], found))
        raise_fault()
        if rights and not pruned:
            pruned = True
            count = rights
            tried = right
    return fits
