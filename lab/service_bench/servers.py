"""The servers that are measured, each in its own process, and their cost."""

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tests.support.ports import free_port


class MeasuredServer:
    """`croupier serve` of this code or of another checkout, which can be started again."""

    def __init__(
        self,
        data: Path,
        options: Sequence[str] = (),
        store: str = "sqlite",
        checkout: Path | None = None,
    ) -> None:
        """`options` are further ones of its command."""
        port = free_port()
        self._metrics = f"http://127.0.0.1:{port}/metrics"
        # Another checkout has games of its own.
        own = sys.executable if checkout is None else str(checkout / ".venv/bin/python")
        self._command = [own, "-m", "cli", "serve", "--listen", "127.0.0.1:0"]
        self._command += ["--metrics-port", str(port), "--log-level", "error"]
        self._command += ["--store", store, "--data", str(data), *options]
        self._checkout = checkout
        self._process: subprocess.Popen[str] | None = None
        self.address = ""

    def start(self) -> Self:
        """Starts it; raises RuntimeError if it does not start."""
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, text=True, cwd=self._checkout
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the server did not start")
        self.address = line.split()[-1]
        return self

    def stop(self) -> float:
        """Tells it to stop; returns after how many seconds it has ended."""
        began = time.monotonic()
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        return time.monotonic() - began

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process, while it runs."""
        assert self._process is not None
        return self._process.pid

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

    def memory(self) -> int:
        """Returns the resident memory in bytes, that of search processes included."""
        return sum(map(_memory, (self.pid, *children(self.pid))))

    def samples(self) -> Iterator[Sample]:
        """Yields its metrics."""
        with urllib.request.urlopen(self._metrics) as answer:
            text = answer.read().decode()
        for family in text_string_to_metric_families(text):
            yield from family.samples


def children(pid: int) -> list[int]:
    """The processes that a process has started, in ascending order (Linux)."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sorted(map(int, found))


def cpu_with_children(pid: int) -> float:
    """The seconds of processor time of a process and of those that it has started."""
    return sum(map(_cpu, (pid, *children(pid))))


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
