"""Counts the instructions of what an action costs, under valgrind.

Unlike time they hardly vary from run to run, so that small changes show. The parts are differences:
a bare echo is what gRPC costs; a call on a log in memory adds the call itself; one on SQLite adds
the commit; each follower adds a message. One call is made at a time, so nothing is shared among
calls, and instructions of the kernel do not count.
"""

import asyncio
import re
import shutil
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from croupier.v1 import match_pb2, match_pb2_grpc
from croupier.v1.game_pb2 import Ruleset
from lab.service_bench.printing import progress
from lab.service_bench.scripts import Script, submission
from lab.service_bench.serve import ECHO
from lab.service_bench.servers import SUBMIT, Running, serving

_TOOLS = ("valgrind", "callgrind_control")
_DUMP = "callgrind.out"
_TIMEOUT_SECONDS = 120.0  # Of one call: the server is some fifty times slower than usual.
_ECHO, _MEMORY, _SQLITE, _ONE, _TWO = (
    "bare echo",
    "SubmitAction, memory",
    "SubmitAction, sqlite",
    "... with one follower",
    "... with two followers",
)


class MissingTool(Exception):
    """A program that this measurement needs is not installed."""


class _Setting(NamedTuple):
    """What is counted."""

    name: str
    followers: int = 0  # Of each match.
    bare: bool = False


class _Seated(NamedTuple):
    """A match that is about to be played."""

    script: Script
    name: str
    metadata: list[tuple[tuple[str, str]]]  # By seat, with its token; empty for bare echoes.
    streams: list[Any]  # Of the followers.


# By store. The echo is the same on all of them.
_SETTINGS = {
    "memory": (_Setting(_ECHO, bare=True), _Setting(_MEMORY)),
    "sqlite": (_Setting(_SQLITE), _Setting(_ONE, 1), _Setting(_TWO, 2)),
}


def measure(directory: Path, scripts: Sequence[Script], rounds: int) -> None:
    """Prints a table; each count is the median of rounds. Raises MissingTool."""
    for tool in _TOOLS:
        if shutil.which(tool) is None:
            raise MissingTool(f"{tool} is missing: install the package valgrind")
    counts: dict[str, list[float]] = {}
    for store, settings in _SETTINGS.items():
        progress(f"a server under valgrind, {store}")
        place = directory / f"instructions-{store}"
        place.mkdir(parents=True)
        dump = f"--callgrind-out-file={place / _DUMP}"
        under = ("valgrind", "--tool=callgrind", "--instr-atstart=no", "--quiet", dump)
        options = ("--allow-seeds", "--search-processes", "0")
        with serving(place, options=options, store=store, under=under) as server:
            counts |= asyncio.run(_measure(server, place, settings, scripts, rounds))
    _print(counts)


async def _measure(
    server: Running,
    place: Path,
    settings: Sequence[_Setting],
    scripts: Sequence[Script],
    rounds: int,
) -> dict[str, list[float]]:
    counts: dict[str, list[float]] = {setting.name: [] for setting in settings}
    async with grpc.aio.insecure_channel(server.address) as channel:
        player = _Player(channel)
        for setting in settings:
            for script in scripts:  # So that all is loaded and cached.
                await player.play(await player.sit_down(script, setting))
        for _ in range(rounds):
            for setting in settings:
                progress(f"{setting.name}, {len(scripts)} matches")
                seated = [await player.sit_down(script, setting) for script in scripts]
                _control(server, "--zero", "--instr=on")
                for each in seated:
                    await player.play(each)
                _control(server, "--instr=off", "--dump")
                actions = sum(len(each.script.decisions) for each in seated)
                counts[setting.name].append(_read_newest(place) / actions)
    return counts


def _control(server: Running, *orders: str) -> None:
    for order in orders:
        command = ["callgrind_control", order, str(server.pid)]
        subprocess.run(command, check=True, capture_output=True, timeout=_TIMEOUT_SECONDS)


def _read_newest(place: Path) -> int:
    # The instructions of the newest dump: they are numbered.
    dumps = sorted(place.glob(f"{_DUMP}.*"), key=lambda dump: int(dump.suffix[1:]))
    found = re.search(r"^totals: (\d+)", dumps[-1].read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{dumps[-1]} tells no total")
    return int(found[1])


class _Player:
    """Plays scripted matches, one call at a time."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub: Any = match_pb2_grpc.MatchServiceStub(channel)
        self._echo: Any = channel.unary_unary(ECHO)
        self._submit: Any = channel.unary_unary(SUBMIT)

    async def sit_down(self, script: Script, setting: _Setting) -> _Seated:
        """Creates a match and follows it, if there is to be one."""
        if setting.bare:
            return _Seated(script, "matches/bare", [], [])
        ruleset = Ruleset.FromString(script.header.ruleset)
        request = match_pb2.CreateMatchRequest(ruleset=ruleset, seed=script.seed)
        created = await self._stub.CreateMatch(request, timeout=_TIMEOUT_SECONDS)
        metadata = [(("authorization", f"Bearer {seat.token}"),) for seat in created.seat_tokens]
        watch = match_pb2.WatchMatchRequest(name=created.name)
        followed = metadata[: setting.followers]
        streams = [self._stub.WatchMatch(watch, metadata=each) for each in followed]
        for stream in streams:
            await stream.read()
        return _Seated(script, created.name, metadata, streams)

    async def play(self, seated: _Seated) -> None:
        """Plays a match to its end."""
        for decision in seated.script.decisions:
            message = submission(seated.name, decision)
            if not seated.metadata:
                await self._echo(message, timeout=_TIMEOUT_SECONDS)
                continue
            metadata = seated.metadata[decision.seat]
            await self._submit(message, metadata=metadata, timeout=_TIMEOUT_SECONDS)
            for stream in seated.streams:
                await stream.read()


def _print(counts: dict[str, list[float]]) -> None:
    middle = {name: statistics.median(each) for name, each in counts.items()}
    parts = (
        ("gRPC: a bare echo", middle[_ECHO]),
        ("the call", middle[_MEMORY] - middle[_ECHO]),
        ("the commit to SQLite", middle[_SQLITE] - middle[_MEMORY]),
        ("the first follower", middle[_ONE] - middle[_SQLITE]),
        ("the second follower", middle[_TWO] - middle[_ONE]),
    )
    print(f"\n{'instructions an action':28}{'median':>10}  runs")
    for name, each in counts.items():
        runs = " ".join(f"{count:,.0f}" for count in each)
        print(f"{name:28}{middle[name]:10,.0f}  {runs}")
    print(f"\n{'part':28}{'instructions':>14}")
    for name, count in parts:
        print(f"{name:28}{count:14,.0f}", flush=True)
