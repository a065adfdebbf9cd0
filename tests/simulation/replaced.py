"""Everything that the simulation replaces, in one place. All else of the product is real.

| replaced | by |
|---|---|
| the event loop, threads | `loop.py`: simulated time, work of threads is done at once |
| the clocks of the module `time` | the time of the loop |
| `secrets`, `os.urandom`, `random` without a seed | generators that are seeded |
| `GrpcListener`, but for its handlers | `network.py`: calls come as messages in memory |
| the ports of the web gateway, whose connections are real | `web.py`: bytes in memory |
| the connections of `asyncpg` | `postgresql_connections.py`, to a model of the database |
| the thread of `SqliteWriter`; the disk below SQLite | `sqlite.py` |
| `SearchServers`, the connection to search servers | `searching.py`: they die, and answer late |
| `answer`, the search itself | `searching.py`: a legal action, drawn from the seed of the search |
| the port for metrics, `malloc_trim` | nothing |
| the rules of Castle Rampage, at a server of the release before | older ones, which play alike |
| the rules of all games, at a server of a release to come | newer ones |

The process that calls `install` is the simulation's from then on.
"""

import functools
import gc
import importlib.machinery
import itertools
import os
import random
import secrets
import sys
import time
import types

import asyncpg
from games.castle_rampage.rules.rules import CastleRampage

import service.api.calls
import service.api.grpc_listener
import service.common.call
import service.common.event_loop
import service.common.memory
import service.hosting.erasing
import service.hosting.feed
import service.hosting.match_cache
import service.hosting.matches
import service.hosting.sweeps
import service.listening.http
import service.running.server
import service.searching.searches
import service.store.postgresql_connections
import service.store.sqlite
import service.store.sqlite_writer
import wire
from tests.simulation import network, postgresql_connections, searching, sqlite, web
from tests.simulation.loop import EPOCH

real_process_time = time.process_time

_loop = None  # Of the world that runs.
_bytes = random.Random()


def _now():
    return _loop.look() if _loop is not None else 0.0


def _time():
    return EPOCH + _now()


def _nanoseconds(clock):
    return lambda: int(1e9 * clock())


_CLOCKS = {
    "time": _time,
    "time_ns": _nanoseconds(_time),
    "monotonic": _now,
    "monotonic_ns": _nanoseconds(_now),
    "perf_counter": _now,
    "perf_counter_ns": _nanoseconds(_now),
    "thread_time": _now,
    "process_time": _now,
    "clock_gettime": lambda which: _now(),
}


def _random_bytes(count):
    return _bytes.randbytes(count)


def _identity_in_order(cls):
    # Sets of objects are in the order of their addresses, which is another one in each process.
    numbers = itertools.count()
    initialize = cls.__init__

    @functools.wraps(initialize)
    def numbered(self, *args, **kwargs):
        self._number = next(numbers)
        initialize(self, *args, **kwargs)

    cls.__init__ = numbered
    cls.__hash__ = lambda self: self._number


def _plant_older_rules():
    # As if the game still kept the version before: nothing differs but its number.
    name = "games.castle_rampage.rules.rules_1"
    older = types.ModuleType(name)
    older.__spec__ = importlib.machinery.ModuleSpec(name, None)
    older.OlderRules = type(
        "OlderRules", (CastleRampage,), {"rules_version": 1, "__module__": name}
    )
    sys.modules[name] = older


def _under_rules_to_come(game):
    known = type(game)
    attributes = {"rules_version": known.rules_version + 1, "__module__": known.__module__}
    return type(known.__name__, (known,), attributes)(game.ruleset)


def _game_of_a_release(real):
    before = functools.cache(lambda game: game.under(game.rules_version - 1) or game)
    to_come = functools.cache(_under_rules_to_come)

    def game(game_id, options):
        newest = real(game_id, options)
        if _loop is not None and _loop.owner.to_come:
            return to_come(newest)
        return before(newest) if _loop is not None and _loop.owner.old else newest

    return game


def install():
    """Replaces it all, for the rest of the process."""
    real = {getattr(time, name): replacement for name, replacement in _CLOCKS.items()}
    for name, replacement in _CLOCKS.items():
        setattr(time, name, replacement)
    _rebind(real)
    secrets.token_bytes = lambda count=32: _random_bytes(count)
    secrets.randbits = _bytes.getrandbits
    os.urandom = _random_bytes
    service.common.call._ids = _bytes
    service.common.memory._malloc_trim = lambda pad: 0
    _identity_in_order(service.hosting.match_cache.Watch)
    _identity_in_order(service.listening.http.HttpConnection)
    server = service.running.server
    server.GrpcListener = network.SimulatedListener
    server.SearchServers = searching.SimulatedSearchServers
    server.check_free = lambda host, port, option: None
    service.searching.searches.answer = searching.answer
    _plant_older_rules()
    wire._game = _game_of_a_release(wire._game)
    asyncpg.connect = postgresql_connections.connect
    sqlite.install()
    web.install()
    gc.disable()  # When garbage is found depends on what the process did before: see `begin`.


def _rebind(real):
    # What was imported by its name, or is the default of an argument, too.
    for name, module in list(sys.modules.items()):
        if not name.startswith(("service.", "ai.", "engine.")) or module is None:
            continue
        for key, value in list(vars(module).items()):
            if callable(value) and _is_in(value, real):
                setattr(module, key, real[value])
            for function in _functions(value):
                defaults = getattr(function, "__defaults__", None)
                if defaults and any(_is_in(each, real) for each in defaults):
                    function.__defaults__ = tuple(
                        real[each] if _is_in(each, real) else each for each in defaults
                    )


def _is_in(value, real):
    try:
        return value in real
    except TypeError:
        return False


def _functions(value):
    if isinstance(value, type):
        yield from (each for each in vars(value).values() if hasattr(each, "__defaults__"))
    elif hasattr(value, "__defaults__"):
        yield value
    wrapped = getattr(value, "__wrapped__", None)
    if wrapped is not None and hasattr(wrapped, "__defaults__"):
        yield wrapped


def begin(loop, seed):
    """Begins the run of a world."""
    global _loop
    gc.collect()
    _loop = loop
    _bytes.seed(f"bytes/{seed}")
    random.seed(f"random/{seed}")
    service.common.memory._due = 0.0


def tune(snapshot_every, max_cached, page, batch):
    """Sets how often there is a snapshot, what a server caches, and pages of feeds and sweeps."""
    service.hosting.feed.PAGE, service.hosting.feed.MAX_KEPT = page, 10 * page
    service.hosting.sweeps.DELETE_BATCH = service.hosting.sweeps.IDLE_BATCH = batch
    service.hosting.matches.SNAPSHOT_EVERY = snapshot_every
    service.hosting.match_cache.MAX_CACHED = max_cached
    service.hosting.erasing.PAGE = 2  # Of the matches of a player.


def end():
    """Ends the run of a world."""
    global _loop
    _loop = None
    gc.collect()
