"""Measures a server of several processes beside one of a single process.

Matches are played as in lab/service_bench/played.py, with and without two searches beside them that
would go on for a minute. The processor time of an action counts all processes of the server and of
its database, and all their threads except those that search.
"""

import asyncio
import math
import os
import statistics
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

from croupier.client import Client
from lab.connections import children, connections, serving_processes
from lab.service_bench.load import SEARCHES, ratio, searching
from lab.service_bench.played import PLAY, create_matches, hosting
from lab.service_bench.players import Played, Players
from lab.service_bench.printing import ms, progress, us
from lab.service_bench.scripts import Script
from lab.service_bench.servers import Running

_CHECKOUT = Path(__file__).parents[2]
_MAX_ACTIONS_A_SECOND = 10_000  # This many are prepared.
_WARM_SECONDS = 1.0


class Figures(NamedTuple):
    """The figures of one round."""

    rate: float  # Actions a second.
    cpu: float  # Seconds of processor time of an action.
    p50: float  # Seconds until the response.
    p99: float
    seen: float  # Seconds until the other seat has seen it: the 99th percentile.


class Subject(NamedTuple):
    """A server with a number of processes, and its players."""

    processes: int
    server: Running
    players: Players

    def run(self, seconds: float, hints: bool) -> Figures:
        """Measures them once."""
        with _searching(self.server.address) if hints else nullcontext():
            used = _cpu(self.server)
            played = self.players.play(seconds)
            return _figures(played, _cpu(self.server) - used)

    def spread(self) -> list[int]:
        """Returns how many connections each process has."""
        server = self.server
        return [connections(pid, server.address) for pid in serving_processes(server.pid)]


def _figures(played: Played, used: float) -> Figures:
    answered, seen = sorted(played.answered), sorted(played.seen)
    return Figures(
        played.actions / played.seconds,
        used / played.actions,
        answered[len(answered) // 2],
        answered[len(answered) * 99 // 100],
        seen[len(seen) * 99 // 100],
    )


def _cpu(server: Running) -> float:
    used = 0
    usual = os.getpriority(os.PRIO_PROCESS, server.pid)
    for pid in (server.pid, *children(server.pid)):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # A thread has ended.
                nice = (task / "stat").read_text().rpartition(")")[2].split()[16]
                if int(nice) == usual:
                    used += int((task / "schedstat").read_text().split()[0])
    return used / 1e9 + server.database_cpu()


def _searching(address: str) -> AbstractContextManager[None]:
    with Client(address) as client:
        seat = client.create_match("skystones").seats[0]
    return searching(address, seat.match, seat.token)


def measure(
    directory: Path,
    scripts: Sequence[Script],
    stores: Sequence[str],
    tables: Sequence[int],
    rounds: int,
    seconds: float,
    processes: Sequence[int],
) -> None:
    """Prints a table: each store with each number of matches at a time and of processes."""
    _head()
    for store in stores:
        for number in tables:
            progress(f"{number} matches at servers of several processes, {store}")
            place = directory / f"processes-{store}-{number}"
            with ExitStack() as stack:
                open_subject = _opener(stack, place, scripts, store, number, 2 * rounds * seconds)
                subjects = [open_subject(count) for count in processes]
                for hints in (False, True):
                    _rounds(store, number, subjects, rounds, seconds, hints)


def _opener(
    stack: ExitStack,
    place: Path,
    scripts: Sequence[Script],
    store: str,
    tables: int,
    seconds: float,
) -> Callable[[int], Subject]:
    actions = _MAX_ACTIONS_A_SECOND * (seconds + 2 * _WARM_SECONDS)
    mean = statistics.mean(len(script.decisions) for script in scripts)
    played = list(islice(cycle(scripts), tables + math.ceil(actions / mean)))

    def open_subject(processes: int) -> Subject:
        options = ("--web", "off", "--processes", str(processes))
        server = stack.enter_context(hosting(place / str(processes), store, _CHECKOUT, options))
        matches = asyncio.run(create_matches(server.address, played))
        players = Players([server.address], PLAY, matches, tables)
        stack.callback(players.close)
        return Subject(processes, server, players)

    return open_subject


def _rounds(
    store: str,
    tables: int,
    subjects: Sequence[Subject],
    rounds: int,
    seconds: float,
    hints: bool,
) -> None:
    for subject in subjects:
        subject.run(_WARM_SECONDS, hints)
    measured: dict[int, list[Figures]] = {subject.processes: [] for subject in subjects}
    for _ in range(rounds):
        for subject in subjects:
            measured[subject.processes].append(subject.run(seconds, hints))
    first = measured[subjects[0].processes]
    for subject in subjects:
        _row(store, tables, hints, subject, measured[subject.processes], first)


# Printing


def _head() -> None:
    print(
        f"\n{'store':11}{'matches':>7}{'hints':>6}{'processes':>10}{'actions/s':>10}{'CPU':>10}"
        f"{'p50':>10}{'p99':>10}{'seen p99':>10}  ratios to the first, and the rates of the rounds"
    )


def _row(
    store: str,
    tables: int,
    hints: bool,
    subject: Subject,
    figures: Sequence[Figures],
    first: Sequence[Figures],
) -> None:
    middle = Figures(*(statistics.median(column) for column in zip(*figures, strict=True)))
    ratios = ", ".join(
        f"{shown} {ratio(figures, first, name):.2f}"
        for shown, name in (("rate", "rate"), ("CPU", "cpu"), ("p50", "p50"), ("p99", "p99"))
    )
    rates = " ".join(f"{each.rate:.0f}" for each in figures)
    spread = "+".join(map(str, subject.spread()))
    print(
        f"{store:11}{tables:7}{SEARCHES if hints else 0:6}{subject.processes:10}"
        f"{middle.rate:10,.0f}{us(middle.cpu):>10}{ms(middle.p50):>10}{ms(middle.p99):>10}"
        f"{ms(middle.seen):>10}  {ratios}; {rates}; connections {spread}",
        flush=True,
    )
