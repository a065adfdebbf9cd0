"""Server processes that tests kill and start again."""

import os
import re
import select
import signal
import subprocess
import sys

from lab.service_bench.servers import children
from tests.support.ports import own_port
from tests.support.waiting import waiting_for

OPERATOR = "the-operator-of-the-servers-that-tests-kill"
SERVE = (sys.executable, "-m", "cli", "serve")


class Replica:
    """A server process that can be killed and started again, always at the same address."""

    def __init__(self, log, *options, command=SERVE):
        self.address = f"127.0.0.1:{own_port()}"
        self.log = log
        # A search process would take half a second of a processor at each start.
        self._command = [*command, "--listen", self.address, "--metrics-port", "0"]
        self._command += ["--search-processes", "0", *options]
        self._process = None
        self._serves = False

    def start(self):
        """Starts the process without waiting until it serves."""
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self._serves = False

    def ready(self):
        """Waits until the server serves."""
        if not self._serves:
            line = self._process.stdout.readline()
            assert line == f"croupier serves on {self.address}\n", self.log.read_text()[-2000:]
            self._serves = True

    @property
    def runs(self):
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def kill(self):
        """Kills the process, if it runs; those that it has started must end by themselves."""
        if self._process is not None and self._process.returncode is None:
            started = [os.pidfd_open(pid) for pid in children(self._process.pid)]
            self._process.kill()
            self._process.communicate()
            with waiting_for(lambda: f"the ends of {len(started)} processes without their server"):
                for process in started:
                    _wait_until_it_ends(process)

    def pause(self):
        """Stops the process until `resume`, as on a machine that is too busy."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        """Lets the paused process continue."""
        self._process.send_signal(signal.SIGCONT)

    def end(self):
        """Shuts the server down in order, and returns its exit code."""
        self._process.terminate()
        self._process.communicate()
        return self._process.returncode

    def end_well(self):
        """Shuts the server down in order; it must exit with 0, and no call may have failed."""
        assert self.end() == 0
        assert not re.search(r"/\w+ failed: ", self.log.read_text())


def _wait_until_it_ends(process):
    """Waits for the end of a process, by its file descriptor, which this closes."""
    ends = select.poll()  # select() takes no descriptor above 1023.
    ends.register(process, select.POLLIN)
    ends.poll()
    os.close(process)
