"""Measures calls beside background tasks: `python -m lab.service_bench.background_tasks`.

A server does background tasks without a call: it plays by default for seats whose time is up, and
lets bots decide. SubmitAction is measured at a server without them, at a server with many matches
that play themselves as fast as a time control allows, and at a server right after its start with a
log full of matches that are due, compared with one that has started with nothing due. All are
measured in turn, round after round, and compared round by round; a server that is not being
measured is stopped meanwhile.
"""

import argparse
import asyncio
import os
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from pathlib import Path

from croupier.v1 import clock_pb2, match_pb2
from lab.service_bench.client import Client
from lab.service_bench.load import Figures, Subject, median, ratio
from lab.service_bench.scripts import KEY, Script, entries, fill, requests, write_scripts
from lab.service_bench.servers import Running, serving
from service import wire
from service.api.authentication import Tokens
from service.hosting.match_state import MatchState
from service.store import SqliteStore
from service.store.sqlite import FILE

QUIET, PLAYING = "quiet", "playing"
STARTED, STARTED_DUE = "started quiet", "started due"
OTHER = " --against"
_MAX_CALLS_A_SECOND = 4_000
_DECISIONS_BEFORE = 8  # Of the matches that are due at the start.
_LONG_AGO_MILLISECONDS = 3_600_000
_AT_ONCE = 256


def main() -> None:
    """Prints the table."""
    chosen = _parser().parse_args()
    games = list(wire.hosted_games())
    scripts = [each for some in zip(*map(write_scripts, games), strict=True) for each in some]
    with tempfile.TemporaryDirectory(dir=chosen.data, prefix="croupier-tasks-") as name:
        measured, tasks = _measure(chosen, Path(name), scripts)
    print(f"{'server':16}{'calls/s':>9}{'p50':>12}{'p99':>12}   p50, p99 by quiet; tasks")
    for subject, figures in measured.items():
        middle = median(figures)
        quiet = measured[STARTED if subject.startswith(STARTED_DUE) else QUIET]
        shares = ", ".join(f"{ratio(figures, quiet, name):.1f}" for name in ("p50", "p99"))
        done = ", ".join(f"{each:,.0f}/s" for each in tasks[subject])
        print(
            f"{subject:16}{middle.rate:9,.0f}{1e3 * middle.p50:9.2f} ms{1e3 * middle.p99:9.2f} ms"
            f"   {shares}; {done}",
            flush=True,
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lab.service_bench.background_tasks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--streams", metavar="N", type=int, default=16, help="calls in flight (default: 16)")
    add("--rounds", metavar="N", type=int, default=3, help="rounds (default: 3)")
    add("--seconds", metavar="S", type=float, default=4.0, help="of each subject (default: 4)")
    add("--playing", metavar="N", type=int, default=1_000, help="matches that play themselves")
    add("--due", metavar="N", type=int, default=5_000, help="matches that are due at the start")
    add(
        "--per-decision",
        metavar="S",
        type=float,
        default=1.0,
        help="time control of the matches that play themselves (default: 1)",
    )
    add("--data", metavar="DIR", type=Path, help="a directory on the disk that is measured")
    add(
        "--against",
        metavar="DIR",
        type=Path,
        help="another checkout, which is built; its server is measured too, as one with matches "
        "that play themselves and as one that has just started",
    )
    return parser


def _measure(
    chosen: argparse.Namespace, directory: Path, scripts: Sequence[Script]
) -> tuple[dict[str, list[Figures]], dict[str, list[float]]]:
    measured: dict[str, list[Figures]] = {}
    tasks: dict[str, list[float]] = {}

    def measure(name: str, place: Path, server: Running, client: Client) -> None:
        before, began = _count(place), time.monotonic()
        figures = Subject(name, server, client).run(chosen.streams, chosen.seconds)
        rate = (_count(place) - before) / (time.monotonic() - began)
        measured.setdefault(name, []).append(figures)
        tasks.setdefault(name, []).append(rate)

    versions = [("", None)]
    if chosen.against:
        versions.append((OTHER, chosen.against))
    calls = round((chosen.rounds + 1) * (chosen.seconds + 1) * _MAX_CALLS_A_SECOND)
    with ExitStack() as stack:
        standing = []
        for version, checkout in versions:
            for kind, due in ((QUIET, 0), (PLAYING, chosen.playing)):
                if kind == QUIET and checkout:
                    continue
                name = f"{kind}{version}"
                place = directory / name
                client = _deal(place, scripts, calls, due, chosen.per_decision, overdue=False)
                stack.callback(client.close)
                server = stack.enter_context(serving(place, checkout))
                Subject(name, server, client).run(chosen.streams, 0.5)
                stack.enter_context(_ended(server))
                standing.append((name, place, server, client))
        for number in range(chosen.rounds):
            _progress(f"round {number + 1}")
            for name, place, server, client in standing:
                os.kill(server.pid, signal.SIGCONT)
                measure(name, place, server, client)
                os.kill(server.pid, signal.SIGSTOP)
            starts = [(f"{STARTED_DUE}{each}", checkout, chosen.due) for each, checkout in versions]
            for name, checkout, due in [(STARTED, None, 0), *starts]:
                place = directory / f"{name}{number}"
                few = calls // (chosen.rounds + 1)
                client = _deal(place, scripts, few, due, chosen.per_decision, overdue=True)
                with serving(place, checkout) as server:
                    measure(name, place, server, client)
                client.close()
    return measured, tasks


@contextmanager
def _ended(server: Running) -> Iterator[None]:
    # Stopped until it is measured; continued before it is asked to end.
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


def _deal(
    place: Path, scripts: Sequence[Script], calls: int, due: int, seconds: float, *, overdue: bool
) -> Client:
    # A log with matches that a client plays, and others in which a server must act.
    _progress(f"dealing matches, {due} of them due")
    place.mkdir()
    played = []
    for number, script in enumerate(cycle(scripts)):
        played.append((f"played{number}", script))
        calls -= len(script.decisions)
        if calls <= 0:
            break
    asyncio.run(_fill(place, played, due_matches(scripts, due, seconds, overdue=overdue)))
    tokens = Tokens(KEY)
    return Client([requests(script, match_id, tokens) for match_id, script in played])


def due_matches(
    scripts: Sequence[Script], count: int, seconds: float, *, overdue: bool
) -> Iterator[tuple[str, Script]]:
    """Yields matches, each with its id, that play themselves by default; or by bots, every fourth.

    With `overdue`, their clocks have run out long ago.
    """
    control = clock_pb2.TimeControl(on_expiry=clock_pb2.EXPIRY_POLICY_DEFAULT_ACTION)
    control.per_decision.FromMilliseconds(round(1000 * seconds))
    data = control.SerializeToString(deterministic=True)
    created = time.time_ns() // 1_000_000 - (_LONG_AGO_MILLISECONDS if overdue else 0)
    random = int(match_pb2.BotStrength.BOT_STRENGTH_RANDOM)
    for number, script in enumerate(islice(cycle(scripts), count)):
        bots = (random, random) if overdue and number % 4 == 0 else (0, 0)
        header = script.header._replace(time_control=data, bots=bots, created=created)
        yield f"due{number}", script._replace(header=header)


async def _fill(
    place: Path, played: Sequence[tuple[str, Script]], due: Iterator[tuple[str, Script]]
) -> None:
    store = SqliteStore(place)
    await store.open()
    await fill(store, played)
    while some := list(islice(due, _AT_ONCE)):
        await asyncio.gather(*(_add(store, *match) for match in some))
    await store.close()


async def _add(store: SqliteStore, match_id: str, script: Script) -> None:
    # As a server has left it that has died: its lease has expired, if it had one.
    state = MatchState.begin(script.header._replace(match_id=match_id))
    await store.create(state.header, state.status)
    for version, entry in enumerate(entries(script)[:_DECISIONS_BEFORE]):
        state = state.after(entry)
        await store.append(match_id, version, entry, state.status)


def _count(place: Path) -> int:
    # The decisions that the server has made on its own, and those that were there before.
    connection = sqlite3.connect(f"{(place / FILE).as_uri()}?mode=ro", uri=True)
    query = "SELECT count(*) FROM entries WHERE match_id GLOB 'due*'"
    (number,) = connection.execute(query).fetchone()
    connection.close()
    return int(number)


def _progress(what: str) -> None:
    print(f"... {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
