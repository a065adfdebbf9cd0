"""The log of the server, as text or as one JSON object a line.

A line that is written while a call is answered says which call it was. Lines never say what a card,
a token or a key is.
"""

import json
import logging
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from service.call import current_call
from service.log_writer import standard_error

FORMATS = ("text", "json")
# How many lines about failed calls of a level may come at once, and in a second.
BURST_LINES = 50
LINES_PER_SECOND = 5.0

# What gRPC logs as an error when it fails to send a response to a caller that has just gone.
_CALLER_GONE = "ExecuteBatchError raised in core by servicer method"

_PLAIN = re.compile(r"[!#-<>-~]+")  # Text that needs no quotes after "name=".


_chosen = ("text", "info")


def configure(format: str, level: str) -> None:
    """Writes the log to standard error; `format` is one of FORMATS."""
    global _chosen
    _chosen = (format, level)
    handler = standard_error()
    handler.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("service").setLevel(level.upper())
    logging.getLogger("grpc._cython.cygrpc").addFilter(_is_no_gone_caller)


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

    def formatMessage(self, record: logging.LogRecord) -> str:
        # The message holds the method and all fields of its own.
        call = current_call.get()
        known = {} if call is None else call.fields()
        told = [f"{name}={_quoted(known[name])}" for name in known if name != "method"]
        return " ".join([super().formatMessage(record), *told])


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
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class LineLimit:
    """How many lines strangers may cause: a token bucket for each level."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._full_at: dict[int, float] = {}
        self._left_out: dict[int, int] = {}

    def take(self, level: int) -> int | None:
        """None if a line has to be left out; else how many were left out since the last one."""
        now = self._now()
        full_at = max(now, self._full_at.get(level, now)) + 1 / LINES_PER_SECOND
        if full_at - now > BURST_LINES / LINES_PER_SECOND:
            self._left_out[level] = self._left_out.get(level, 0) + 1
            return None
        self._full_at[level] = full_at
        return self._left_out.pop(level, 0)


def _quoted(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else json.dumps(value)
