"""Measures actions as clients play them.

Each seat has its own connection, follows its match with WatchMatch, and submits its next action
when it has seen the version before it. Beside it stands the bare pattern of this on the same
server: for each action a unary call and a message to both streams of the match, all of the mean
sizes of the real ones, with nothing behind them. The ratio to it is what the service adds to gRPC.
"""

import asyncio
import math
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import grpc

from croupier.v1 import match_pb2, match_pb2_grpc
from croupier.v1.game_pb2 import Ruleset
from lab.postgresql import Postgres
from lab.service_bench.load import ratio
from lab.service_bench.players import Match, Pattern, Played, Players
from lab.service_bench.printing import ms, progress, us
from lab.service_bench.scripts import Script, submission
from lab.service_bench.serve import ACT, FOLLOW, write_act, write_follow
from lab.service_bench.servers import SUBMIT, Running, serving

STORES = ("memory", "sqlite", "postgresql")

PLAY = Pattern(SUBMIT, "/croupier.v1.MatchService/WatchMatch")
BARE = Pattern(ACT, FOLLOW)
_THIS, _AGAINST, _BARE_NAME = "played", "... --against", "bare pattern"
_MAX_ACTIONS_A_SECOND = 3_000  # This many are prepared.
_BARE_MATCHES = 4  # Times the others: they are played faster.
_WARM_SECONDS = 1.0
_CREATED_AT_ONCE = 16


class Figures(NamedTuple):
    """The figures of one round, for an action where nothing else is said."""

    rate: float  # Actions a second.
    cpu: float  # Seconds of processor time of the server and its database.
    database: float  # That of the database alone.
    p50: float  # Seconds until the response: the median of the round.
    p99: float
    seen: float  # Seconds until the other seat has seen it: the 99th percentile.
    received: float  # Bytes that both seats receive.
    sent: float  # Bytes that they send.
    client_cpu: float  # Seconds of processor time of the players.


class Subject(NamedTuple):
    """Players at a server."""

    name: str
    server: Running
    players: Players

    def run(self, seconds: float) -> Figures:
        """Measures them once."""
        used, database = self.server.cpu(), self.server.database_cpu()
        played = self.players.play(seconds)
        database = self.server.database_cpu() - database
        used = self.server.cpu() - used + database
        return _figures(played, used, database)


def _figures(played: Played, used: float, database: float) -> Figures:
    answered, seen = sorted(played.answered), sorted(played.seen)
    return Figures(
        played.actions / played.seconds,
        used / played.actions,
        database / played.actions,
        answered[len(answered) // 2],
        answered[len(answered) * 99 // 100],
        seen[len(seen) * 99 // 100],
        played.received_bytes / played.actions,
        played.sent_bytes / played.actions,
        played.client_seconds / played.actions,
    )


def measure(
    directory: Path,
    scripts: Sequence[Script],
    stores: Sequence[str],
    tables: Sequence[int],
    rounds: int,
    seconds: float,
    checkout: Path | None,
) -> None:
    """Prints a table: each store with each number of matches at a time, beside the bare pattern.

    With `checkout`, the server of that checkout is measured in the same rounds.
    """
    _head()
    for store in stores:
        for number in tables:
            progress(f"{number} matches as they are played, {store}")
            place = directory / f"played-{store}-{number}"
            try:
                measured = _measure(place, scripts, store, number, rounds, seconds, checkout)
            except ImportError as missing:
                print(f"{store:11}  left out: {missing}")
                break
            for name, figures in measured.items():
                _row(store, number, name, figures, _compared(name, measured))


def _measure(
    place: Path,
    scripts: Sequence[Script],
    store: str,
    tables: int,
    rounds: int,
    seconds: float,
    checkout: Path | None,
) -> dict[str, list[Figures]]:
    actions = _MAX_ACTIONS_A_SECOND * (rounds * seconds + 2 * _WARM_SECONDS)
    mean = statistics.mean(len(script.decisions) for script in scripts)
    count = tables + math.ceil(actions / mean)
    played = list(islice(cycle(scripts), count))
    with ExitStack() as stack:
        servers = {_THIS: stack.enter_context(hosting(place / "this", store, None))}
        if checkout is not None:
            servers[_AGAINST] = stack.enter_context(hosting(place / "other", store, checkout))
        subjects = []
        for name, server in servers.items():
            matches = asyncio.run(create_matches(server.address, played))
            players = Players(server.address, PLAY, matches, tables)
            stack.callback(players.close)
            if name == _THIS:
                bare = bare_pattern(players.play(_WARM_SECONDS), matches)
                bare_players = Players(server.address, BARE, bare, tables)
                stack.callback(bare_players.close)
                subjects.append(Subject(_BARE_NAME, server, bare_players))
            subjects.append(Subject(name, server, players))
        for subject in subjects:
            subject.run(_WARM_SECONDS)
        measured: dict[str, list[Figures]] = {subject.name: [] for subject in subjects}
        for _ in range(rounds):
            for subject in subjects:
                measured[subject.name].append(subject.run(seconds))
    return measured


@contextmanager
def hosting(directory: Path, store: str, checkout: Path | None) -> Iterator[Running]:
    """Runs a server that allows seeds, and its database; raises ImportError without PostgreSQL."""
    directory.mkdir(parents=True)
    options = ("--allow-seeds",)
    if store != "postgresql":
        with serving(directory, checkout, options, store) as server:
            yield server
        return
    database = Postgres()
    try:
        url = database.url(database.new_schema())
        with serving(directory, checkout, options, url, database.pid) as server:
            yield server
    finally:
        database.close()


async def create_matches(address: str, scripts: Sequence[Script]) -> list[Match]:
    """Creates a match for each script at a server that allows seeds."""
    # By the API, which has stayed the same for longer than the logs and the tokens.
    waiting = asyncio.Semaphore(_CREATED_AT_ONCE)
    async with grpc.aio.insecure_channel(address) as channel:
        stub = match_pb2_grpc.MatchServiceStub(channel)

        async def create(script: Script) -> Match:
            ruleset = Ruleset.FromString(script.header.ruleset)
            request = match_pb2.CreateMatchRequest(ruleset=ruleset, seed=script.seed)
            async with waiting:
                return _match(script, await stub.CreateMatch(request))

        return await asyncio.gather(*map(create, scripts))


def _match(script: Script, created: match_pb2.CreateMatchResponse) -> Match:
    name = created.name
    follow = match_pb2.WatchMatchRequest(name=name).SerializeToString()
    first, second = (seat.token for seat in created.seat_tokens)
    actions = [(decision.seat, submission(name, decision)) for decision in script.decisions]
    return Match((first, second), (follow, follow), actions)


def bare_pattern(played: Played, matches: Sequence[Match]) -> list[Match]:
    """Returns what the bare methods need to be called as in matches of which some were played.

    The seats and the sizes of requests are the same; the sizes of what is received are the means.
    """
    answer = played.answer_bytes // played.actions
    push = played.push_bytes // played.pushes
    return [
        Match(
            match.tokens,
            tuple(write_follow(number, push, len(request)) for request in match.follow),  # type: ignore[arg-type]
            [
                (
                    seat,
                    write_act(
                        number, at + 1, at + 1 == len(match.actions), answer, push, len(request)
                    ),
                )
                for at, (seat, request) in enumerate(match.actions)
            ],
        )
        for number, match in enumerate(islice(cycle(matches), _BARE_MATCHES * len(matches)))
    ]


# Printing


def _compared(name: str, measured: dict[str, list[Figures]]) -> str:
    ours = measured[_THIS]
    if name == _BARE_NAME:
        return ""
    if name == _THIS:
        return f"CPU {ratio(ours, measured[_BARE_NAME], 'cpu'):.2f} of the bare pattern"
    cpu, p99, received = (ratio(ours, measured[name], each) for each in ("cpu", "p99", "received"))
    return f"ours of it: CPU {cpu:.2f}, p99 {p99:.2f}, received {received:.2f}"


def _head() -> None:
    print(
        f"\n{'store':11}{'matches':>7}  {'':14}{'actions/s':>9}{'CPU':>10}{'database':>10}"
        f"{'p50':>10}{'p99':>10}{'seen p99':>10}{'received':>10}{'sent':>7}{'client':>8}  ratio"
    )


def _row(store: str, number: int, name: str, figures: Sequence[Figures], compared: str) -> None:
    middle = Figures(*(statistics.median(column) for column in zip(*figures, strict=True)))
    print(
        f"{store:11}{number:7}  {name:14}{middle.rate:9,.0f}{us(middle.cpu):>10}"
        f"{us(middle.database):>10}{ms(middle.p50):>10}{ms(middle.p99):>10}{ms(middle.seen):>10}"
        f"{middle.received:8,.0f} B{middle.sent:5,.0f} B{us(middle.client_cpu):>8}  {compared}",
        flush=True,
    )
