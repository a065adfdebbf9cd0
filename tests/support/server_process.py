"""`croupier serve` in a process whose log and metrics a test can read, and which it can kill."""

import atexit
import functools
import re
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

from tests.support.ports import own_port
from tests.support.serving import Client
from tests.support.waiting import waiting_for

SERVE = [sys.executable, "-m", "cli", "serve", "--listen", "127.0.0.1:0", "--web", "off"]
# A search process would take half a second of a processor at each start.
COMMAND = [*SERVE, "--search-processes", "0"]


class ServerProcess:
    """A server that runs until it is killed or stopped."""

    def __init__(self, *options, environment=None):
        self._metrics_port = own_port()
        self._process = subprocess.Popen(
            [*COMMAND, "--metrics-port", str(self._metrics_port), *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        said = self._process.stdout.readline()
        found = re.fullmatch(r"croupier serves on ([\d.]+:\d+)\n", said)
        assert found, said + self.log
        self.address = found[1]
        self.client = Client(self.address)

    @property
    def process(self):
        """The number of the process."""
        return self._process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.returncode is None:
            self.kill()

    def _read(self):
        for line in self._process.stderr:
            with self._news:
                self._lines.append(line)
                self._news.notify_all()

    @property
    def log(self):
        """The log lines so far."""
        with self._news:
            return "".join(self._lines)

    @functools.cached_property
    def web_url(self):
        """The address for browsers, of a server with one."""
        return self._process.stdout.readline().split()[-1]

    def forget_log(self):
        with self._news:
            self._lines.clear()

    def wait_for(self, text):
        """Waits until the log contains a text."""
        with self._news, waiting_for(lambda: f"{text!r} in the log:\n{self.log}"):
            self._news.wait_for(lambda: text in "".join(self._lines))

    def memory(self, kind="VmRSS"):
        """The memory of the process in bytes, as it is now or ("VmHWM") has been at most."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(rf"{kind}:\s+(\d+) kB", status)[1]) << 10

    def metric(self, name):
        """The value of a metric. `name` includes the labels as Prometheus writes them."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics_port}/metrics") as answer:
            for line in answer.read().decode().splitlines():
                if line.startswith(name + " "):
                    return float(line.rpartition(" ")[2])
        raise AssertionError(name)

    def is_ready(self):
        """Whether it says that it takes calls."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics_port}/readyz") as answer:
            return answer.status == 200

    def kill(self):
        """Kills the process, like a crash."""
        self._process.kill()
        self._end()

    def stop(self):
        """Shuts the server down in order."""
        self._process.terminate()
        self._end()
        assert self._process.returncode == 0, self.log

    def _end(self):
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()
        self._process.stderr.close()
        self.client.channel.close()


def refused_start(*options, environment=None):
    """Starts a server that must refuse to start, and returns the one line that says why."""
    done = subprocess.run(
        [*COMMAND, "--metrics-port", "0", *options],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done
    assert not done.stdout
    assert done.stderr.count("\n") == 1, done.stderr
    line = done.stderr.rstrip("\n")
    assert line.startswith("croupier: ")
    return line


class ServeCommand:
    """`croupier serve` on a free port."""

    def __init__(self, *options, command=COMMAND):
        """With `command=SERVE`, the server has search processes by default."""
        command = [*command, "--store", "memory", *options]
        # A file takes any number of lines, where a pipe that nobody reads would stop the server.
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        atexit.register(self.process.kill)  # A test that fails does not end it.
        line = self.process.stdout.readline()
        found = re.fullmatch(r"croupier serves on (127\.0\.0\.1:\d+)\n", line)
        assert found, line + self._read_log()
        self.address = found[1]

    def end(self, number=signal.SIGTERM):
        """Send a signal; return the exit code and the log."""
        self.process.send_signal(number)
        self.process.communicate()
        return self.process.returncode, self._read_log()

    def _read_log(self):
        self._log.seek(0)
        return self._log.read()
