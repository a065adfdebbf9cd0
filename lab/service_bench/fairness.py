"""Measures how fairly searches are shared: `python -m lab.service_bench.fairness`.

One caller attacks a server, and another one goes on as before: with hints of 100 ms, or with a
match against a casual bot. The other caller's latencies are measured in turn without the attack and
under it, round after round, and compared. The attacker is a process of its own at low priority,
since its own work is not what is measured.
"""

import argparse
import asyncio
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from typing import NamedTuple

import grpc
from google.protobuf.duration_pb2 import Duration

from croupier.client import OPEN, Client, Seat, bot
from croupier.v1 import hint_pb2, hint_pb2_grpc

HINT = hint_pb2.SearchLimits(time=Duration(nanos=100_000_000))
LONG = hint_pb2.SearchLimits(time=Duration(seconds=60), threads=16)
ENDLESS = hint_pb2.SearchLimits(iterations=10_000_000)
SHORTEST = hint_pb2.SearchLimits(time=Duration(nanos=1_000_000))

_READY_SECONDS = 60.0
_AGAIN_SECONDS = 0.1  # After a refusal, whatever the server says.
_NICE = 19
_GAME = "skystones"


class Attack(NamedTuple):
    """What one caller does to the others."""

    outstanding: int
    limits: hint_pb2.SearchLimits | None = None  # Of hints; None: matches between expert bots.
    belief_worlds: int = 0
    cancel_seconds: float = 0.0  # When a hint is cancelled and sent again; 0: never.


HINT_ATTACKS = {
    "500 hints of 100 ms": Attack(500, HINT),
    "2 hints of 60 s, 16 threads": Attack(2, LONG),
    "64 hints of 60 s, 16 threads": Attack(64, LONG),
    "500 hints of 10 M iterations": Attack(500, ENDLESS),
    "64 hints of 1 ms, 100,000 worlds": Attack(64, SHORTEST, belief_worlds=100_000),
    "64 hints cancelled after 20 ms": Attack(64, LONG, cancel_seconds=0.02),
}
BOT_ATTACKS = {"300 matches between experts": Attack(300)}


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(
        prog="lab.service_bench.fairness",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--rounds", type=int, default=3, help="of each attack (default: %(default)s)")
    add("--seconds", type=float, default=5.0, help="of each measurement (default: %(default)s)")
    add("--search-threads", type=int, nargs="+", default=(1, 2), help="(default: 1 2)")
    add("--only", default="", help="only attacks with this in their name")
    add("--serve", nargs=argparse.REMAINDER, default=[], help="further options of the server")
    chosen = parser.parse_args()
    for threads in chosen.search_threads:
        print(f"\n--search-threads {threads}")
        print(f"{'attack':36}{'idle p50':>10}{'p99':>9}{'attacked':>10}{'p99':>9}  ratios")
        for subject, attacks in ((_hints, HINT_ATTACKS), (_moves, BOT_ATTACKS)):
            for name, attack in attacks.items():
                if chosen.only in name:
                    _compare(name, attack, subject, threads, chosen)


def _compare(
    name: str,
    attack: Attack,
    subject: Callable[[Client, float], list[float]],
    threads: int,
    chosen: argparse.Namespace,
) -> None:
    idle: list[float] = []
    attacked: list[float] = []
    ratios = []
    with _serving(threads, chosen.serve) as address, Client(address) as client:
        subject(client, 1.0)
        for _ in range(chosen.rounds):
            one = subject(client, chosen.seconds)
            with _attacking(address, attack):
                other = subject(client, chosen.seconds)
            idle += one
            attacked += other
            ratios.append(statistics.median(other) / statistics.median(one))
    (p50, p99), (a50, a99) = _p50_and_p99(idle), _p50_and_p99(attacked)
    print(
        f"{name:36}{_ms(p50):>10}{_ms(p99):>9}{_ms(a50):>10}{_ms(a99):>9}  "
        f"p50 {a50 / p50:.2f} (rounds {', '.join(f'{each:.2f}' for each in ratios)}), "
        f"p99 {a99 / p99:.2f}, {len(attacked)} answered",
        flush=True,
    )


def _p50_and_p99(latencies: list[float]) -> tuple[float, float]:
    ordered = sorted(latencies)
    return statistics.median(ordered), ordered[int(0.99 * (len(ordered) - 1))]


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f}"


# The caller that is measured


def _hints(client: Client, seconds: float) -> list[float]:
    # The latencies of hints of 100 ms, one after the other.
    seat = client.create_match(_GAME).seats[0]
    latencies = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        seat.suggest(seconds=0.1)
        latencies.append(time.monotonic() - began)
    return latencies


def _moves(client: Client, seconds: float) -> list[float]:
    # From an action of a person to the answer of a casual bot.
    latencies = []
    rng = random.Random(1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        seat = client.create_match(_GAME, seats=(OPEN, bot("casual"))).seats[0]
        began, answered = 0.0, 0
        for view in seat.turns():
            if began and view.version == answered:
                latencies.append(time.monotonic() - began)
            if time.monotonic() >= end:
                break
            # The bot's answer is the only entry between two decisions of the seat.
            answered = view.version + 2
            began = time.monotonic()
            seat.submit(rng.choice(view.legal_actions))
    return latencies


# The attacker


@contextmanager
def _attacking(address: str, attack: Attack) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    ready, end = context.Event(), context.Event()
    process = context.Process(target=_attack, args=(address, attack, ready, end), daemon=True)
    process.start()
    try:
        if not ready.wait(_READY_SECONDS):
            raise RuntimeError("the attack did not begin")
        yield
    finally:
        end.set()
        process.join()


def _attack(address: str, attack: Attack, ready: Event, end: Event) -> None:
    os.nice(_NICE)
    if attack.limits is None:
        with Client(address) as client:
            matches = [
                client.create_match(_GAME, seats=(bot("expert"), bot("expert")))
                for _ in range(attack.outstanding)
            ]
            assert matches
            ready.set()
            end.wait()
        return
    with Client(address) as client:
        seat = client.create_match(_GAME).seats[0]
    asyncio.run(_ask(address, attack, seat, ready, end))


async def _ask(address: str, attack: Attack, seat: Seat, ready: Event, end: Event) -> None:
    search = hint_pb2.Search(
        match_name=seat.match, limits=attack.limits, belief_worlds=attack.belief_worlds
    )
    request = hint_pb2.SuggestActionRequest(search=search)
    metadata = (("authorization", f"Bearer {seat.token}"),)
    async with grpc.aio.insecure_channel(address) as channel:
        stub = hint_pb2_grpc.HintServiceStub(channel)

        async def ask_on() -> None:
            while True:
                call = stub.SuggestAction(request, metadata=metadata)
                try:
                    await asyncio.wait_for(call, attack.cancel_seconds or None)
                except (grpc.RpcError, TimeoutError) as error:
                    if isinstance(error, grpc.RpcError):
                        await asyncio.sleep(_AGAIN_SECONDS)

        asking = [asyncio.create_task(ask_on()) for _ in range(attack.outstanding)]
        await asyncio.sleep(1)
        ready.set()
        await asyncio.to_thread(end.wait)
        for task in asking:
            task.cancel()
        await asyncio.wait(asking)


@contextmanager
def _serving(threads: int, options: list[str]) -> Iterator[str]:
    command = [sys.executable, "-m", "cli", "serve", "--listen", "127.0.0.1:0", "--store", "memory"]
    command += ["--metrics-port", "0", "--log-level", "error", "--search-threads", str(threads)]
    with subprocess.Popen(command + options, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
