"""The server: creates all its parts, connects them, starts and stops them."""

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from wsgiref.simple_server import WSGIServer

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from ai.results import Parameters
from croupier.transport import is_loopback
from croupier.v1 import (
    catalog_pb2,
    catalog_pb2_grpc,
    hint_pb2,
    hint_pb2_grpc,
    match_pb2,
    match_pb2_grpc,
)
from service.admission.admission import Admission
from service.admission.callers_file import Callers, read_callers_file
from service.api.authentication import Authenticator
from service.api.calls import Calls
from service.api.catalog_service import CatalogService
from service.api.hint_service import HintService
from service.api.interceptor import CallInterceptor
from service.api.match_service import MatchService
from service.api.tokens import Tokens, read_key, read_operator_token
from service.clock import Clock
from service.connections import ConnectionLimits, channel_options
from service.errors import Refusal
from service.hosting.bots import Bots
from service.hosting.idle_matches import IdleMatches
from service.hosting.loop_share import LoopShare
from service.hosting.matches import Matches
from service.hosting.retention import Retention
from service.hosting.scheduler import Scheduler
from service.hosting.sweep import Sweep
from service.metrics import Metrics
from service.searching.pool import Quotas, SearchPool
from service.store import KEY_BYTES, MemoryStore, SqliteStore, Store
from service.tls import Certificate, Files
from service.web.door import WebDoor, WebOptions
from service.web.rpc import Service

MAX_ALL_HINTS_WAITING = 512
MIN_HINTS_RUNNING = 4  # Of one caller, if the server is not told how many.
GRACE_SECONDS = 5.0
LAST_SECONDS = 0.5
SERVICES = (
    catalog_pb2.DESCRIPTOR.services_by_name["CatalogService"].full_name,
    match_pb2.DESCRIPTOR.services_by_name["MatchService"].full_name,
    hint_pb2.DESCRIPTOR.services_by_name["HintService"].full_name,
)

# Otherwise two servers could share a port without noticing.
_OWN_PORT = ("grpc.so_reuseport", 0)
_SERVING = health_pb2.HealthCheckResponse.SERVING

_log = logging.getLogger(__name__)


class Options(NamedTuple):
    """The options of a server."""

    host: str = "127.0.0.1"
    port: int = 50051
    metrics_port: int = 0  # 0: none.
    allow_seeds: bool = False
    search_threads: int = 0  # 0: as many as there are processors.
    max_search_seconds: float = 60.0  # Of a hint.
    searches_running: int = 0  # Of one caller; 0: twice the threads, at least 4.
    searches_waiting: int = 64  # Of one caller.
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
    web: WebOptions | None = None  # None: gRPC only.


class Server:
    """One server. It is started once and stopped once."""

    def __init__(
        self, options: Options, store: Store | None = None, clock: Clock | None = None
    ) -> None:
        """A store that is given is open, and is not closed. Raises OSError or ValueError."""
        self._options = options
        threads = options.search_threads or os.cpu_count() or 1
        self._key = read_key(options.token_key_file) if options.token_key_file else None
        operator_file = options.operator_token_file
        self._operator_token = read_operator_token(operator_file) if operator_file else None
        self.metrics = Metrics()
        self._certificate = (
            Certificate(options.tls, self.metrics.certificate_expires) if options.tls else None
        )
        self._own_store = store is None
        self._store = store or open_store(options, self.metrics)
        self._clock = clock or Clock()
        self.matches = Matches(self._store, self.metrics, self._clock, options.max_default_actions)
        quotas = Quotas(
            running=options.searches_running or max(MIN_HINTS_RUNNING, 2 * threads),
            waiting=options.searches_waiting,
            all_waiting=max(MAX_ALL_HINTS_WAITING, options.searches_waiting),
        )
        self.hints = SearchPool("hint", threads, self.metrics, quotas, options.max_search_seconds)
        # A bot thinks as long about a single or a proven action as about others: otherwise its time
        # would tell what it holds.
        bots_search = Parameters(single_action=0, proven=0)
        self._bot_searches = SearchPool("bot", threads, self.metrics, parameters=bots_search)
        share = LoopShare(lambda: self.metrics.calls)
        retained, idle = options.retain_finished, options.end_idle
        self._retention = (
            None if retained is None else Retention(self.matches, retained, self._clock)
        )
        self._idle_matches = (
            None if idle is None else IdleMatches(self.matches, share, idle, self._clock)
        )
        bots = Bots(self.matches, self._bot_searches)
        self._scheduler = Scheduler(
            self._store, self.matches, bots, self.metrics, self._clock, share
        )
        self._health = health.aio.HealthServicer()
        self._metrics_server: WSGIServer | None = None
        callers_file = options.callers_file
        callers = Callers() if callers_file is None else read_callers_file(callers_file)
        self._admission = Admission(callers, self.metrics)
        self._calls = Calls(self.metrics, self._admission)
        self._grpc = grpc.aio.server(
            interceptors=[CallInterceptor(self._calls)],
            options=(
                _OWN_PORT,
                *channel_options(options.connections, doors=1 if options.web is None else 2),
            ),
        )
        self._web = None
        if options.web is not None:
            context = None if self._certificate is None else self._certificate.context
            self._web = WebDoor(options.web, options.connections, self._calls, context)
        self.web_url = ""  # Of the table, when the server has started with a door for browsers.

    async def start(self) -> str:
        """Starts to serve; returns the address. Raises OSError or ValueError if it cannot."""
        host, port = self._options.host, self._options.port
        _check_free(host, port)
        if self._own_store:
            await self._store.open()
        await self._admission.open()
        tokens = Tokens(self._key or await self._stored_key())
        self._admission.identification.seat_of = tokens.seat_of
        services = self._add_services(tokens)
        if self._web is not None:
            await self._open_web(self._web, services)
        port = self._listen(f"{host}:{port}")
        if self._options.metrics_port:
            self._serve_metrics()
        await self._grpc.start()
        self._scheduler.start()
        for sweep in self._sweeps():
            sweep.start()
        for service in ("", *SERVICES):
            await self._health.set(service, _SERVING)
        return f"{host}:{port}"

    async def _open_web(self, web: WebDoor, services: Iterable[Service]) -> None:
        try:
            self.web_url = await web.start(services)
        except OSError as error:
            options = web.options
            raise _cannot_listen(options.host, options.port, error) from None

    def _listen(self, address: str) -> int:
        try:
            if self._certificate is not None:
                return self._grpc.add_secure_port(address, self._certificate.credentials())
            if not is_loopback(self._options.host):
                _log.warning(
                    "tokens travel in the clear on %s: give --tls-cert and --tls-key, unless a"
                    " proxy with TLS is in front and the network up to here is private",
                    address,
                )
            return self._grpc.add_insecure_port(address)
        except RuntimeError as error:
            raise OSError(f"cannot listen on {address}: {error}") from None

    async def _stored_key(self) -> bytes:
        # A token must outlast the server, as its match does.
        try:
            return await self._store.key(secrets.token_bytes(KEY_BYTES))
        except Refusal as refusal:
            raise OSError(str(refusal)) from None

    def _add_services(self, tokens: Tokens) -> list[Service]:
        authenticator = Authenticator(tokens, self.matches, self._operator_token)
        match_service = MatchService(
            self.matches,
            tokens,
            authenticator,
            self._options.allow_seeds,
            self.metrics,
            self._clock,
            self._admission,
        )
        hint_service = HintService(authenticator, self.hints, self._admission)
        catalog_service = CatalogService()
        catalog_pb2_grpc.add_CatalogServiceServicer_to_server(catalog_service, self._grpc)
        match_pb2_grpc.add_MatchServiceServicer_to_server(match_service, self._grpc)
        hint_pb2_grpc.add_HintServiceServicer_to_server(hint_service, self._grpc)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._grpc)
        reflection.enable_server_reflection(
            (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), self._grpc
        )
        return [
            Service(catalog_pb2.DESCRIPTOR.services_by_name["CatalogService"], catalog_service),
            Service(match_pb2.DESCRIPTOR.services_by_name["MatchService"], match_service),
            Service(hint_pb2.DESCRIPTOR.services_by_name["HintService"], hint_service),
        ]

    def _sweeps(self) -> list[Sweep]:
        return [each for each in (self._retention, self._idle_matches) if each is not None]

    def _serve_metrics(self) -> None:
        host, port = self._options.host.strip("[]"), self._options.metrics_port
        try:
            self._metrics_server = self.metrics.serve(host, port)
        except OSError as error:
            raise _cannot_listen(host, port, error) from None
        _log.info("metrics on http://%s:%d/metrics", host, port)

    async def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Stops: refuses new calls, and answers those that run.

        Calls that wait and searches get what there is, streams end with where to resume, and every
        other call has `grace` seconds to end. Until then the port stays open, so that a new call
        learns that it is to be repeated.
        """
        until = time.monotonic() + grace
        self._calls.drain()
        self._admission.close()
        await self._health.enter_graceful_shutdown()
        self.matches.close()
        self.hints.end_searches()
        for sweep in self._sweeps():
            sweep.close()
        await self._scheduler.close()
        await self._calls.wait_idle(until - time.monotonic())
        # The last responses are still on their way.
        last = max(until - time.monotonic(), min(grace, LAST_SECONDS))
        if self._web is None:
            await self._grpc.stop(last)
        else:
            await asyncio.gather(self._grpc.stop(last), self._web.stop(last))
        self.hints.close()
        self._bot_searches.close()
        if self._metrics_server is not None:
            self._metrics_server.shutdown()
            self._metrics_server.server_close()
        if self._own_store:
            await self._store.close()


def open_store(options: Options, metrics: Metrics) -> Store:
    """The store that the options name, not opened yet; raises ValueError."""
    if options.store == "memory":
        return MemoryStore()
    if options.store == "sqlite":
        return SqliteStore(options.data, metrics)
    if options.store.startswith(("postgresql://", "postgres://")):
        try:
            from service.store.postgresql import PostgresStore
        except ModuleNotFoundError:
            raise ValueError("PostgreSQL needs asyncpg: install croupier[postgres]") from None
        return PostgresStore(options.store, metrics)
    raise ValueError(f"{options.store!r} is no store: it is sqlite, memory or postgresql://...")


def _check_free(host: str, port: int) -> None:
    # gRPC would report the same at length, and part of it on standard error.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host.strip("[]"), port), family=family).close()
    except OSError as error:
        raise _cannot_listen(host, port, error) from None


def _cannot_listen(host: str, port: int, error: OSError) -> OSError:
    # When a host cannot be looked up, the number is not one of the system's errors.
    number = error.errno or 0
    why = os.strerror(number) if number > 0 else "the host has no address"
    return OSError(f"cannot listen on {host}:{port}: {why}")
