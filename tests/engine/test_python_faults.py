"""Faults of rules in plain Python: each ends its call, and leaves everything as it was."""

import asyncio
import pickle
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from ai.principal_lines import PrincipalLines
from ai.results import Parameters
from ai.search import Search, search
from engine import faults, games
from engine.errors import ActionError, RulesetError, RulesFault, ViewError
from engine.game import SPECTATOR, SeatView
from engine.match import Match
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from tests.support.python_kuhn import PythonKuhn

KUHN = games()["kuhn_poker"]()
ERRORS = (
    RulesetError("cards", "must have a King"),
    ActionError("", "is not legal", "NOT_IN_HAND"),
    RulesFault("the rules of a game failed in apply", "a_game", "apply"),
)
HOOKS = (
    *("deal", "deciders", "legal", "apply", "outcome", "view", "observe", "hidden", "root_key"),
    "shuffle_unseen",
)


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_comes_whole_out_of_another_process(error):
    read = pickle.loads(pickle.dumps(error))
    assert (type(read), str(read), vars(read)) == (type(error), str(error), vars(error))


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
        "shuffle_unseen": [lambda: Match(position.game, bytes(32), "", 0, position)],
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
        over = {"cards": [1, 2], "common": 0, "decisions": [1, 1, *[0] * 6]}
        position = Position.from_fields(game, over)
    before = bytes(position)
    for call in calls_of(position).get(hook, [lambda: position.scores]):
        said = f"the rules of broken failed in {hook}: Bug: planted"
        with pytest.raises(RulesFault, match=said) as caught:
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
        *(("deciders", result) for result in ([2], 5)),
        *(("legal", result) for result in ([], [("check",)] * 2, [("raise",)], ["check"], None)),
        *(("outcome", result) for result in (1.5, None, float("nan"))),
        *(("hidden", result) for result in ({"nowhere": []}, {"opponent_hand": [128]})),
        ("root_key", "key"),
        ("observe", None),
    ],
)
def test_a_result_that_cannot_be_is_a_fault(hook, result):
    game = type("Wrong", (PythonKuhn,), {"id": "wrong", hook: lambda self, *args: result})()
    made = [1, 1] if hook == "outcome" else [0, 0]
    fields = {"cards": [1, 2], "common": 0, "decisions": [*made, *[0] * 6]}
    position = Position.from_fields(game, fields)
    with pytest.raises(RulesFault, match=f"the rules of wrong failed in {hook}"):
        calls_of(position).get(hook, [lambda: position.scores])[0]()


def test_a_view_without_a_world_is_refused():
    game = PythonKuhn()
    for fields in (
        {"seat": 0, "cards": [1, 0], "common": 0, "decisions": [2, 1, *[0] * 6]},
        {"seat": 0, "cards": [0, 0], "common": 0, "decisions": [0, 0, *[0] * 6]},
        {"seat": 2, "cards": [0, 0], "common": 0, "decisions": [0, 0, *[0] * 6]},
    ):
        with pytest.raises(ViewError):
            Sampler.of(SeatView.from_fields(game, fields))
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
    with pytest.raises(RulesFault, match="failed in draw: ViewError"):
        Sampler.of(SeatView(game, bytes(view))).sample(0)


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
    finally:
        PythonKuhn.apply = working
    assert lines.line(running.legal[0])


@pytest.mark.parametrize("hook", ["deciders", "legal", "apply", "outcome"])
def test_a_fault_ends_a_playout_and_names_the_method(hook):
    game = broken(hook)
    position = Position.from_bytes(game, bytes(Position.deal(PythonKuhn(), 0)))
    for policy in (PlayoutPolicy.of(game), PlayoutPolicy.uniform(game)):
        with pytest.raises(RulesFault, match=f"failed in {hook}: Bug"):
            policy.playouts(position, 1 << 30, 0)


def test_a_fault_stays_in_its_thread():
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


def test_an_interrupt_stays_one_and_an_exit_is_a_fault():
    with pytest.raises(KeyboardInterrupt):
        Position.deal(broken("deal", error=KeyboardInterrupt), 0)
    for error in (SystemExit, GeneratorExit, asyncio.CancelledError):
        with pytest.raises(RulesFault, match=error.__name__):
            Position.deal(broken("deal", error=error), 0)


@pytest.fixture
def limited():
    faults.limit(0.2)
    yield
    faults.limit(FOREVER)


@pytest.mark.parametrize("thread", ["main", "other"])
@pytest.mark.parametrize("hook", ["view", "draw", "choose"])
def test_what_does_not_return_is_interrupted_and_nothing_after_it(limited, thread, hook):
    def loop(self, *args):
        while True:
            with suppress(Exception):  # Which does not hold it up.
                list(range(100))

    game = type("Endless", (PythonKuhn,), {"id": "endless", hook: loop})()
    position = Position.deal(game, 0)
    calls = {
        "view": lambda: position.view(0),
        "draw": lambda: Sampler.of(SeatView(game, bytes(Position.deal(PythonKuhn(), 0).view(0)))),
        "choose": lambda: PlayoutPolicy.of(game).playouts(position, 1 << 30, 0),
    }

    def check():
        for _ in range(3):
            with pytest.raises(RulesFault, match=f"endless failed in {hook}: Overtime") as caught:
                calls[hook]()
            assert "loop" in str(traceback.extract_tb(caught.value.__cause__.__traceback__))
            search(Position.deal(KUHN, 0).view(0), seconds=0.5, parameters=FROM_PRESENT)

    if thread == "main":
        check()
    else:
        ThreadPoolExecutor(1).submit(check).result()


def test_a_guarded_function_raises_what_the_input_is_at_fault_for():
    def fail(error):
        raise error

    call = faults.guarded(fail, "read_view", "broken")
    for error in (ViewError("cards", "must be cards"), RulesFault("inner", "broken", "view")):
        with pytest.raises(type(error)) as caught:
            call(error)
        assert caught.value is error
    with pytest.raises(RulesFault, match="broken failed in read_view: SystemExit"):
        call(SystemExit())


def test_a_time_limit_ends_a_search_with_slow_rules_after_one_iteration():
    class Slow(PythonKuhn):
        def apply(self, *args):
            time.sleep(0.002)
            super().apply(*args)

    view = Position.deal(Slow(), 0).view(0)
    assert search(view, seconds=0.001, parameters=FROM_PRESENT).iterations == 1


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


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("__eq__", lambda game: game == game),
        ("__hash__", hash),
        ("__repr__", repr),
        ("phrases", lambda game: game.phrases),
        ("cards", lambda game: game.cards()),
        ("explain", lambda game: game.explain(None, 0, 0)),
    ],
)
def test_what_every_game_has_is_guarded(name, use):
    def fail(self, *args):
        raise Bug("planted")

    found = property(fail) if name == "phrases" else fail
    cls = type("Broken", (PythonKuhn,), {"id": "broken", name: found})
    faults.guard_methods(cls)
    with pytest.raises(RulesFault, match=f"the rules of broken failed in {name}: Bug: planted"):
        use(cls())


def test_a_generator_is_read_within_the_guard(limited):
    def endless(self):
        while True:
            yield time.sleep(0.001)

    cls = type("Endless", (PythonKuhn,), {"id": "endless", "cards": endless})
    faults.guard_methods(cls)
    with pytest.raises(RulesFault, match="the rules of endless failed in cards: Overtime"):
        cls().cards()
    assert faults.guarded(lambda: (n for n in range(3)), "recorded", "whole")() == [0, 1, 2]
