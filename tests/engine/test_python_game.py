"""Rules in plain Python: they do what compiled rules do, and their faults end the call only."""

import ctypes
import gc
import random
import threading
import weakref
from ctypes import Structure, c_int16, c_uint8, c_uint16, c_uint64
from typing import ClassVar

import pytest

from ai.principal_lines import PrincipalLines
from ai.results import Parameters
from ai.search import Search, search
from engine import games
from engine.errors import ActionError, RulesFault, ViewError
from engine.game import SPECTATOR, STATE_BYTES, VIEW_BYTES, SeatView
from engine.match import Match
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.python_game import PythonGame
from engine.sampler import Sampler
from tests.support.play import note_on_failure, random_joint, random_secret, seeded
from tests.support.python_kuhn import KuhnState, KuhnView, PythonKuhn

KUHN = games()["kuhn_poker"]()
HOOKS = ("deal", "deciders", "legal", "apply", "outcome", "view", "observe", "hidden", "root_key")


def both(seed):
    return Position.deal(KUHN, seed), Position.deal(PythonKuhn(), seed)


def lines(compiled, interpreted):
    """Yield both positions after every line of play."""
    yield compiled, interpreted
    for action in compiled.legal(compiled.deciders[0]) if compiled.deciders else ():
        after = compiled.copy(), interpreted.copy()
        events = [each.apply({each.deciders[0]: action}, 0) for each in after]
        assert events[0] == events[1]
        yield from lines(*after)


# As the compiled game


@pytest.mark.parametrize("seed", range(12))
def test_every_line_of_play_is_that_of_the_compiled_game(seed):
    for compiled, interpreted in lines(*both(seed)):
        assert bytes(interpreted) == bytes(compiled)
        assert interpreted.fields == compiled.fields
        assert interpreted.deciders == compiled.deciders
        assert interpreted.scores == compiled.scores
        for seat in (0, 1):
            assert interpreted.legal(seat) == compiled.legal(seat)
            assert interpreted.hidden(seat) == compiled.hidden(seat)
            assert interpreted.root_key(seat) == compiled.root_key(seat)
        for seat in (0, 1, SPECTATOR):
            view = interpreted.view(seat)
            assert bytes(view) == bytes(compiled.view(seat))
            assert view.fields == compiled.view(seat).fields
            assert SeatView.from_fields(interpreted.game, view.fields) == view
        assert Position.from_fields(interpreted.game, interpreted.fields) == interpreted
        for joint in ((1, 0), (0, 2), (3, 0)):
            assert interpreted.observe(joint, 0) == compiled.observe(joint, 0)
        for seat in compiled.deciders:
            for action in (1, 2, 3, 4):
                assert interpreted.is_legal(seat, action) == (action in compiled.legal(seat))
            assert interpreted.only_action(seat) == 0


@pytest.mark.parametrize("seed", range(3))
def test_worlds_and_searches_are_those_of_the_compiled_game(seed):
    for compiled, interpreted in lines(*both(seed)):
        for seat in compiled.deciders:
            views = compiled.view(seat), interpreted.view(seat)
            samplers = [Sampler.of(view) for view in views]
            worlds = [
                {bytes(world): chance for world, chance in sampler.worlds(100).items()}
                for sampler in samplers
            ]
            assert worlds[0] == worlds[1]
            assert samplers[0].beliefs(200, seed) == samplers[1].beliefs(200, seed)
            for parameters in (
                Parameters(),  # From the deal.
                Parameters(from_deal=False, endings=False),
                Parameters(from_deal=False, sequential_regret=False, playout_policy=False),
            ):
                found = [
                    search(view, iterations=1500, seed=seed, parameters=parameters)
                    for view in views
                ]
                assert found[0] == found[1]
        if not compiled.over:
            policies = [PlayoutPolicy.of(each.game) for each in (compiled, interpreted)]
            outcomes = [
                policy.playouts(each, 300, seed)
                for policy, each in zip(policies, (compiled, interpreted), strict=True)
            ]
            assert outcomes[0] == outcomes[1]


def test_hosted_matches_are_those_of_the_compiled_game():
    rng = seeded("python game", "match")
    for _ in range(20):
        secret = random_secret(rng)
        matches = [Match(game, secret, "m") for game in (KUHN, PythonKuhn())]
        assert matches[0].events == matches[1].events
        while not matches[0].over:
            [(seat, action)] = random_joint(matches[0].position, rng).items()
            assert matches[0].apply(seat, action) == matches[1].apply(seat, action)
        assert bytes(matches[0]) == bytes(matches[1])


def test_several_threads_search_at_once():
    view = Position.deal(PythonKuhn(), 3).view(0)
    running = Search(view, threads=3, parameters=Parameters(from_deal=False, endings=False))
    running.run(iterations=300)
    assert running.iterations == 300
    assert PrincipalLines(running).line(running.result().action)


def test_a_key_of_the_view_stands_in_for_observe():
    class Plain(PythonGame):
        id = "plain"
        abi = 1
        State, View, actions = KuhnState, KuhnView, PythonKuhn.actions
        view = PythonKuhn.view

    fields = {"cards": [1, 2], "decisions": [1, 0, 0]}
    key = Position.from_fields(Plain(), fields).observe((1, 0), 0)
    assert key == Position.from_fields(Plain(), fields).observe((2, 0), 0)
    other = {"cards": [1, 3], "decisions": [1, 0, 0]}
    assert key == Position.from_fields(Plain(), other).observe((1, 0), 0)
    assert key != Position.from_fields(Plain(), other).observe((1, 0), 1)
    assert key == 0xECD2B196F3E086F1  # The same in every process.


# Actions and fields


class WideState(Structure):
    class Pile(Structure):
        _fields_ = (("size", c_uint8), ("cards", c_uint16 * 3))

    _fields_ = (("piles", Pile * 2), ("score", c_int16), ("memory", c_uint64), ("top", Pile))


class WideView(Structure):
    _fields_ = (("seat", c_uint8), ("grid", (c_uint8 * 3) * 2))


class Wide(PythonGame):
    id = "wide"
    abi = 1
    State, View = WideState, WideView
    actions: ClassVar = {
        "play": {"card": 52, "face_down": 2},
        "pass": {},
        "bid": {"amount": 1 << 40},
    }


WIDE_STATE = {
    "piles": [{"size": 255, "cards": [65535, 0, 7]}, {"size": 1, "cards": [1, 2, 3]}],
    "score": -32768,
    "memory": (1 << 64) - 1,
    "top": {"size": 0, "cards": [0, 0, 9]},
}


def test_actions_have_ascending_numbers():
    game = Wide()
    made = [
        game.make_action({"kind": "play", "card": 0, "face_down": 0}),
        game.make_action({"kind": "play", "card": 0, "face_down": 1}),
        game.make_action({"kind": "play", "card": 51, "face_down": 1}),
        game.make_action({"kind": "pass"}),
        game.make_action({"kind": "bid", "amount": (1 << 40) - 1}),
    ]
    assert made == [1, 2, 104, 105, 105 + (1 << 40)]
    fresh = Wide()
    assert fresh.read_action(104) == {"kind": "play", "card": 51, "face_down": 1}
    assert fresh.read_action(105) == {"kind": "pass"}
    assert [fresh.make_action(fresh.read_action(action)) for action in made] == made


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "kind"),
        ({"kind": "raise"}, "kind"),
        ({"kind": ["pass"]}, "kind"),
        ({"kind": "play", "card": 5}, "face_down"),
        ({"kind": "play", "card": 52, "face_down": 0}, "card"),
        ({"kind": "play", "card": -1, "face_down": 0}, "card"),
        ({"kind": "play", "card": "5", "face_down": 0}, "card"),
        ({"kind": "pass", "card": 1}, "card"),
    ],
)
def test_an_action_that_was_not_declared_is_refused(fields, field):
    with pytest.raises(ActionError) as caught:
        Wide().make_action(fields)
    assert caught.value.field == field


@pytest.mark.parametrize("number", [0, 106 + (1 << 40), (1 << 64) - 1])
def test_a_number_of_no_action_is_refused(number):
    with pytest.raises(ActionError):
        Wide().read_action(number)


def test_fields_go_round():
    game = Wide()
    data = game.make_state(WIDE_STATE)
    assert len(data) == STATE_BYTES
    assert game.read_state(data) == WIDE_STATE
    assert game.make_state(game.read_state(data)) == data
    assert data[ctypes.sizeof(WideState) :] == bytes(STATE_BYTES - ctypes.sizeof(WideState))
    fields = {"seat": 1, "grid": [[1, 2, 3], [4, 5, 6]]}
    assert game.read_view(game.make_view(fields)) == fields
    assert len(game.make_view(fields)) == VIEW_BYTES
    assert game.empty_view() == {"seat": 0, "grid": [[0, 0, 0], [0, 0, 0]]}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"score": 32768}, OverflowError),
        ({"memory": -1}, OverflowError),
        ({"memory": 1 << 64}, OverflowError),
        ({"score": 1.5}, TypeError),
        ({"score": None}, TypeError),
        ({"piles": []}, IndexError),
        ({"top": {"size": 256, "cards": [0, 0, 0]}}, OverflowError),
        ({"top": {"size": 1, "cards": [0, 0, 0, 0]}}, IndexError),
        ({"top": {"size": 1}}, ValueError),
        ({"bottom": 1}, ValueError),
    ],
)
def test_a_field_that_does_not_fit_is_refused(change, error):
    with pytest.raises(error):
        Wide().make_state({**WIDE_STATE, **change})


def test_a_view_that_does_not_fit_is_refused():
    for grid in ([[0, 0, 256], [0, 0, 0]], [[0, 0, 0]], [[0, 0], [0, 0, 0]], 5):
        with pytest.raises(ViewError):
            Wide().make_view({"seat": 0, "grid": grid})


class Huge(Structure):
    _fields_ = (("seat", c_uint8), ("bytes", c_uint8 * STATE_BYTES))


class Float(Structure):
    _fields_ = (("seat", c_uint8), ("share", ctypes.c_double))


class Pointer(Structure):
    _fields_ = (("seat", c_uint8), ("text", ctypes.c_char_p))


class Bits(Structure):
    _fields_ = (("seat", c_uint8), ("flag", c_uint8, 1))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"State": Huge}, r"State has 6145 bytes and can have at most 6144"),
        ({"View": Huge}, r"View has 6145 bytes and can have at most 5120"),
        ({"View": WideState}, r"first field of .*View must be seat"),
        ({"State": Float}, r"State.share must be an integer"),
        ({"View": Pointer}, r"View.text must be an integer"),
        ({"View": Bits}, r"flag must not be a bit field"),
        ({"State": None}, r"State must be a subclass"),
        ({"actions": {}}, r"actions must be a dict"),
        ({"actions": {"play": {"card": 0}}}, r"card of play"),
        ({"actions": {"bid": {"a": 1 << 32, "b": 1 << 32}}}, r"more than 2\^64"),
    ],
)
def test_a_class_that_cannot_work_is_refused(parts, message):
    with pytest.raises(TypeError, match=message):
        type("Refused", (Wide,), {"id": "refused", **parts})


# Chance and events


class Tools(PythonKuhn):
    """Runs a function with the chance and the log of a deal."""

    id = "tools"
    event_kinds: ClassVar = {1: "dealt", 2: "drawn", 3: "drawn_hidden"}

    def run(self, use):
        self.use = use
        return Match(self, bytes(32)).events

    def deal(self, state, chance, log):
        state.cards[0] = 1
        self.use(chance, log)


def test_chance_draws_from_what_the_call_has():
    drawn = []

    def use(chance, log):
        items = ["a", "b", "b", ("c", 1)]
        chance.shuffle(items)
        many = list(range(300))
        chance.shuffle(many)
        drawn.append((chance.below(6), items, chance.weighted([0, 3, 0.5]), many))

    game = Tools()
    Position.from_bytes(game, bytes(STATE_BYTES))
    game.use = use
    for seed in (1, 1, 2):
        Position.deal(game, seed)
    assert drawn[0] == drawn[1] != drawn[2]
    assert sorted(map(str, drawn[0][1])) == ["('c', 1)", "a", "b", "b"]
    assert drawn[0][2] in (1, 2)
    assert sorted(drawn[0][3]) == list(range(300))
    drawn.clear()
    game.run(use)  # The tape of a hosted match runs out, and the call is repeated.
    game.run(use)
    assert drawn[-1] == drawn[len(drawn) // 2 - 1]


def test_a_script_goes_through_all_that_chance_can_do():
    class Scripted(PythonKuhn):
        id = "scripted"

        def draw(self, view, state, chance):
            state.cards = view.cards
            cards = [2, 3, 3]
            chance.shuffle(cards)
            state.decisions[0] = 10 * cards[0] + cards[1]
            state.decisions[1] = chance.weighted([1, 0, 3])
            if state.decisions[0] == 32 and chance.reject():
                return

        def view(self, state, seat, view):
            view.cards[0] = state.cards[0]

        check_view = None

        def __init__(self):
            super().__init__()

    Scripted.check_view = lambda self, view: None
    game = Scripted()
    view = SeatView.from_fields(game, {"seat": 0, "cards": [1, 0], "decisions": [0, 0, 0]})
    worlds = {
        tuple(world.fields["decisions"][:2]): chance
        for world, chance in Sampler.of(view).worlds(100).items()
    }
    assert worlds == pytest.approx({(23, 0): 1 / 8, (23, 2): 3 / 8, (33, 0): 1 / 8, (33, 2): 3 / 8})


@pytest.mark.parametrize(
    "use",
    [
        lambda chance, log: chance.below(0),
        lambda chance, log: chance.below(1 << 32),
        lambda chance, log: chance.weighted([]),
        lambda chance, log: chance.weighted([0, 0]),
        lambda chance, log: chance.weighted([1, -1]),
        lambda chance, log: chance.weighted([float("nan")]),
        lambda chance, log: chance.shuffle(()),
        lambda chance, log: log.add("unknown"),
        lambda chance, log: log.add("dealt", [256]),
        lambda chance, log: log.add("dealt", [0] * 256),
        lambda chance, log: log.add("dealt", seat=2),
        lambda chance, log: log.private("dealt", [1], 2),
        lambda chance, log: [log.add("dealt", [0] * 255) for _ in range(40)],
    ],
)
def test_a_wrong_use_of_chance_or_log_is_a_fault(use):
    with pytest.raises(RulesFault, match="the rules of tools failed in deal"):
        Tools().run(use)


def test_events_are_seen_by_whom_they_are_for():
    def use(chance, log):
        log.add("dealt", [1, 2])
        log.private("drawn", [7], 1, shown=[1])
        log.private("dealt", [7], 0, to=())

    events = Tools().run(use)
    assert [(event.kind, event.seat, event.values, event.audience) for event in events] == [
        ("dealt", -1, (1, 2), 15),
        ("drawn", 1, (7,), 10),
        ("drawn_hidden", 1, (1,), 5),
        ("dealt", 0, (7,), 8),
        ("dealt", 0, (), 7),
    ]


def test_chance_and_log_end_with_the_call():
    kept = []
    Tools().run(lambda chance, log: kept.append((chance, log)))
    chance, log = kept[0]
    for use in (
        lambda: chance.below(2),
        lambda: chance.shuffle([1, 2]),
        lambda: chance.weighted([1]),
        chance.reject,
        lambda: log.add("dealt"),
        lambda: log.private("dealt", [], 0),
    ):
        with pytest.raises(RuntimeError, match="after the call"):
            use()


# Faults


class Bug(Exception):
    """What a broken game raises."""


def broken(hook, error=Bug, after=0):
    """Kuhn poker with a method that fails, from its call number `after` on."""
    calls = []

    def fail(self, *args):
        calls.append(1)
        if len(calls) > after:
            raise error("planted")
        return getattr(PythonKuhn, hook)(self, *args)

    return type("Broken", (PythonKuhn,), {"id": "broken", hook: fail})()


def calls_of(position):
    return {
        "deciders": [lambda: position.deciders, lambda: position.over, lambda: position.legal(0)],
        "legal": [
            lambda: position.legal(0),
            lambda: position.is_legal(0, 1),
            lambda: position.only_action(0),
            lambda: position.without_dominated(0),
            lambda: position.apply({0: 1}, 0),
        ],
        "apply": [lambda: position.apply({0: 1}, 0)],
        "view": [lambda: position.view(0), lambda: position.view(SPECTATOR)],
        "observe": [lambda: position.observe((1, 0), 0), lambda: position.next_key(5, (1, 0), 0)],
        "hidden": [lambda: position.hidden(0)],
        "root_key": [lambda: position.root_key(0)],
    }


@pytest.mark.parametrize("hook", HOOKS)
def test_a_fault_ends_the_call_of_a_position(hook):
    game = broken(hook)
    if hook == "deal":
        with pytest.raises(RulesFault):
            Position.deal(game, 0)
        return
    position = Position.from_bytes(game, bytes(Position.deal(PythonKuhn(), 5)))
    if hook == "outcome":
        over = {"cards": [1, 2], "decisions": [1, 1, 0]}
        position = Position.from_fields(game, over)
    before = bytes(position)
    for call in calls_of(position).get(hook, [lambda: position.scores]):
        with pytest.raises(
            RulesFault, match=f"the rules of broken failed in {hook}: Bug: planted"
        ) as caught:
            call()
        assert isinstance(caught.value.__cause__, Bug)
        assert caught.value.__cause__.__traceback__.tb_next is not None
        assert bytes(position) == before
    assert not isinstance(caught.value, ValueError)
    assert Position.deal(KUHN, 0).legal(0), "the fault is gone"


@pytest.mark.parametrize("hook", ["deciders", "legal", "apply", "view", "outcome"])
def test_a_fault_leaves_the_match_as_it_was(hook):
    game = broken(hook, after=1 << 30)
    match = Match(game, bytes(32))
    match.apply(0, 2)
    before = bytes(match)
    working = getattr(type(game), hook)

    def fail(self, *args):
        raise Bug("planted")

    setattr(type(game), hook, fail)
    with pytest.raises(RulesFault):
        match.apply(1, 3)
        assert match.scores, "which calls outcome"
        match.view(0)
    if hook in ("outcome", "view"):
        return
    assert bytes(match) == before
    setattr(type(game), hook, working)
    assert match.apply(1, 3)
    assert match.over


def test_a_fault_of_both_decisions_leaves_the_match_as_it_was():
    class Simultaneous(PythonKuhn):
        id = "simultaneous"

        def deciders(self, state):
            return (0, 1)

        def legal(self, state, seat):
            return [("check",), ("bet",)]

        def apply(self, state, joint, chance, log):
            state.decisions[0] = 77
            raise Bug(sorted(joint))

    match = Match(Simultaneous(), bytes(32))
    assert match.apply(1, 2) == []
    before = bytes(match)
    with pytest.raises(RulesFault, match=r"\[0, 1\]"):
        match.apply(0, 1)
    assert bytes(match) == before
    assert match.version == 1


@pytest.mark.parametrize(
    ("hook", "result"),
    [
        ("deciders", [2]),
        ("deciders", 5),
        ("legal", []),
        ("legal", [("check",), ("check",)]),
        ("legal", [("raise",)]),
        ("legal", ["check"]),
        ("legal", None),
        ("outcome", 1.5),
        ("outcome", None),
        ("outcome", float("nan")),
        ("hidden", {"nowhere": []}),
        ("hidden", {"opponent_hand": [128]}),
        ("root_key", "key"),
        ("observe", None),
    ],
)
def test_a_result_that_cannot_be_is_a_fault(hook, result):
    game = type("Wrong", (PythonKuhn,), {"id": "wrong", hook: lambda self, *args: result})()
    position = Position.from_fields(game, {"cards": [1, 2], "decisions": [0, 0, 0]})
    if hook == "outcome":
        position = Position.from_fields(game, {"cards": [1, 2], "decisions": [1, 1, 0]})
    with pytest.raises(RulesFault, match=f"the rules of wrong failed in {hook}"):
        calls_of(position).get(hook, [lambda: position.scores])[0]()


def test_a_view_without_a_world_is_refused():
    game = PythonKuhn()
    for fields in (
        {"seat": 0, "cards": [1, 0], "decisions": [2, 1, 0]},
        {"seat": 0, "cards": [0, 0], "decisions": [0, 0, 0]},
        {"seat": 2, "cards": [0, 0], "decisions": [0, 0, 0]},
        {"seat": 0, "cards": [1, 1], "decisions": [1, 1, 0]},
    ):
        view = SeatView.from_fields(game, fields)
        if fields["decisions"] == [1, 1, 0]:
            Sampler.of(view)  # The test's own check does not look for equal cards.
            continue
        with pytest.raises(ViewError):
            Sampler.of(view)
    stray = bytearray(bytes(Position.deal(game, 0).view(0)))
    stray[-1] = 1
    with pytest.raises(ViewError, match="must be what its seat can have seen"):
        Sampler.of(SeatView(game, bytes(stray)))


@pytest.mark.parametrize("hook", ["check_view", "draw"])
def test_a_fault_of_a_sampler(hook):
    view = Position.deal(PythonKuhn(), 0).view(0)
    with pytest.raises(RulesFault, match=f"failed in {hook}"):
        Sampler.of(SeatView(broken(hook), bytes(view)))
    if hook == "draw":
        for call in (
            lambda sampler: sampler.sample(0),
            lambda sampler: sampler.draws(10, 0),
            lambda sampler: sampler.worlds(10),
            lambda sampler: sampler.beliefs(1 << 30, 0),
        ):
            sampler = Sampler.of(SeatView(broken(hook, after=1), bytes(view)))
            with pytest.raises(RulesFault, match="failed in draw"):
                call(sampler)


def test_a_view_error_while_worlds_are_drawn_is_a_fault():
    view = Position.deal(PythonKuhn(), 0).view(0)
    game = broken("draw", error=lambda text: ViewError("cards", text), after=1)
    sampler = Sampler.of(SeatView(game, bytes(view)))
    with pytest.raises(RulesFault, match="failed in draw: ViewError"):
        sampler.sample(0)


FOREVER = 3600.0  # Seconds, for which a search would last that did not notice a fault.
FROM_PRESENT = Parameters(from_deal=False, endings=False)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("after", [1, 60])
@pytest.mark.parametrize(
    "hook", ["deciders", "legal", "apply", "outcome", "observe", "root_key", "draw"]
)
def test_a_fault_ends_a_search(hook, after, threads):
    game = broken(hook, after=after)
    view = SeatView(game, bytes(Position.deal(PythonKuhn(), 0).view(0)))
    with pytest.raises(RulesFault, match=f"the rules of broken failed in {hook}: Bug"):
        running = Search(view, parameters=FROM_PRESENT, threads=threads)
        running.run(seconds=FOREVER)
    found = search(Position.deal(KUHN, 0).view(0), iterations=100, parameters=FROM_PRESENT)
    assert found.iterations == 100


@pytest.mark.parametrize("after", [3, 5])
@pytest.mark.parametrize(
    ("hook", "from_deal"),
    [
        *((hook, True) for hook in ("deal", "deciders", "legal", "apply", "outcome", "view")),
        *((hook, False) for hook in ("deciders", "legal", "apply", "outcome", "view", "draw")),
    ],
)
def test_a_fault_ends_the_solution_of_a_game_or_an_ending(hook, from_deal, after):
    game = broken(hook, after=after)
    view = SeatView(game, bytes(Position.deal(PythonKuhn(), 0).view(0)))
    with pytest.raises(RulesFault, match=f"the rules of broken failed in {hook}: Bug"):
        search(view, iterations=20_000, parameters=Parameters(from_deal=from_deal))


def test_a_fault_ends_principal_lines():
    view = Position.deal(PythonKuhn(), 0).view(0)
    running = Search(view, parameters=FROM_PRESENT)
    running.run(iterations=300)
    lines = PrincipalLines(running)
    PythonKuhn.apply, working = None, PythonKuhn.apply
    try:
        with pytest.raises(RulesFault, match="failed in apply"):
            lines.line(running.legal[0])
        with pytest.raises(RulesFault, match="failed in apply"):
            lines.compare(running.legal, 1 << 40)
    finally:
        PythonKuhn.apply = working
    assert lines.compare(running.legal, 1000)[0]


@pytest.mark.parametrize("hook", ["deciders", "legal", "apply", "outcome"])
def test_a_fault_ends_a_playout_and_names_the_method(hook):
    position = Position.deal(PythonKuhn(), 0)
    game = broken(hook)
    position = Position.from_bytes(game, bytes(position))
    for policy in (PlayoutPolicy.of(game), PlayoutPolicy.uniform(game)):
        with pytest.raises(RulesFault, match=f"failed in {hook}: Bug"):
            policy.playouts(position, 1 << 30, 0)


def test_a_fault_stays_in_its_thread():
    game = broken("draw", after=1)
    sampler = Sampler.of(SeatView(game, bytes(Position.deal(PythonKuhn(), 0).view(0))))
    caught = []
    ready, checked = threading.Event(), threading.Event()

    class Waiting(PythonKuhn):
        id = "waiting"

        def draw(self, view, state, chance):
            if threading.current_thread() is not threading.main_thread():
                ready.set()
                checked.wait(30)
                raise Bug("planted")
            super().draw(view, state, chance)

    sampler = Sampler.of(SeatView(Waiting(), bytes(Position.deal(PythonKuhn(), 0).view(0))))

    def fail():
        with pytest.raises(RulesFault) as error:
            sampler.sample(0)
        caught.append(error.value)

    thread = threading.Thread(target=fail)
    thread.start()
    assert ready.wait(30)
    sampler.sample(0)
    checked.set()
    thread.join()
    assert isinstance(caught[0].__cause__, Bug)


def test_an_interrupt_stays_one():
    with pytest.raises(KeyboardInterrupt):
        Position.deal(broken("deal", error=KeyboardInterrupt), 0)


# The playout policy


def test_a_game_can_choose_in_playouts():
    class Bold(PythonKuhn):
        id = "bold"

        def choose(self, state, seat, chance):
            legal = list(self.legal(state, seat))
            return ("bet",) if ("bet",) in legal else legal[chance.below(2)]

        def stage(self, state):
            return len([each for each in state.decisions if each])

        def estimate(self, state):
            return 0.25, 0.5

    game = Bold()
    position = Position.deal(game, 0)
    policy = PlayoutPolicy.of(game)
    assert {policy.action(position, 0, seed) for seed in range(20)} == {2}
    assert {PlayoutPolicy.uniform(game).action(position, 0, seed) for seed in range(20)} == {1, 2}
    assert policy.at(position) == 0
    assert policy.score(position) == (0.25, 0.5)
    assert policy.playouts(position, 10, 0) == (0.25, 0.5)
    policy.horizon = 3
    assert policy.playouts(position, 10, 0) != (0.25, 0.5)
    assert search(position.view(0), iterations=200, parameters=FROM_PRESENT).iterations == 200


@pytest.mark.parametrize("hook", ["choose", "stage", "estimate"])
def test_a_fault_of_a_playout_policy(hook):
    def fail(self, *args):
        raise Bug("planted")

    hooks = {"choose": lambda self, state, seat, chance: ("bet",)}
    hooks |= {"stage": lambda self, state: 0, "estimate": lambda self, state: (0.5, 0)}
    game = type("Broken", (PythonKuhn,), {"id": "broken", **hooks, hook: fail})()
    position = Position.deal(game, 0)
    policy = PlayoutPolicy.of(game)
    policy.horizon = 0 if hook == "estimate" else 1
    call = {
        "choose": lambda: policy.action(position, 0, 0),
        "stage": lambda: policy.at(position),
        "estimate": lambda: policy.score(position),
    }[hook]
    for each in (call, lambda: policy.playouts(position, 1 << 30, 0)):
        with pytest.raises(RulesFault, match=f"failed in {hook}: Bug"):
            each()


# Memory


def test_random_use_leaves_nothing_behind():
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed={seed}")
    rng = random.Random(seed)
    with note_on_failure(seed=seed):
        game = PythonKuhn()
        for _ in range(300):
            position = Position.deal(game, rng.getrandbits(64))
            while not position.over:
                for seat in (0, 1):
                    view = position.view(seat)
                    world = Sampler.of(view).sample(rng.getrandbits(64))
                    assert world.view(seat) == view
                position.apply(random_joint(position, rng), rng.getrandbits(64))
        assert sum(position.scores) == 1
    kept = weakref.ref(game)
    del game, position, view, world
    gc.collect()
    assert kept() is None
