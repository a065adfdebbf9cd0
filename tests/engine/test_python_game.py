"""Rules in plain Python: they do what compiled rules do, with tools that check their use."""

import ctypes
import gc
import random
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
FROM_PRESENT = Parameters(from_deal=False, endings=False)


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
            found = [each.worlds(100).items() for each in samplers]
            worlds = [{bytes(world): chance for world, chance in each} for each in found]
            assert worlds[0] == worlds[1]
            assert samplers[0].beliefs(200, seed) == samplers[1].beliefs(200, seed)
            for parameters in (
                Parameters(),  # From the deal.
                Parameters(from_deal=False, endings=False),
                Parameters(from_deal=False, sequential_regret=False, playout_policy=False),
            ):
                options = {"iterations": 1500, "seed": seed, "parameters": parameters}
                assert search(views[0], **options) == search(views[1], **options)
        if not compiled.over:
            outcomes = [
                PlayoutPolicy.of(each.game).playouts(each, 300, seed)
                for each in (compiled, interpreted)
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
        abi = 2
        State, View, actions = KuhnState, KuhnView, PythonKuhn.actions
        view = PythonKuhn.view

    fields = {"cards": [1, 2], "common": 0, "decisions": [1, 0, *[0] * 6]}
    key = Position.from_fields(Plain(), fields).observe((1, 0), 0)
    assert key == Position.from_fields(Plain(), fields).observe((2, 0), 0)
    other = {"cards": [1, 3], "common": 0, "decisions": [1, 0, *[0] * 6]}
    assert key == Position.from_fields(Plain(), other).observe((1, 0), 0)
    assert key != Position.from_fields(Plain(), other).observe((1, 0), 1)
    assert key == 0x4F080564B6D72EE3  # The same in every process.


# Actions and fields


class WideState(Structure):
    class Pile(Structure):
        _fields_ = (("size", c_uint8), ("cards", c_uint16 * 3))

    _fields_ = (("piles", Pile * 2), ("score", c_int16), ("memory", c_uint64), ("top", Pile))


class WideView(Structure):
    _fields_ = (("seat", c_uint8), ("grid", (c_uint8 * 3) * 2))


class Wide(PythonGame):
    id = "wide"
    abi = 2
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
    plays = [
        {"kind": "play", "card": card, "face_down": n} for card, n in ((0, 0), (0, 1), (51, 1))
    ]
    others = [{"kind": "pass"}, {"kind": "bid", "amount": (1 << 40) - 1}]
    made = [game.make_action(fields) for fields in plays + others]
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
            left = [4, 5, 6]
            [state.decisions[2]] = chance.take(left, 1)
            assert sorted([*left, state.decisions[2]]) == [4, 5, 6]
            if state.decisions[0] == 32 and chance.reject():
                return

        def view(self, state, seat, view):
            view.cards[0] = state.cards[0]

        def check_view(self, view):
            pass

    fields = {"seat": 0, "cards": [1, 0], "common": 0, "decisions": [0] * 8}
    view = SeatView.from_fields(Scripted(), fields)
    worlds = {
        tuple(world.fields["decisions"][:3]): chance
        for world, chance in Sampler.of(view).worlds(100).items()
    }
    assert worlds == pytest.approx(
        {
            (first, weighted, taken): (1 if weighted == 0 else 3) / 24
            for first in (23, 33)
            for weighted in (0, 2)
            for taken in (4, 5, 6)
        }
    )


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
        lambda chance, log: chance.take([1, 2], 3),
        lambda chance, log: chance.take([1, 2], -1),
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
        lambda: chance.take([1], 1),
        chance.reject,
        lambda: log.add("dealt"),
        lambda: log.private("dealt", [], 0),
    ):
        with pytest.raises(RuntimeError, match="after the call"):
            use()


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
