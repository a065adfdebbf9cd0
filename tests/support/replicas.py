"""Servers as processes, which are killed and started again."""

import random
import signal
import socket
import subprocess
import sys
from contextlib import suppress

SERVE = (sys.executable, "-m", "cli", "serve")
# Below those that the system gives to clients: one of these could take the port of a dead server.
PORTS = range(20000, 32000)
END = 30


class Replica:
    """A server process that is killed and started again, always at the same address."""

    def __init__(self, log, *options, command=SERVE):
        self.address = f"127.0.0.1:{_free_port()}"
        self.log = log
        self._command = [*command, "--listen", self.address, "--metrics-port", "0", *options]
        self._process = None
        self._serves = False

    def start(self):
        """Starts it, and does not wait for it."""
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self._serves = False

    def ready(self):
        """Returns when it serves."""
        if not self._serves:
            line = self._process.stdout.readline()
            assert line == f"croupier serves on {self.address}\n", self.log.read_text()[-2000:]
            self._serves = True

    def kill(self):
        """Ends it at once."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            self._process.communicate()

    def pause(self):
        """Lets it do nothing, as if its machine were too busy, until it is resumed."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        """Lets it go on as if nothing had been."""
        self._process.send_signal(signal.SIGCONT)

    def end(self):
        """Ends it in good order; the exit code."""
        self._process.terminate()
        self._process.communicate(timeout=END)
        return self._process.returncode


def _free_port():
    while True:
        port = random.choice(PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
