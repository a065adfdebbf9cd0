"""The server: creates all its parts, connects them, starts and stops them."""

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai.memory import account
from croupier.transport import CLEARTEXT, Security, is_local
from croupier.v1 import catalog_pb2, feed_pb2, hint_pb2, match_pb2, puzzle_pb2, review_pb2
from engine.faults import limit
from service.admission.admission import Admission
from service.admission.callers_file import Callers, read_callers_file
from service.api.authentication import Authenticator, Tokens, read_key, read_operator_token
from service.api.calls import Calls, Service
from service.api.catalog_service import CatalogService
from service.api.feed_service import FeedService
from service.api.grpc_listener import GrpcListener
from service.api.hint_service import HintService
from service.api.match_creation import MatchCreation
from service.api.match_service import MatchService
from service.api.puzzle_service import PuzzleService
from service.api.review_service import ReviewService
from service.common.event_loop import BackgroundQuota, LongWork
from service.common.tasks import Tasks, together
from service.common.urls import check_url
from service.gateway.options import WebOptions
from service.hosting.bots import Bots
from service.hosting.clocks import Clock, date
from service.hosting.erasing import Erasing
from service.hosting.feed import Feed
from service.hosting.matches import Matches
from service.hosting.scheduler import Scheduler
from service.hosting.sweeps import IdleMatches, Retention, Sweep
from service.listening.connections import ConnectionLimits, cannot_listen, check_free
from service.listening.tls import Certificate, Files
from service.observability.metrics import OFF_SECONDS, Metrics
from service.puzzles.library import Library
from service.running.monitoring import READY, Monitoring, add_rules_versions
from service.searching.memory import of_match_server, resident
from service.searching.options import SearchOptions, open_pools, read_models
from service.searching.processes import SearchProcesses, SummedRegistry
from service.searching.search_servers import SearchServers
from service.searching.searches import OwnThreads, Searches
from service.searching.tasks import Kind
from service.store import KEY_BYTES, MemoryStore, Query, SqliteStore, Store
from wire.errors import Refusal

if TYPE_CHECKING:
    from service.gateway.listener import WebListener

GRACE_SECONDS = 5.0
QUIET_SECONDS = 0.1  # Without a new call; or at most
MAX_QUIET_SECONDS = 0.9  # while calls are refused, less than until they are repeated.
LAST_SECONDS = 0.5
READY_SECONDS = 10.0  # For which a server waits for its search processes when it starts.

_CATALOG = catalog_pb2.DESCRIPTOR.services_by_name["CatalogService"]
_FEED = feed_pb2.DESCRIPTOR.services_by_name["FeedService"]
_MATCH = match_pb2.DESCRIPTOR.services_by_name["MatchService"]
_HINT = hint_pb2.DESCRIPTOR.services_by_name["HintService"]
_PUZZLE = puzzle_pb2.DESCRIPTOR.services_by_name["PuzzleService"]
_REVIEW = review_pb2.DESCRIPTOR.services_by_name["ReviewService"]

_log = logging.getLogger(__name__)


class Options(NamedTuple):
    """The options of a server."""

    host: str = "127.0.0.1"
    port: int = 50051
    metrics_host: str = "127.0.0.1"
    metrics_port: int = 0  # 0: none.
    allow_seeds: bool = False
    search_threads: int = 0  # 0: as many as there are processors.
    max_search_seconds: float = 60.0  # Of a hint.
    searches_running: int = 0  # Of one caller; 0: twice the threads, at least 4.
    searches_waiting: int = 64  # Of one caller.
    max_rules_seconds: float = 2.0  # After which code of a package is interrupted.
    search_memory: int = 0  # Bytes, of all searches of this server; 0: by what the machine has.
    search_processes: int = 0  # Of this server; 0: it searches itself.
    search_at: str = ""  # The address of search servers, instead of processes of its own.
    search_security: Security = CLEARTEXT  # Of the connections to them.
    token_key_file: Path | None = None
    store: str = "memory"  # Or "sqlite", or the URL of a PostgreSQL database.
    data: Path = Path()  # The directory of "sqlite".
    operator_token_file: Path | None = None
    retain_finished: float | None = None  # Seconds; None: for ever.
    callers_file: Path | None = None
    connections: ConnectionLimits = ConnectionLimits()
    tls: Files | None = None  # None: in the clear.
    end_idle: float | None = 30 * 86400.0  # Seconds; None: never.
    max_default_actions: int = 20  # In a row, for one seat; 0: no limit.
    tell_presence: bool = True  # Whether a player is told that the other one is there.
    web: WebOptions | None = None  # None: gRPC only.

    @property
    def searching(self) -> SearchOptions:
        """The options of searches."""
        return SearchOptions(
            self.search_threads,
            self.max_search_seconds,
            self.searches_running,
            self.searches_waiting,
            self.max_rules_seconds,
            self.search_memory,
        )


class Server:
    """One server. It is started once and stopped once."""

    def __init__(
        self,
        options: Options,
        store: Store | None = None,
        clock: Clock | None = None,
    ) -> None:
        """A store that is given is open, and is not closed. Raises OSError or ValueError."""
        self._options = options
        self._key = read_key(options.token_key_file) if options.token_key_file else None
        operator_file = options.operator_token_file
        self._operator_token = read_operator_token(operator_file) if operator_file else None
        read_models()
        self.metrics = Metrics()
        add_rules_versions(self.metrics)
        has_servers = bool(options.search_processes or options.search_at)
        account.bound, rest = of_match_server(
            options.search_memory, options.search_processes, has_servers
        )
        self.metrics.add_memory("match", resident, account)
        self._search_processes = open_search_processes(options, rest, self.metrics.tasks)
        summed = None
        if self._search_processes is not None:
            summed = SummedRegistry(self.metrics.registry, self._search_processes.metrics)
        self._monitoring = Monitoring(self.metrics, summed)
        self._certificate = Certificate(options.tls) if options.tls else None
        if self._certificate is not None:
            self.metrics.add_certificate(self._certificate.expires)
        self._own_store = store is None
        self._store = store or open_store(options, self.metrics)
        self._clock = clock or Clock()
        self._long_work = long_work = LongWork()
        self.matches = Matches(
            self._store,
            self.metrics,
            self._clock,
            options.max_default_actions,
            long_work,
        )
        self._feed = Feed(self._store, self.metrics.tasks)
        self._own_threads = OwnThreads(
            open_pools(options.searching, self.metrics), self.metrics.tasks
        )
        self._search_servers = self._open_search_servers()
        if self._search_processes is not None:
            for kind in Kind:
                # Those of the processes are added.
                self.metrics.search_threads.labels(kind).set(0)
        searches = Searches(self._own_threads, self._search_servers)
        quota = BackgroundQuota(lambda: self.metrics.calls)
        retained, idle = options.retain_finished, options.end_idle
        self._retention = (
            None if retained is None else Retention(self.matches, retained, self._clock)
        )
        self._idle_matches = (
            None if idle is None else IdleMatches(self.matches, quota, idle, self._clock)
        )
        bots = Bots(self.matches, searches)
        self._scheduler = Scheduler(
            self._store, self.matches, bots, self.metrics, self._clock, quota
        )
        self.metrics.add_scheduler(lambda: self._scheduler.idle_seconds)
        self._admission = Admission(read_callers(options.callers_file), self.metrics)
        self._calls = Calls(self.metrics, self._admission, long_work)
        self._searches = searches
        self._listener = GrpcListener(
            self._calls,
            options.connections,
            None if self._certificate is None else self._certificate.credentials(),
            listeners=1 if options.web is None else 2,
        )
        self.metrics.add_grpc(self._listener.most_connections, self._listener.connections)
        self._web = None if options.web is None else self._make_web(options.web)
        self.web_url = ""  # Of the web app, when the server has started with a web gateway.

    async def start(self) -> str:
        """Starts to serve; returns the address. Raises OSError or ValueError if it cannot."""
        host, port = self._options.host, self._options.port
        check_free(host, port, "--listen")
        limit(self._options.max_rules_seconds)
        monitored = self._options.metrics_host, self._options.metrics_port
        self._monitoring.start(monitored if monitored[1] else None)
        self._start_search_servers()
        if self._own_store:
            await self._store.open()
        await self._admission.open()
        tokens = Tokens(self._key or await self._stored_key())
        await self._compare_clock()
        self._admission.identification.seat_of = tokens.seat_of
        services = self._make_services(tokens)
        if self._web is not None:
            await self._open_web(self._web, services)
        if self._search_processes is not None:
            await self._wait_for_search_processes()
        address = await self._listener.open(f"{host}:{port}", services)
        self._scheduler.start()
        for sweep in self._sweeps():
            sweep.start()
        self._monitoring.state = READY
        return address

    async def reload(self, callers_file: Path | None) -> None:
        """Reads the file again; raises OSError or ValueError, and has changed nothing then."""
        await self._calls.replace_callers(await asyncio.to_thread(read_callers, callers_file))

    def _make_web(self, options: WebOptions) -> "WebListener":
        # Here, since a server without one starts a tenth faster if it does not import it.
        from service.gateway.listener import WebListener

        context = None if self._certificate is None else self._certificate.context
        connections = self._options.connections
        web = WebListener(
            options,
            connections,
            self._calls,
            context,
            self.metrics.tasks,
            self.metrics.web_answered,
        )
        self.metrics.add_web(web.most_connections, lambda: web.connections)
        return web

    def _open_search_servers(self) -> SearchServers | None:
        options, processes = self._options, self._search_processes
        threads = options.searching.number_of_threads
        if processes is not None:
            return SearchServers(processes.address, threads, self.metrics)
        if not options.search_at:
            return None
        security = options.search_security
        servers = SearchServers(options.search_at, threads, self.metrics, security)
        if not (servers.is_secure or security.insecure or is_local(options.search_at)):
            _log.warning(
                "the views of seats travel in the clear to the search servers at %s: use TLS,"
                " unless the network up to there is private",
                options.search_at,
            )
        return servers

    def _start_search_servers(self) -> None:
        if self._search_processes is not None:
            self._search_processes.start()
        if self._search_servers is not None:
            self._search_servers.open()

    async def _wait_for_search_processes(self) -> None:
        # What they have not begun to search would begin here.
        assert self._search_servers is not None
        if not await self._search_servers.wait_ready(READY_SECONDS):
            _log.error("the search processes do not answer: this process searches itself")

    async def _open_web(self, web: "WebListener", services: Iterable[Service]) -> None:
        try:
            self.web_url = await web.start(services)
        except OSError as error:
            options = web.options
            raise cannot_listen(options.host, options.port, error, "--web") from None

    async def _stored_key(self) -> bytes:
        # A token must outlast the server, as its match does.
        try:
            key = await self._store.key(offered := secrets.token_bytes(KEY_BYTES))
            if key == offered and await self._store.list_matches(Query(), 1):
                _log.warning("the log has matches but had no key: tokens issued before are void")
        except Refusal as refusal:
            raise OSError(str(refusal)) from None
        return key

    async def _compare_clock(self) -> None:
        # With a clock that is wrong, matches would end, and be deleted, that should not.
        limits = [each for each in (self._options.retain_finished, self._options.end_idle) if each]
        with suppress(Refusal):
            for newest in await self._store.list_matches(Query(), 1):
                now, at = self._clock.now(), newest.updated
                ago = (now - at) / 1000
                if not newest.damaged and (ago < -OFF_SECONDS or ago > min(limits, default=ago)):
                    told = "is the clock right? It says %s; the newest match was played on at %s"
                    _log.warning(told, date(now), date(at))

    def _make_services(self, tokens: Tokens) -> list[Service]:
        authenticator = Authenticator(tokens, self.matches, self._operator_token)
        library = Library(self._long_work)
        creation = MatchCreation(
            self.matches,
            library,
            tokens,
            authenticator,
            self._options.allow_seeds,
            self._admission,
            self._long_work,
        )
        match_service = MatchService(
            self.matches,
            tokens,
            authenticator,
            creation,
            self.metrics,
            self._clock,
            self._admission,
            Erasing(self._store, self.matches),
            self._options.tell_presence,
        )
        hint_service = HintService(self._searches, self._admission, self.metrics, authenticator)
        review_service = ReviewService(
            self.matches,
            self._searches,
            self._admission,
            authenticator,
            self._long_work,
        )
        feed_service = FeedService(
            self._feed, self.matches, tokens, authenticator, self._admission, self.metrics
        )
        catalog_service = CatalogService()
        return [
            Service(_CATALOG, catalog_service),
            Service(_MATCH, match_service),
            Service(_FEED, feed_service),
            Service(_HINT, hint_service),
            Service(_REVIEW, review_service),
            Service(_PUZZLE, PuzzleService(library)),
        ]

    def _sweeps(self) -> list[Sweep]:
        return [each for each in (self._retention, self._idle_matches) if each is not None]

    async def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Stops: refuses new calls, and answers those that run.

        Calls that wait and searches get what there is, streams end with where to resume, and every
        other call has `grace` seconds to end. Until then the port stays open, so that a new call
        learns that it is to be repeated.
        """
        until = time.monotonic() + grace
        self._monitoring.state = "stopping"
        self._calls.drain()
        self._admission.close()
        self._listener.begin_to_close()
        self.matches.close()
        self._feed.close()
        self._end_searches()
        for sweep in self._sweeps():
            sweep.close()
        await self._scheduler.close()
        await self._calls.wait_idle(until - time.monotonic())
        # The calls that come in at the moment when gRPC stops end with CANCELLED, which most
        # libraries do not repeat. A caller that was refused stays away for longer than this takes.
        await self._calls.wait_quiet(min(grace, QUIET_SECONDS), min(grace, MAX_QUIET_SECONDS))
        # The last responses are still on their way.
        last = max(until - time.monotonic(), min(grace, LAST_SECONDS))
        if self._web is None:
            await self._listener.close(last)
        else:
            await together(self._listener.close(last), self._web.stop(last))
        self._own_threads.close()
        if self._search_servers is not None:
            await self._search_servers.close()
        if self._search_processes is not None:
            await self._search_processes.close()
        if self._own_store:
            await self._store.close()
        self._monitoring.stop()

    def _end_searches(self) -> None:
        # What the searches for hints have found is the answer. Bots decide again later.
        self._own_threads.end_searches(Kind.HINT)
        if self._search_servers is None:
            return
        if self._search_processes is not None:
            self._search_servers.let_stop()
            self._search_processes.stop()
        else:
            self._search_servers.end_searches()


def read_callers(file: Path | None) -> Callers:
    """The callers that a server knows; raises OSError or ValueError."""
    return Callers() if file is None else read_callers_file(file)


def open_store(options: Options, metrics: Metrics) -> Store:
    """The store that the options name, not opened yet; raises ValueError."""
    if options.store == "memory":
        return MemoryStore(metrics)
    if options.store == "sqlite":
        metrics.add_disk(options.data)
        return SqliteStore(options.data, metrics)
    url = check_store(options.store)
    try:
        from service.store.postgresql import PostgresStore
    except ModuleNotFoundError:
        raise ValueError("PostgreSQL needs asyncpg: install croupier-server[postgres]") from None
    return PostgresStore(url, metrics)


def check_store(store: str) -> str:
    """Returns the name of a store; raises ValueError if it names none."""
    if store in ("memory", "sqlite"):
        return store
    if store.startswith(("postgresql://", "postgres://")):
        return check_url(store)
    # What follows a word may hold a password.
    shown = repr(re.sub(r"(?s)([:=\s]).*", r"\1...", store))
    raise ValueError(f"{shown} is no store: it is sqlite, memory or postgresql://...")


def open_search_processes(options: Options, memory: int, tasks: Tasks) -> SearchProcesses | None:
    """The search processes of a server, not started yet; None if it has none. Raises OSError.

    Each has so many bytes for its searches.
    """
    if options.search_at or not options.search_processes:
        return None
    return SearchProcesses(options.search_processes, options.searching, memory, tasks)
