"""Measures short hints as calls: what a hint costs beyond its search.

Each hint is asked for in three ways, in turn, round after round:

- the search alone: the iterations of a search from the view, in this process;
- the hint alone: checking the request, the search and writing the hint, in this process;
- the call: SuggestAction for a seat of a hosted match, by one caller and by several, and by several
  who ask for the action and its score alone.

The processor time of a call counts all threads of the server, those that search included.
"""

import asyncio
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import grpc

from ai.results import Parameters
from ai.search import Search
from croupier.client import HINT_POLICIES, Client
from croupier.v1 import hint_pb2, hint_pb2_grpc
from croupier.v1.game_pb2 import View
from engine.model import learned
from engine.sampler import Sampler
from lab.service_bench.printing import ms, progress, us
from lab.service_bench.servers import Running, serving
from service.api.hint_service import EVALUATION_SHARE, read_sent_view
from service.searching.hints import answer, check
from service.searching.pool import Limits, SearchJob
from service.searching.tasks import Kind, Requester, SearchTask

CALLERS = 16
ITERATIONS = 200
_SEED = 1
_ALONE, _HINT, _CALL, _CALLS = "search alone", "hint alone", "1 caller", f"{CALLERS} callers"
_LEAN = f"{CALLERS}, action only"
_LEAN_FIELDS = ("hint.action", "hint.expected_score")


class _Asked(NamedTuple):
    cpu: float  # Seconds of processor time of a hint.
    rate: float  # Hints a second.
    p50: float  # Seconds.
    p99: float


class _Position(NamedTuple):
    """A position that is asked about, and where a server hosts it."""

    game_id: str
    view: View
    request: hint_pb2.SuggestActionRequest
    metadata: tuple[tuple[str, str], ...]


def measure(directory: Path, games: Sequence[str], rounds: int, seconds: float) -> None:
    """Prints a table: for each game, hints at the first decision."""
    place = directory / "hints"
    place.mkdir()
    with serving(place, options=("--allow-seeds",)) as server:
        print(
            f"\n{'game':18}{ITERATIONS:>6} iterations{'CPU':>10}{'hints/s':>9}{'p50':>10}"
            f"{'p99':>10}  beyond the search alone: CPU a hint, ratio"
        )
        for game_id in games:
            progress(f"hints of {game_id}")
            _measure_game(server, _position(server, game_id), rounds, seconds)


def _position(server: Running, game_id: str) -> _Position:
    with Client(server.address) as client:
        allowed = HINT_POLICIES["allowed"]
        match = client.create_match(game_id, seed=_SEED, hint_policy=allowed)
        for seat in match.seats.values():
            view = seat.view()
            if view.seat in view.deciders:
                request = hint_pb2.SuggestActionRequest(
                    search={
                        "match_name": seat.match,
                        "limits": {"iterations": ITERATIONS},
                        "seed": _SEED,
                    }
                )
                metadata = (("authorization", f"Bearer {seat.token}"),)
                return _Position(game_id, view, request, metadata)
    raise AssertionError("a seat decides first")


def _measure_game(server: Running, position: _Position, rounds: int, seconds: float) -> None:
    lean = position._replace(request=hint_pb2.SuggestActionRequest())
    lean.request.CopyFrom(position.request)
    lean.request.read_mask.paths.extend(_LEAN_FIELDS)
    ways: dict[str, Callable[[], _Asked]] = {
        _ALONE: lambda: _repeat(_search_alone(position), seconds),
        _HINT: lambda: _repeat(_hint_alone(position), seconds),
        _CALL: lambda: asyncio.run(_call(server, position, 1, seconds)),
        _CALLS: lambda: asyncio.run(_call(server, position, CALLERS, seconds)),
        _LEAN: lambda: asyncio.run(_call(server, lean, CALLERS, seconds)),
    }
    asked: dict[str, list[_Asked]] = {way: [] for way in ways}
    for number in range(rounds + 1):
        for way, ask in ways.items():
            found = ask()
            if number:  # The first round warms up.
                asked[way].append(found)
    for way, figures in asked.items():
        _row(position.game_id, way, figures, asked[_ALONE])


def _search_alone(position: _Position) -> Callable[[], object]:
    view = read_sent_view(position.view)
    sampler = Sampler.of(view, learned(view.game))
    iterations = position.request.search.limits.iterations
    parameters = Parameters(evaluation_share=EVALUATION_SHARE)

    def search() -> object:
        found = Search(view, seed=_SEED, parameters=parameters, sampler=sampler)
        found.run(iterations=iterations)
        return found.result()

    return search


def _hint_alone(position: _Position) -> Callable[[], object]:
    view = read_sent_view(position.view)
    limits = Limits(iterations=position.request.search.limits.iterations)
    search = hint_pb2.Search(seed=_SEED, evaluation_share=EVALUATION_SHARE, view=position.view)
    task = SearchTask(Requester(Kind.HINT, ""), search, view, limits, learned(view.game))

    def hint() -> object:
        job = SearchJob(limits, Parameters())
        return answer(check(task), job).hint.SerializeToString()

    return hint


def _repeat(ask: Callable[[], object], seconds: float) -> _Asked:
    taken: list[float] = []
    began, used = time.perf_counter(), time.thread_time()
    while (at := time.perf_counter()) < began + seconds:
        ask()
        taken.append(time.perf_counter() - at)
    passed, used = time.perf_counter() - began, time.thread_time() - used
    return _asked(taken, passed, used)


async def _call(server: Running, position: _Position, callers: int, seconds: float) -> _Asked:
    taken: list[float] = []
    async with grpc.aio.insecure_channel(server.address) as channel:
        stub = hint_pb2_grpc.HintServiceStub(channel)
        await channel.channel_ready()
        began, used = time.perf_counter(), _cpu(server)

        async def ask_on() -> None:
            while (at := time.perf_counter()) < began + seconds:
                await stub.SuggestAction(position.request, metadata=position.metadata)
                taken.append(time.perf_counter() - at)

        await asyncio.gather(*(ask_on() for _ in range(callers)))
        passed, used = time.perf_counter() - began, _cpu(server) - used
    return _asked(taken, passed, used)


def _cpu(server: Running) -> float:
    # Threads that search count too. They stay while the server runs.
    tasks = Path(f"/proc/{server.pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def _asked(taken: list[float], passed: float, used: float) -> _Asked:
    taken.sort()
    last = int(0.99 * (len(taken) - 1))
    return _Asked(used / len(taken), len(taken) / passed, statistics.median(taken), taken[last])


def _row(game_id: str, way: str, figures: Sequence[_Asked], alone: Sequence[_Asked]) -> None:
    middle = _Asked(*(statistics.median(column) for column in zip(*figures, strict=True)))
    pairs = list(zip(figures, alone, strict=True))
    more = statistics.median(one.cpu - other.cpu for one, other in pairs)
    ratio = statistics.median(one.cpu / other.cpu for one, other in pairs)
    beyond = "" if way == _ALONE else f"  {us(more)}, {ratio:.2f}"
    print(
        f"{game_id:18}{way:>17}{us(middle.cpu):>10}{middle.rate:9,.0f}{ms(middle.p50):>10}"
        f"{ms(middle.p99):>10}{beyond}",
        flush=True,
    )
