"""What a SQLite log finds of itself when it is opened, above all after a crash."""

import logging
import os
import sqlite3
import struct
from pathlib import Path
from typing import NamedTuple

# Of the write-ahead log: the size of a page, and the salts.
_HEADER = struct.Struct(">8xI4x8s8x")
# Of each page in it: its number in the file, the file's pages if a commit ends here, the salts.
_FRAME = struct.Struct(">II8s8x")
# Of the file: what it is, the size of a page, a count of changes, the pages, the count then.
_FILE = struct.Struct(">16sH6x4sI60x4s4x")
_FILE_IS = b"SQLite format 3\0"

_log = logging.getLogger(__name__)


class Frame(NamedTuple):
    """A page that was written since the file last had everything."""

    number: int
    page: int
    commits: bool  # Whether a commit ends with it.


def look(path: Path) -> list[Frame]:
    """What was written after a log's file, whole or not. To be called before the log is opened."""
    frames: list[Frame] = []
    try:
        file = _wal(path).open("rb")
    except FileNotFoundError:
        return frames
    with file:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return frames
        size, salts = _HEADER.unpack(header)
        number = 0
        while len(data := file.read(_FRAME.size)) == _FRAME.size:
            page, pages, frame_salts = _FRAME.unpack(data)
            # Others are older than the last time that the file had everything.
            if frame_salts == salts:
                frames.append(Frame(number, page, pages > 0))
            number += 1
            file.seek(_HEADER.size + number * (_FRAME.size + size))
    return frames


def check_length(path: Path, frames: list[Frame]) -> None:
    """Raises OSError if a log's file has lost its end, which SQLite need not find out at once."""
    with path.open("rb") as file:
        header = file.read(_FILE.size)
    if len(header) < _FILE.size or not header.startswith(_FILE_IS):
        return
    _, size, changes, pages, changes_then = _FILE.unpack(header)
    if not size or changes != changes_then:
        return
    here = path.stat().st_size // size
    if not here or path.with_name(path.name + "-journal").exists():
        return  # It was being made, and SQLite undoes that.
    # A crash may have come while what stands in the write-ahead log was being copied.
    lost = pages - here - len({frame.page for frame in frames if here < frame.page <= pages})
    if lost > 0:
        raise OSError(f"{path} is cut off: {lost} of its {pages} pages are missing")


def settle(connection: sqlite3.Connection, path: Path, frames: list[Frame]) -> None:
    """Puts what is whole into the file, and says what was found.

    What SQLite finds there was written, but nobody knows whether it was synced: it must be before
    anyone is told of it, and what comes next must not stand behind what a power cut takes away.
    """
    _, _, whole = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    with _wal(path).open("rb") as file:
        # Or a power cut could bring it back, less than whole, over a file that has more.
        os.fsync(file.fileno())
    found = sum(frame.commits for frame in frames if frame.number < whole)
    left = [frame for frame in frames if frame.number >= whole]
    if found:
        _log.info("the log was not closed; commits taken from its write-ahead log: %d", found)
    if sum(frame.commits for frame in left) > 1:
        # Each is synced before the next one is written.
        _log.error("the write-ahead log is damaged: commits that were synced may be lost")
    elif left:
        _log.warning("what was being written at the end was not whole, and is left out")


def _wal(path: Path) -> Path:
    return path.with_name(path.name + "-wal")
