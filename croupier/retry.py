"""Which failed calls are repeated, and when.

An error of Croupier names its reason. Any other error comes from gRPC, which lost a connection, or
from a proxy, which lost a server. A proxy reports a lost server as UNAVAILABLE, as INTERNAL or
CANCELLED (an HTTP/2 stream that was reset), as UNKNOWN (a response that was cut off), or as
DEADLINE_EXCEEDED (a time limit of the proxy's own).
"""

import random
import time
from collections import Counter
from threading import Lock

import grpc

from croupier.errors import CroupierError

LOST = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
    }
)
FIRST_PAUSE = 0.1  # Seconds; each further pause is twice as long, up to MAX_PAUSE.
MAX_PAUSE = 2.0
LASTING_PAUSE = 0.5
# Pauses vary by this share, so that all clients of a lost server do not return at the same moment.
JITTER = 0.2

# Texts of errors that another try does not mend: a certificate that is not trusted, or a message
# that this client cannot write or read.
_LASTING = (
    "CERTIFICATE_VERIFY_FAILED",
    "Hostname Verification Check failed",
    "WRONG_VERSION_NUMBER",
    "the server speaks ",
    "Exception serializing",
    "Exception deserializing",
)


def may_pass(error: CroupierError) -> bool:
    """Whether the same call may succeed later, or at another server."""
    if error.reason:
        refills = error.reason == "BUDGET_EXHAUSTED" and error.retry_after is not None
        return refills or error.code is grpc.StatusCode.UNAVAILABLE
    return error.code in LOST and not is_lasting(error)


def is_lasting(error: CroupierError) -> bool:
    """Whether an error will stay until the client or the server is configured differently."""
    return any(text in error.message for text in _LASTING)


class Tally:
    """How often calls were repeated and streams resumed, by the name of the error's status."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, error: CroupierError) -> None:
        """Counts another try after an error."""
        with self._lock:
            self._counts[error.code.name] += 1

    def read(self) -> dict[str, int]:
        """Returns the counts."""
        with self._lock:
            return dict(self._counts)


class Retry:
    """Decides whether a call that got no answer is tried again, and when."""

    def __init__(self, patience: float, tally: Tally) -> None:
        self._patience = patience if patience > 0 else 0.0  # Also for no number.
        self._tally = tally
        self.reset()

    def reset(self) -> None:
        """Starts the time over, because the server has answered."""
        self._pause = FIRST_PAUSE
        self._lost_at: float | None = None

    @property
    def lasts(self) -> bool:
        """Whether the server has been lost for several tries."""
        return self._pause > LASTING_PAUSE

    def wait(self, error: CroupierError) -> None:
        """Returns when it is time for the next try; raises `error` if there should be none."""
        time.sleep(self.pause(error))
        self._tally.add(error)

    def pause(self, error: CroupierError) -> float:
        """The seconds until the next try, for callers that wait by themselves; raises `error`."""
        now = time.monotonic()
        self._lost_at = now if self._lost_at is None else self._lost_at
        left = self._patience - (now - self._lost_at)
        if not may_pass(error) or left <= (error.retry_after or 0):
            raise error
        pause = error.retry_after or self._pause * random.uniform(1 - JITTER, 1 + JITTER)
        self._pause = min(2 * self._pause, MAX_PAUSE)
        return pause
