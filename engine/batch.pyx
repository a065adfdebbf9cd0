"""Many matches of a game that are played at once, and views as numbers: for learners.

Nothing here needs Python while it plays, except a game that is written in Python.
"""

from cython.view cimport array as buffer
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from engine.chance cimport Rng, mix, rng_seed
from engine.faults cimport raise_fault
from engine.game cimport (
    MAX_ACTIONS, NOBODY, SEATS, VIEW_BYTES, Action, Game, SeatView, State, View,
)
from engine.position cimport Position

from engine.encoding import labels, numbers

cdef enum:
    DIGIT = 64             # Of the places of bytes, so that no byte of a probe is 0 or negative.


cdef struct Run:
    # Numbers of one kind that lie side by side.
    int offset             # Of the first byte of the first one.
    int size               # Bytes of each: 1, 2, 4 or 8.
    bint signed
    int count


cdef class ViewLayout:
    """Where the numbers of a game's views lie in their bytes.

    A game's struct has them at fixed places. They are learned from how the game reads two views
    that tell each byte's place, and one in which all bits are set. Raises TypeError if a field is
    not an integer.
    """

    cdef readonly Game game
    cdef readonly list labels     # What each number is: see engine/encoding.py.
    cdef Run* runs
    cdef int run_count

    def __cinit__(self, Game game not None):
        cdef int offset, size
        cdef Run* run = NULL
        self.game = game
        self.labels = labels(game)
        self.runs = <Run*> calloc(max(len(self.labels), 1), sizeof(Run))
        if self.runs == NULL:
            raise MemoryError
        low = bytes([1 + place % DIGIT for place in range(VIEW_BYTES)])
        high = bytes([1 + place // DIGIT for place in range(VIEW_BYTES)])
        full_bytes = b"\xff" * VIEW_BYTES
        probes = [numbers(game.read_stored_view(probe)) for probe in (low, high, full_bytes)]
        for label, lows, highs, full in zip(self.labels, *probes):
            size = (int(lows).bit_length() + 7) // 8
            offset = (lows & 255) - 1 + DIGIT * ((highs & 255) - 1)
            if size == 0 or lows != int.from_bytes(low[offset:offset + size], "little"):
                raise TypeError(f"{label} in the views of {game.id} is no integer of its struct")
            if (run == NULL or run.size != size or run.signed != (full < 0)
                    or run.offset + size * run.count != offset):
                run = &self.runs[self.run_count]
                run.offset, run.size, run.signed = offset, size, full < 0
                self.run_count += 1
            run.count += 1

    def __dealloc__(self):
        free(self.runs)

    def __reduce__(self):
        return ViewLayout, (self.game,)

    def read(self, SeatView view not None, int64_t[::1] found not None):
        """Writes the numbers of a view into `found`, which has room for as many as `labels`."""
        if found.shape[0] < len(self.labels):
            raise ValueError(f"there must be room for {len(self.labels)} numbers")
        self.write(&view.view, &found[0])

    cdef void write(self, const View* view, int64_t* found) noexcept nogil:
        cdef const Run* run
        cdef const char* at
        cdef int which, i
        for which in range(self.run_count):
            run = &self.runs[which]
            at = <const char*> view + run.offset
            if run.size == 1 and run.signed:
                for i in range(run.count):
                    found[i] = (<const int8_t*> at)[i]
            elif run.size == 1:
                for i in range(run.count):
                    found[i] = (<const unsigned char*> at)[i]
            else:
                for i in range(run.count):
                    found[i] = wide(at + run.size * i, run)
            found += run.count


cdef inline int64_t wide(const char* at, const Run* run) noexcept nogil:
    # A number of several bytes. They are copied because nothing says that they are aligned.
    cdef uint16_t two
    cdef uint32_t four
    cdef int64_t eight
    if run.size == 2:
        memcpy(&two, at, 2)
        return <int16_t> two if run.signed else two
    if run.size == 4:
        memcpy(&four, at, 4)
        return <int32_t> four if run.signed else four
    memcpy(&eight, at, 8)
    return eight


cdef class Batch:
    """Matches of one game, side by side, each with chance of its own.

    What there is to be seen lies in arrays, which every call writes anew. Their first axis is the
    match, their second the seat, but for `deciders`:

    `observations`  (size, 2, len(layout.labels)), int64: the numbers of the seat's view. A seat
                    that owes no decision keeps its last ones until the match is over.
    `mask`          (size, 2, numbering.size), int8: 1 for the number of each legal action. A seat
                    that owes no decision has the number 0 alone.
    `codes`         as `mask`, uint64: the code of the action of each number; 0 where none is legal.
    `deciders`      (size,), uint8: bit 0 says that seat 0 must decide, bit 1 that seat 1 must;
                    0 when the match is over.
    `scores`        (size, 2), double: the scores of a match that is over, and 0.5 before.
    """

    cdef readonly Game game
    cdef readonly int size
    cdef readonly ViewLayout layout
    cdef readonly object numbering
    cdef readonly int64_t[:, :, ::1] observations
    cdef readonly int8_t[:, :, ::1] mask
    cdef readonly uint64_t[:, :, ::1] codes
    cdef readonly unsigned char[::1] deciders
    cdef readonly double[:, ::1] scores
    cdef uint64_t[::1] table      # Codes with a number of their own, ascending.
    cdef State* states
    cdef Rng* rngs
    cdef int missing              # Legal actions for which there was no number.

    def __cinit__(self, Game game not None, int size, numbering):
        """`size` matches, not dealt yet; `numbering` is that of engine/encoding.py."""
        if size < 1:
            raise ValueError(f"a batch has at least one match, not {size}")
        self.game, self.size, self.numbering = game, size, numbering
        self.layout = ViewLayout(game)
        width = numbering.size
        self.observations = buffer((size, SEATS, len(self.layout.labels)), 8, "q")
        self.mask = buffer((size, SEATS, width), 1, "b")
        self.codes = buffer((size, SEATS, width), 8, "Q")
        self.deciders = buffer((size,), 1, "B")
        self.scores = buffer((size, SEATS), 8, "d")
        self.observations[:], self.deciders[:] = 0, NOBODY
        self.table = buffer((max(len(numbering.table), 1),), 8, "Q")
        for place, code in enumerate(numbering.table):
            self.table[place] = code
        self.states = <State*> calloc(size, sizeof(State))
        self.rngs = <Rng*> calloc(size, sizeof(Rng))
        if self.states == NULL or self.rngs == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.states)
        free(self.rngs)

    def deal(self, uint64_t seed):
        """Deals every match anew. The same seed gives the same matches to the same decisions."""
        cdef int match
        cdef int table = len(self.numbering.table)
        with nogil:
            for match in range(self.size):
                rng_seed(&self.rngs[match], mix(seed, match))
                self.game.deal(&self.states[match], &self.rngs[match], NULL)
                self.look(match, table)
        self.check()

    def step(self, const int64_t[:, ::1] chosen not None, const unsigned char[::1] which not None):
        """Applies the numbers that the deciders have chosen, (size, 2), where `which` is not 0.

        A match that is over is dealt anew. A number that is not legal loses the match, or draws it
        if both seats have chosen one. Raises ValueError if a seat has more legal actions than there
        are numbers, and RulesFault if the rules fail; the matches are then void.
        """
        cdef int match
        cdef int table = len(self.numbering.table)
        if chosen.shape[0] != self.size or chosen.shape[1] != SEATS:
            raise ValueError(f"the numbers must have the shape ({self.size}, {SEATS})")
        if which.shape[0] != self.size:
            raise ValueError(f"which must have {self.size} items")
        with nogil:
            for match in range(self.size):
                if which[match]:
                    self.go_on(match, &chosen[match, 0], table)
        self.check()

    def position(self, int match):
        """A copy of the position of a match."""
        cdef Position position = Position(self.game)
        position.state = self.states[self.of(match)]
        return position

    def observe(self, int match, int seat):
        """Writes what a seat sees now into `observations`, whether it must decide or not."""
        if seat not in range(SEATS):
            raise IndexError(f"there are seats 0 and 1, not {seat}")
        self.show(self.of(match), seat)
        raise_fault()

    cdef int of(self, int match) except -1:
        if not 0 <= match < self.size:
            raise IndexError(f"there are matches 0 to {self.size - 1}, not {match}")
        return match

    cdef check(self):
        raise_fault()
        if self.missing:
            missing, self.missing = self.missing, 0
            raise ValueError(
                f"{missing} legal actions have no number of their own, and there are"
                f" {self.numbering.size - len(self.numbering.table)} spare ones: allow more")

    cdef void go_on(self, int match, const int64_t* chosen, int table) noexcept nogil:
        cdef State* state = &self.states[match]
        cdef Action[SEATS] joint
        cdef int owed = self.deciders[match], illegal = 0, seat
        if owed == NOBODY:
            self.game.deal(state, &self.rngs[match], NULL)
            self.look(match, table)
            return
        for seat in range(SEATS):
            joint[seat] = 0
            if owed >> seat & 1:
                if 0 <= chosen[seat] < self.codes.shape[2]:
                    joint[seat] = self.codes[match, seat, chosen[seat]]
                illegal |= (not joint[seat]) << seat
        if illegal:
            self.finish(match)
            for seat in range(SEATS):
                self.scores[match, seat] = 0.5 + 0.5 * (
                    (illegal >> (1 - seat) & 1) - (illegal >> seat & 1))
            return
        self.game.apply(state, joint, &self.rngs[match], NULL)
        self.look(match, table)

    cdef void look(self, int match, int table) noexcept nogil:
        # Writes what there is to be seen of a match.
        cdef const State* state = &self.states[match]
        cdef int owed = self.game.deciders(state), seat
        if owed == NOBODY:
            self.finish(match)
            for seat in range(SEATS):
                self.scores[match, seat] = self.game.outcome(state, seat)
            return
        self.deciders[match] = owed
        for seat in range(SEATS):
            self.scores[match, seat] = 0.5
            self.close(match, seat)
            if owed >> seat & 1:
                self.mask[match, seat, 0] = 0
                self.number(match, seat, table)
                self.show(match, seat)

    cdef void finish(self, int match) noexcept nogil:
        cdef int seat
        self.deciders[match] = NOBODY
        for seat in range(SEATS):
            self.close(match, seat)
            self.show(match, seat)

    cdef void close(self, int match, int seat) noexcept nogil:
        cdef Py_ssize_t width = self.mask.shape[2]
        memset(&self.mask[match, seat, 0], 0, width)
        memset(&self.codes[match, seat, 0], 0, width * sizeof(uint64_t))
        self.mask[match, seat, 0] = 1

    cdef void show(self, int match, int seat) noexcept nogil:
        cdef View view
        self.game.view(&self.states[match], seat, &view)
        self.layout.write(&view, &self.observations[match, seat, 0])

    cdef void number(self, int match, int seat, int table) noexcept nogil:
        # As `Numbering.numbered`: the table and the legal actions both ascend.
        cdef Action[MAX_ACTIONS] legal
        cdef int count = self.game.legal(&self.states[match], seat, legal)
        cdef int i, place = 0, spare = table, at
        for i in range(count):
            while place < table and self.table[place] < legal[i]:
                place += 1
            if place < table and self.table[place] == legal[i]:
                at = place
            else:
                at = spare
                spare += 1
            if at < self.mask.shape[2]:
                self.mask[match, seat, at] = 1
                self.codes[match, seat, at] = legal[i]
        if spare > self.mask.shape[2]:
            self.missing = spare - table
