"""A serving process: one of several that answer the calls of one server.

Its standard input is a link to the main process of the server (`service/processes.py`), which tells
it what to do. It ends when the link does.
"""

import asyncio
import logging
import os
import socket
import sys
from pathlib import Path
from typing import Any, NamedTuple

from service import logs, tracing
from service.admission.shared_accounts import SharedAccounts
from service.link import Link
from service.process import settle
from service.server import Options, Server, Shared
from service.store.remote import RemoteStore

TURN_SECONDS = 1.0

_log = logging.getLogger(__name__)


class Start(NamedTuple):
    """What a serving process is told first."""

    options: Options
    number: int  # Of this process.
    log: tuple[str, str]
    tracing: bool
    keeps_log: bool  # Whether the main process keeps the log of the matches.
    accounts: int  # The file descriptor of the accounts of callers.
    web: int | None  # That of the socket that listens for browsers.
    metrics_at: Path
    search_address: str


class ServingProcess:
    """This process, in its event loop."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._started: asyncio.Future[Start] = loop.create_future()
        self._stopped = asyncio.Event()
        self._link = Link(self._hear, self._lost)
        self._store = RemoteStore(self._link.send)
        self._ending = False

    async def run(self) -> None:
        """Serves until it is told to stop."""
        await self._loop.create_unix_connection(lambda: self._link, sock=socket.socket(fileno=0))
        start = await self._started
        logs.configure(*start.log)
        if start.tracing:
            tracing.start()
        try:
            await self._serve(start)
        finally:
            tracing.stop()
            self._ending = True
            self._link.close()

    async def _serve(self, start: Start) -> None:
        server = None
        try:
            server = _make(start, self._store)
            server.metrics.add_process()
            address = await server.start()
        except (OSError, ValueError) as error:
            self._link.send(("refused", str(error)))
            if server is not None:
                await server.stop()
            return
        settle()
        self._link.send(("ready", address, server.web_url))
        self._tell_turn()
        await self._stopped.wait()
        server.let_search_processes_stop()
        self._link.send(("stopping",))
        await server.stop()
        if start.keeps_log:
            await self._store.close()

    def _tell_turn(self) -> None:
        self._link.send(("turn",))
        self._loop.call_later(TURN_SECONDS, self._tell_turn)

    def _hear(self, message: tuple[Any, ...]) -> None:
        match message:
            case "start", start:
                self._started.set_result(start)
            case ("stop",):
                self._stopped.set()
            case _:
                self._store.hear(message)

    def _lost(self) -> None:
        if not self._ending:
            _log.error("the main process has ended")
            sys.stderr.flush()
            # At once: nobody may be answered any more, and the next server needs the port.
            os._exit(1)


def _make(start: Start, store: RemoteStore) -> Server:
    options = start.options
    shared = Shared(
        options.processes,
        SharedAccounts(start.accounts, start.number, options.processes),
        start.metrics_at,
        None if start.web is None else socket.socket(fileno=start.web),
        start.search_address,
    )
    return Server(options, store if start.keeps_log else None, shared=shared)


async def serve() -> None:
    """Serves until the main process says so."""
    await ServingProcess().run()
