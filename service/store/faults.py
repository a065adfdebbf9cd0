"""Faults of the log, of which the operator is told: when they begin, how often, when they end."""

import logging

from service.metrics import Metrics

_DONE = {"read": "read", "write": "written"}

_log = logging.getLogger(__name__)


class Faults:
    """The faults of one log, of kind "read" and "write". Several threads may report them."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._failing: set[str] = set()

    def failed(self, kind: str, why: str) -> None:
        """The log could not be read or written."""
        self._metrics.store_failed(kind)
        # Logged once, or a failing disk would be filled with it.
        if kind not in self._failing:
            self._failing.add(kind)
            self._metrics.store_failing(kind, True)
            _log.error("the log cannot be %s: %s", _DONE[kind], why)

    def worked(self, kind: str) -> None:
        """The log could be read or written."""
        if kind in self._failing:
            self._failing.discard(kind)
            self._metrics.store_failing(kind, False)
            _log.warning("the log is %s again", _DONE[kind])

    def failing(self, kind: str) -> bool:
        """Whether the last try has failed."""
        return kind in self._failing
