"""The server that is attacked, with its log on the disk, so that it can be restarted."""

import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from lab.service_bench.ports import free_port
from lab.service_bench.servers import Running

STALL_SECONDS = "0.1"  # As a bound of the server's histograms.
STALLING = {
    "croupier_store_commit_seconds": "commits",
    "croupier_event_loop_lag_seconds": "pauses of the event loop",
}


class AttackedServer:
    """`croupier serve` with a callers file."""

    def __init__(self, directory: Path, callers_file: Path) -> None:
        self._command = [sys.executable, "-m", "cli", "serve", "--listen", "127.0.0.1:0"]
        self._metrics_port = free_port()
        self.web = f"127.0.0.1:{free_port()}"  # The address of the web gateway.
        self._command += ["--metrics-port", str(self._metrics_port), "--log-level", "error"]
        self._command += ["--web", self.web]
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

    def end(self) -> float:
        """Tells the server to stop; returns after how many seconds it has ended."""
        assert self._process is not None
        began = time.monotonic()
        self._process.terminate()
        self._process.wait()
        return time.monotonic() - began

    def stalls(self) -> Counter[str]:
        """Returns how often so far the server stood still for STALL_SECONDS, by what it did."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics_port}/metrics") as answer:
            text = answer.read().decode()
        stalls: Counter[str] = Counter()
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                what = STALLING.get(sample.name.removesuffix("_bucket"))
                if what is not None and sample.labels.get("le") in (STALL_SECONDS, "+Inf"):
                    stalls[what] += round(
                        sample.value if sample.labels["le"] == "+Inf" else -sample.value
                    )
        return stalls

    def stop(self) -> None:
        """Ends the server."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
