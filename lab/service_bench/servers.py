"""The servers that are measured, each in its own process, and their cost."""

import os
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from lab.service_bench.ports import free_port
from lab.service_bench.scripts import KEY

_STATEMENTS = 'croupier_store_statements_total{purpose="'
SUBMIT = "/croupier.v1.MatchService/SubmitAction"


class Running(NamedTuple):
    """A running server."""

    pid: int
    address: str
    database_pid: int = 0  # The process that has started those of its database; 0: none.
    metrics: str = ""  # The URL of its metrics.

    def cpu(self) -> float:
        """Returns the seconds of processor time of all threads except those that search."""
        used = 0
        usual = os.getpriority(os.PRIO_PROCESS, self.pid)
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            nice = (task / "stat").read_text().rpartition(")")[2].split()[16]
            # Threads that search have a lower priority.
            if int(nice) == usual:
                used += int((task / "schedstat").read_text().split()[0])
        return used / 1e9

    def database_cpu(self) -> float:
        """Returns the same of all processes of its database, which stay while it serves."""
        return sum(map(_cpu, _with_children(self.database_pid))) if self.database_pid else 0.0

    def statements(self) -> Counter[str]:
        """Returns how many statements it has sent to its database, by their purpose."""
        count: Counter[str] = Counter()
        if self.database_pid and self.metrics:
            with urllib.request.urlopen(self.metrics) as answer:
                for line in answer.read().decode().splitlines():
                    if line.startswith(_STATEMENTS):
                        purpose, _, number = line.removeprefix(_STATEMENTS).partition('"} ')
                        count[purpose] = int(float(number))
        return count

    def memory(self) -> int:
        """Returns the resident memory in bytes, that of search processes included."""
        return sum(map(_memory, _with_children(self.pid)))


def children(pid: int) -> list[int]:
    """The processes that a process has started, in ascending order (Linux)."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sorted(map(int, found))


def _with_children(pid: int) -> list[int]:
    return [pid, *children(pid)]


def _cpu(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except FileNotFoundError:
        return 0.0  # It has just ended.


def _memory(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return 1024 * int(line.split()[1])
    return 0  # It has just ended.


@contextmanager
def serving(
    data: Path,
    checkout: Path | None = None,
    options: Sequence[str] = (),
    store: str = "sqlite",
    database_pid: int = 0,
    under: Sequence[str] = (),
) -> Iterator[Running]:
    """Runs a server with a log in a directory or in another `store`, and with the bare methods.

    `options` are further ones of its command; `under` is a program, with its options, that runs it
    and becomes the process, such as valgrind. With `checkout`, the server is `croupier serve` of
    that checkout, without the bare methods. Raises RuntimeError if the server does not start.
    """
    key_file = data / "token-key"
    key_file.write_bytes(KEY)
    metrics = ""
    if checkout is None:
        port = free_port()
        metrics = f"http://127.0.0.1:{port}/metrics"
        command = [sys.executable, "-m", "lab.service_bench.serve", "--metrics-port", str(port)]
    else:
        # Older checkouts have the command line in `service`.
        cli = "cli" if (checkout / "cli").is_dir() else "service"
        command = [sys.executable, "-m", cli, "serve", "--listen", "127.0.0.1:0"]
        command += ["--metrics-port", "0", "--log-level", "warning"]
    command += ["--store", store, "--data", str(data), "--token-key-file", str(key_file), *options]
    command = [*under, *command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=checkout) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError("the server did not start")
            yield Running(process.pid, line.split()[-1], database_pid, metrics)
        finally:
            process.terminate()
