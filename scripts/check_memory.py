"""Ask a server that has little memory for the longest hints, with reviews and moves beside them.

    python scripts/check_memory.py [--memory MB ...] [--seats N ...] [--seconds S]

For each amount of memory (0: all of the machine), a server with the default options and its search
process run in a control group of their own. Seats of matches of Castle Rampage ask for a hint of
the longest time at once, while matches are reviewed and others are played. Nothing may be killed or
lost, no more may be held than the bound, and in the end the searches hold nothing. Printed are the
iterations of the hints, how the moves of the others slowed down, and the memory.

This needs root and control groups. Exit status: 0 if all that was checked holds, else 1.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path

from steps import PYTHON, CheckError, free_port, say

from croupier.client import OPEN, Client, CroupierError, bot
from croupier.v1.hint_pb2 import Hint, StopReason
from croupier.v1.match_pb2 import MatchRecord

SEATS = (4, 16, 64)
MEMORY = (512, 1024, 2048)
SECONDS = 58.0
QUIET_SECONDS = 5.0
GIVE_BACK_SECONDS = 2.0  # More than a process takes to give back what was freed.
MB = 1e6
GROUPS = Path("/sys/fs/cgroup")
HELD, LIMIT = "croupier_search_memory_bytes", "croupier_search_memory_limit_bytes"


def main() -> None:
    """Checks each amount of memory with each number of seats."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memory", type=int, nargs="+", default=MEMORY, help="MB")
    parser.add_argument("--seats", type=int, nargs="+", default=SEATS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a hint")
    chosen = parser.parse_args()
    try:
        for memory in chosen.memory:
            for seats in chosen.seats:
                say(f"{memory} MB, {seats} seats:")
                with serving(memory) as (address, metrics, group):
                    load(address, metrics, seats, chosen.seconds)
                    if group is not None:
                        check_group(group)
    except CheckError as error:
        sys.exit(f"check_memory: {error}")


@contextmanager
def serving(memory: int) -> Iterator[tuple[str, int, Path | None]]:
    """Runs a server in a control group; gives its address, its port of metrics and the group."""
    group = make_group(memory) if memory else None
    address, metrics = f"127.0.0.1:{free_port()}", free_port()
    command = [str(PYTHON.with_name("croupier")), "serve", "--listen", address, "--web", "off"]
    command += ["--metrics-port", str(metrics), "--data"]

    def enter() -> None:
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    try:
        with (
            tempfile.TemporaryDirectory() as data,
            subprocess.Popen([*command, data], stdout=subprocess.PIPE, preexec_fn=enter) as server,
        ):
            try:
                assert server.stdout
                if not server.stdout.readline().startswith(b"croupier serves on "):
                    raise CheckError("the server does not start")
                yield address, metrics, group
            finally:
                server.terminate()
        if server.returncode:
            raise CheckError(f"the server ended with {server.returncode}")
    finally:
        if group is not None:
            group.rmdir()


def make_group(memory: int) -> Path:
    """Makes a control group of either version with so many MB and without swap."""
    name = f"croupier-check-{os.getpid()}"
    first = (GROUPS / "memory").is_dir()
    group = GROUPS / "memory" / name if first else GROUPS / name
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(memory << 20))
        with suppress(OSError):  # Where no swap is counted.
            name = "memory.memsw.limit_in_bytes" if first else "memory.swap.max"
            (group / name).write_text(str(memory << 20) if first else "0")
    except OSError as error:
        raise CheckError(f"this machine allows no control group: {error}") from None
    return group


def check_group(group: Path) -> None:
    """Checks that nothing of a group was killed, and prints the most memory that it had."""
    for name in ("memory.events", "memory.oom_control"):
        with suppress(FileNotFoundError):
            told = dict(line.split() for line in (group / name).read_text().splitlines())
            if int(told["oom_kill"]):
                raise CheckError(f"{told['oom_kill']} processes were killed")
    for name in ("memory.peak", "memory.max_usage_in_bytes"):
        with suppress(FileNotFoundError):
            say(f"  the group had {int((group / name).read_text()) / MB:.0f} MB at most")


def load(address: str, metrics: int, seats: int, seconds: float) -> None:
    """Asks for hints, reviews and moves at once; checks what must hold, and prints figures."""
    hurried = Client(address, timeout=2.0, patience=0.0)  # A hint that waits for longer is none.
    # Who plays has a process of its own: here, moves would wait for the other threads.
    players = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with hurried, Client(address) as client, players:
        idle = players.submit(play, address, QUIET_SECONDS).result()
        record = finished(client)
        before = read(metrics)
        done = threading.Event()
        with ThreadPoolExecutor(seats + 1) as threads:
            hints = [threads.submit(hint, hurried, seconds) for _ in range(seats)]
            reviews = threads.submit(review, client, record, done)
            busy = players.submit(play, address, seconds)
            most: Counter[str] = Counter()
            while not all(each.done() for each in hints):
                most |= Counter({name: int(value) for name, value in read(metrics).items()})
                time.sleep(1.0)  # To read them costs some 15 ms of Python.
            done.set()
            print_hints([each.result() for each in hints], seconds)
            say(f"  {reviews.result()} decisions were reviewed")
            print_moves(idle, busy.result())
        print_memory(before, most, settled(metrics))


def hint(client: Client, seconds: float) -> Hint | str:
    """Asks for a hint; returns it, or how it was refused."""
    seat = client.create_match("castle_rampage", seats=(OPEN, bot("beginner"))).seats[0]
    next(seat.turns())
    try:
        return seat.suggest(seconds=seconds)
    except CroupierError as error:
        return str(error.reason or error.code)


def review(client: Client, record: MatchRecord, done: threading.Event) -> int:
    """Reviews a match over and over; returns how many decisions were judged."""
    count = 0
    while not done.is_set():
        with suppress(CroupierError):
            for _ in client.review(record):
                count += 1
                if done.is_set():
                    break
    return count


def play(address: str, seconds: float) -> list[float]:
    """Plays for some time against a bot; returns how long each move took."""
    took = []
    began = time.monotonic()
    with Client(address) as client:
        while time.monotonic() < began + seconds:
            seat = client.create_match("skystones", seats=(OPEN, bot("casual"))).seats[0]
            for view in seat.turns():
                since = time.monotonic()
                seat.submit(view.legal_actions[0])
                took.append(time.monotonic() - since)
    return took


def finished(client: Client) -> MatchRecord:
    """Returns the record of a match that is over."""
    seat = client.create_match("skystones", seats=(OPEN, bot("casual"))).seats[0]
    for view in seat.turns():
        seat.submit(view.legal_actions[0])
    return seat.record()


def print_hints(hints: Sequence[Hint | str], seconds: float) -> None:
    """Prints how hints ended, and their iterations."""
    given = [each for each in hints if isinstance(each, Hint)]
    ends = Counter(
        each if isinstance(each, str) else StopReason.Name(each.stop_reason) for each in hints
    )
    say(f"  hints: {', '.join(f'{count} {end}' for end, count in sorted(ends.items()))}")
    total = sum(each.iterations for each in given)
    full = sum(each.full for each in given)
    say(f"  {total:,} iterations, {total / seconds:,.0f} a second; {full} trees were full")


def print_moves(idle: list[float], busy: list[float]) -> None:
    """Prints how much longer the moves of others took than without hints."""
    for name, of in (("median", 0.5), ("99th percentile", 0.99)):
        was, is_now = (sorted(each)[int(of * (len(each) - 1))] for each in (idle, busy))
        say(f"  moves, {name}: {1e3 * was:.1f} ms, then {1e3 * is_now:.1f} ms, {is_now / was:.1f}x")


def read(metrics: int) -> dict[str, float]:
    """The metrics that are checked, by their series."""
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics") as page:
        lines = page.read().decode().splitlines()
    series = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    names = (HELD, LIMIT, "croupier_process_memory", "croupier_search_server_calls_total")
    return {name: float(value) for name, value in series.items() if name.startswith(names)}


def settled(metrics: int) -> dict[str, float]:
    """The metrics when the searches have given all back; raises CheckError if some are lost."""
    while read(metrics)[HELD]:
        time.sleep(0.1)
    time.sleep(GIVE_BACK_SECONDS)
    now = read(metrics)
    lost = [name for name, value in now.items() if value and ("lost" in name or "unans" in name)]
    if lost:
        raise CheckError(f"a search process was lost: {lost}")
    return now


def print_memory(before: dict[str, float], most: Counter[str], after: dict[str, float]) -> None:
    """Prints the memory before, at most and after; raises CheckError if too much was held."""
    say(f"  searches held {most[HELD] / MB:.0f} of {after[LIMIT] / MB:.0f} MB at most, now nothing")
    if most[HELD] > after[LIMIT]:
        raise CheckError("more was held than the bound")
    for name in (each for each in after if "process_memory" in each):
        values = (before[name] / MB, most[name] / MB, after[name] / MB)
        say(f"  {name}: {', then '.join(f'{value:.0f}' for value in values)} MB")


if __name__ == "__main__":
    main()
