"""A search server: it hosts no matches and keeps nothing, and searches the views that it is sent.

Match servers are its clients (`service/searching/search_servers.py`). It believes what they say of
the caller for whom a search is, so nobody else should reach it.
"""

import asyncio
import time
from pathlib import Path
from typing import NamedTuple

from ai.memory import account
from croupier.v1 import hint_pb2
from engine.faults import limit
from service.admission.admission import Admission
from service.admission.callers_file import Callers
from service.api.calls import Calls, Service
from service.api.grpc_listener import GrpcListener
from service.api.hint_service import HintService
from service.listening.connections import ConnectionLimits
from service.listening.tls import Certificate, Files
from service.observability.metrics import Metrics
from service.running.monitoring import READY, Monitoring, MonitoringAddress, add_rules_versions
from service.searching.memory import of_search_server, resident
from service.searching.options import SearchOptions, open_pools, read_models
from service.searching.searches import OwnThreads, Searches
from service.searching.tasks import Kind

GRACE_SECONDS = 5.0
LAST_SECONDS = 0.5

_HINT = hint_pb2.DESCRIPTOR.services_by_name["HintService"]


class SearchServerOptions(NamedTuple):
    """The options of a search server."""

    address: str  # HOST:PORT or unix:PATH.
    searching: SearchOptions = SearchOptions()
    connections: ConnectionLimits = ConnectionLimits()
    tls: Files | None = None  # None: in the clear.
    metrics_at: MonitoringAddress = None


class SearchServer:
    """One search server. It is started once and stopped once."""

    web_url = ""  # It has no web gateway.

    def __init__(self, options: SearchServerOptions) -> None:
        """Raises OSError or ValueError."""
        self._options = options
        read_models()
        account.bound = of_search_server(options.searching.memory)
        self.metrics = Metrics()
        self.metrics.add_memory("search", resident, account)
        add_rules_versions(self.metrics)
        self._monitoring = Monitoring(self.metrics)
        self._threads = OwnThreads(open_pools(options.searching, self.metrics), self.metrics.tasks)
        # Match servers have admitted the callers.
        self._admission = Admission(Callers(address={}), self.metrics)
        self._calls = Calls(self.metrics, self._admission)
        self._certificate = Certificate(options.tls) if options.tls else None
        if self._certificate is not None:
            self.metrics.add_certificate(self._certificate.expires)
        credentials = None if self._certificate is None else self._certificate.credentials()
        self._listener = GrpcListener(self._calls, options.connections, credentials)
        self.metrics.add_grpc(self._listener.most_connections, self._listener.connections)

    async def start(self) -> str:
        """Starts to serve; returns the address. Raises OSError."""
        service = HintService(Searches(self._threads), self._admission, self.metrics)
        self._monitoring.start(self._options.metrics_at)
        limit(self._options.searching.rules_seconds)
        served = await self._listener.open(self._options.address, [Service(_HINT, service)])
        self._monitoring.state = READY
        return served

    async def reload(self, callers_file: Path | None) -> None:
        """Match servers have admitted the callers, so there is nothing to read."""

    async def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Stops: answers the searches that run with what they have found."""
        until = time.monotonic() + grace
        self._monitoring.state = "stopping"
        self._calls.drain()
        self._admission.close()
        self._listener.begin_to_close()
        for kind in Kind:
            self._threads.end_searches(kind)
        await self._calls.wait_idle(until - time.monotonic())
        await self._listener.close(max(until - time.monotonic(), min(grace, LAST_SECONDS)))
        await asyncio.to_thread(self._threads.close)
        self._monitoring.stop()
