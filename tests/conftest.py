"""Fixtures that need a server: a real one, on a real socket; and signals as tests expect them."""

import signal

import pytest

from tests.support.postgresql import Postgres
from tests.support.replicas import Replica
from tests.support.serving import Client, Servers


def pytest_configure():
    # A shell lets what it runs in the background ignore interrupts, and so would the programs that
    # tests start and interrupt.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def servers():
    """Where a test starts servers of its own."""
    running = Servers()
    yield running
    running.close()


@pytest.fixture(scope="session")
def shared_server(servers):
    """A server that takes seeds, and its address; tests share it, each with its own matches."""
    return servers.start(allow_seeds=True, search_threads=2)


@pytest.fixture(scope="session")
def server(shared_server):
    return shared_server[0]


@pytest.fixture(scope="session")
def client(shared_server):
    return Client(shared_server[1])


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL that tests share, each with a schema of its own."""
    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def replicas(tmp_path):
    """Starts servers as processes, each at an address of its own, which end with the test."""
    started = []

    def start(*options, **command):
        log = tmp_path / f"server-{len(started)}.log"
        started.append(Replica(log, "--search-threads", "1", *options, **command))
        started[-1].start()
        return started[-1]

    yield start
    for replica in started:
        replica.kill()
