"""A log that nobody reads stops no server, and what is lost of it is counted."""

import logging
import os
import re
import signal
import subprocess
import threading

import pytest

from croupier.v1 import catalog_pb2
from service.log_writer import LogWriter
from tests.support.server_process import COMMAND, END
from tests.support.serving import Client

PIPE_BYTES = 64 << 10


class Pipe:
    """A pipe whose writer is a log."""

    def __init__(self, most):
        out, self._end = os.pipe()
        self.reader = os.fdopen(out)
        self.writer = LogWriter(self._end, most)
        self.log = logging.Logger("piped")
        self.log.addHandler(self.writer)

    def fill(self):
        """Fills the pipe, so that the next write blocks."""
        os.set_blocking(self._end, False)
        try:
            while True:
                os.write(self._end, b"x" * 100 + b"\n")
        except BlockingIOError:
            os.set_blocking(self._end, True)

    def read(self, last):
        """The lines up to the first that contains a text, without those that filled the pipe."""
        lines = []
        while not lines or last not in lines[-1]:
            lines.append(self.reader.readline().rstrip("\n"))
        return [line for line in lines if not line.startswith("x")]

    def close(self):
        self.writer.close()
        self.reader.close()
        os.close(self._end)


@pytest.fixture
def piped():
    pipes = []

    def piped(most):
        pipes.append(Pipe(most))
        return pipes[-1]

    yield piped
    for pipe in pipes:
        pipe.close()


def test_lines_come_in_their_order(piped):
    pipe = piped(1000)
    for number in range(500):
        pipe.log.info("line %d", number)
    pipe.log.info("of \udc00 \u00e9\n%s", "two lines")
    lines = pipe.read("two lines")
    assert lines == [*(f"line {number}" for number in range(500)), "of \\udc00 \u00e9", "two lines"]


def test_lines_that_do_not_fit_are_counted(piped, caplog):
    pipe = piped(10)
    pipe.fill()
    for number in range(1000):
        pipe.log.info("line %d", number)
    with caplog.at_level(logging.WARNING, logger="service.log_writer"):
        written = pipe.read("line 9")
        pipe.log.info("the last")
        written += pipe.read("the last")
    written = [line for line in written if line.startswith("line ")]
    # Those that waited, and those that the thread had already taken.
    assert 10 <= len(written) < 1000
    (told,) = caplog.messages
    assert told == f"{1000 - len(written)} lines were left out: nobody read the log"


def test_a_reader_that_has_gone_is_no_error(piped):
    pipe = piped(10)
    pipe.reader.close()
    for number in range(100):
        pipe.log.info("line %d", number)
    pipe.writer.close()
    assert not pipe.writer._thread.is_alive()


@pytest.mark.parametrize("read_later", [False, True], ids=["never", "later"])
def test_a_server_whose_log_nobody_reads_serves_and_stops(read_later):
    options = ("--metrics-port", "0", "--store", "memory", "--log-level", "debug")
    server = subprocess.Popen(
        [*COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watchdog = threading.Timer(END, server.kill)
    watchdog.start()
    try:
        address = re.fullmatch(r"croupier serves on (\S+)\n", server.stdout.readline())[1]
        client = Client(address)
        # Each call is a line of more than 100 bytes.
        for _ in range(2 * PIPE_BYTES // 100):
            client.catalog.ListGames(catalog_pb2.ListGamesRequest(), timeout=END)
        client.close()
        server.send_signal(signal.SIGTERM)
        if read_later:
            assert server.stderr.read().count("ListGames OK") >= 2 * PIPE_BYTES // 100
        assert server.wait(END) == 0
    finally:
        watchdog.cancel()
        server.kill()
        server.communicate()
