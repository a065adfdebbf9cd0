"""Measures where searches should run: `python -m lab.service_bench.searching`.

Servers that search in their own process are compared with servers that have search processes, in
turn, round after round:

- calls: SubmitAction, alone and beside two searches that would go on for a minute;
- hints: how many a number of callers get together, and what one hint takes.

The ratios are medians over the rounds.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import grpc

from croupier.client import Client
from croupier.v1 import hint_pb2, hint_pb2_grpc
from lab.service_bench.load import Figures, Subject, hosting, measure, median, ratio
from lab.service_bench.printing import ms, progress
from lab.service_bench.scripts import Script, write_scripts
from service import wire

PROCESSES = (0, 1, 2)  # The others are compared with the first: 0, the process of the server.
STREAMS = (1, 16)
ROUNDS = 7
SECONDS = 1.0  # Of each measurement.
ITERATIONS = (200, 2_000)  # Of a hint.
CALLERS = 16
_MAX_CALLS_A_SECOND = 8_000  # Of one server; this many are prepared.
_MARGIN_SECONDS = 0.5


class _Asked(NamedTuple):
    rate: float  # Hints a second.
    p50: float  # Seconds.
    p99: float


def main() -> None:
    """Prints the tables."""
    scripts = [
        script
        for some in zip(*map(write_scripts, wire.hosted_games()), strict=True)
        for script in some
    ]
    with tempfile.TemporaryDirectory(prefix="croupier-bench-") as name:
        _measure_all(Path(name), scripts)


def _measure_all(directory: Path, scripts: Sequence[Script]) -> None:
    runs = 2 * len(STREAMS) * ROUNDS
    calls = round(runs * (SECONDS + _MARGIN_SECONDS) * _MAX_CALLS_A_SECOND)
    with ExitStack() as stack:
        progress("dealing matches")
        hosts = {
            count: stack.enter_context(
                hosting(
                    directory / f"{count}",
                    scripts,
                    calls,
                    options=("--search-processes", str(count)),
                )
            )
            for count in PROCESSES
        }
        print(f"{'streams':>7}  {'processes':>9} {'searches':>8}{'calls/s':>9}{'p50':>9}{'p99':>9}")
        for streams in STREAMS:
            progress(f"calls on {streams} streams")
            subjects = []
            for count, host in hosts.items():
                subjects.append(Subject(f"{count} alone", host.server, host.client))
                subjects.append(
                    Subject(f"{count} beside", host.server, host.client, searched=host.searched)
                )
            measured = measure(subjects, streams, ROUNDS, SECONDS)
            for count in hosts:
                for what in ("alone", "beside"):
                    first = measured[f"{PROCESSES[0]} {what}"]
                    alone = measured[f"{count} alone"]
                    _calls_row(streams, count, what, measured[f"{count} {what}"], first, alone)
        print(f"\n{'hints':>12}  {'processes':>9}{'hints/s':>9}{'p50':>9}{'p99':>9}")
        for iterations in ITERATIONS:
            for callers in (1, CALLERS):
                progress(f"hints of {iterations} iterations, {callers} callers")
                asked = _ask_in_turn(
                    {count: host.server.address for count, host in hosts.items()},
                    callers,
                    iterations,
                )
                for count, rounds in asked.items():
                    _hints_row(iterations, callers, count, rounds, asked[PROCESSES[0]])


def _calls_row(
    streams: int,
    count: int,
    what: str,
    figures: Sequence[Figures],
    first: Sequence[Figures],
    alone: Sequence[Figures],
) -> None:
    middle = median(figures)
    compared = (
        f"{ratio(figures, alone):.2f} of the rate alone, p99 {ratio(figures, alone, 'p99'):.1f} "
        f"times; {ratio(figures, first):.2f} of the first's rate, "
        f"p99 {ratio(figures, first, 'p99'):.2f} times"
    )
    print(
        f"{streams:7}  {count:9} {'2' if what == 'beside' else '0':>8}{middle.rate:9,.0f}"
        f"{ms(middle.p50):>9}{ms(middle.p99):>9}  {compared}",
        flush=True,
    )


def _ask_in_turn(
    addresses: dict[int, str], callers: int, iterations: int
) -> dict[int, list[_Asked]]:
    views = {}
    for count, address in addresses.items():
        with Client(address) as client:
            views[count] = client.create_match("skystones").seats[0].view()
    asked: dict[int, list[_Asked]] = {count: [] for count in addresses}
    for round_number in range(ROUNDS + 1):
        for count, address in addresses.items():
            request = hint_pb2.SuggestActionRequest(
                search={"view": views[count], "limits": {"iterations": iterations}, "seed": 1}
            )
            found = asyncio.run(_ask(address, request, callers, SECONDS))
            if round_number:  # The first one warms up.
                asked[count].append(found)
    return asked


async def _ask(
    address: str, request: hint_pb2.SuggestActionRequest, callers: int, seconds: float
) -> _Asked:
    taken: list[float] = []
    began = time.perf_counter()
    async with grpc.aio.insecure_channel(address) as channel:
        stub = hint_pb2_grpc.HintServiceStub(channel)

        async def ask_on() -> None:
            while (at := time.perf_counter()) < began + seconds:
                await stub.SuggestAction(request)
                taken.append(time.perf_counter() - at)

        await asyncio.gather(*(ask_on() for _ in range(callers)))
    passed = time.perf_counter() - began
    taken.sort()
    return _Asked(
        len(taken) / passed, statistics.median(taken), taken[int(0.99 * (len(taken) - 1))]
    )


def _hints_row(
    iterations: int, callers: int, count: int, rounds: Sequence[_Asked], first: Sequence[_Asked]
) -> None:
    rate, p50, p99 = (statistics.median(column) for column in zip(*rounds, strict=True))
    rates, medians = (
        statistics.median(
            getattr(one, name) / getattr(other, name)
            for one, other in zip(rounds, first, strict=True)
        )
        for name in ("rate", "p50")
    )
    print(
        f"{callers:3} x {iterations:6}  {count:9}{rate:9,.0f}{ms(p50):>9}{ms(p99):>9}  "
        f"{rates:.2f} of the first's rate, p50 {medians:.2f} times",
        flush=True,
    )


if __name__ == "__main__":
    main()
