"""Servers that share a log, for the tests of what every server answers, also after a crash."""

import shutil

import pytest

from croupier.client import Client as PythonClient
from croupier.client import Operator
from tests.support.replicas import OPERATOR
from tests.support.serving import Client
from tests.support.stores import PostgresPlace, SqlitePlace


class OwnDatabase(PostgresPlace):
    """A database of its own: in the usual one, other tests count who listens."""

    def __init__(self, server):
        self.server = server
        server.execute("CREATE DATABASE api")

    @property
    def url(self):
        return self.server.url("public").replace("@/postgres?", "@/api?")


class Cluster:
    """One server, or two that share a log, in this process, and two clients.

    After a crash others go on with nothing but the log. Those before are left alone until the test
    is over, so that they write nothing at their end that a killed one would not have written.
    """

    def __init__(self, servers, place, count, options):
        self._servers, self._place, self._count, self._options = servers, place, count, options
        self._older = set()  # The names of the matches of earlier tests.
        self._running, self._crashed = [], []
        self.clients = []
        self._start()

    def _start(self):
        for _ in range(self._count):
            store = self._place.store()
            self._servers.run(store.open())
            self._running.append((*self._servers.start(store, **self._options), store))
        addresses = [address for _, address, _ in self._running] * 2
        own_connection = (("grpc.use_local_subchannel_pool", 1),)
        self.clients = [Client(address, own_connection) for address in addresses[:2]]

    def begin(self):
        """Begins a test, which does not see the matches of those before it."""
        self._stop(self._crashed)
        self._older |= set(self.names())

    def crash(self):
        """Lets servers that have just started take the place of all."""
        if isinstance(self._place, SqlitePlace):
            directory = self._place.directory
            after = directory.with_name(f"{directory.name} after a crash")
            [(_, _, store)] = self._running

            async def copy():  # Between two commits.
                await store._run_in_writer(lambda _: shutil.copytree(directory, after))

            self._servers.run(copy())
            self._place = SqlitePlace(after)
        self._crashed, self._running = self._running, []
        self._start()

    def _stop(self, started):
        for server, _, store in started:
            self._servers.stop(server, 0)
            self._servers.run(store.close())
        started.clear()

    def close(self):
        """Stops all servers."""
        self._stop(self._crashed)
        self._stop(self._running)

    def listed(self):
        """The matches of this test in the log, as the operator sees them."""
        with PythonClient(self.clients[0].address) as client:
            matches = list(Operator(client, OPERATOR).matches(page_size=1000))
        return [each for each in matches if each.name not in self._older]

    def names(self):
        """The names of the matches of this test in the log, sorted."""
        return sorted(each.name for each in self.listed())


@pytest.fixture(scope="session")
def clusters(servers):
    """The clusters that tests share, by the kind of their store."""
    running = {}
    yield running
    for cluster in running.values():
        cluster.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def cluster(request, servers, clusters, tmp_path_factory):
    """A server with a SQLite log, or two with one PostgreSQL database.

    Tests share it, each with matches of its own.
    """
    kind = request.param
    if kind not in clusters:
        folder = tmp_path_factory.mktemp(kind)
        token = folder / "operator"
        token.write_text(OPERATOR)
        options = {"search_threads": 1, "allow_seeds": True, "operator_token_file": token}
        if kind == "sqlite":
            place, count = SqlitePlace(folder / "log"), 1
        else:
            place, count = OwnDatabase(request.getfixturevalue("postgres")), 2
        clusters[kind] = Cluster(servers, place, count, options)
    clusters[kind].begin()
    return clusters[kind]
