"""A call: what came with it, who makes it, and what is known of it so far.

The call that the current task answers is what log lines and traces speak of. What a call sets off,
such as the decision of a bot, belongs to the call too.
"""

import random
import re
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, NamedTuple

REQUEST_ID_HEADER = "x-request-id"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,64}")

# Seeded by the system. An id only tells calls apart, and need not be hard to guess.
_ids = random.Random()


class Kind(StrEnum):
    """How a principal is known."""

    KEY = "key"  # By the API key of a front end.
    PLAYER = "player"  # By the name that a front end with a key gives its player.
    SUBJECT = "subject"  # By the subject of a signed token (JWT).
    SEAT = "seat"  # By the token of a seat that came with the call.
    ADDRESS = "address"  # By the address from which the call came.


class Principal(NamedTuple):
    """The identity of a caller, as limits count it. Equal principals share their budgets."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


NOBODY = Principal(Kind.ADDRESS, "")


def _no_deadline() -> float | None:
    return None


class Call:
    """One call, through whichever protocol it came."""

    __slots__ = (
        "admitted_by",
        "ended_by",
        "match",
        "metadata",
        "method",
        "payers",
        "peer",
        "principal",
        "protocol",
        "request_id",
        "size",
        "span",
        "time_remaining",
        "trace_id",
    )

    def __init__(
        self,
        method: str,
        protocol: str,
        metadata: Iterable[tuple[str, str | bytes]] = (),
        peer: str = "",
        time_remaining: Callable[[], float | None] = _no_deadline,
    ) -> None:
        """`method` is as "/croupier.v1.MatchService/GetView"; `peer` as gRPC writes it.

        `metadata` has its keys in lower case; of several values of one key, the last counts.
        `time_remaining` returns the seconds until the deadline, or None without one.
        """
        self.method = method
        self.protocol = protocol
        self.metadata = {key: value for key, value in metadata if isinstance(value, str)}
        self.peer = peer
        self.time_remaining = time_remaining
        sent = self.metadata.get(REQUEST_ID_HEADER)
        if sent is None or not _REQUEST_ID.fullmatch(sent):
            sent = f"{_ids.getrandbits(64):016x}"
        self.request_id = sent
        # Admission sets both: who calls, and whose budgets the call uses.
        self.principal = NOBODY
        self.payers: tuple[Principal, ...] = ()
        self.admitted_by: Any = None  # The callers that were known then.
        self.ended_by: Exception | None = None  # What the server tells its caller in the middle.
        self.size = 0  # Bytes of its request that are in memory.
        self.match = ""  # The id of the match that it is about.
        self.span: Any = None  # Of OpenTelemetry, if there are traces; and the id of its trace.
        self.trace_id = ""

    def fields(self) -> dict[str, str]:
        """The fields that log lines have of it."""
        known = {
            "request_id": self.request_id,
            "method": self.method,
            "match": self.match,
            "caller": "" if self.principal is NOBODY else str(self.principal),
            "trace_id": self.trace_id,
        }
        return {name: value for name, value in known.items() if value}


current_call: ContextVar[Call | None] = ContextVar("current_call", default=None)
