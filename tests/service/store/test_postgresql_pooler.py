"""PgBouncer between a server and its database: one that keeps sessions, and one that does not."""

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from tests.support.play import seeded
from tests.support.server_process import ServerProcess, refused_start
from tests.support.serving import Client, play_on, ruleset_of

PORT = 6432
END = 30
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
        until = time.monotonic() + END
        while not (self._home / f".s.PGSQL.{PORT}").exists():
            said = (self._home / "log").read_text()
            assert self._process.poll() is None and time.monotonic() < until, said

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
    line = refused_start("--store", pooler("transaction", *settings).url)
    assert "cannot use the PostgreSQL database: the pooler" in line
    assert "pool_mode = session" in line


def test_servers_share_matches_through_a_pooler_that_keeps_sessions(pooler):
    url = pooler("session", "default_pool_size = 50").url
    with ServerProcess("--store", url) as one, ServerProcess("--store", url) as two:
        table = one.client.create(ruleset_of("skystones"))
        table.players[0].move_to(Client(two.client.address))
        stream = table.spectator.watch()
        play_on(table, seeded("pooled"))
        assert [each.version for each in stream] == list(range(table.spectator.view().version + 1))
        one.stop()
        two.stop()
