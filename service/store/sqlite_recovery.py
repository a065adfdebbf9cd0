"""Recovery: the checks of a SQLite log when it is opened, above all after a crash.

SQLite recovers by itself, but says nothing of what it leaves out, and does not notice at once that
a file has lost its end. For both, the frames of the write-ahead log are read here too: only they
tell which pages a file can lack because a crash came while they were copied into it, and how many
commits could not be recovered. https://sqlite.org/fileformat2.html describes both files.
"""

import logging
import os
import sqlite3
import struct
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

# Of the write-ahead log: its magic, the size of a page, and the salts.
_WAL_HEADER = struct.Struct(">I4xI4x8s8x")
# Of each frame in it: the number of its page, the size of the file in pages if a commit ends with
# it or else 0, the salts, and the checksum, which includes that of the frame before.
_FRAME_HEADER = struct.Struct(">II8sII")
# Of the file: its magic, the size of a page, the change counter, the size in pages, and the change
# counter for which this size is valid.
_FILE_HEADER = struct.Struct(">16sH6x4sI60x4s4x")
_MAGIC = b"SQLite format 3\0"

_log = logging.getLogger(__name__)


class Frame(NamedTuple):
    """A page in the write-ahead log that was written since the last complete checkpoint."""

    number: int
    page: int
    commits: bool  # Whether a commit ends with it.


def read_frames(path: Path) -> list[Frame]:
    """The frames of a log's write-ahead log, damaged or not. Call it before the log is opened."""
    frames: list[Frame] = []
    try:
        file = wal(path).open("rb")
    except FileNotFoundError:
        return frames
    with file:
        header = file.read(_WAL_HEADER.size)
        if len(header) < _WAL_HEADER.size:
            return frames
        _, size, salts = _WAL_HEADER.unpack(header)
        number = 0
        while len(data := file.read(_FRAME_HEADER.size)) == _FRAME_HEADER.size:
            page, pages, frame_salts, *_ = _FRAME_HEADER.unpack(data)
            # Frames with other salts are older than the last complete checkpoint.
            if frame_salts == salts:
                frames.append(Frame(number, page, pages > 0))
            number += 1
            file.seek(_WAL_HEADER.size + number * (_FRAME_HEADER.size + size))
    return frames


class Files:
    """The files of an open log. SQLite goes on in one that was moved, removed or replaced."""

    def __init__(self) -> None:
        self._found: dict[str, os.stat_result] = {}
        self._log = ""  # The one whose end must not be lost.

    def remember(self, path: Path) -> None:
        """Remembers the files of a log that was opened, which are checked from now on."""
        self._log = str(path)
        for each in (path, wal(path), path.with_name("lock")):
            self._found[str(each)] = each.stat()

    def check(self) -> None:
        """Raises an error of SQLite if one of them is not there any more, or was cut off."""
        for name, found in self._found.items():
            with suppress(OSError):
                there = os.stat(name)
                if os.path.samestat(there, found):
                    if name == self._log and there.st_size < found.st_size:
                        # In order, as by VACUUM, or not.
                        check_length(Path(name), read_frames(Path(name)))
                    self._found[name] = there
                    continue
            error = sqlite3.OperationalError()
            error.sqlite_errorname = f"{name} was moved, removed, replaced or cut off"
            raise error


def check_length(path: Path, frames: list[Frame]) -> None:
    """Raises OSError if a log's file is gone or has lost its end, and SQLite need not notice."""
    header = b""
    with suppress(FileNotFoundError), path.open("rb") as file:
        header = file.read(_FILE_HEADER.size)
    if not header and wal(path).exists() and wal(path).stat().st_size:
        # SQLite would throw it away.
        raise OSError(f"{path} is gone or empty, and {wal(path)} is not: bring it back as it was")
    if len(header) < _FILE_HEADER.size or not header.startswith(_MAGIC):
        return
    _, size, changes, pages, valid_for = _FILE_HEADER.unpack(header)
    if not size or changes != valid_for:
        return
    there = path.stat().st_size // size
    if not there or path.with_name(path.name + "-journal").exists():
        return  # A crash came while the file was created, and SQLite undoes that.
    # A crash may have come during a checkpoint: the pages to be copied are still in the frames.
    recoverable = {frame.page for frame in frames if there < frame.page <= pages}
    lost = pages - there - len(recoverable)
    if lost > 0:
        raise OSError(f"{path} is cut off: {lost} of its {pages} pages are missing")


def checkpoint(connection: sqlite3.Connection, path: Path, frames: list[Frame]) -> None:
    """Moves what is whole in the write-ahead log into the file, and logs what was found.

    The frames that SQLite finds were written, but nobody knows whether they were synced. They must
    be before anyone is told of them, and new frames must not come after some that a power cut
    could take away.
    """
    _, _, whole = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    left_out = [frame for frame in frames if frame.number >= whole]
    lost = _has_commit_after_commit(path, left_out)
    empty(connection, path)
    recovered = sum(frame.commits for frame in frames if frame.number < whole)
    if recovered:
        _log.info(
            "the log was not closed; commits recovered from its write-ahead log: %d", recovered
        )
    if lost:
        _log.error("the write-ahead log is damaged: commits that were synced may be lost")
    elif left_out:
        _log.warning("a commit that failed or was not written whole is left out")


def empty(connection: sqlite3.Connection, path: Path) -> bool:
    """Moves all of the write-ahead log into the file, and leaves nothing of it on the disk.

    Returns whether it did: not where others read or write just now.
    """
    busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    with wal(path).open("rb") as file:
        # Else a power cut could bring back frames, and not all of them, over a newer file.
        os.fsync(file.fileno())
    return not busy


def _has_commit_after_commit(path: Path, frames: list[Frame]) -> bool:
    # Each commit is synced before the next one is written after it, so that only damage leaves out
    # two in a row. Commits that failed are written over from their starts, one by the other: what
    # they leave are ends, which do not follow one another by their checksums.
    if sum(frame.commits for frame in frames) < 2:
        return False
    with wal(path).open("rb") as file:
        header = file.read(_WAL_HEADER.size)
        if len(header) < _WAL_HEADER.size:
            return False  # A connection that has closed since then moved all of it into the file.
        magic, size, _ = _WAL_HEADER.unpack(header)
        words = struct.Struct(f"{'>' if magic & 1 else '<'}{2 + size // 4}I")
        commits, before, sums = 0, -1, (0, 0)
        for frame in frames:
            file.seek(_WAL_HEADER.size + frame.number * (_FRAME_HEADER.size + size))
            header = file.read(_FRAME_HEADER.size)
            summed = words.unpack((header[:8] + file.read(size)).ljust(words.size, b"\0"))
            *_, first, second = _FRAME_HEADER.unpack(header)
            if frame.number != before + 1 or _checksum(summed, *sums) != (first, second):
                commits = 0
            commits += frame.commits
            if commits > 1:
                return True
            before, sums = frame.number, (first, second)
    return False


def _checksum(words: tuple[int, ...], first: int, second: int) -> tuple[int, int]:
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = first + one + second & 0xFFFFFFFF
        second = second + other + first & 0xFFFFFFFF
    return first, second


def wal(path: Path) -> Path:
    """The write-ahead log of a log's file."""
    return path.with_name(path.name + "-wal")
