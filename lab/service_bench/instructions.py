"""Counts the instructions of what an action costs, under valgrind.

Unlike time they hardly vary from run to run, so that small changes show. One action is played at a
time, with both seats following, so that nothing is shared among calls. Instructions of the kernel
do not count.
"""

import asyncio
import re
import shutil
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cli import load_players
from lab.service_bench.played import Checkouts, hosting, seated
from lab.service_bench.servers import MeasuredServer

STORES = ("memory", "sqlite")
DECISIONS = 30  # Of each game in a round.
_TOOLS = ("valgrind", "callgrind_control")
_DUMP = "callgrind.out"
_WARM_MATCHES = 2  # Of each game.
_SETTLE_SECONDS = 1.0  # In which the seats have seen the last action.


async def measure(
    directory: Path, games: Sequence[str], rounds: int, checkouts: Checkouts, decisions: int
) -> None:
    """Prints a table; each count is the median of rounds."""
    for tool in _TOOLS:
        if shutil.which(tool) is None:
            print(f"instructions: left out: {tool} is missing: install the package valgrind")
            return
    print(f"\n{'instructions an action':34}{'median':>11}{'of it':>9}  runs")
    for store in STORES:
        ours = 0.0
        for name, checkout in checkouts.items():
            place = directory / f"instructions-{store}" / name
            dump = f"--callgrind-out-file={place / _DUMP}"
            under = ("valgrind", "--tool=callgrind", "--instr-atstart=no", "--quiet", dump)
            with hosting(place, store, checkout, ("--search-processes", "0"), under) as (server, _):
                counts = await _count(server, place, games, rounds, decisions)
            middle = statistics.median(counts)
            ours = ours or middle
            runs = " ".join(f"{count:,.0f}" for count in counts)
            print(
                f"{store + ', ' + name:34}{middle:11,.0f}{ours / middle:9.3f}  {runs}", flush=True
            )


async def _count(
    server: MeasuredServer, place: Path, games: Sequence[str], rounds: int, decisions: int
) -> list[float]:
    noticed = load_players.Figures()
    turns = asyncio.Semaphore(0)
    counts = []
    actions = decisions * len(games)

    async def play() -> None:
        before = len(noticed.answered)
        turns.release()
        while len(noticed.answered) == before:
            await asyncio.sleep(0.001)

    async with seated(server, games, len(games), noticed, turns.acquire):
        while noticed.ended.total() < _WARM_MATCHES * len(games):
            await play()  # So that all is loaded and cached.
        for _ in range(rounds):
            _control(server, "--zero", "--instr=on")
            for _ in range(actions):
                await play()
            await asyncio.sleep(_SETTLE_SECONDS)
            _control(server, "--instr=off", "--dump")
            counts.append(_read_newest(place) / actions)
    return counts


def _control(server: MeasuredServer, *orders: str) -> None:
    for order in orders:
        command = ["callgrind_control", order, str(server.pid)]
        subprocess.run(command, check=True, capture_output=True)


def _read_newest(place: Path) -> int:
    # The instructions of the newest dump: they are numbered.
    dumps = sorted(place.glob(f"{_DUMP}.*"), key=lambda dump: int(dump.suffix[1:]))
    found = re.search(r"^totals: (\d+)", dumps[-1].read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{dumps[-1]} tells no total")
    return int(found[1])
