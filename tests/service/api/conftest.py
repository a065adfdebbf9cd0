"""Servers that share a log, for the tests of what every server answers, and front ends."""

import pytest

from croupier.client import Client as PythonClient
from croupier.client import Operator
from tests.support.houses import House
from tests.support.replicas import OPERATOR
from tests.support.serving import Client
from tests.support.stores import MemoryPlace, PostgresPlace, SqlitePlace


class Cluster:
    """Two servers that share a log, in this process, and a client of each.

    After a crash others go on with nothing but the log. Those before are left alone until the test
    is over, so that they write nothing at their end that a killed one would not have written.
    """

    def __init__(self, servers, **options):
        self._servers, self._options = servers, options
        self._store = MemoryPlace().store()
        servers.run(self._store.open())
        self._started = []
        self.crash()

    def crash(self):
        """Lets servers that have just started take the place of all."""
        started = [self._servers.start(self._store, **self._options) for _ in range(2)]
        self._started += started
        own_connection = (("grpc.use_local_subchannel_pool", 1),)
        self.clients = [Client(address, own_connection) for _, address in started]

    def close(self):
        """Stops all servers."""
        for server, _ in self._started:
            self._servers.stop(server, 0)
        self._servers.run(self._store.close())

    def listed(self):
        """The matches in the log, as the operator sees them."""
        with PythonClient(self.clients[0].address) as client:
            return list(Operator(client, OPERATOR).matches(page_size=1000))

    def names(self):
        """The names of the matches in the log, sorted."""
        return sorted(each.name for each in self.listed())


@pytest.fixture
def cluster(servers, tmp_path):
    token = tmp_path / "operator"
    token.write_text(OPERATOR)
    cluster = Cluster(servers, search_threads=1, allow_seeds=True, operator_token_file=token)
    yield cluster
    cluster.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def stores(request, servers, tmp_path):
    """A log in SQLite, or one in PostgreSQL for two servers."""
    count, place = 1, SqlitePlace(tmp_path / "log")
    if request.param == "postgresql":
        count, place = 2, PostgresPlace(request.getfixturevalue("postgres"))
    opened = [place.store() for _ in range(count)]
    for store in opened:
        servers.run(store.open())
    yield opened
    for store in opened:
        servers.run(store.close())


@pytest.fixture
def house(servers, stores, start):
    """The servers of a log."""
    house = House(servers, stores, start)
    yield house
    house.close()
