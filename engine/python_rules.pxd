"""Rules in plain Python: what their sampler and their playout policy need of them."""

from engine.game cimport Action, Game, State, View

cdef class PythonRules(Game):
    cdef str name                            # The id, for faults.
    cdef object state_layout, view_layout    # Layout (engine/layouts.py).
    cdef object state_at, view_at            # What lays a structure over an address,
    cdef dict states, views                  # and those that were laid, by address.
    cdef object action_codes                 # ActionCodes (engine/action_codes.py),
    cdef dict known_codes, known_actions     # with those that were asked for.
    cdef dict event_numbers, place_numbers
    cdef size_t view_words                   # That the game's structure takes.
    cdef bint has_observe, has_hidden, has_root_key, has_shuffle
    cdef bint has_choose, has_stage, has_estimate
    # By seat: the state whose legal actions were listed last, and these as packed codes. The search
    # asks for the actions of a state several times.
    cdef list listed_states, listed_codes

    cdef object state_struct(self, const State* state)
    cdef object view_struct(self, const View* view)
    cdef Action code_of(self, action) except? 1
    cdef object action_of(self, Action code)
    cdef int owed_by(self, state) except -1
    cdef bytes codes_of(self, state, int seat)
    cdef bytes listed(self, const State* state, int seat)
    cdef double score_of(self, state, int seat) except -1
    cdef dict joint_of(self, const Action* joint)
