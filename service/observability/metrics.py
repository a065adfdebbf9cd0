"""The metrics for the operator: counts and durations, which reveal no card and no player.

A series that is missing until its first event hides that event from `rate()`. So each metric begins
with all its series, and labels have few values: calls are counted by protocol and code, refusals by
reason, and faults of the server by method. How long calls took begins with those that end well:
with all codes of all methods, a page of 600 kB would hold up moves for 50 ms whenever it is read.
"""

import importlib.metadata
import math
import os
import platform
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import accumulate, product
from pathlib import Path
from typing import TypeVar

from google.rpc import code_pb2
from grpc_health.v1 import health_pb2
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from ai.memory import Account
from croupier.v1 import catalog_pb2, feed_pb2, hint_pb2, match_pb2, puzzle_pb2, review_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine import games
from service.common import tasks
from wire.errors import CODES

# Whether the responses are a stream, by the path of the method.
OFF_SECONDS = 2.0  # By which a clock is wrong at least, for the operator to be told.
METHODS = {
    f"/{service.full_name}/{method.name}": method.server_streaming
    for module in (catalog_pb2, match_pb2, feed_pb2, hint_pb2, review_pb2, puzzle_pb2, health_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
METHODS |= {
    f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo": True
    for version in ("v1", "v1alpha")
}
# How calls end: well, without an answer, or refused.
ENDS = (
    "OK",
    "CANCELLED",
    "DEADLINE_EXCEEDED",
    *sorted(code_pb2.Code.Name(code) for code in set(CODES.values())),
)
PROTOCOLS = ("grpc", "connect", "grpc-web", "json")
REASONS = tuple(ErrorReason.Name(reason).removeprefix("ERROR_REASON_") for reason in CODES)
# The statuses of HTTP with which the web gateway answers, and those of refused calls besides.
WEB_STATUSES = (200, 204, 304, 400, 403, 404, 405, 413, 414, 415, 421, 429, 431, 500, 501)
CALL_STATUSES = (401, 409, 499, 503, 504)
MATCH_STATES = (
    "created",
    "ended",
    "resigned",
    "expired",
    "abandoned",
    "idle",
    "declined",
    "aborted",
)
SEARCH_KINDS = ("hint", "bot")
SEARCH_LIMITS = ("caller", "server")
PROCESS_KINDS = ("match", "search")
SEARCH_SERVER_OUTCOMES = ("answered", "lost", "unanswered")
STORE_KINDS = ("read", "write")
# What statements are sent to a database for. "due": finding due matches, and taking leases.
STATEMENTS = (
    "append",
    "create",
    "due",
    "feed",
    "load",
    "notify",
    "other",
    "poll",
    "read",
    "snapshot",
)

# Each bucket is a series of every method, and of each of its codes that was seen.
_UNARY_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1, 2.5, 10)
_STREAM_SECONDS = (0.1, 1, 10, 60, 600, 3600)
_SEARCH_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_COMMIT_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_Labelled = TypeVar("_Labelled", bound=MetricWrapperBase)
_LAG_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)


class _Durations:
    """How often something took how long, as a histogram counts it."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, seconds: float) -> None:
        """Counts once."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.sum += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """The cumulative counts, by their upper bounds."""
        bounds = [*(str(float(bound)) for bound in self.bounds), "+Inf"]
        return list(zip(bounds, map(float, accumulate(self.counts)), strict=True))


class _CallCounts(Collector):
    """The metrics that each call changes, as plain numbers, which only the event loop changes.

    The counters of prometheus_client take a lock for each change, and so a tenth of the Python of a
    short call.
    """

    def __init__(self) -> None:
        self.in_flight = dict.fromkeys(METHODS, 0)
        self.ended = dict.fromkeys(product(PROTOCOLS, ENDS), 0)
        self.durations = {
            (path, code): _Durations(_STREAM_SECONDS if streams else _UNARY_SECONDS)
            for path, streams in METHODS.items()
            for code in ENDS
        }
        self.lookups = {"hit": 0, "miss": 0}

    def collect(self) -> Iterator[Metric]:
        """All of them, as prometheus_client reads them."""
        in_flight = GaugeMetricFamily(
            "croupier_rpcs_in_flight", "Calls that run.", labels=["method"]
        )
        for path, running in self.in_flight.items():
            in_flight.add_metric([_short(path)], running)
        ended = CounterMetricFamily(
            "croupier_rpcs",
            "Calls that have ended, by the protocol of their client: grpc, connect, grpc-web or "
            "json.",
            labels=["protocol", "code"],
        )
        for pair, count in self.ended.items():
            ended.add_metric(pair, count)
        lookups = CounterMetricFamily(
            "croupier_match_cache_lookups",
            "Matches that were looked for in memory; those that are missing are read from the log.",
            labels=["result"],
        )
        for result, count in self.lookups.items():
            lookups.add_metric([result], count)
        unary = HistogramMetricFamily(
            "croupier_unary_rpc_seconds",
            "How long a call with one response took.",
            labels=["method", "code"],
        )
        streams = HistogramMetricFamily(
            "croupier_stream_rpc_seconds",
            "How long a call with a stream of responses lasted until it ended.",
            labels=["method", "code"],
        )
        for (path, code), taken in self.durations.items():
            if code != "OK" and not any(taken.counts):
                continue
            family = streams if METHODS[path] else unary
            family.add_metric([_short(path), code], taken.buckets(), taken.sum)
        return iter((in_flight, ended, lookups, unary, streams))


class _TaskStates(Collector):
    """The background work of a server and of its process."""

    def __init__(self, *works: tasks.Tasks) -> None:
        self._works = works

    def collect(self) -> Iterator[Metric]:
        """How often it has failed, and what of it is down."""
        failed = CounterMetricFamily(
            "croupier_task_failures",
            "Background work that has failed, or ended before its time.",
            labels=["task"],
        )
        failures = [each.failures() for each in self._works]
        for name in tasks.NAMES:
            failed.add_metric([name], sum(each[name] for each in failures))
        down = GaugeMetricFamily(
            "croupier_task_down",
            "1 from when background work that goes on for good has ended until it goes on well "
            "again, else 0.",
            labels=["task"],
        )
        ended = set[str]().union(*(each.down() for each in self._works))
        for name in tasks.KEPT:
            down.add_metric([name], name in ended)
        return iter((failed, down))


def _short(path: str) -> str:
    # A method as the metrics name it: "MatchService/GetView".
    return path.removeprefix("/croupier.v1.").lstrip("/")


def hosted_ids() -> list[str]:
    """Returns the ids of the games that a server can host."""
    return [game_id for game_id, game in games().items() if not game.reference]


class Metrics:
    """The metrics of one server, in a registry of its own."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self.tasks = tasks.Tasks()  # The background work of the server.
        self.registry.register(_TaskStates(self.tasks, tasks.PROCESS))
        Info("croupier_build", "The versions of what runs.", registry=self.registry).info(
            {
                "version": importlib.metadata.version("croupier-server"),
                "python": platform.python_version(),
                "grpcio": importlib.metadata.version("grpcio"),
            }
        )
        self.rules_versions = Gauge(
            "croupier_rules_version",
            "The version of the rules by which new matches of a game are played.",
            ["game"],
            registry=self.registry,
        )
        self.loop_lag = self._histogram(
            "croupier_event_loop_lag_seconds",
            "How much later than due the event loop called what was due; ten samples a second.",
            _LAG_SECONDS,
        )
        self._add_calls()
        self._add_matches()
        self._add_searches()
        self._add_store()

    # Each metric begins with all its series: `labels` have the values of each label.

    def _counter(self, name: str, text: str, **labels: Iterable[str]) -> Counter:
        return _with_series(Counter(name, text, [*labels], registry=self.registry), labels)

    def _gauge(self, name: str, text: str, **labels: Iterable[str]) -> Gauge:
        return _with_series(Gauge(name, text, [*labels], registry=self.registry), labels)

    def _histogram(
        self, name: str, text: str, buckets: tuple[float, ...], **labels: Iterable[str]
    ) -> Histogram:
        histogram = Histogram(name, text, [*labels], buckets=buckets, registry=self.registry)
        return _with_series(histogram, labels)

    def _add_calls(self) -> None:
        self._counts = _CallCounts()
        self.registry.register(self._counts)
        self.calls = 0  # That have ended, of all methods.
        self._server_errors = self._counter(
            "croupier_rpc_server_errors",
            "Calls that this server could not carry out, through no fault of the caller: by an "
            "internal error, because the log failed or was full, or not before a deadline of a "
            "second or more.",
            method=map(_short, METHODS),
        )
        self.refusals = self._counter(
            "croupier_refusals",
            "Calls that were refused, by the reason that the caller was given.",
            reason=REASONS,
        )
        self.watchers = self._gauge("croupier_watchers", "Calls that follow or wait for a match.")

    def _add_matches(self) -> None:
        self.matches = self._counter(
            "croupier_matches",
            "Matches that this server has brought into a state: created, ended (by the rules), "
            "resigned, expired (a seat forfeited when its time was up), abandoned (default actions "
            "were played for a seat too often), idle (nothing happened for too long) or declined "
            "(a seat declined it before the deal).",
            game=hosted_ids(),
            state=MATCH_STATES,
        )
        self.expiries = self._counter(
            "croupier_clock_expiries", "How often the time of a seat was up.", game=hosted_ids()
        )
        self.overdue = self._gauge(
            "croupier_overdue_seconds",
            "For how long a match has been due that no server has taken up: a bot must decide in "
            "it, or a clock has run out.",
        )
        self.damaged_matches = self._counter(
            "croupier_damaged_matches",
            "How often what the log says of a match was not what was written.",
        )
        self.bot_failures = self._counter("croupier_bot_failures", "Decisions of bots that failed.")

    def _add_searches(self) -> None:
        kind, game = SEARCH_KINDS, hosted_ids()
        self.search_threads = self._gauge(
            "croupier_search_threads", "Threads for searches.", kind=kind
        )
        self._running = self._gauge("croupier_searches_running", "Searches that run.", kind=kind)
        self._paused = self._gauge(
            "croupier_searches_paused",
            "Searches that were started, and are paused for searches of others.",
            kind=kind,
        )
        self._waiting = self._gauge(
            "croupier_searches_waiting", "Searches in the queue.", kind=kind
        )
        self.search_waits = self._histogram(
            "croupier_search_wait_seconds",
            "How long a search waited in the queue before it started.",
            _SEARCH_SECONDS,
            kind=kind,
            game=game,
        )
        self._search_seconds = self._histogram(
            "croupier_search_seconds",
            "How long a search took from its start, pauses included.",
            _SEARCH_SECONDS,
            kind=kind,
            game=game,
        )
        self._iterations = self._counter(
            "croupier_search_iterations",
            "Iterations done; divided by croupier_search_seconds_sum, iterations per second.",
            kind=kind,
            game=game,
        )
        self.searches_refused = self._counter(
            "croupier_searches_refused",
            "Searches refused because too many were waiting: of the caller, or of all callers "
            "(server).",
            kind=kind,
            limit=SEARCH_LIMITS,
        )
        self.search_server_calls = self._counter(
            "croupier_search_server_calls",
            "Searches sent to search servers: answered, lost with a server (and sent to another "
            "one), or unanswered (and done by this process).",
            kind=kind,
            outcome=SEARCH_SERVER_OUTCOMES,
        )
        self.hint_delays = self._histogram(
            "croupier_hint_delay_seconds",
            "How much longer the answer to SuggestAction took than the search that it asked for.",
            _SEARCH_SECONDS,
        )

    def _add_store(self) -> None:
        self._commits = self._histogram(
            "croupier_store_commit_seconds", "How long a commit of the log took.", _COMMIT_SECONDS
        )
        self._committed = self._counter(
            "croupier_store_committed", "Changes committed to the log: matches, entries and leases."
        )
        self.store_failures = self._counter(
            "croupier_store_failures",
            "How often the log could not be read or written.",
            kind=STORE_KINDS,
        )
        self._store_failing = self._gauge(
            "croupier_store_failing",
            "1 from when the log could not be read or written until it can be again, else 0.",
            kind=STORE_KINDS,
        )
        self.unreadable_since: float | None = None  # By time.monotonic, while reads of it fail.

    # Metrics that not every server has

    def add_process(self) -> None:
        """Adds what describes the process; it must have no other server."""
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    def add_memory(self, kind: str, resident: Callable[[], int], account: Account) -> None:
        """Adds the memory of a process of a kind, and what its searches may hold and do."""
        memory = self._gauge(
            "croupier_process_memory_bytes",
            "Memory in use (resident), by the kind of process: what hosts matches, and what only "
            "searches.",
            kind=PROCESS_KINDS,
        )
        memory.labels(kind).set_function(resident)
        limit = self._gauge(
            "croupier_search_memory_limit_bytes", "The memory that searches may hold."
        )
        limit.set_function(lambda: account.bound)
        held = self._gauge("croupier_search_memory_bytes", "The memory that searches hold.")
        held.set_function(lambda: account.held)

    def add_match_cache(self, matches: Callable[[], int]) -> None:
        """Adds how many matches are in memory."""
        cached = self._gauge("croupier_match_cache_matches", "Matches in memory.")
        cached.set_function(matches)

    def add_scheduler(self, idle_seconds: Callable[[], float]) -> None:
        """Adds for how long the scheduler has not read what is due."""
        idle = self._gauge(
            "croupier_scheduler_idle_seconds",
            "How long ago the scheduler has last read from the log what is due.",
        )
        idle.set_function(idle_seconds)

    def add_disk(self, directory: Path) -> None:
        """Adds the space on the disk with the log; it is no number while the disk is not there."""

        def space(free: bool) -> float:
            try:
                found = os.statvfs(directory)
            except OSError:
                return math.nan
            return float((found.f_bavail if free else found.f_blocks) * found.f_frsize)

        for name, text, free in (
            ("size", "The size of the file system with the log.", False),
            ("free", "What is free in the file system with the log.", True),
        ):
            gauge = self._gauge(f"croupier_store_disk_{name}_bytes", text)
            gauge.set_function(partial(space, free))

    def add_grpc(self, most: int, connections: Callable[[], int]) -> None:
        """Adds how many connections the port for gRPC has, and may have."""
        self._add_connections("grpc", "the port for gRPC", most, connections)

    def _add_connections(
        self, name: str, where: str, most: int, connections: Callable[[], int]
    ) -> None:
        opened = self._gauge(f"croupier_{name}_connections", f"Connections of {where}.")
        opened.set_function(connections)
        limit = self._gauge(f"croupier_{name}_connections_limit", "How many there may be.")
        limit.set(most)

    def add_web(self, most: int, connections: Callable[[], int]) -> None:
        """Adds how many connections the web gateway has and may have, and what it answers."""
        self._add_connections("web", "the web gateway", most, connections)
        self._web_responses = self._counter(
            "croupier_web_responses",
            "Responses of the web gateway, by their status: to calls, to requests for files, "
            "and to what is neither.",
            status=map(str, WEB_STATUSES + CALL_STATUSES),
        )

    def add_database(
        self,
        most: int,
        opened: Callable[[], int],
        idle: Callable[[], int],
        waiting: Callable[[], int],
    ) -> None:
        """Adds the pool of at most `most` connections to a database, and who waits for one."""
        self.store_statements = self._counter(
            "croupier_store_statements",
            "Statements that were sent to the database.",
            purpose=STATEMENTS,
        )
        self.clock_offset = self._gauge(
            "croupier_clock_offset_seconds", "How far this clock is ahead of the database's."
        )
        limit = self._gauge(
            "croupier_store_connections_limit", "Connections that the pool may have."
        )
        limit.set(most)
        for name, text, count in (
            ("open", "Connections of the pool to the database, idle ones included.", opened),
            ("idle", "Connections of the pool that nothing uses now.", idle),
            ("waiting", "What waits for a connection of the pool.", waiting),
        ):
            self._gauge(f"croupier_store_connections_{name}", text).set_function(count)

    def add_budgets(self, budgets: Iterable[str], principals: Iterable[str]) -> None:
        """Adds the budgets, and the kinds of principals whose calls they limit."""
        self.budget_refusals = self._counter(
            "croupier_budget_refusals",
            "Calls that were refused because a budget was used up, by what the caller is counted "
            "as.",
            budget=budgets,
            principal=principals,
        )

    def add_certificate(self, expires: Callable[[], float]) -> None:
        """Adds when the certificate of a server with TLS expires, in seconds since 1970.

        Without TLS there is no such metric, which would look like an expired one.
        """
        self._gauge(
            "croupier_tls_certificate_expiry_timestamp_seconds",
            "When the certificate of the server expires, in seconds since 1970.",
        ).set_function(expires)

    def rpc_began(self, method: str) -> None:
        """A call has begun; `method` is the path of its method."""
        self._counts.in_flight[method] += 1

    def rpc_ended(self, method: str, code: str, protocol: str, seconds: float) -> None:
        """A call has ended."""
        self.calls += 1
        counts = self._counts
        counts.in_flight[method] -= 1
        counts.ended[protocol, code] += 1
        counts.durations[method, code].observe(seconds)

    def rpc_failed(self, method: str) -> None:
        """A call has ended because of a fault of the server."""
        self._server_errors.labels(_short(method)).inc()

    def web_answered(self, status: int) -> None:
        """The web gateway has answered with a status of HTTP."""
        self._web_responses.labels(status).inc()

    def looked_up(self, found: bool) -> None:
        """A match was looked for in memory."""
        self._counts.lookups["hit" if found else "miss"] += 1

    def search(self, kind: str, game: str, iterations: int, seconds: float) -> None:
        """A search is done."""
        self._search_seconds.labels(kind, game).observe(seconds)
        self._iterations.labels(kind, game).inc(iterations)

    def pool(self, kind: str, running: int, paused: int, waiting: int) -> None:
        """How many searches of a pool run now, are paused, and wait in its queue."""
        self._running.labels(kind).set(running)
        self._paused.labels(kind).set(paused)
        self._waiting.labels(kind).set(waiting)

    def store_committed(self, count: int, seconds: float) -> None:
        """`count` changes were committed to the log at once."""
        self._commits.observe(seconds)
        self._committed.inc(count)

    def store_failing(self, kind: str, failing: bool) -> None:
        """Whether the log can be read or written now, as far as is known."""
        self._store_failing.labels(kind).set(failing)
        if kind == "read":
            self.unreadable_since = time.monotonic() if failing else None


def _with_series(metric: _Labelled, labels: Mapping[str, Iterable[str]]) -> _Labelled:
    for values in product(*labels.values()) if labels else ():
        metric.labels(*values)
    return metric
