"""A server of several processes: one port, one log, and the budgets of one server.

The main process answers no calls. It starts the serving processes (`service/serving.py`)
and starts each one again that ends, keeps a log that one process must keep
(`service/store/keeper.py`), starts the search processes, and tells the metrics of all.

The serving processes share the port for gRPC by SO_REUSEPORT: the system gives each new connection
to one of them, by a hash of its addresses. They accept the connections of browsers from one socket.
"""

import asyncio
import logging
import os
import shutil
import socket
import sys
from collections.abc import Hashable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from service import logs, tracing
from service.admission import shared_accounts
from service.api.door import cannot_listen, check_free
from service.link import Link
from service.metrics import Metrics
from service.monitoring import LIVE_SECONDS, READY, Monitoring, add_rules_versions
from service.searching.process_metrics import PREFIXES, read_metrics
from service.searching.processes import make_folder
from service.server import GRACE_SECONDS, Options, open_search_processes, open_store
from service.serving import TURN_SECONDS, Start
from service.store.keeper import StoreKeeper
from service.summed_metrics import SummedMetrics, with_prefixes
from service.supervision import Supervision
from service.web.door import open_port

MODULE = "service.serving_process"
# What a process has to say when its server stops, it says within this time; and it has this long
# beyond the grace of its calls to end.
STOPPING_SECONDS = 1.0
END_SECONDS = 5.0
# A process that takes nothing is killed before it has cost more memory than this.
MAX_UNSENT_BYTES = 64 << 20

_log = logging.getLogger(__name__)


class Processes:
    """The main process of a server. It is started once and stopped once."""

    def __init__(self, options: Options) -> None:
        """Raises OSError or ValueError."""
        if not hasattr(socket, "SO_REUSEPORT"):
            raise OSError("this system does not let processes share a port: --processes must be 1")
        self._options = options
        self.metrics = Metrics()
        add_rules_versions(self.metrics)
        self.web_url = ""
        kept = options.store in ("sqlite", "memory")
        self._store = open_store(options, self.metrics) if kept else None
        self._keeper = None if self._store is None else StoreKeeper(self._store)
        self._search_processes = open_search_processes(options)
        self._folder = make_folder()
        self._accounts = shared_accounts.create(options.processes)
        self._processes = [_Process(self, number) for number in range(options.processes)]
        self.metrics.add_serving_processes(self._count_ready)
        summed = SummedMetrics(self.metrics.registry, self._metrics_of_others)
        self._monitoring = Monitoring(self.metrics, read_metrics=summed)
        self._supervision = Supervision("a serving process")
        self._port: socket.socket | None = None  # Bound, so that the port stays this server's.
        self._web: socket.socket | None = None
        self._watching: asyncio.Task[None] | None = None
        self._refused: asyncio.Future[str] | None = None  # Why a process could not start.

    # Starting and stopping

    async def start(self) -> str:
        """Starts to serve; returns the address. Raises OSError if it cannot."""
        options = self._options
        host, metrics_port = options.host, options.metrics_port
        port = self._reserve_port()
        self._monitoring.start((host, metrics_port) if metrics_port else None)
        if options.web is not None:
            try:
                self._web = open_port(options.web)
            except OSError as error:
                raise cannot_listen(options.web.host, options.web.port, error) from None
        if self._store is not None:
            await self._store.open()
        if self._search_processes is not None:
            self._search_processes.start()
        self._refused = asyncio.get_running_loop().create_future()
        for process in self._processes:
            self._supervision.keep(partial(process.run, self._start_of(process.number, port)))
        await self._wait_ready(self._refused)
        self._watching = asyncio.create_task(self._watch())
        self._monitoring.state = READY
        self.web_url = self._processes[0].web_url
        return self._processes[0].address

    async def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Stops all processes together: each answers its calls, as `Server.stop` says."""
        self._monitoring.state = "stopping"
        self._supervision.stop()
        if self._watching is not None:
            self._watching.cancel()
        for process in self._processes:
            process.stop()
        # What searches have found is an answer only for processes that know that the server stops.
        told = [asyncio.create_task(process.stopping.wait()) for process in self._processes]
        await asyncio.wait(told, timeout=STOPPING_SECONDS)
        for task in told:
            task.cancel()
        if self._search_processes is not None:
            self._search_processes.stop()
        await self._supervision.close(grace + END_SECONDS, self._kill)
        if self._search_processes is not None:
            await self._search_processes.close()
        if self._store is not None:
            await self._store.close()
        for listening in (self._port, self._web):
            if listening is not None:
                listening.close()
        self._monitoring.stop()
        os.close(self._accounts)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _reserve_port(self) -> int:
        host, port = self._options.host, self._options.port
        check_free(host, port)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._port = reserved = socket.socket(family)
        # A socket that is bound and does not listen gets no connections.
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            reserved.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            reserved.bind((host.strip("[]"), port))
        except OSError as error:
            raise cannot_listen(host, port, error) from None
        number: int = reserved.getsockname()[1]
        return number

    def _start_of(self, number: int, port: int) -> Start:
        options = self._options
        limits = options.connections
        if limits.connections:
            # Their sum must not be more, however the connections are spread.
            share = limits.connections // options.processes
            limits = limits._replace(connections=share)
        searches = self._search_processes
        return Start(
            options._replace(port=port, connections=limits),
            number,
            logs.chosen(),
            tracing.is_on(),
            self._keeper is not None,
            self._accounts,
            None if self._web is None else self._web.fileno(),
            self._folder / f"serving-{number}.metrics",
            "" if searches is None else searches.address,
        )

    async def _wait_ready(self, refused: "asyncio.Future[str]") -> None:
        async def wait() -> None:
            for process in self._processes:
                await process.ready.wait()

        waiting = asyncio.create_task(wait())
        await asyncio.wait((waiting, refused), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if refused.done():
            raise OSError(refused.result())

    def _kill(self) -> None:
        for process in self._processes:
            process.kill()

    async def _watch(self) -> None:
        # Counts turns of this event loop, so that nobody is blamed when all stood still.
        while True:
            await asyncio.sleep(TURN_SECONDS)
            for process in self._processes:
                process.miss_turn()

    # What processes have in common

    @property
    def stops(self) -> bool:
        """Whether the server stops."""
        return self._supervision.stopping

    @property
    def keeper(self) -> StoreKeeper | None:
        """The keeper of the log, if this process keeps it."""
        return self._keeper

    def refuse(self, why: str) -> None:
        """A process cannot start; while the server starts, it cannot either."""
        if self._watching is not None:
            _log.error("a serving process cannot start: %s", why)
        elif self._refused is not None and not self._refused.done():
            self._supervision.stop()
            self._refused.set_result(why)

    def ended(self, number: int) -> None:
        """A process has ended."""
        shared_accounts.give_back(self._accounts, number)

    # Metrics, in the thread that tells them

    def _count_ready(self) -> int:
        return sum(process.ready.is_set() for process in self._processes)

    def _metrics_of_others(self) -> Iterator[tuple[Hashable, str]]:
        serving = (process.metrics() for process in self._processes)
        yield from chain.from_iterable(serving)
        if self._search_processes is not None:
            for pid, text in self._search_processes.metrics_by_process():
                yield pid, with_prefixes(text, PREFIXES)


class _Process:
    """One serving process, and its successors."""

    def __init__(self, server: Processes, number: int) -> None:
        self.number = number
        self.address = self.web_url = ""
        self.ready = asyncio.Event()
        self.stopping = asyncio.Event()  # Set also when it has ended.
        self._server = server
        self._process: asyncio.subprocess.Process | None = None
        self._link: Link | None = None
        self._metrics_at: Path | None = None
        self._at_keeper = 0  # Its number there.
        self._missed = 0  # Turns of this event loop since the process has told of one of its own.

    async def run(self, start: Start) -> int:
        """Runs the process; returns its exit status."""
        self._metrics_at = start.metrics_at
        start.metrics_at.unlink(missing_ok=True)
        ours, theirs = socket.socketpair()
        files = [file for file in (start.accounts, start.web) if file is not None]
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                MODULE,
                stdin=theirs.fileno(),
                stdout=asyncio.subprocess.DEVNULL,
                pass_fds=files,
            )
        self._process = process
        self._missed = 0
        link = Link(self._hear, lambda: None)
        self._link = link
        keeper = self._server.keeper
        if keeper is not None:
            self._at_keeper = keeper.add(partial(self._tell, link))
        try:
            await asyncio.get_running_loop().create_unix_connection(lambda: link, sock=ours)
            link.send(("start", start))
            if self._server.stops:
                self.stop()
            return await process.wait()
        finally:
            self.ready.clear()
            self.stopping.set()
            if keeper is not None:
                keeper.remove(self._at_keeper)
            link.close()
            self._process = self._link = None
            self._server.ended(self.number)

    def stop(self) -> None:
        """Tells the process to stop."""
        if self._link is not None:
            self._link.send(("stop",))
        else:
            self.stopping.set()

    def kill(self) -> None:
        """Ends the process at once."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    def miss_turn(self) -> None:
        """Kills the process if its event loop has stood still for too long."""
        if not self.ready.is_set():
            return
        self._missed += 1
        if self._missed * TURN_SECONDS > LIVE_SECONDS:
            _log.error("a serving process has stood still for %.0f s: it is killed", LIVE_SECONDS)
            self.ready.clear()
            self.kill()

    def metrics(self) -> Iterator[tuple[Hashable, str]]:
        """Its id and its metrics, if it runs. Called in another thread."""
        process = self._process
        if process is not None and self._metrics_at is not None:
            yield process.pid, read_metrics(self._metrics_at)

    def _tell(self, link: Link, message: Any) -> None:
        if link.unsent_bytes > MAX_UNSENT_BYTES:
            _log.error("a serving process takes nothing: it is killed")
            self.kill()
        else:
            link.send(message)

    def _hear(self, message: tuple[Any, ...]) -> None:
        match message:
            case ("turn",):
                self._missed = 0
            case "ready", address, web_url:
                self.address, self.web_url = address, web_url
                self.ready.set()
            case "refused", why:
                self._server.refuse(why)
            case ("stopping",):
                self.stopping.set()
            case _:
                assert self._server.keeper is not None
                self._server.keeper.hear(self._at_keeper, message)
