"""The metrics for the operator: counts and durations, which reveal no card and no player."""

from collections.abc import Iterator
from contextlib import contextmanager
from wsgiref.simple_server import WSGIServer

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    start_http_server,
)

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The metrics of one server, in a registry of its own."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._rpcs = Counter(
            "croupier_rpcs",
            "Calls that have ended, by the protocol of their client: grpc, connect, grpc-web or "
            "json.",
            ["method", "code", "protocol"],
            registry=self.registry,
        )
        self._rpc_seconds = Histogram(
            "croupier_rpc_seconds",
            "How long a call took; of a stream, until it ended.",
            ["method"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.calls = 0  # That have ended, of all methods.
        self._ended: dict[tuple[str, str, str], tuple[Counter, Histogram]] = {}
        self._refused = Counter(
            "croupier_budget_refusals",
            "Calls that were refused because a budget was used up, by what the caller is counted "
            "as.",
            ["budget", "principal"],
            registry=self.registry,
        )
        self._matches = Counter(
            "croupier_matches",
            "Matches that this server has brought into a state: created, ended (by the rules), "
            "resigned, expired (a seat forfeited when its time was up), abandoned (default actions "
            "were played for a seat too often) or idle (nothing happened for too long).",
            ["game", "state"],
            registry=self.registry,
        )
        self._expiries = Counter(
            "croupier_clock_expiries",
            "How often the time of a seat was up.",
            ["game"],
            registry=self.registry,
        )
        self._watchers = Gauge(
            "croupier_watchers", "Calls that follow or wait for a match.", registry=self.registry
        )
        self._overdue = Gauge(
            "croupier_overdue_seconds",
            "For how long a match has been due that no server has taken up: a bot must decide in "
            "it, or a clock has run out.",
            registry=self.registry,
        )
        self._bot_failures = Counter(
            "croupier_bot_failures", "Decisions of bots that failed.", registry=self.registry
        )
        self._searches = Counter(
            "croupier_searches",
            "Searches done, of bots and of hints.",
            ["kind"],
            registry=self.registry,
        )
        self._search_seconds = Counter(
            "croupier_search_seconds", "Time spent searching.", ["kind"], registry=self.registry
        )
        self._iterations = Counter(
            "croupier_search_iterations",
            "Iterations done; by croupier_search_seconds_total, they are iterations per second.",
            ["kind"],
            registry=self.registry,
        )
        self._running = Gauge(
            "croupier_searches_running", "Searches that run.", ["kind"], registry=self.registry
        )
        self._paused = Gauge(
            "croupier_searches_paused",
            "Searches that were started, and are paused for searches of others.",
            ["kind"],
            registry=self.registry,
        )
        self._waiting = Gauge(
            "croupier_searches_waiting", "Searches in the queue.", ["kind"], registry=self.registry
        )
        self._search_waits = Histogram(
            "croupier_search_wait_seconds",
            "How long a search waited in the queue before it started.",
            ["kind"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._searches_refused = Counter(
            "croupier_searches_refused",
            "Searches refused because too many were waiting: of the caller, or of all callers "
            "(server).",
            ["kind", "limit"],
            registry=self.registry,
        )
        self._search_server_calls = Counter(
            "croupier_search_server_calls",
            "Searches sent to search servers: answered, lost with a server (and sent to another "
            "one), or unanswered (and done by this process).",
            ["kind", "outcome"],
            registry=self.registry,
        )
        self._commits = Histogram(
            "croupier_store_commit_seconds",
            "How long a commit of the log took.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._committed = Counter(
            "croupier_store_committed",
            "Changes committed to the log: matches, entries and leases.",
            registry=self.registry,
        )
        self._store_failures = Counter(
            "croupier_store_failures",
            "How often the log could not be read or written.",
            ["kind"],
            registry=self.registry,
        )
        self._certificate_expiry: Gauge | None = None
        self._store_failing = Gauge(
            "croupier_store_failing",
            "1 from when the log could not be read or written until it can be again, else 0.",
            ["kind"],
            registry=self.registry,
        )
        for kind in ("read", "write"):
            self._store_failures.labels(kind)
            self.store_failing(kind, False)

    def serve(self, host: str, port: int) -> WSGIServer:
        """Serves the metrics over HTTP; raises OSError if the address cannot be used."""
        server, _ = start_http_server(port, host, registry=self.registry)
        return server

    def certificate_expires(self, at: float) -> None:
        """The server has a certificate, which expires at a time in seconds since 1970."""
        if self._certificate_expiry is None:
            # A server without TLS shows no such metric, which would look like an expired one.
            self._certificate_expiry = Gauge(
                "croupier_tls_certificate_expiry_timestamp_seconds",
                "When the certificate of the server expires, in seconds since 1970.",
                registry=self.registry,
            )
        self._certificate_expiry.set(at)

    def rpc(self, method: str, code: str, protocol: str, seconds: float) -> None:
        """A call has ended."""
        self.calls += 1
        ended = self._ended.get((method, code, protocol))
        if ended is None:
            # Finding a metric by its labels takes longer than counting.
            counter = self._rpcs.labels(method, code, protocol)
            ended = counter, self._rpc_seconds.labels(method)
            self._ended[method, code, protocol] = ended
        ended[0].inc()
        ended[1].observe(seconds)

    def refused(self, budget: str, principal: str) -> None:
        """A call was refused because a budget was used up."""
        self._refused.labels(budget, principal).inc()

    def match(self, game: str, state: str) -> None:
        """This server has brought a match into a state."""
        self._matches.labels(game, state).inc()

    def expiry(self, game: str) -> None:
        """The time of a seat was up."""
        self._expiries.labels(game).inc()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While a call follows a match, or waits for it."""
        self._watchers.inc()
        try:
            yield
        finally:
            self._watchers.dec()

    def overdue(self, seconds: float) -> None:
        """For how long the most overdue match has been due."""
        self._overdue.set(seconds)

    def bot_failed(self) -> None:
        """A bot could not decide."""
        self._bot_failures.inc()

    def search(self, kind: str, iterations: int, seconds: float) -> None:
        """A search is done."""
        self._searches.labels(kind).inc()
        self._search_seconds.labels(kind).inc(seconds)
        self._iterations.labels(kind).inc(iterations)

    def search_waited(self, kind: str, seconds: float) -> None:
        """A search has started, after some time in the queue."""
        self._search_waits.labels(kind).observe(seconds)

    def search_refused(self, kind: str, limit: str) -> None:
        """A search was refused, because too many were waiting by a limit."""
        self._searches_refused.labels(kind, limit).inc()

    def search_server_call(self, kind: str, outcome: str) -> None:
        """A search server has answered, was lost, or no server has answered."""
        self._search_server_calls.labels(kind, outcome).inc()

    def pool(self, kind: str, running: int, paused: int, waiting: int) -> None:
        """How many searches of a pool run now, are paused, and wait in its queue."""
        self._running.labels(kind).set(running)
        self._paused.labels(kind).set(paused)
        self._waiting.labels(kind).set(waiting)

    def store_committed(self, count: int, seconds: float) -> None:
        """`count` changes were committed to the log at once."""
        self._commits.observe(seconds)
        self._committed.inc(count)

    def store_failed(self, kind: str) -> None:
        """The log could not be read or written."""
        self._store_failures.labels(kind).inc()

    def store_failing(self, kind: str, failing: bool) -> None:
        """Whether the log can be read or written now, as far as is known."""
        self._store_failing.labels(kind).set(failing)
