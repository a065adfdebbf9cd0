"""Fixtures that run real servers on real sockets, and the signal handling that tests rely on."""

import gc
import os
import signal
import sys

import pytest

from croupier import transport
from service.searching import memory
from tests.support.postgresql import Postgres
from tests.support.replicas import OPERATOR, Replica
from tests.support.serving import Client, Servers, starting
from tests.support.stores import MemoryPlace, PostgresPlace, SqlitePlace
from tests.support.waiting import FOREVER


def pytest_configure():
    # A shell makes background jobs ignore SIGINT. The programs that tests start would inherit this,
    # and tests interrupt them.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Where the environment forbids to keep compiled modules, each of the hundreds of programs that
    # tests start would compile ours again, for a sixth of a second of a processor.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Searches of servers take what others leave, and tests beside each other leave nothing.
    os.environ["SEARCH_PRIORITY"] = "normal"
    # The servers of a process have one account for searches. One with search processes needs little
    # for itself; the others would have no more then.
    memory.OWN = 1 << 40
    sys.dont_write_bytecode = False


def pytest_collection_finish():
    # What was collected stays. To look for garbage among it, at every turn, would take a tenth of
    # the time of all tests.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


@pytest.fixture(scope="session")
def servers():
    """Starts servers in this process for tests that need their own."""
    running = Servers()
    yield running
    running.close()


@pytest.fixture(scope="session")
def shared_server(servers):
    """A server that allows seeds, and its address. Tests share it, each with matches of its own."""
    return servers.start(allow_seeds=True, search_threads=2)


@pytest.fixture(scope="session")
def server(shared_server):
    return shared_server[0]


@pytest.fixture(scope="session")
def client(shared_server):
    return Client(shared_server[1])


@pytest.fixture
def start_client(servers):
    """Starts a server with options, and returns a client of it. Both end with the test."""
    with starting(servers) as start:
        yield lambda **options: start(**options)[1]


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server that tests share, each with a schema of its own."""
    server = Postgres()
    yield server
    server.close()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def place(request, tmp_path):
    """A place for a log of each kind."""
    if request.param == "memory":
        return MemoryPlace()
    if request.param == "sqlite":
        return SqlitePlace(tmp_path / "log")
    return PostgresPlace(request.getfixturevalue("postgres"))


@pytest.fixture
def replicas(tmp_path):
    """Starts server processes, each at an address of its own. They end with the test."""
    started = []

    def start(*options, **command):
        log = tmp_path / f"server-{len(started)}.log"
        started.append(Replica(log, "--search-threads", "1", *options, **command))
        started[-1].start()
        return started[-1]

    yield start
    for replica in started:
        replica.kill()


@pytest.fixture
def patient_probe(monkeypatch):
    """However slowly a server answers, a client that cannot connect finds out what it speaks."""
    monkeypatch.setattr(transport, "PROBE_SECONDS", FOREVER)


@pytest.fixture
def operator(tmp_path):
    """The command-line options that give a server an operator's token."""
    file = tmp_path / "operator"
    file.write_text(OPERATOR)
    return ("--operator-token-file", str(file))
