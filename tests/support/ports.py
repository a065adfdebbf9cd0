"""Ports for servers of tests, which run in several processes at once."""

import socket
from contextlib import suppress

from lab.service_bench.ports import free_port

_marks = []  # Kept for as long as this process runs.


def own_port():
    """A port that nobody listens on, and that no other test gets until it is used."""
    while True:
        port = free_port()
        mark = socket.socket(socket.AF_UNIX)
        with suppress(OSError):
            mark.bind(f"\0a port of the tests: {port}")
            _marks.append(mark)
            return port
        mark.close()
