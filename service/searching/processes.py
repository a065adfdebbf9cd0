"""Search processes: search servers on this machine that belong to one server and end with it.

Searches leave the process that answers calls, so that both need not share an interpreter. The
metrics of the processes are added to those of the server.
"""

import asyncio
import http.client
import json
import logging
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from service.common.tasks import KeptTask, Tasks
from service.observability import logs, tracing
from service.searching.options import SearchOptions

# Of the metrics that are added up.
PREFIXES = ("croupier_process_", "croupier_search_", "croupier_searches_", "croupier_task_")
TIMEOUT_SECONDS = 1.0
KILL_SECONDS = 2.0  # After which a process that was told to stop is killed.
MAX_FOLDER = 70  # Characters; with the name of a socket a path may have 107.
MODULE = "service.running.search_process"


class SummedRegistry:
    """A registry of metrics as `prometheus_client` reads it, with those of other processes added.

    The other processes have the same series.
    """

    def __init__(self, own: Collector, others: Callable[[], Iterable[str]]) -> None:
        """`others` returns the metrics of each other process, in Prometheus's text format."""
        self._own = own
        self._others = others

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        return self._sum(self._own.collect())

    def _sum(self, metrics: Iterable[Metric]) -> Iterator[Metric]:
        added: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        for text in self._others():
            ours = "\n".join(line for line in text.splitlines() if line.startswith(PREFIXES))
            for family in text_string_to_metric_families(f"{ours}\n"):
                for sample in family.samples:
                    series = sample.name, frozenset(sample.labels.items())
                    added[series] = added.get(series, 0.0) + sample.value
        for metric in metrics:
            if metric.name.startswith(PREFIXES):
                summed = Metric(metric.name, metric.documentation, metric.type)
                summed.samples = [
                    sample._replace(
                        value=sample.value
                        + added.get((sample.name, frozenset(sample.labels.items())), 0.0)
                    )
                    for sample in metric.samples
                ]
                metric = summed
            yield metric


class _SocketConnection(http.client.HTTPConnection):
    """A connection over a socket in the file system."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=TIMEOUT_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(TIMEOUT_SECONDS)
        self.sock.connect(str(self._path))


def read_metrics(path: Path) -> str:
    """The metrics of the process that serves them at a socket; empty if it does not answer."""
    connection = _SocketConnection(path)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()
    except (OSError, http.client.HTTPException):
        return ""
    finally:
        connection.close()


_log = logging.getLogger(__name__)


class SearchProcesses:
    """A number of search processes, each of which is started again if it ends."""

    def __init__(self, count: int, options: SearchOptions, memory: int, tasks: Tasks) -> None:
        """They share the threads of `options`, of which each has at least one.

        Each has so many bytes of `memory` for its searches.

        Raises OSError if there is no directory for temporary files, or its path is too long.
        """
        threads = max(1, options.number_of_threads // count)
        self._options = options._replace(threads=threads, memory=memory)
        self._folder = _make_folder()
        self._sockets = [self._folder / f"search-{number}" for number in range(count)]
        self._tasks = tasks
        self._stopping = False
        self._keepers: list[KeptTask] = []  # One for each process.
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
        self._keepers = [
            self._tasks.keep("search process", self._run, socket) for socket in self._sockets
        ]

    def stop(self) -> None:
        """Tells the processes to stop: what their searches have found is the answer."""
        self._stopping = True
        for keeper in self._keepers:
            keeper.let_end()
        for process in self._processes.values():
            if process.stdin is not None:
                process.stdin.close()

    async def close(self) -> None:
        """Returns when all processes have ended, which it enforces."""
        self.stop()
        if self._keepers:
            tasks = [keeper.task for keeper in self._keepers]
            _, late = await asyncio.wait(tasks, timeout=KILL_SECONDS)
            if late:
                for process in self._processes.values():
                    process.kill()
            await asyncio.wait(tasks)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _run(self, socket: Path) -> None:
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
            if self._stopping:
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
            status = await process.wait()
            if not self._stopping:
                _log.error("a search process ended with %d", status)
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
