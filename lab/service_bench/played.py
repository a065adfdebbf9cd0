"""Measures actions as clients play them, of this server and of that of another checkout.

The players are those of `croupier load` without a pause: each seat has a connection of its own,
follows its match, and decides as soon as it can. Both servers have the same matches with the same
decisions. They take turns, round after round: rates drift between machines and minutes, the ratios
of one round less so. The players are in this process and keep a processor busy, so that rates and
latencies are as much theirs; processor times are the server's.

On PostgreSQL, statements are counted, each of which is a round trip to the database.
"""

import asyncio
import math
import random
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from cli import load_players
from cli.load_players import Load, playing
from croupier.transport import CLEARTEXT
from croupier.v1.game_pb2 import Ruleset
from lab.service_bench.servers import MeasuredServer, cpu_with_children
from tests.support.postgresql import Postgres

STORES = ("memory", "sqlite", "postgresql")
Checkouts = Mapping[str, Path | None]  # By how the table calls them; None is this code.

_SEED = 1
_SETTLE_SECONDS = 0.1  # In which what is under way ends.
_STATEMENTS = "croupier_store_statements_total"


class Round(NamedTuple):
    """The figures of one round, for an action where nothing else is said."""

    rate: float  # Actions a second.
    cpu: float  # Seconds of processor time of the server and its database.
    database: float  # That of the database alone.
    p50: float  # Seconds until the response: the median of the round.
    p99: float
    seen: float  # Seconds until the other seat has seen it: the 99th percentile.
    client: float  # Seconds of processor time of the players.
    statements: float  # Sent to the database.
    memory: float  # Bytes of the server.


class Subject:
    """Players at a server, who decide while they may."""

    def __init__(self, server: MeasuredServer, database: Postgres | None) -> None:
        self.server = server
        self.noticed = load_players.Figures()
        self.may = asyncio.Event()
        self.statements: Counter[str] = Counter()  # By purpose, in all rounds.
        self.actions = 0
        self._database = database

    async def run(self, seconds: float) -> Round:
        """Measures them once; raises RuntimeError if a call failed."""
        noticed = self.noticed
        answered, seen = len(noticed.answered), len(noticed.seen)
        before, client = self._statements(), time.process_time()
        used, database = self.server.cpu(), self._database_cpu()
        began = time.perf_counter()
        self.may.set()
        await asyncio.sleep(seconds)
        while len(noticed.answered) == answered or len(noticed.seen) == seen:
            await asyncio.sleep(_SETTLE_SECONDS)  # On a machine that is too busy for one action.
        self.may.clear()
        took = time.perf_counter() - began
        await asyncio.sleep(_SETTLE_SECONDS)
        database = self._database_cpu() - database
        used = self.server.cpu() - used + database
        client = time.process_time() - client
        statements = self._statements() - before
        if lost := noticed.repeated + noticed.resumed + noticed.failed:
            raise RuntimeError(f"calls failed: {dict(lost)}")
        answers, seens = noticed.answered[answered:], noticed.seen[seen:]
        actions = len(answers)
        self.actions += actions
        self.statements += statements
        return Round(
            actions / took,
            used / actions,
            database / actions,
            statistics.median(answers),
            _p99(answers),
            _p99(seens),
            client / actions,
            statements.total() / actions,
            self.server.memory(),
        )

    def _database_cpu(self) -> float:
        return cpu_with_children(self._database.pid) if self._database else 0.0

    def _statements(self) -> Counter[str]:
        found: Counter[str] = Counter()
        if self._database:
            for sample in self.server.samples():
                if sample.name == _STATEMENTS:
                    found[sample.labels["purpose"]] += int(sample.value)
        return found


def _p99(values: Sequence[float]) -> float:
    return sorted(values)[len(values) * 99 // 100]


async def measure(
    directory: Path,
    games: Sequence[str],
    stores: Sequence[str],
    tables: Sequence[int],
    rounds: int,
    seconds: float,
    checkouts: Checkouts,
) -> None:
    """Prints a table: each store with each number of matches at a time, and each checkout."""
    print(
        f"\n{'store':11}{'matches':>7}  {'':12}{'actions/s':>9}{'CPU':>10}{'database':>10}"
        f"{'p50':>10}{'p99':>10}{'seen p99':>10}{'client':>8}{'statements':>11}{'memory':>9}"
        "  this code of it"
    )
    for store in stores:
        for number in tables:
            place = directory / f"played-{store}-{number}"
            async with AsyncExitStack() as stack:
                # All before anybody plays: a process that calls by gRPC should start no other.
                subjects = {
                    name: Subject(*stack.enter_context(hosting(place / name, store, checkout)))
                    for name, checkout in checkouts.items()
                }
                for subject in subjects.values():
                    await stack.enter_async_context(
                        seated(subject.server, games, number, subject.noticed, subject.may.wait)
                    )
                measured: dict[str, list[Round]] = {name: [] for name in subjects}
                for turn in range(rounds + 1):
                    # Each is first in every second round.
                    for name in list(subjects)[:: -1 if turn % 2 else 1]:
                        found = await subjects[name].run(seconds)
                        if turn:  # The first round warms up.
                            measured[name].append(found)
            ours = next(iter(measured.values()))
            for name, found_of_it in measured.items():
                ratios = _ratios(ours, found_of_it) if found_of_it is not ours else ""
                _print_row(store, number, name, found_of_it, ratios)
            _print_statements(subjects)


@contextmanager
def hosting(
    directory: Path, store: str, checkout: Path | None
) -> Iterator[tuple[MeasuredServer, Postgres | None]]:
    """Runs a server that allows seeds, and its database if the store needs one."""
    directory.mkdir(parents=True)
    with ExitStack() as stack:
        database = None
        if store == "postgresql":
            database = stack.enter_context(closing(Postgres()))
            store = database.url(database.new_schema())
        server = MeasuredServer(directory, ("--allow-seeds",), store, checkout)
        yield stack.enter_context(server), database


@asynccontextmanager
async def seated(
    server: MeasuredServer,
    games: Sequence[str],
    tables: int,
    noticed: load_players.Figures,
    think: Callable[[], Awaitable[object]],
) -> AsyncIterator[None]:
    """Seats players, who wait for `think` before each decision."""
    rulesets = [Ruleset(**{game_id: {}}) for game_id in games]
    address = server.address
    load = Load(address, CLEARTEXT, rulesets, tables, 0.0, math.inf, 1, "", 0)
    load = load._replace(seeded=True, think=think)
    async with playing(load, noticed, random.Random(_SEED), lambda text: None):
        yield


# Printing


def _ratios(ones: Sequence[Round], others: Sequence[Round]) -> str:
    # Medians over the rounds, and the range of that of processor time.
    def of(name: str) -> list[float]:
        pairs = zip(ones, others, strict=True)
        return [getattr(one, name) / getattr(other, name) for one, other in pairs]

    cpu = of("cpu")
    return (
        f"CPU {statistics.median(cpu):.2f} ({min(cpu):.2f} to {max(cpu):.2f}), "
        f"p99 {statistics.median(of('p99')):.2f}"
    )


def _print_row(store: str, number: int, name: str, rounds: Sequence[Round], ratios: str) -> None:
    middle = Round(*(statistics.median(column) for column in zip(*rounds, strict=True)))
    print(
        f"{store:11}{number:7}  {name:12}{middle.rate:9,.0f}{_us(middle.cpu):>10}"
        f"{_us(middle.database):>10}{_ms(middle.p50):>10}{_ms(middle.p99):>10}"
        f"{_ms(middle.seen):>10}{_us(middle.client):>8}{middle.statements:11.2f}"
        f"{middle.memory / 2**20:6,.0f} MB  {ratios}",
        flush=True,
    )


def _print_statements(subjects: Mapping[str, Subject]) -> None:
    # What the statements of an action were for, over all rounds.
    for name, subject in subjects.items():
        if subject.statements:
            each = ", ".join(
                f"{purpose} {count / subject.actions:.3f}"
                for purpose, count in subject.statements.most_common()
            )
            print(f"{'':20}{name}: statements an action: {each}", flush=True)


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms"


def _us(seconds: float) -> str:
    return f"{1e6 * seconds:.0f} µs"
