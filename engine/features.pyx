"""What a learned model looks at: small whole numbers that describe actions and positions.

A game whose play is learned from matches has a subclass of `Features` in the module `features` of
its folder. Training and play describe a decision by the same code, so they cannot differ. With the
weights of a model, the subclass also has what its sampler and its playout policy make of them.

Weights are whole numbers in units of 1 / SCALE, and features are whole numbers, so their sums have
the same bits on every machine. What follows from a sum is computed by engine/numerics.pxd.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int16_t
from libc.string cimport memset

from engine.game cimport MAX_ACTIONS, Action, Game
from engine.net cimport MAX_INPUTS, Inputs, Net
from engine.position cimport Position

from engine.parts import part

SCALE = 1024


cdef class Features:
    """Describes one game for what is learned. This base class describes nothing.

    `decisions` names the kinds of decisions, and for each its features; `inputs` names those of the
    net that values positions. `uses` names what play makes of a model: "beliefs" (the likelihood of
    the opponent's past choices weighs worlds), "playouts" (the playout policy chooses by it) and
    "value" (where playouts end, the net says what the position is worth).

    `holding` names the uses that hold under the ruleset of the game, though a model is learned
    under the default one. They need the same features, and matches that show that play by them is
    not weaker there.
    """

    uses = ()
    holding = ()

    @staticmethod
    def of(Game game not None, weights=None, net=None):
        """The features of a game, with what a model has or without; None if the game has none."""
        found = part(type(game), "play.features", Features)
        return None if found is Features else found(game, weights, net)

    def __init__(self, Game game not None, weights=None, net=None):
        """`weights` are by kind of decision, and `net` has the layers of a net (engine/net.pyx)."""
        self.game = game
        if net is not None:
            self.net = Net(len(self.inputs), net)

    @property
    def decisions(self):
        """The kinds of decisions: for each, the names of its features in order."""
        return {}

    @property
    def inputs(self):
        """The names of the inputs of the net, in order."""
        return ()

    @property
    def moments(self):
        """The names of the moments of a match at which scores are off by different amounts."""
        return tuple(self.decisions)

    cdef int decision_kind(self, const State* state, int seat) noexcept nogil:
        return -1

    cdef int moment(self, const State* state, int seat) noexcept nogil:
        return self.decision_kind(state, seat)

    def moment_of(self, Position position not None, int seat):
        """The name of the moment at which a seat decides; None if it has none."""
        cdef int moment = self.moment(&position.state, seat)
        return None if moment < 0 else self.moments[moment]

    cdef void describe_action(self, const State* state, int seat, Action action,
                              int* row) noexcept nogil:
        pass

    cdef int perspective(self, const State* state) noexcept nogil:
        return 0

    cdef void describe_position(self, const State* state, Inputs* inputs) noexcept nogil:
        pass

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        cdef Inputs inputs
        inputs.n = 0
        self.describe_position(state, &inputs)
        return self.value_of(self.perspective(state), &inputs, draw)

    def rows(self, Position position not None, int seat):
        """A decision, described: its kind, and the features of each legal action, in their order.

        The features are 16-bit numbers, one action after the other. None if the decision is not
        described, or if there is nothing to decide.
        """
        cdef Action actions[MAX_ACTIONS]
        cdef int row[MAX_FEATURES]
        cdef int kind, i, count, n
        kind = self.decision_kind(&position.state, seat)
        count = self.game.legal(&position.state, seat, actions)
        if kind < 0 or count < 2:
            return None
        name, features = list(self.decisions.items())[kind]
        n = len(features)
        found = []
        for i in range(count):
            self.describe_action(&position.state, seat, actions[i], row)
            found.append(packed(row, n))
        return name, b"".join(found)

    def row(self, Position position not None):
        """A position, described: the seat that sees it so, and all inputs, as 16-bit numbers."""
        cdef int16_t row[MAX_INPUTS]
        cdef Inputs inputs
        cdef int i
        inputs.n = 0
        self.describe_position(&position.state, &inputs)
        memset(row, 0, sizeof(row))
        for i in range(inputs.n):
            row[inputs.at[i]] += inputs.values[i]
        return (self.perspective(&position.state),
                PyBytes_FromStringAndSize(<char*> row, len(self.inputs) * sizeof(int16_t)))


cdef bytes packed(const int* row, int n):
    cdef int16_t numbers[MAX_FEATURES]
    cdef int i
    for i in range(n):
        numbers[i] = row[i]
    return PyBytes_FromStringAndSize(<char*> numbers, n * sizeof(int16_t))
