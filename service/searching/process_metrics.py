"""The metrics of search processes, added to those of the server to which they belong."""

import http.client
import socket
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector, CollectorRegistry

PREFIXES = ("croupier_search_", "croupier_searches_")  # Of the metrics that are added up.
TIMEOUT_SECONDS = 1.0


class SummedRegistry:
    """A registry of metrics as `prometheus_client` reads it, with those of other processes added.

    The other processes have the same series.
    """

    def __init__(self, own: Collector, others: Callable[[], Iterable[str]]) -> None:
        """`others` returns the metrics of each other process, in Prometheus's text format."""
        self._own = own
        self._others = others

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        return self._sum(self._own.collect())

    def restricted_registry(self, names: Iterable[str]) -> "SummedRegistry":
        """The registry with only the metrics of these names."""
        assert isinstance(self._own, CollectorRegistry)
        restricted: Collector = self._own.restricted_registry(names)
        return SummedRegistry(restricted, self._others)

    def _sum(self, metrics: Iterable[Metric]) -> Iterator[Metric]:
        added: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        for text in self._others():
            for family in text_string_to_metric_families(text):
                for sample in family.samples:
                    if sample.name.startswith(PREFIXES):
                        series = sample.name, frozenset(sample.labels.items())
                        added[series] = added.get(series, 0.0) + sample.value
        for metric in metrics:
            if metric.name.startswith(PREFIXES):
                summed = Metric(metric.name, metric.documentation, metric.type)
                summed.samples = [
                    sample._replace(
                        value=sample.value
                        + added.get((sample.name, frozenset(sample.labels.items())), 0.0)
                    )
                    for sample in metric.samples
                ]
                metric = summed
            yield metric


class _SocketConnection(http.client.HTTPConnection):
    """A connection over a socket in the file system."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=TIMEOUT_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(TIMEOUT_SECONDS)
        self.sock.connect(str(self._path))


def read_metrics(path: Path) -> str:
    """The metrics of the process that serves them at a socket; empty if it does not answer."""
    connection = _SocketConnection(path)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()
    except (OSError, http.client.HTTPException):
        return ""
    finally:
        connection.close()
