"""The servers that are measured, each in a process of its own, and what they cost."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from lab.service_bench.scripts import KEY

SUBMIT = "/croupier.v1.MatchService/SubmitAction"


class Running(NamedTuple):
    """A server that runs."""

    pid: int
    address: str

    def cpu(self) -> float:
        """Seconds of the processor used by its threads, but for those that search."""
        used = 0
        usual = os.getpriority(os.PRIO_PROCESS, self.pid)
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            nice = (task / "stat").read_text().rpartition(")")[2].split()[16]
            # Searches are known by their low priority.
            if int(nice) == usual:
                used += int((task / "schedstat").read_text().split()[0])
        return used / 1e9

    def memory(self) -> int:
        """The bytes that it has in memory."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return 1024 * int(line.split()[1])
        raise AssertionError("Linux always says")


@contextmanager
def serving(data: Path, checkout: Path | None = None) -> Iterator[Running]:
    """`croupier serve` with a SQLite log in a directory, and an echo beside.

    Or that of another checkout if one is given, and no echo.

    Raises RuntimeError if it does not start.
    """
    key_file = data / "token-key"
    key_file.write_bytes(KEY)
    if checkout is None:
        command = [sys.executable, "-m", "lab.service_bench.serve"]
    else:
        cli = "cli" if (checkout / "cli").is_dir() else "service"  # As it was called before.
        command = [sys.executable, "-m", cli, "serve", "--listen", "127.0.0.1:0"]
        command += ["--metrics-port", "0", "--store", "sqlite", "--log-level", "warning"]
    command += ["--data", str(data), "--token-key-file", str(key_file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=checkout) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError("the server did not start")
            yield Running(process.pid, line.split()[-1])
        finally:
            process.terminate()
