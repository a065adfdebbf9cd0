"""The log of the server, as text or as JSON, one line for each thing that is logged.

A line that is written while a call is answered says which call it was. Lines never say what a card,
a token or a key is.

A thread of its own writes the log to standard error. The reader of standard error may stop reading;
a write then blocks, and in the event loop no call would be answered any more. So lines wait for the
reader; when too many wait, new ones are left out, and counted.
"""

import json
import logging
import os
import queue
import re
import select
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeAlias

from service.common import tasks
from service.common.call import current_call

MAX_LINES = 8192  # That wait for the reader.
MAX_BATCH = 256  # Lines that are written at once.
LAST_SECONDS = 1.0  # For which a process that ends waits for the reader.

_log = logging.getLogger(__name__)
FORMATS = ("text", "json")
# How many lines of a level may come at once from one place in the code, and in a second.
BURST_LINES = 50
LINES_PER_SECOND = 5.0
# What gRPC logs as an error when it fails to send a response to a caller that has just gone.
_CALLER_GONE = "ExecuteBatchError raised in core by servicer method"


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
        self._thread = tasks.PROCESS.keep_thread("log lines", self._write_all)

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
        self._thread.close(self._put_end, LAST_SECONDS)
        super().close()

    def _put_end(self) -> None:
        with suppress(queue.Full):
            self._lines.put(None, timeout=LAST_SECONDS)

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


_PLAIN = re.compile(r"[!#-<>-~]+")  # Text that needs no quotes after "name=".


_chosen = ("text", "info")


def configure(format: str, level: str) -> None:
    """Writes the log to standard error; `format` is one of FORMATS."""
    global _chosen
    _chosen = (format, level)
    handler = standard_error()
    handler.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    handler.addFilter(LineLimit())
    logging.basicConfig(handlers=[handler])
    set_level(level)
    logging.getLogger("grpc._cython.cygrpc").addFilter(_is_no_gone_caller)


def set_level(level: str) -> None:
    """Logs what has at least this level from now on."""
    global _chosen
    _chosen = (_chosen[0], level)
    logging.getLogger("service").setLevel(level.upper())


def chosen() -> tuple[str, str]:
    """The format and the level of the log, as `configure` takes them."""
    return _chosen


def _is_no_gone_caller(record: logging.LogRecord) -> bool:
    # Strangers could fill the log with these lines, each with its traceback.
    return not record.getMessage().startswith(_CALLER_GONE)


class TextFormatter(logging.Formatter):
    """Lines for people: time, level, logger, message, and what is known of the call."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return _on_one_line(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:
        # The message holds the method and all fields of its own.
        call = current_call.get()
        known = {} if call is None else call.fields()
        told = [f"{name}={_quoted(known[name])}" for name in known if name != "method"]
        text = super().formatMessage(record)
        left_out = _left_out(record)
        if left_out:
            text += f", after {left_out} lines like it that were left out"
        return " ".join([text, *told])


class JsonFormatter(logging.Formatter):
    """Lines for machines."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        call = current_call.get()
        if call is not None:
            line |= call.fields()
        line |= getattr(record, "fields", {})
        left_out = _left_out(record)
        if left_out:
            line["left_out"] = left_out
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _on_one_line(json.dumps(line, ensure_ascii=False))


class LineLimit(logging.Filter):
    """Leaves lines out where strangers cause many, but at level debug none.

    Each place in the code has a token bucket.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._full_at: dict[_Place, float] = {}
        self._left_out: Counter[_Place] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        # What is logged of the server itself tells its operator, such as of each reload.
        if _chosen[1] == "debug" or record.name.startswith("service.running."):
            return True
        place = record.pathname, record.lineno, record.levelno
        now = self._now()
        full_at = max(now, self._full_at.get(place, now)) + 1 / LINES_PER_SECOND
        if full_at - now > BURST_LINES / LINES_PER_SECOND:
            self._left_out[place] += 1
            return False
        self._full_at[place] = full_at
        record.left_out = self._left_out.pop(place, 0)
        return True


_Place: TypeAlias = tuple[str, int, int]  # A file, a line, and the level of what is logged there.


def _left_out(record: logging.LogRecord) -> int:
    return getattr(record, "left_out", 0)


def _on_one_line(text: str) -> str:
    # Much of a line comes from strangers. What is not printable could begin a line of its own, or
    # tell the terminal of its reader what to do.
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


def _quoted(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else json.dumps(value)
