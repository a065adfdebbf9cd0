"""SQLite in the simulation: the thread that writes, and the disk below.

The store, its statements and SQLite itself are the real ones. The writer's thread carries out its
jobs in the loop, a little after they were handed over. The disk is a directory in memory. It fails
where `tests/support/faulty_disk.c` lets it, if the process was started with that library
(`python -m tests.simulation` does so), and keeps what was synced; without it, it never fails and a
power cut loses nothing.
"""

import asyncio
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from service.store import sqlite, sqlite_writer
from service.store.jobs import Append
from tests.simulation.loop import LOOK_SECONDS
from tests.support import faulty_disk

COMMIT_SECONDS = 0.002

_kept = []  # Connections and stores of dead processes. To close one would change the files.


class SimulatedWriter(sqlite_writer.SqliteWriter):
    """The writer, whose thread is replaced by timers of the loop."""

    disk = None  # Set by the world.

    def start(self):
        self._loop = asyncio.get_running_loop()
        self._handed_over = []
        self._timer = None
        self._probe = None
        self._started = True

    def stop(self):
        if not getattr(self, "_started", False):
            return
        self._started = False
        for timer in (self._timer, self._probe):
            if timer is not None:
                timer.cancel()
        self._work()
        if self._probe is not None:
            self._probe.cancel()
        if self._connection is not None:
            self._connection.close()

    def hand_over(self, jobs):
        if self._handed_over:
            self._loop.failures.append("jobs are handed over while others are committed")
        self._handed_over.append(jobs)
        if self._timer is None:
            self._timer = self._loop.call_later(self.disk.commit_seconds(), self._work)

    def _work(self):
        self._timer = None
        if self._probe is not None:
            self._probe.cancel()
            self._probe = None
        handed_over, self._handed_over = self._handed_over, []
        for jobs in handed_over:
            for first in range(0, len(jobs), sqlite_writer.MAX_BATCH):
                batch = jobs[first : first + sqlite_writer.MAX_BATCH]
                adding = (each for each in batch if isinstance(each, Append))
                self.disk.dues |= {each.entry.digest: each.status.due for each in adding}
                answers = self._carry_out(batch)
                if self.disk.died():
                    return  # The power is gone: nobody is answered.
                self._answer(batch, answers)
                self._write_snapshots()
        if self._faults.failing("write") and self._started:
            self._probe = self._loop.call_later(sqlite_writer.PROBE_SECONDS, self._probe_disk)

    def _probe_disk(self):
        self._probe = None
        probe = sqlite_writer.Work(None, sqlite_writer._overwrite_failed_commit)
        self._carry_out([probe])
        if self.disk.died():
            return
        self._work()


def install():
    """Replaces the writer of every store."""
    sqlite.SqliteWriter = SimulatedWriter


class Disk:
    """The disk of one server."""

    def __init__(self, directory, rng, on_death):
        """`on_death` is called when the power is cut in the middle of a write."""
        self.directory = Path(directory)
        self._rng = rng
        self._on_death = on_death
        self._commit_seconds = COMMIT_SECONDS * rng.choice((1, 1, 20))  # Some disks are slow.
        self._doomed = False
        self.failing_since = None  # While it fails.
        self.dues = {}  # When a match is due with an entry, by the digest of that.
        self._copied, self._copy = {}, None  # The files, and the log that is in them.
        self.control = None
        if "FAULTY_DISK_CONTROL" in os.environ:
            self.control = faulty_disk.Control(os.environ["FAULTY_DISK_CONTROL"])
            self.kept = Path(os.environ["FAULTY_DISK_KEPT"])
        self.clear()

    def clear(self):
        """Empties it, and ends all faults."""
        self.mend()
        for folder in [self.directory] + ([self.kept] if self.control else []):
            folder.mkdir(parents=True, exist_ok=True)
            for each in folder.iterdir():
                os.unlink(each)  # Which the library hears of.

    def reading(self):
        """A connection for a judge: to a copy, as one to the log writes too, and the disk fails."""
        files = {
            each.name: each.read_bytes()
            for each in self.directory.glob("croupier.db*")
            if not each.name.endswith("-shm")
        }
        if files != self._copied:
            self._copied, self._copy = files, sqlite3.connect(":memory:")
            with tempfile.TemporaryDirectory(dir=self.directory.parent) as folder:
                for name, data in files.items():
                    (Path(folder) / name).write_bytes(data)
                with closing(sqlite3.connect(Path(folder) / "croupier.db")) as recovered:
                    recovered.backup(self._copy)
        return self._copy

    def back_up(self):
        """The log as it is now."""
        return self.reading().serialize()

    def restore(self, log):
        """Puts a log in the place of that of a server that has stopped."""
        self.clear()
        for folder in [self.directory] + ([self.kept] if self.control else []):
            (folder / "croupier.db").write_bytes(log)

    def commit_seconds(self):
        """How long the next commit takes to begin."""
        return self._commit_seconds * self._rng.expovariate(1.0) + LOOK_SECONDS

    # Faults

    def fail(self, calls, files, error, what, skip, times):
        """Lets calls fail, as `faulty_disk.Control.fail`."""
        self.failing_since = asyncio.get_running_loop().time()
        if self.control:
            self.control.fail(calls, files, error, what, skip, times)

    def mend(self):
        """Ends all faults but a power cut."""
        self._doomed = False
        self.failing_since = None
        if self.control:
            self.control.mend()

    def doom(self, skip):
        """Cuts the power in the middle of a write or sync, after `skip` of them."""
        self._doomed = True
        if self.control:
            calls = faulty_disk.WRITE | faulty_disk.SYNC
            what = self._rng.choice((faulty_disk.FAIL, faulty_disk.HALF))
            self.control.fail(calls, faulty_disk.EVERY_FILE, skip=skip, what=what)

    def died(self):
        """Whether the power was cut meanwhile."""
        if self._doomed and self.control and self.control.failed:
            self._on_death()
            return True
        return False

    def after_crash(self, store, *, power):
        """Leaves the files as a crash of the process does, or of the machine."""
        _kept.append(
            (store, store._writer._connection, store._anchor, store._reader.__dict__.copy())
        )
        store._lock.close()
        self.mend()
        source = self.kept if power and self.control else self.directory
        files = {
            each.name: each.read_bytes()
            for each in sorted(source.iterdir())
            if each.is_file() and not each.name.endswith("-shm")
        }
        kept = {}
        if self.control:
            kept = {each.name: each.read_bytes() for each in sorted(self.kept.iterdir())}
        self.clear()
        for name, data in files.items():
            (self.directory / name).write_bytes(data)
        if self.control:
            # A process that was killed leaves in memory what it did not sync, which may reach the
            # disk by itself: here it does.
            for name, data in (kept if power else files).items():
                (self.kept / name).write_bytes(data)


def forget():
    """Lets the dead rest: their files are gone."""
    _kept.clear()


def remove(directory):
    shutil.rmtree(directory, ignore_errors=True)
