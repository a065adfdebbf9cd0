"""Measures what many matches cost: memory, room on the disk, and the time to load one."""

import statistics
import time
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import grpc

from croupier.v1 import match_pb2, match_pb2_grpc
from lab.service_bench.scripts import KEY, fill, write_scripts
from lab.service_bench.servers import serving
from service.api.authentication import Tokens
from service.hosting.match_state import MatchState
from service.hosting.matches import SNAPSHOT_EVERY
from service.hosting.seats import Caller
from service.store import SqliteStore, StoredMatch

LIVE = 800  # Matches in memory; fewer than a server keeps there.
LONG_OF = 60  # Matches from which the longest is chosen.

_WARM = 20
_LOADS = 15


class Live(NamedTuple):
    """What half-played matches of a game cost a server."""

    decisions: float  # Made in a match, on average.
    memory: float  # Bytes of a match.
    load: float  # Seconds to answer GetView for a match that is not in memory.
    again: float  # Seconds to answer GetView for a match that is.


class Long(NamedTuple):
    """What it costs to load the longest of some matches."""

    decisions: int
    read: float  # Seconds to read the match from the log.
    replayed: float  # Seconds to replay it from its first entry.
    resumed: float  # Seconds to replay it from its last snapshot.


async def live(directory: Path, game_id: str) -> Live:
    """Measures how a server loads matches of a game."""
    scripts = write_scripts(game_id)
    half = {id(script): len(script.decisions) // 2 for script in scripts}
    named = [(f"live{n}", script) for n, script in enumerate(islice(cycle(scripts), LIVE + _WARM))]
    store = SqliteStore(directory / game_id)
    await store.open()
    for script in scripts:
        same = [match for match in named if match[1] is script]
        await fill(store, same, half[id(script)])
    await store.close()
    ids = [match_id for match_id, _ in named]
    with serving(directory / game_id) as server, grpc.insecure_channel(server.address) as channel:
        stub = match_pb2_grpc.MatchServiceStub(channel)
        # The first calls bring into memory what does not belong to the matches.
        _view_all(stub, ids[:_WARM])
        before = server.memory()
        load = _view_all(stub, ids[_WARM:])
        memory = (server.memory() - before) / LIVE
        again = _view_all(stub, ids[_WARM:])
    return Live(statistics.mean(half.values()), memory, load, again)


def _view_all(stub: match_pb2_grpc.MatchServiceStub, ids: Sequence[str]) -> float:
    tokens = Tokens(KEY)
    taken = []
    for match_id in ids:
        request = match_pb2.GetViewRequest(name=f"matches/{match_id}")
        token = tokens.make(Caller(match_id, 0))
        began = time.perf_counter()
        stub.GetView(request, metadata=(("authorization", f"Bearer {token}"),))
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


async def long(directory: Path, game_id: str) -> Long:
    """Measures loading a match that is about to end, with a snapshot and without."""
    script = max(write_scripts(game_id, LONG_OF), key=lambda script: len(script.decisions))
    decisions = len(script.decisions) - 1
    store = SqliteStore(directory / "long")
    await store.open()
    await fill(store, [("long", script)], decisions)
    read, stored = await _load(store)
    await store.close()
    last = decisions // SNAPSHOT_EVERY * SNAPSHOT_EVERY
    snapshot = MatchState.load(stored._replace(entries=stored.entries[:last])).snapshot()
    return Long(decisions, read, _compute(stored), _compute(stored._replace(snapshot=snapshot)))


async def _load(store: SqliteStore) -> tuple[float, StoredMatch]:
    taken = []
    for _ in range(_LOADS):
        began = time.perf_counter()
        stored = await store.load("long")
        taken.append(time.perf_counter() - began)
    assert stored is not None
    return statistics.median(taken), stored


def _compute(stored: StoredMatch) -> float:
    taken = []
    for _ in range(_LOADS):
        began = time.perf_counter()
        MatchState.load(stored)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)
