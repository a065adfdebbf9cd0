"""Measures actions as clients play them.

Each seat has its own connection, follows its match with WatchMatch, and submits its next action
when it has seen the version before it. Beside it stands the bare pattern of this on the same
server: for each action a unary call and a message to both streams of the match, all of the mean
sizes of the real ones, with nothing behind them. The ratio to it is what the service adds to gRPC.

Lean clients keep the state of the game themselves: by read masks they get the events, the deciders
and the legal actions, and their streams skip their own actions. They have a bare pattern of their
own, with one message for each action.

On PostgreSQL, statements are counted, each of which is a round trip to the database; and players
also play with two servers that share the database, a seat at each.
"""

import asyncio
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import grpc

from croupier.v1 import match_pb2, match_pb2_grpc
from croupier.v1.game_pb2 import Ruleset
from lab.service_bench.players import Match, Pattern, Played, Players
from tests.support.postgresql import Postgres
from lab.service_bench.printing import ms, progress, ratio, us
from lab.service_bench.scripts import Script, submission
from lab.service_bench.serve import ACT, FOLLOW, NO_SEAT, write_act, write_follow
from lab.service_bench.servers import SUBMIT, Running, serving

STORES = ("memory", "sqlite", "postgresql")

PLAY = Pattern(SUBMIT, "/croupier.v1.MatchService/WatchMatch")
BARE = Pattern(ACT, FOLLOW)
_THIS, _AGAINST, _BARE_NAME = "played", "... --against", "bare pattern"
_LEAN, _LEAN_BARE = "lean", "bare, lean"
_TWO = "two servers"
# What a client needs that keeps the state of the game itself.
_LEAN_VIEW = ["view.deciders", "view.legal_actions", "view.result"]
_MAX_ACTIONS_A_SECOND = 10_000  # This many are prepared.
_BARE_MATCHES = 8  # Times the others: they are played faster.
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
    statements: float  # Sent to the database.


class Subject(NamedTuple):
    """Players at a server."""

    name: str
    servers: Sequence[Running]  # They share their database.
    players: Players
    counted: Counter[str]  # In all runs: actions, and the statements by their purpose.

    def run(self, seconds: float) -> Figures:
        """Measures them once."""
        before, used, database = self._statements(), self._cpu(), self.servers[0].database_cpu()
        played = self.players.play(seconds)
        database = self.servers[0].database_cpu() - database
        used = self._cpu() - used + database
        statements = self._statements() - before
        self.counted.update(statements, actions=played.actions)
        return _figures(played, used, database, statements.total())

    def _cpu(self) -> float:
        return sum(server.cpu() for server in self.servers)

    def _statements(self) -> Counter[str]:
        return sum((server.statements() for server in self.servers), Counter())


def _figures(played: Played, used: float, database: float, statements: int) -> Figures:
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
        statements / played.actions,
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
                measured, counted = _measure(
                    place, scripts, store, number, rounds, seconds, checkout
                )
            except ImportError as missing:
                print(f"{store:11}  left out: {missing}")
                break
            for name, figures in measured.items():
                _row(store, number, name, figures, _compared(name, measured))
            _statements(counted)


def _measure(
    place: Path,
    scripts: Sequence[Script],
    store: str,
    tables: int,
    rounds: int,
    seconds: float,
    checkout: Path | None,
) -> tuple[dict[str, list[Figures]], dict[str, Counter[str]]]:
    actions = _MAX_ACTIONS_A_SECOND * (rounds * seconds + 2 * _WARM_SECONDS)
    mean = statistics.mean(len(script.decisions) for script in scripts)
    count = tables + math.ceil(actions / mean)
    played = list(islice(cycle(scripts), count))
    with ExitStack() as stack:
        hosts = {_THIS: [stack.enter_context(hosting(place / "this", store, None))]}
        if store == "postgresql":
            hosts[_TWO] = stack.enter_context(_hosting_two(place / "two"))
        if checkout is not None:
            hosts[_AGAINST] = [stack.enter_context(hosting(place / "other", store, checkout))]
        subjects = []
        for name, servers in hosts.items():
            addresses = [server.address for server in servers]
            for lean in (False, True) if name == _THIS else (False,):
                matches = asyncio.run(create_matches(addresses[0], played, lean=lean))
                players = Players(addresses, PLAY, matches, tables)
                stack.callback(players.close)
                if name == _THIS:
                    bare = bare_pattern(players.play(_WARM_SECONDS), matches, lean=lean)
                    bare_players = Players(addresses, BARE, bare, tables)
                    stack.callback(bare_players.close)
                    bare_name = _LEAN_BARE if lean else _BARE_NAME
                    subjects.append(Subject(bare_name, servers, bare_players, Counter()))
                subjects.append(Subject(_LEAN if lean else name, servers, players, Counter()))
        for subject in subjects:
            subject.run(_WARM_SECONDS)
            subject.counted.clear()
        measured: dict[str, list[Figures]] = {subject.name: [] for subject in subjects}
        for _ in range(rounds):
            for subject in subjects:
                measured[subject.name].append(subject.run(seconds))
    return measured, {subject.name: subject.counted for subject in subjects}


@contextmanager
def _hosting_two(directory: Path) -> Iterator[list[Running]]:
    # Two servers that share a database; raises ImportError without PostgreSQL.
    database = Postgres()
    try:
        url = database.url(database.new_schema())
        with ExitStack() as stack:
            servers = []
            for name in ("one", "other"):
                (directory / name).mkdir(parents=True)
                options = ("--allow-seeds",)
                serves = serving(directory / name, None, options, url, database.pid)
                servers.append(stack.enter_context(serves))
            yield servers
    finally:
        database.close()


@contextmanager
def hosting(
    directory: Path, store: str, checkout: Path | None, options: Sequence[str] = ()
) -> Iterator[Running]:
    """Runs a server that allows seeds, and its database; raises ImportError without PostgreSQL.

    `options` are further ones of its command.
    """
    directory.mkdir(parents=True)
    options = ("--allow-seeds", *options)
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


async def create_matches(
    address: str, scripts: Sequence[Script], *, lean: bool = False
) -> list[Match]:
    """Creates a match for each script at a server that allows seeds; `lean` says for whom."""
    # By the API, which has stayed the same for longer than the logs and the tokens.
    waiting = asyncio.Semaphore(_CREATED_AT_ONCE)
    async with grpc.aio.insecure_channel(address) as channel:
        stub = match_pb2_grpc.MatchServiceStub(channel)

        async def create(script: Script) -> Match:
            ruleset = Ruleset.FromString(script.header.ruleset)
            request = match_pb2.CreateMatchRequest(ruleset=ruleset, seed=script.seed)
            async with waiting:
                return _match(script, await stub.CreateMatch(request), lean)

        return await asyncio.gather(*map(create, scripts))


def _match(script: Script, created: match_pb2.CreateMatchResponse, lean: bool) -> Match:
    name = created.name
    follow = match_pb2.WatchMatchRequest(name=name, skip_own_actions=lean)
    masked = match_pb2.SubmitActionRequest()
    if lean:
        follow.read_mask.paths.extend(["version", "events", *_LEAN_VIEW])
        masked.read_mask.paths.extend(["events", *_LEAN_VIEW])
    first, second = (seat.token for seat in created.seat_tokens)
    # Serialized messages that are concatenated are one message.
    mask = masked.SerializeToString()
    actions = [(decision.seat, submission(name, decision) + mask) for decision in script.decisions]
    return Match((first, second), (follow.SerializeToString(),) * 2, actions)


def bare_pattern(played: Played, matches: Sequence[Match], *, lean: bool = False) -> list[Match]:
    """Returns what the bare methods need to be called as in matches of which some were played.

    The seats and the sizes of requests are the same; the sizes of what is received are the means.
    """
    again = islice(cycle(matches), _BARE_MATCHES * len(matches))
    first = _BARE_MATCHES * len(matches) if lean else 0  # The server tells them apart by number.
    answer = played.answer_bytes // played.actions
    push = played.push_bytes // played.pushes
    return [
        Match(
            match.tokens,
            (
                write_follow(number, 0, push, len(match.follow[0])),
                write_follow(number, 1, push, len(match.follow[1])),
            ),
            [
                (
                    seat,
                    write_act(
                        number,
                        at + 1,
                        at + 1 == len(match.actions),
                        seat if lean else NO_SEAT,
                        answer,
                        push,
                        len(request),
                    ),
                )
                for at, (seat, request) in enumerate(match.actions)
            ],
        )
        for number, match in enumerate(again, first)
    ]


# Printing


def _compared(name: str, measured: dict[str, list[Figures]]) -> str:
    ours = measured[_THIS]
    if name in (_BARE_NAME, _LEAN_BARE):
        return ""
    theirs = measured[name]
    if name == _THIS:
        return f"CPU {ratio(ours, measured[_BARE_NAME], 'cpu'):.2f} of the bare pattern"
    if name == _TWO:
        return f"of played: {_shares(theirs, ours)}"
    if name == _LEAN:
        cpu = ratio(theirs, measured[_LEAN_BARE], "cpu")
        return f"CPU {cpu:.2f} of its bare pattern; of played: {_shares(theirs, ours)}"
    lean = _shares(measured[_LEAN], theirs)
    return f"played of it: {_shares(ours, theirs)}; lean of it: {lean}"


def _shares(ones: Sequence[Figures], others: Sequence[Figures]) -> str:
    cpu, p99, received = (ratio(ones, others, each) for each in ("cpu", "p99", "received"))
    return f"CPU {cpu:.2f}, p99 {p99:.2f}, received {received:.2f}"


def _head() -> None:
    print(
        f"\n{'store':11}{'matches':>7}  {'':14}{'actions/s':>9}{'CPU':>10}{'database':>10}"
        f"{'p50':>10}{'p99':>10}{'seen p99':>10}{'received':>10}{'sent':>7}{'client':>8}"
        f"{'statements':>11}  ratio"
    )


def _row(store: str, number: int, name: str, figures: Sequence[Figures], compared: str) -> None:
    middle = Figures(*(statistics.median(column) for column in zip(*figures, strict=True)))
    print(
        f"{store:11}{number:7}  {name:14}{middle.rate:9,.0f}{us(middle.cpu):>10}"
        f"{us(middle.database):>10}{ms(middle.p50):>10}{ms(middle.p99):>10}{ms(middle.seen):>10}"
        f"{middle.received:8,.0f} B{middle.sent:5,.0f} B{us(middle.client_cpu):>8}"
        f"{middle.statements:11.2f}  {compared}",
        flush=True,
    )


def _statements(counted: dict[str, Counter[str]]) -> None:
    # What the statements of an action were for, over all rounds.
    for name, counts in counted.items():
        actions = counts.pop("actions")
        if counts:
            each = ", ".join(
                f"{what} {count / actions:.3f}" for what, count in counts.most_common()
            )
            print(f"{'':20}{name}: statements an action: {each}", flush=True)
