"""Measures calls under load: a durable SubmitAction, a bare echo, and calls during searches."""

import asyncio
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import grpc

from croupier.v1 import hint_pb2, hint_pb2_grpc
from lab.service_bench.client import Client
from lab.service_bench.runs import Measured, Run
from lab.service_bench.scripts import KEY, Script, fill, requests
from lab.service_bench.serve import ECHO
from lab.service_bench.servers import SUBMIT, Running, serving
from service.api.authentication import Tokens
from service.hosting.seats import Caller
from service.store import SqliteStore

SEARCHES = 2
ANALYZED = "analyzed"  # The id of the match that the searches analyze.
STORED_DECISIONS = 16  # Of each match that fills the log.

_SYNCS = 20
_WARM_SECONDS = 0.3


class Subject(NamedTuple):
    """A kind of call that is measured in each round."""

    name: str
    server: Running
    client: Client
    method: str = SUBMIT
    searched: str = ""  # The token of a match that is analyzed meanwhile; empty for none.
    over_http: bool = False  # Through the web gateway, with Connect.

    def run(self, streams: int, seconds: float) -> "Figures":
        """Measures the calls once."""
        match, token = f"matches/{ANALYZED}", self.searched
        with searching(self.server.address, match, token) if token else nullcontext():
            address = self.server.web if self.over_http else self.server.address
            repeat = self.method == ECHO
            run = Run(address, self.method, streams, seconds, repeat, self.over_http)
            used = self.server.cpu()
            measured = self.client.run(run)
            return _figures(measured, self.server.cpu() - used)


class Figures(NamedTuple):
    """The figures of one round."""

    rate: float  # Calls a second.
    p50: float  # The median latency, in seconds.
    p99: float  # The 99th percentile of the latencies, in seconds.
    cpu: float  # Seconds of processor time of the server for a call.
    client_cpu: float  # The same of the client.


def _figures(measured: Measured, used: float) -> Figures:
    latencies = sorted(measured.latencies)
    return Figures(
        measured.calls / measured.seconds,
        latencies[len(latencies) // 2],
        latencies[len(latencies) * 99 // 100],
        used / measured.calls,
        measured.client_seconds / measured.calls,
    )


def median(figures: Sequence[Figures]) -> Figures:
    """Returns the median of each figure."""
    return Figures(*(statistics.median(column) for column in zip(*figures, strict=True)))


def ratio(ones: Sequence[object], others: Sequence[object], name: str = "rate") -> float:
    """Returns the median, over the rounds, of the ratio of a figure of this name."""
    pairs = zip(ones, others, strict=True)
    ratios: list[float] = [getattr(one, name) / getattr(other, name) for one, other in pairs]
    return statistics.median(ratios)


class Host(NamedTuple):
    """A server with matches, and the client that plays them."""

    server: Running
    client: Client
    searched: str  # The token of a seat that owes a decision in a match that nobody plays.
    room: int  # The bytes of the log on the disk before the matches are played.


@contextmanager
def hosting(
    directory: Path,
    scripts: Sequence[Script],
    calls: int,
    stored: int = 0,
    checkout: Path | None = None,
    options: Sequence[str] = (),
) -> Iterator[Host]:
    """Runs a server in a new directory, with matches for `calls` calls and `stored` that are over.

    The server is that of `checkout` if one is given, with further `options` of its command.
    """
    directory.mkdir()
    played = list(_named(scripts, calls))
    asyncio.run(_deal(directory, scripts, played, stored))
    tokens = Tokens(KEY)
    client = Client([requests(script, match_id, tokens) for match_id, script in played])
    with serving(directory, checkout, options) as server:
        searched = tokens.make(Caller(ANALYZED, scripts[0].decisions[0].seat))
        yield Host(
            server, client, searched, sum(file.stat().st_size for file in directory.iterdir())
        )
    client.close()


async def _deal(
    directory: Path, scripts: Sequence[Script], played: Sequence[tuple[str, Script]], stored: int
) -> None:
    store = SqliteStore(directory)
    await store.open()
    over = ((f"stored{n}", script) for n, script in zip(range(stored), cycle(scripts)))
    await fill(store, over, STORED_DECISIONS, resigned=True)
    await fill(store, [*played, (ANALYZED, scripts[0])])
    await store.close()


def _named(scripts: Sequence[Script], calls: int) -> Iterator[tuple[str, Script]]:
    for number, script in enumerate(cycle(scripts)):
        yield f"played{number}", script
        calls -= len(script.decisions)
        if calls <= 0:
            return


@contextmanager
def searching(address: str, match: str, token: str) -> Iterator[None]:
    """Lets SEARCHES analyses of a seat's match run at a server, for a minute at most."""
    request = hint_pb2.AnalyzePositionRequest()
    request.search.match_name = match
    request.search.limits.time.seconds = 60
    metadata = (("authorization", f"Bearer {token}"),)
    with grpc.insecure_channel(address) as channel:
        stub = hint_pb2_grpc.HintServiceStub(channel)
        calls = [stub.AnalyzePosition(request, metadata=metadata) for _ in range(SEARCHES)]
        for call in calls:
            next(call)  # With its first report, the search is running.
        readers = [threading.Thread(target=_read, args=(call,)) for call in calls]
        for reader in readers:
            reader.start()
        yield
        for call in calls:
            call.cancel()
        for reader in readers:
            reader.join()


def _read(call: Iterator[object]) -> None:
    try:
        for _ in call:
            pass
    except grpc.RpcError:
        return


def measure(
    subjects: Sequence[Subject], streams: int, rounds: int, seconds: float
) -> dict[str, list[Figures]]:
    """Measures all subjects in turn, round after round; returns their figures by name."""
    for subject in subjects:
        subject.run(streams, _WARM_SECONDS)
    measured: dict[str, list[Figures]] = {subject.name: [] for subject in subjects}
    for _ in range(rounds):
        for subject in subjects:
            measured[subject.name].append(subject.run(streams, seconds))
    return measured


def sync_seconds(directory: Path, times: int = _SYNCS) -> tuple[float, float]:
    """Returns the seconds that the disk takes to sync 4 KB: the median and the longest."""
    taken = []
    with tempfile.TemporaryFile(dir=directory) as file:
        for _ in range(times):
            os.pwrite(file.fileno(), os.urandom(4096), 0)
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - began)
    return statistics.median(taken), max(taken)
