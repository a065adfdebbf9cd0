"""Measures many matches at the speed of people.

Each match has an action every few seconds, and both seats are connected and follow it. As many
connections as there are seats would take more files than a process may have, so some seats share
one. That the states of so many matches do not fit into the cache of matches is a part of it.

Meanwhile a reader of the feed of all matches comes and goes, which tells what it costs the server.
"""

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from statistics import median

from croupier.client import Client, CroupierError, Operator
from lab.service_bench.played import PLAY, Subject, create_matches, hosting
from lab.service_bench.players import Habits, Players
from lab.service_bench.printing import ms, progress, us
from lab.service_bench.scripts import Script
from lab.service_bench.servers import Running

SHARE = 4  # Seats share a connection.
_FEED_ROUNDS = 4  # Turns without a reader of the feed; between them are turns with one.
_OPERATOR = "the-operator-of-the-server-that-is-measured"
_SPARE_ACTIONS = 4  # Of each match, beyond those that it has time for.


def measure(
    directory: Path,
    scripts: Sequence[Script],
    matches: int,
    pace: float,
    seconds: float,
) -> None:
    """Prints one row: `matches` with an action every `pace` seconds; then the cost of the feed."""
    token = directory / "operator"
    token.write_text(_OPERATOR)
    options = ("--operator-token-file", str(token))
    with hosting(directory / "human", "sqlite", None, options) as server:
        empty = server.memory()
        most = round(seconds / pace) + _SPARE_ACTIONS
        # A match that ends early, as some of Champion Chess do, would leave its players idle.
        scripts = [script for script in scripts if len(script.decisions) >= most]
        progress(f"creating {matches} matches")
        created = asyncio.run(create_matches(server.address, list(islice(cycle(scripts), matches))))
        created = [match._replace(actions=match.actions[:most]) for match in created]
        progress(f"seating {2 * matches} players")
        players = Players([server.address], PLAY, created, matches, Habits(pace, SHARE))
        try:
            seated = server.memory()
            progress(f"playing for {seconds:.0f} s")
            with ThreadPoolExecutor(1) as beside:
                feed = beside.submit(_cost_of_feed, server, seconds)
                figures = Subject("human", [server], players, Counter()).run(seconds)
                without, reading, told = feed.result()
        finally:
            players.close()
        print(
            f"\n{'matches':>7}{'connections':>13}{'actions/s':>11}{'CPU':>9}{'of a core':>11}"
            f"{'p50':>10}{'p99':>10}{'seen p99':>10}{'memory':>10}{'a match':>10}"
        )
        print(
            f"{matches:7}{-(-2 * matches // SHARE):13}{figures.rate:11,.0f}{us(figures.cpu):>9}"
            f"{figures.cpu * figures.rate:11.2f}{ms(figures.p50):>10}{ms(figures.p99):>10}"
            f"{ms(figures.seen):>10}{server.memory() / 2**20:7,.0f} MB"
            f"{(seated - empty) / matches / 1024:7,.0f} KB",
            flush=True,
        )
        print(
            f"with a reader of the feed: {reading:.3f} of a core, {reading / without:.3f} times "
            f"{without:.3f} without one; {told:,} updates",
            flush=True,
        )


def _cost_of_feed(server: Running, seconds: float) -> tuple[float, float, int]:
    # The processor time of the server in a second without and with a reader, in turns, medians; and
    # how many updates it has read. The load is the same in all, as players play at their pace.
    window = seconds / (2 * _FEED_ROUNDS + 1)
    costs: tuple[list[float], list[float]] = ([], [])
    told = [0]
    time.sleep(window)  # Until all players have begun.
    for turn in range(2 * _FEED_ROUNDS - 1):
        with _reading(server.address, told) if turn % 2 else contextlib.nullcontext():
            began, used = time.perf_counter(), server.cpu()
            time.sleep(window)
            costs[turn % 2].append((server.cpu() - used) / (time.perf_counter() - began))
    return median(costs[0]), median(costs[1]), told[0]


@contextlib.contextmanager
def _reading(address: str, told: list[int]) -> Iterator[None]:
    # While the operator's feed is read, whose updates are counted once all running matches are.
    began = threading.Event()

    def read(client: Client) -> None:
        # The client is closed while it waits.
        with contextlib.suppress(ValueError, CroupierError):
            for response in Operator(client, _OPERATOR).watch_matches():
                told[0] += len(response.updates) * began.is_set()
                if response.cursor:
                    began.set()

    with Client(address) as client:
        threading.Thread(target=read, args=(client,), daemon=True).start()
        began.wait()
        yield
