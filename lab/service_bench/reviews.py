"""Measures what a review costs others: their GetView and hints beside it, and how it ends.

Short hints and reads of a view are timed in turn with and without a review by another caller, round
after round. Then reviews are cancelled: the server must soon search no more.
"""

import random
import statistics
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import grpc

from croupier.client import HINT_POLICIES, OPEN, Client, Seat
from croupier.v1 import review_pb2
from lab.service_bench.printing import ms, progress
from lab.service_bench.servers import Running, serving

GAME = "castle_rampage"
HINT_ITERATIONS = 2000
PAUSE = 0.01  # Seconds between two calls: a review is not to be drowned by them.
CANCELS = 10
SEED = 1
POLL = 0.002


class _Timed(NamedTuple):
    p50: float
    p99: float


def measure(directory: Path, rounds: int, seconds: float) -> None:
    """Prints the times, with and without a review, and the times to the end of a cancelled one."""
    place = directory / "reviews"
    place.mkdir()
    with serving(place, options=("--allow-seeds",)) as server, Client(server.address) as client:
        progress("a match to review")
        over, seat = _played(client), _waiting(client)
        ways: dict[str, Callable[[], object]] = {
            "GetView": seat.view,
            f"hint, {HINT_ITERATIONS} iterations": lambda: seat.suggest(
                iterations=HINT_ITERATIONS, seed=SEED
            ),
        }
        alone: dict[str, list[_Timed]] = {way: [] for way in ways}
        beside: dict[str, list[_Timed]] = {way: [] for way in ways}
        for number in range(rounds):
            progress(f"round {number + 1} of {rounds}")
            for way, call in ways.items():
                alone[way].append(_time(call, seconds))
                with _reviewing(server, over, number):
                    beside[way].append(_time(call, seconds))
        print(f"\n{'beside a review':24}{'p50':>10}{'p99':>10}   ratio to idle: p50, p99")
        for way in ways:
            p50, p99 = (
                statistics.median(
                    getattr(one, name) / getattr(other, name)
                    for one, other in zip(beside[way], alone[way], strict=True)
                )
                for name in ("p50", "p99")
            )
            shown = [
                ms(statistics.median(getattr(e, n) for e in beside[way])) for n in ("p50", "p99")
            ]
            print(f"{way:24}{shown[0]:>10}{shown[1]:>10}   {p50:.2f}, {p99:.2f}")
        ends = [_cancelled(server, over, 100 + number) for number in range(CANCELS)]
        print(f"cancelled reviews still searched for at most {ms(max(ends))} (of {CANCELS})")


def _played(client: Client) -> Seat:
    # A seat of a match that is over.
    match = client.create_match(GAME, (OPEN, OPEN), seed=SEED)
    rng = random.Random(SEED)
    view = match.spectator.view()
    while view.deciders:
        seat = match.seats[view.deciders[0]]
        own = seat.view()
        seat.submit(rng.choice(own.legal_actions))
        view = match.spectator.view()
    return match.seats[0]


def _waiting(client: Client) -> Seat:
    # A seat that is to decide.
    match = client.create_match(GAME, (OPEN, OPEN), seed=SEED, hint_policy=HINT_POLICIES["allowed"])
    return match.seats[0]


def _time(call: Callable[[], object], seconds: float) -> _Timed:
    taken = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
        time.sleep(PAUSE)
    taken.sort()
    return _Timed(statistics.median(taken), taken[int(0.99 * len(taken))])


@contextmanager
def _reviewing(server: Running, seat: Seat, seed: int) -> Iterator[Callable[[], None]]:
    # Reviews a match again and again, each time by another seed; yields what cancels it.
    stopped, begun = threading.Event(), threading.Event()
    streams: list[grpc.Call] = []

    def read(client: Client) -> None:
        number = 1000 * seed
        while not stopped.is_set():
            number += 1
            request = review_pb2.ReviewMatchRequest(match_name=seat.match, seed=number)
            stream = client.review_stub.ReviewMatch(request, metadata=client.metadata(seat.token))
            streams[:] = [stream]
            try:
                for response in stream:
                    if response.HasField("decision"):
                        begun.set()
            except grpc.RpcError:
                return

    def cancel() -> None:
        stopped.set()
        for stream in streams:
            stream.cancel()

    with Client(server.address) as client:
        thread = threading.Thread(target=read, args=(client,))
        thread.start()
        begun.wait()
        try:
            yield cancel
        finally:
            cancel()
            thread.join()


def _cancelled(server: Running, seat: Seat, seed: int) -> float:
    # How many seconds after its cancellation a review still searches.
    with _reviewing(server, seat, seed) as cancel:
        cancel()
        began = time.perf_counter()
        while _searching(server):
            time.sleep(POLL)
        return time.perf_counter() - began


def _searching(server: Running) -> bool:
    with urllib.request.urlopen(server.metrics, timeout=5) as response:
        lines: Sequence[str] = response.read().decode().splitlines()
    return any(
        line.startswith('croupier_searches_running{kind="hint"}') and float(line.split()[-1]) > 0
        for line in lines
    )
