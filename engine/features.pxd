"""What a learned model looks at: small whole numbers that describe actions and positions."""

from engine.game cimport Action, Game, State

cdef enum:
    MAX_FEATURES = 128           # Of one action or position.

cdef class Features:
    """Describes the decisions and the positions of one game for what is learned."""
    cdef readonly Game game
    # Which of `decisions` a seat that must decide has before it; -1: none that is described.
    cdef int decision_kind(self, const State* state, int seat) noexcept nogil
    # Writes the features of a legal action of such a decision. They depend on nothing that the seat
    # does not know.
    cdef void describe_action(self, const State* state, int seat, Action action,
                              int* row) noexcept nogil
    # Which of `positions` a state is; -1: none that is described.
    cdef int position_kind(self, const State* state) noexcept nogil
    # Writes the features of such a position, as seat 0 sees it.
    cdef void describe_position(self, const State* state, int* row) noexcept nogil
