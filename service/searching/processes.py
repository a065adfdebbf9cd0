"""Search processes: search servers on this machine that belong to one server and end with it.

Searches leave the process that answers calls, so that both need not share an interpreter.
"""

import asyncio
import json
import logging
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from service import logs, tracing
from service.searching.pools import SearchOptions
from service.searching.process_metrics import read_metrics

FIRST_PAUSE_SECONDS = 0.2  # Before an ended process is started again; each time twice as long,
MAX_PAUSE_SECONDS = 10.0  # but at most this.
KILL_SECONDS = 2.0  # After which a process that was told to stop is killed.
MAX_FOLDER = 70  # Characters; with the name of a socket a path may have 107.
MODULE = "service.search_process"

_log = logging.getLogger(__name__)


class SearchProcesses:
    """A number of search processes, each of which is started again if it ends."""

    def __init__(self, count: int, options: SearchOptions) -> None:
        """They share the threads of `options`, of which each has at least one.

        Raises OSError if there is no directory for temporary files, or its path is too long.
        """
        self._options = options._replace(threads=max(1, options.number_of_threads // count))
        self._folder = _make_folder()
        self._sockets = [self._folder / f"search-{number}" for number in range(count)]
        self._stopping = asyncio.Event()
        self._keepers: list[asyncio.Task[None]] = []  # One for each process.
        self._processes: dict[Path, asyncio.subprocess.Process] = {}

    @property
    def address(self) -> str:
        """The address of all of them, as gRPC writes it."""
        return "unix:" + ",".join(map(str, self._sockets))

    def metrics(self) -> Iterator[str]:
        """The metrics of each process that answers, in Prometheus's text format."""
        return (read_metrics(_metrics_of(socket)) for socket in list(self._processes))

    @property
    def pids(self) -> list[int]:
        """The processes that run."""
        return [process.pid for process in self._processes.values()]

    def start(self) -> None:
        """Starts the processes."""
        self._keepers = [asyncio.create_task(self._keep(socket)) for socket in self._sockets]

    def stop(self) -> None:
        """Tells the processes to stop: what their searches have found is the answer."""
        self._stopping.set()
        for process in self._processes.values():
            if process.stdin is not None:
                process.stdin.close()

    async def close(self) -> None:
        """Returns when all processes have ended, which it enforces."""
        self.stop()
        if self._keepers:
            _, late = await asyncio.wait(self._keepers, timeout=KILL_SECONDS)
            if late:
                for process in self._processes.values():
                    process.kill()
            await asyncio.gather(*self._keepers)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _keep(self, socket: Path) -> None:
        # A process that ends soon after its start waits ever longer for the next one.
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE_SECONDS
        while not self._stopping.is_set():
            began = loop.time()
            status = await self._run(socket)
            if self._stopping.is_set():
                return
            if loop.time() - began > MAX_PAUSE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            _log.error("a search process ended with %d; it is started again", status)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stopping.wait()
            pause = min(2 * pause, MAX_PAUSE_SECONDS)

    async def _run(self, socket: Path) -> int:
        # It ends when its standard input does: also if this process is killed.
        socket.unlink(missing_ok=True)
        _metrics_of(socket).unlink(missing_ok=True)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            MODULE,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            # Not in a session of its own: Linux shares the processors out among sessions first, so
            # that searches would not give way to calls, however low their priority is.
        )
        self._processes[socket] = process
        try:
            assert process.stdin is not None
            if self._stopping.is_set():
                process.stdin.close()
            else:
                told = {
                    "address": f"unix:{socket}",
                    "metrics": str(_metrics_of(socket)),
                    "options": self._options._asdict(),
                    "log": logs.chosen(),
                    "tracing": tracing.is_on(),
                }
                process.stdin.write(json.dumps(told).encode() + b"\n")
            return await process.wait()
        finally:
            del self._processes[socket]


def _make_folder() -> Path:
    """A new folder for sockets, which only this user can enter; raises OSError."""
    folder = Path(tempfile.gettempdir())
    if len(str(folder)) > MAX_FOLDER:
        raise OSError(
            f"{folder} has too long a path for the sockets of processes: set TMPDIR to another"
            " directory"
        )
    return Path(tempfile.mkdtemp(prefix="croupier-", dir=folder))


def _metrics_of(socket: Path) -> Path:
    return socket.with_suffix(".metrics")
