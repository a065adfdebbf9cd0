"""What the operator is told of a log that fails: when it begins, how often, and when it is over."""

import logging

from service.metrics import Metrics

_DONE = {"read": "read", "write": "written"}

_log = logging.getLogger(__name__)


class Faults:
    """The faults of one log, of reading and of writing. Several threads may tell of them."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._failing: set[str] = set()

    def failed(self, kind: str, why: str) -> None:
        """The log could not be read or written."""
        self._metrics.store_failed(kind)
        # Once, or a disk that fails would be filled with this.
        if kind not in self._failing:
            self._failing.add(kind)
            self._metrics.store_failing(kind, True)
            _log.error("the log cannot be %s: %s", _DONE[kind], why)

    def worked(self, kind: str) -> None:
        """It could."""
        if kind in self._failing:
            self._failing.discard(kind)
            self._metrics.store_failing(kind, False)
            _log.warning("the log is %s again", _DONE[kind])

    def failing(self, kind: str) -> bool:
        """Whether it could not when it was last tried."""
        return kind in self._failing
