"""A log that nobody reads stops no server, and what is lost of it is counted."""

import fcntl
import logging
import os
import re
import signal
import subprocess
from contextlib import suppress

import pytest

from croupier.v1 import catalog_pb2
from service.common import tasks
from service.observability.logs import LogWriter
from tests.support.server_process import COMMAND
from tests.support.serving import Client
from tests.support.waiting import wait_until

PIPE_BYTES = 4096


class Pipe:
    """A pipe whose writer is a log."""

    def __init__(self, most):
        out, self._end = os.pipe()
        self.reader = os.fdopen(out)
        self.writer = LogWriter(self._end, most)
        self.log = logging.Logger("piped")
        self.log.addHandler(self.writer)

    def fill(self):
        """Fills the pipe with empty lines, so that the next write blocks."""
        os.set_blocking(self._end, False)
        for size in (4096, 1):
            with suppress(BlockingIOError):
                while True:
                    os.write(self._end, b"\n" * size)
        os.set_blocking(self._end, True)

    def read(self, last):
        """The lines up to the first that contains a text, without the empty ones."""
        lines = []
        while not lines or last not in lines[-1]:
            lines.append(self.reader.readline().rstrip("\n"))
        return [line for line in lines if line]

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
    pipe.log.info("the first")
    wait_until(pipe.writer._lines.empty)
    # Now the thread waits for the reader.
    for number in range(1000):
        pipe.log.info("line %d", number)
    with caplog.at_level(logging.WARNING, logger="service.observability.logs"):
        lines = [f"line {number}" for number in range(10)]
        assert pipe.read("line 9") == ["the first", *lines]
        pipe.log.info("the last")
        assert pipe.read("the last") == ["the last"]
        pipe.writer.close()
    assert caplog.messages == ["990 lines were left out: nobody read the log"]


def test_a_thread_that_fails_goes_on(piped):
    pipe = piped(10)
    write = pipe.writer._write

    def fail(data):
        pipe.writer._write = write
        raise SystemExit(1)

    before = tasks.PROCESS.failures()["log lines"]
    pipe.writer._write = fail
    pipe.log.info("lost")
    wait_until(lambda: tasks.PROCESS.failures()["log lines"] > before)
    pipe.log.info("told")
    assert pipe.read("told") == ["told"]


def test_a_reader_that_has_gone_is_no_error(piped):
    pipe = piped(10)
    pipe.reader.close()
    for number in range(100):
        pipe.log.info("line %d", number)
    pipe.writer.close()
    assert not pipe.writer._thread._thread.is_alive()


@pytest.mark.parametrize("read_later", [False, True], ids=["never", "later"])
def test_a_server_whose_log_nobody_reads_serves_and_stops(read_later):
    options = ("--metrics-port", "0", "--store", "memory", "--log-level", "debug")
    server = subprocess.Popen(
        [*COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    fcntl.fcntl(server.stderr, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    try:
        address = re.fullmatch(r"croupier serves on (\S+)\n", server.stdout.readline())[1]
        client = Client(address)
        # Each call is a line of more than 100 bytes.
        for _ in range(2 * PIPE_BYTES // 100):
            client.catalog.ListGames(catalog_pb2.ListGamesRequest())
        client.close()
        server.send_signal(signal.SIGTERM)
        if read_later:
            assert server.stderr.read().count("ListGames OK") >= 2 * PIPE_BYTES // 100
        assert server.wait() == 0
    finally:
        server.kill()
        server.communicate()
