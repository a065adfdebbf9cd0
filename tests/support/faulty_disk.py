"""A disk that can fail under a program, and that knows what a power cut would leave on it."""

import errno
import mmap
import os
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
_CONTROL = struct.Struct("<iiiiqqqq")
_COUNTS = struct.Struct("<qq")

READ, WRITE, SYNC = 1, 2, 4
MAIN, WAL, SHARED, JOURNAL = 1, 2, 4, 8
EVERY_FILE = MAIN | WAL | SHARED | JOURNAL
FAIL, HALF, KILL = range(3)
ALWAYS = 1 << 62


class Control:
    """Tells a faulty disk which calls fail."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self._mapped = mmap.mmap(file.fileno(), _CONTROL.size)

    def fail(self, calls, files=EVERY_FILE, error=errno.EIO, what=FAIL, skip=0, times=ALWAYS):
        """From now on these calls on these files fail: `times` of them, after the first `skip`."""
        self.mend()
        whole = _CONTROL.pack(0, files, what, error, skip, times, 0, 0)
        self._mapped[4:] = whole[4:]
        self._mapped[:4] = struct.pack("<i", calls)

    def mend(self):
        """Lets all calls succeed again."""
        self._mapped[:4] = bytes(4)

    @property
    def seen(self):
        """The number of calls since `fail` that could have failed."""
        return _COUNTS.unpack_from(self._mapped, _CONTROL.size - _COUNTS.size)[0]

    @property
    def failed(self):
        """The number of calls since `fail` that have failed."""
        return _COUNTS.unpack_from(self._mapped, _CONTROL.size - _COUNTS.size)[1]


def build(directory):
    """Compiles the library of faulty disks into a directory, and returns its path."""
    library = directory / "faulty_disk.so"
    command = ["gcc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    return library


class FaultyDisk(Control):
    """A disk for the log of a program that runs in `environment`."""

    def __init__(self, directory, library=None):
        library, control = library or build(directory), directory / "control"
        control.write_bytes(bytes(_CONTROL.size))
        super().__init__(control)
        self.data = directory / "data"
        self.kept = directory / "kept"  # A copy of what would survive a power cut.
        self.environment = {
            **os.environ,
            # Before what else is preloaded, such as a slow disk.
            "LD_PRELOAD": f"{library} {os.environ.get('LD_PRELOAD', '')}".rstrip(),
            "FAULTY_DISK_CONTROL": str(control),
            "FAULTY_DISK_DATA": str(self.data),
            "FAULTY_DISK_KEPT": str(self.kept),
        }
        self.clear()

    def clear(self):
        """Empties the disk and ends all faults."""
        self.mend()
        for folder in (self.data, self.kept):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
