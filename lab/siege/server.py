"""The server that is attacked, with its log on the disk, so that it can be restarted."""

import subprocess
import sys
from pathlib import Path

from lab.service_bench.servers import Running


class Fortress:
    """`croupier serve` with a callers file."""

    def __init__(self, directory: Path, callers_file: Path) -> None:
        self._command = [sys.executable, "-m", "cli", "serve", "--listen", "127.0.0.1:0"]
        self._command += ["--metrics-port", "0", "--log-level", "error"]
        self._command += ["--data", str(directory / "data"), "--callers-file", str(callers_file)]
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> Running:
        """Starts the server; raises RuntimeError if it does not start."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the server did not start")
        return Running(self._process.pid, line.split()[-1])

    def restart(self) -> Running:
        """Kills the server and starts it anew, at another address."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        return self.start()

    def stop(self) -> None:
        """Ends the server."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
