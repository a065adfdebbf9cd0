"""The sampler, playout policies and aspects of rules in Python, whose methods they call.

Methods that raise errors are called as in engine/python_rules.pyx.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.string cimport memcmp, memset

from engine.aspects cimport Aspects
from engine.chance cimport Rng, rng_below, rng_seed
from engine.faults cimport begin_call, failed_here, keep_raised, raise_fault
from engine.game cimport NOBODY, SEATS, Action, SeatView, State, View
from engine.playout_policy cimport PlayoutPolicy
from engine.python_rules cimport PythonRules
from engine.python_tools cimport Chance, Log, chance_of, log_of
from engine.sampler cimport Sampler

from engine.errors import RulesFault, ViewError
from engine.faults import guarded

cdef enum:
    SAFE_ACTION = 1            # After a fault.

ctypedef int (*Drawing)(PythonSampler, State*, Rng*) noexcept
ctypedef int (*Playing)(PythonPlayout, State*, Rng*, double*, double*) noexcept
ctypedef Action (*Choosing)(PythonRules, const State*, int, Rng*) noexcept
ctypedef int (*Staging)(PythonRules, const State*) noexcept
ctypedef double (*Estimating)(PythonRules, const State*, double*) noexcept
ctypedef int (*Following)(PythonRules, const State*, const State*, int, double*) noexcept


cdef class PythonSampler(Sampler):
    """Draws worlds by the method `draw` of the game, after its `check_view`, if it has that.

    What `check_view` has inferred from the view is passed on to each `draw`.
    """

    cdef PythonRules rules
    cdef object inferred       # None: nothing.

    def __init__(self, SeatView view not None, model=None):
        Sampler.__init__(self, view, model)
        cdef State state
        cdef View shown
        cdef Rng rng
        self.rules = view.game
        rng_seed(&rng, 0)
        memset(&state, 0, sizeof(state))
        if hasattr(self.rules, "check_view"):
            check = guarded((<object> self.rules).check_view, "check_view", self.rules.name)
            self.inferred = check(self.rules.view_struct(&self.view))
        self.draw(&state, &rng)
        try:
            raise_fault()
        except RulesFault as fault:
            if isinstance(fault.__cause__, ViewError):
                raise fault.__cause__ from None
            raise
        self.rules.view(&state, self.seat, &shown)
        raise_fault()
        if memcmp(&shown, &self.view, sizeof(View)):
            raise ViewError(*self.difference(&shown))

    cdef difference(self, const View* shown):
        # Of the view that a drawn world shows: the first field that differs, and why it is wrong.
        from engine.encoding import labels, numbers  # It imports what imports this.
        must = "must be what its seat can have seen"
        given = numbers(self.rules.view_fields(&self.view))
        due = numbers(self.rules.view_fields(shown))
        for path, mine, other in zip(labels(self.rules), given, due):
            if mine != other:
                return path, f"{must}: a world drawn for it shows {other}, not {mine}"
        return "", must

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        if failed_here():
            return
        with gil:
            begin_call()
            (<Drawing> draw_world)(self, state, rng)
            keep_raised(self.rules.name, "draw")


cdef int draw_world(PythonSampler sampler, State* state, Rng* rng) except -1:
    cdef PythonRules rules = sampler.rules
    cdef Chance chance = chance_of(rng)
    memset(state, 0, rules.state_bytes)
    shown = rules.view_struct(&sampler.view)
    struct = rules.state_struct(state)
    try:
        if sampler.inferred is None:
            (<object> rules).draw(shown, struct, chance)
        else:
            (<object> rules).draw(shown, struct, chance, sampler.inferred)
    finally:
        chance.rng = NULL
    return 0


cdef class PythonPlayout(PlayoutPolicy):
    """Plays by the methods `choose`, `stage` and `estimate` of the game, or uniformly.

    It calls the rules directly, which spares most of what a call costs.
    """

    cdef PythonRules rules
    cdef bint chooses, has_stage
    cdef const char* method    # Of the rules, which a playout is in.

    def __init__(self, game, sensible=False):
        """`sensible`: by these methods, as far as the game has them."""
        PlayoutPolicy.__init__(self, game)
        self.rules = game
        self.chooses = sensible and self.rules.has_choose
        self.has_stage = sensible and self.rules.has_stage and self.rules.has_estimate

    cdef double playout(self, State* state, Rng* rng, double* draw) noexcept nogil:
        cdef double score = 0.5
        draw[0] = 0
        if failed_here():
            return score
        with gil:
            begin_call()
            (<Playing> play_out)(self, state, rng, &score, draw)
            keep_raised(self.rules.name, self.method)
        return score

    cdef Action choose(self, const State* state, int seat, Rng* rng) noexcept nogil:
        cdef Action action
        if not self.chooses:
            return PlayoutPolicy.choose(self, state, seat, rng)
        if failed_here():
            return SAFE_ACTION
        with gil:
            begin_call()
            action = (<Choosing> choice_in)(self.rules, state, seat, rng)
            keep_raised(self.rules.name, "choose")
        return SAFE_ACTION if failed_here() else action

    cdef int stage(self, const State* state) noexcept nogil:
        cdef int stage
        if not self.has_stage or failed_here():
            return 0
        with gil:
            begin_call()
            stage = (<Staging> stage_in)(self.rules, state)
            keep_raised(self.rules.name, "stage")
        return stage

    cdef double estimate(self, const State* state, double* draw) noexcept nogil:
        cdef double score
        draw[0] = 0
        if not self.has_stage or failed_here():
            return 0.5
        with gil:
            begin_call()
            score = (<Estimating> estimate_in)(self.rules, state, draw)
            keep_raised(self.rules.name, "estimate")
        return 0.5 if failed_here() else score


cdef int play_out(PythonPlayout policy, State* state, Rng* rng, double* score,
                  double* draw) except -1:
    cdef PythonRules rules = policy.rules
    cdef Chance chance = chance_of(rng)
    cdef Log log = log_of(NULL, rules.event_numbers)
    cdef dict joint
    cdef int seat, owed, last = 0
    struct = rules.state_struct(state)
    try:
        policy.method = "stage"
        if policy.has_stage:
            last = stage_of(rules, struct) + policy.horizon
        while True:
            policy.method = "deciders"
            owed = rules.owed_by(struct)
            if owed == NOBODY:
                policy.method = "outcome"
                score[0] = rules.score_of(struct, 0)
                draw[0] = score[0] == 0.5
                return 0
            policy.method = "stage"
            if policy.has_stage and stage_of(rules, struct) >= last:
                policy.method = "estimate"
                score[0] = estimate_of(rules, struct, draw)
                return 0
            policy.method = "choose" if policy.chooses else "legal"
            joint = {}
            for seat in range(SEATS):
                if owed & (1 << seat):
                    if policy.chooses:
                        joint[seat] = (<object> rules).choose(struct, seat, chance)
                    else:
                        joint[seat] = chosen_uniformly(rules, struct, seat, rng)
            policy.method = "apply"
            (<object> rules).apply(struct, joint, chance, log)
    finally:
        chance.rng = NULL
        log.over = True


cdef object chosen_uniformly(PythonRules rules, struct, int seat, Rng* rng):
    cdef bytes codes = rules.codes_of(struct, seat)
    cdef int count = <int> (PyBytes_GET_SIZE(codes) // <Py_ssize_t> sizeof(Action))
    return rules.action_of((<const Action*> PyBytes_AS_STRING(codes))[rng_below(rng, count)])


cdef Action choice_in(PythonRules rules, const State* state, int seat, Rng* rng) except? 1:
    cdef Chance chance = chance_of(rng)
    try:
        return rules.code_of((<object> rules).choose(rules.state_struct(state), seat, chance))
    finally:
        chance.rng = NULL


cdef int stage_in(PythonRules rules, const State* state) except? -1:
    return stage_of(rules, rules.state_struct(state))


cdef double estimate_in(PythonRules rules, const State* state, double* draw) except -1:
    return estimate_of(rules, rules.state_struct(state), draw)


cdef int stage_of(PythonRules rules, struct) except? -1:
    return (<object> rules).stage(struct)


cdef double estimate_of(PythonRules rules, struct, double* draw) except -1:
    cdef double score, drawn
    score, drawn = (<object> rules).estimate(struct)
    if not (0 <= score <= 1 and 0 <= drawn <= 1):
        raise ValueError(f"a score and a probability are from 0 to 1, not {score} and {drawn}")
    draw[0] = drawn
    return score


cdef class PythonAspects(Aspects):
    """Those of the attribute `aspects` of the game, by its method `follow`."""

    cdef PythonRules rules

    def __init__(self, game):
        self.rules = game
        Aspects.__init__(self, game)

    @property
    def units(self):
        return self.rules.aspects

    cdef bint follow(self, const State* begin, const State* now, int seat,
                     double* values) noexcept nogil:
        cdef bint reached
        if failed_here():
            return True
        with gil:
            begin_call()
            reached = (<Following> followed_in)(self.rules, begin, now, seat, values)
            keep_raised(self.rules.name, "follow")
        return reached or failed_here()


cdef int followed_in(PythonRules rules, const State* begin, const State* now, int seat,
                     double* values) except -1:
    cdef int i
    found = (<object> rules).follow(rules.state_struct(begin), rules.state_struct(now), seat)
    if found is None:
        return 0
    if len(found) != len(rules.aspects):
        raise ValueError(f"follow returned {len(found)} values for {len(rules.aspects)} aspects")
    for i, value in enumerate(found):
        values[i] = value
    return 1
