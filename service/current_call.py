"""The call that the current task answers: what log lines and traces say of it.

What a call sets off, such as the decision of a bot, belongs to the call too.
"""

import random
import re
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

REQUEST_ID_HEADER = "x-request-id"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,64}")

# Seeded by the system. An id only tells calls apart, and need not be hard to guess.
_ids = random.Random()


class CurrentCall:
    """One call, with what is known of it so far."""

    __slots__ = ("caller", "match", "method", "protocol", "request_id", "span", "trace_id")

    def __init__(self, method: str, protocol: str, request_id: str) -> None:
        """`method` is as "/croupier.v1.MatchService/GetView"."""
        self.method = method
        self.protocol = protocol
        self.request_id = request_id
        self.match = ""  # The id of the match that it is about.
        self.caller: object = ""  # Its principal.
        self.span: Any = None  # Of OpenTelemetry, if there are traces; and the id of its trace.
        self.trace_id = ""

    def fields(self) -> dict[str, str]:
        """What log lines say of it."""
        known = {
            "request_id": self.request_id,
            "method": self.method,
            "match": self.match,
            "caller": str(self.caller),
            "trace_id": self.trace_id,
        }
        return {name: value for name, value in known.items() if value}


current_call: ContextVar[CurrentCall | None] = ContextVar("current_call", default=None)


def begin_call(
    method: str, protocol: str, metadata: Iterable[tuple[str, str | bytes]]
) -> CurrentCall:
    """Makes a call the current one; its metadata may name its request id."""
    request_id = ""
    for key, value in metadata:
        if key == REQUEST_ID_HEADER and isinstance(value, str) and _REQUEST_ID.fullmatch(value):
            request_id = value
    call = CurrentCall(method, protocol, request_id or f"{_ids.getrandbits(64):016x}")
    current_call.set(call)
    return call


def note_match(match_id: str) -> None:
    """The current call is about a match."""
    call = current_call.get()
    if call is not None:
        call.match = match_id
