"""PgBouncer between a server and its database: one that keeps sessions, and one that does not."""

import asyncio
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from service.store.postgresql import PostgresStore
from tests.support.play import seeded
from tests.support.serving import Client, play_on, ruleset_of
from tests.support.waiting import wait_until

PORT = 6432
PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")

pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="PgBouncer is not installed: apt-get install pgbouncer"
)
_DATABASES = itertools.count()


class Pooler:
    """PgBouncer in front of a PostgreSQL server."""

    def __init__(self, postgres, mode, *settings):
        self._home = Path(tempfile.mkdtemp(prefix="pgbouncer-"))
        self._home.chmod(0o777)
        self._database = f"pooled{next(_DATABASES)}"
        postgres.execute(f"CREATE DATABASE {self._database}")
        file = self._home / "pgbouncer.ini"
        lines = (
            *("[databases]", f"* = host={postgres.socket.parent} user=croupier"),
            *("[pgbouncer]", "auth_type = any", f"unix_socket_dir = {self._home}"),
            *(f"listen_port = {PORT}", f"pool_mode = {mode}", *settings),
        )
        file.write_text("\n".join(lines) + "\n")
        # It refuses to run as root.
        user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
        with (self._home / "log").open("wb") as log:
            self._process = subprocess.Popen([PROGRAM, file], user=user, stdout=log, stderr=log)
        socket, log = self._home / f".s.PGSQL.{PORT}", self._home / "log"
        wait_until(lambda: socket.exists() or self._process.poll() is not None, log.read_text)
        assert self._process.poll() is None, log.read_text()

    @property
    def url(self):
        return f"postgresql://croupier@/{self._database}?host={self._home}&port={PORT}"

    def close(self):
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._home)


@pytest.fixture
def pooler(postgres):
    started = []

    def start(*arguments):
        started.append(Pooler(postgres, *arguments))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.mark.parametrize(
    "settings",
    [(), ("server_round_robin = 1",), ("default_pool_size = 1",), ("min_pool_size = 5",)],
    ids=lambda settings: ",".join(settings) or "usual",
)
def test_a_pooler_that_keeps_no_sessions_is_refused_at_the_start(pooler, settings):
    store = PostgresStore(pooler("transaction", *settings).url)
    with pytest.raises(OSError, match=r"the pooler in front of it.*pool_mode = session"):
        asyncio.run(store.open())


def test_servers_share_matches_through_a_pooler_that_keeps_sessions(servers, pooler):
    url = pooler("session", "default_pool_size = 50").url
    stores = [PostgresStore(url) for _ in range(2)]
    for store in stores:
        servers.run(store.open())
    started = [servers.start(store) for store in stores]
    one, other = (Client(address) for _, address in started)
    table = one.create(ruleset_of("skystones"))
    table.players[0].move_to(other)
    stream = table.spectator.watch()
    play_on(table, seeded("pooled"), most=20)
    table.players[1].resign()
    assert [each.version for each in stream] == list(range(table.spectator.view().version + 1))
    for (server, _), store in zip(started, stores, strict=True):
        servers.stop(server, 0)
        servers.run(store.close())
