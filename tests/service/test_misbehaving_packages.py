"""Packages that misbehave: a call of theirs fails, and everything else goes on."""

import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest
from google.protobuf.any_pb2 import Any

from croupier.client import OPEN, Client, CroupierError, bot
from croupier.v1 import hint_pb2
from croupier.v1.game_pb2 import Ruleset
from tests.support.planted_games import environment_of, plant_new_game
from tests.support.server_process import COMMAND, ServerProcess, refused_start
from tests.support.time_controls import control
from tests.support.waiting import FOREVER, wait_until

GAME = "high_card"
# Each method of the package first does what the file of mischief says, if that names it.
MISCHIEF = """
import os as _os, pathlib as _pathlib, time as _time

def _loop():
    while True:
        pass

def _stubborn():
    while True:
        try:
            _loop()
        except Exception:
            pass

def _fail(error):
    raise error("planted")

_KINDS = {
    "error": lambda: _fail(ValueError),
    "base": lambda: _fail(BaseException),
    "exit": lambda: _fail(SystemExit),
    "interrupt": lambda: _fail(KeyboardInterrupt),
    "memory": lambda: bytes(1 << 62),
    "loop": _loop,
    "stubborn": _stubborn,
    "sleep": lambda: _time.sleep(1e6),
    "fork": lambda: _os.waitpid(_os.fork() or _loop(), 0) and None,
    "nonsense": lambda: object(),
}
_FILE = _pathlib.Path(__file__).parents[2] / "mischief"

def _do(method):
    name, _, kind = _FILE.read_text().partition(" ") if _FILE.exists() else ("", "", "")
    if name == method:
        (_FILE.parent / "begun").touch()
        return _KINDS[kind]()

def _plant(cls):
    for name, method in list(vars(cls).items()):
        if callable(method) and not isinstance(method, type):
            def called(self, *args, name=name, method=method):
                done = _do(name)
                return method(self, *args) if done is None else done
            setattr(cls, name, called)
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    plant_new_game(folder)
    for module, cls in (("rules/rules", "HighCard"), ("api/translation", "Translation")):
        path = folder / GAME / f"{module}.py"
        path.write_text(f"{path.read_text()}{MISCHIEF}\n_do('{path.stem}')\n_plant({cls})\n")
    return folder


@pytest.fixture
def mischief(packages):
    """Sets what the package does, in which method; with "", it behaves."""
    for name in ("mischief", "begun"):
        (packages / name).unlink(missing_ok=True)
    yield (packages / "mischief").write_text
    (packages / "mischief").unlink(missing_ok=True)


@pytest.fixture(scope="module")
def server(packages):
    options = ("--store", "memory", "--max-rules-time", "1", "--search-processes", "1")
    with ServerProcess(*options, environment=environment_of(packages)) as process:
        yield process
        process.stop()  # By SIGTERM, which must end it in order.


@pytest.fixture(scope="module")
def client(server):
    with Client(server.client.address, timeout=FOREVER) as made:
        yield made


UNKNOWN = product(range(8, 17), (3, 4))  # Rulesets that no cache knows: ranks and cards.


def new_match(client, ranks=9, cards=2, **chosen):
    """A match whose hands have so many cards."""
    ruleset = Any(type_url=f"type.googleapis.com/{GAME}.v1.HighCardRuleset")
    ruleset.value = bytes([8, ranks, 16, cards])
    return client.create_match(Ruleset(packaged=ruleset), **chosen)


def decision(client, cards=2):
    """The decision of seat 1, after which the rules apply both."""
    seats = new_match(client, cards=cards).seats
    for seat in (0, 1):
        actions = seats[seat].view().legal_actions
        if not seat:
            seats[0].submit(actions[0])
    return lambda: seats[1].submit(actions[0])


def hint(client):
    search = hint_pb2.Search(view=new_match(client).seats[0].view(), belief_worlds=50)
    search.limits.iterations = 50
    request = hint_pb2.SuggestActionRequest(search=search)
    return lambda: client.persist(client.hint_stub.SuggestAction, request)


def played(client):
    """A seat of a match that is over."""
    match = new_match(client, cards=1)
    for seat in match.seats.values():
        seat.submit(seat.view().legal_actions[0])
    return match.seats[0]


def review(client):
    record = played(client).record()
    return lambda: list(client.review(record, iterations=100, deep_iterations=100))


# Makes what calls a method of the package.
CALLS = {
    "read_ruleset": lambda client: lambda: new_match(client, *next(UNKNOWN)),
    "deal": lambda client: lambda: new_match(client),
    "view": decision,
    "legal": decision,
    "message_fields": decision,
    "deciders": decision,
    "apply": decision,
    "outcome": lambda client: decision(client, 1),
    "check_view": hint,
    "view_fields": hint,
    "draw": hint,
    "hidden": hint,
    "apply in a search": hint,
    "apply in a review": review,
}
FUNCTIONS = ("read_ruleset", "legal", "message_fields", "deciders", "outcome", "hidden")
CASES = [
    *product(CALLS, ("exit",)),
    *product(FUNCTIONS, ("nonsense",)),
    *product(("apply", "draw"), ("error", "base", "interrupt")),
    *product(("view", "hidden"), ("loop", "stubborn", "memory")),
    *product(("read_ruleset", "message_fields", "view_fields", "draw"), ("loop",)),
    *product(("apply in a search", "apply in a review"), ("loop",)),
    *product(("deal", "message_fields"), ("sleep",)),
]


@pytest.mark.parametrize(("where", "kind"), CASES)
def test_a_call_fails_and_everything_else_goes_on(server, client, mischief, where, kind):
    method = where.partition(" ")[0]
    call, other = CALLS[where](client), client.create_match("skystones").seats[0]
    mischief(f"{method} {kind}")
    with pytest.raises(CroupierError) as caught:
        call()
    assert caught.value.reason == "INTERNAL", caught.value
    assert other.view().legal_actions
    assert server.is_ready()
    mischief("")
    call()


def test_a_child_that_a_package_forks_ends_at_once(client, mischief):
    call = decision(client)
    mischief("apply fork")
    call()  # Waits for it.


@pytest.mark.parametrize("kind", ["exit", "loop", "memory"])
@pytest.mark.parametrize(
    ("method", "chosen"),
    [
        ("outcome", {"seats": (OPEN, bot("beginner"))}),
        ("apply", {"time_control": control(1000, default=True)}),
    ],
    ids=["a bot", "a clock"],
)
def test_a_bot_or_a_clock_that_fails_stops_no_others(
    server, client, mischief, method, chosen, kind
):
    server.forget_log()
    mischief(f"{method} {kind}")
    seat = new_match(client, **chosen).seats[0]
    server.wait_for(f"failed: {method} of the game high_card, RulesFault")
    assert server.is_ready()
    mischief("")
    if method == "outcome":
        seat.submit(seat.view().legal_actions[0])
    wait_until(lambda: seat.view(wait_for_version=3).version >= 3)


@pytest.mark.parametrize(
    ("at", "kind"),
    [
        *product(("rules", "translation", "read_ruleset", "cards"), ("error", "exit")),
        *product(("read_ruleset", "cards"), ("nonsense",)),
    ],
)
def test_a_package_that_fails_when_it_is_loaded_is_refused(packages, mischief, at, kind):
    mischief(f"{at} {kind}")
    said = refused_start("--store", "memory", environment=environment_of(packages))
    assert f"the game {GAME} of croupier-high-card 0 cannot be used: it" in said


@pytest.mark.parametrize(
    ("at", "kind"), [("rules", "loop"), ("draw", "sleep"), ("draw", "stubborn"), ("view", "loop")]
)
def test_a_server_ends_whatever_a_package_does(packages, mischief, at, kind):
    environment = environment_of(packages)
    if at == "rules":
        mischief(f"{at} {kind}")
        process = subprocess.Popen([*COMMAND, "--store", "memory"], env=environment)
        wait_until((packages / "begun").exists)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        return
    with (
        ServerProcess("--store", "memory", environment=environment) as server,
        Client(server.client.address, timeout=FOREVER, patience=0) as client,
    ):
        call = CALLS[at](client)
        mischief(f"{at} {kind}")
        calling = ThreadPoolExecutor(1).submit(call)
        wait_until((packages / "begun").exists)
        server.stop()
        assert calling.exception().reason in ("INTERNAL", "SHUTTING_DOWN", "")
        if kind == "sleep":
            assert "code of a game does not return in" in server.log
