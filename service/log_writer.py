"""Writes the log to standard error, in a thread of its own.

Whoever reads standard error may stop reading. A write then blocks, and in the event loop no call
would be answered any more. Here lines wait for the reader; when too many wait, new ones are left
out, and counted.
"""

import logging
import os
import queue
import select
import sys
import threading
from contextlib import suppress

MAX_LINES = 8192  # That wait for the reader.
MAX_BATCH = 256  # Lines that are written at once.
LAST_SECONDS = 1.0  # For which a process that ends waits for the reader.

_log = logging.getLogger(__name__)


def standard_error() -> logging.Handler:
    """A handler that writes to standard error."""
    try:
        return LogWriter(sys.stderr.fileno())
    except (AttributeError, OSError):
        # It is closed, or replaced by what is no file and so has no reader.
        return logging.StreamHandler()


class LogWriter(logging.Handler):
    """A handler that never blocks, and ends with its process whether or not the log is read."""

    def __init__(self, file: int, most: int = MAX_LINES) -> None:
        """Writes to an open file; `most` lines wait for its reader."""
        super().__init__()
        self._file = file
        self._lines: queue.Queue[str | None] = queue.Queue(most)
        self._left_out = 0
        # The end of the process holds the lock of the handler while it waits for the thread.
        self._counting = threading.Lock()
        # A daemon, since a process that ends would wait for any other thread, for ever if it must.
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            # Here, since the line says which call this task answers.
            self._lines.put_nowait(self.format(record) + "\n")
        except queue.Full:
            with self._counting:
                self._left_out += 1
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Writes the lines that wait, if the reader takes them soon."""
        with suppress(queue.Full):
            self._lines.put(None, timeout=LAST_SECONDS)
        self._thread.join(LAST_SECONDS)
        super().close()

    def _write_all(self) -> None:
        ended = False
        while not ended:
            batch = [self._lines.get()]
            with suppress(queue.Empty):
                while len(batch) < MAX_BATCH:
                    batch.append(self._lines.get_nowait())
            ended = None in batch
            self._write("".join(filter(None, batch)).encode(errors="backslashreplace"))
            with self._counting:
                left_out, self._left_out = self._left_out, 0
            if left_out:
                _log.warning("%d lines were left out: nobody read the log", left_out)

    def _write(self, data: bytes) -> None:
        # Not through sys.stderr: while a thread blocks in it, Python cannot end.
        while data:
            try:
                data = data[os.write(self._file, data) :]
            except BlockingIOError:
                select.select((), (self._file,), ())
            except OSError:
                return  # Nobody will ever read it.
