"""The metrics of several processes, added up."""

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from service.metrics import Metrics
from service.summed_metrics import SummedMetrics, with_prefixes


class Process:
    """A process with some metrics."""

    def __init__(self):
        self.registry = CollectorRegistry()
        self.calls = Counter("calls", "Calls.", ["code"], registry=self.registry)
        self.seconds = Histogram("seconds", "Seconds.", buckets=(1, 5), registry=self.registry)
        self.running = Gauge("running", "Running.", registry=self.registry)
        self.overdue = Gauge("croupier_overdue_seconds", "Overdue.", registry=self.registry)

    @property
    def text(self):
        return generate_latest(self.registry).decode()


@pytest.fixture
def processes():
    """Two processes by id, and this one."""
    return {1: Process(), 2: Process()}


@pytest.fixture
def summed(processes):
    silent = set()
    metrics = SummedMetrics(
        Process().registry,
        lambda: [
            (pid, "" if pid in silent else process.text) for pid, process in processes.items()
        ],
    )
    metrics.silent = silent
    return metrics


def series(summed):
    """The value of each series, as Prometheus reads them."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(summed.text())
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def count(processes):
    for number, process in enumerate(processes.values(), 1):
        process.calls.labels("OK").inc(number)
        process.calls.labels(f"only {number}").inc()
        process.seconds.observe(number)
        process.running.set(number)
        process.overdue.set(10 * number)


def test_counts_are_added_and_the_longest_delay_is_told(processes, summed):
    count(processes)
    told = series(summed)
    assert told["calls_total", "OK"] == 3
    assert told["calls_total", "only 1"] == told["calls_total", "only 2"] == 1
    assert told["seconds_bucket", "1.0"] == 1
    assert told["seconds_bucket", "+Inf"] == told["seconds_count",] == 2
    assert told["running",] == 3
    assert told["croupier_overdue_seconds",] == 20


def test_counts_never_go_back(processes, summed):
    count(processes)
    before = series(summed)
    # The successor of a process that ended begins at zero.
    del processes[2]
    processes[3] = Process()
    for _ in range(2):
        told = series(summed)
        for name in (("calls_total", "OK"), ("calls_total", "only 2"), ("seconds_count",)):
            assert told[name] == before[name]
        assert told["running",] == 1
        assert told["croupier_overdue_seconds",] == 10
    processes[3].calls.labels("OK").inc()
    assert series(summed)["calls_total", "OK"] == before["calls_total", "OK"] + 1


def test_a_process_that_does_not_answer_counts_with_what_it_said_last(processes, summed):
    count(processes)
    before = series(summed)
    summed.silent.add(1)
    processes[2].calls.labels("OK").inc()
    assert series(summed)["calls_total", "OK"] == before["calls_total", "OK"] + 1
    summed.silent.clear()
    assert series(summed)["running",] == before["running",]


def test_the_metrics_of_one_server_stay_what_they_are():
    metrics = Metrics()
    metrics.rpc_began("MatchService/GetView")
    metrics.rpc_ended("MatchService/GetView", "OK", "grpc", 0.25)
    alone = generate_latest(metrics.registry).decode()
    summed = SummedMetrics(metrics.registry, lambda: [])
    assert summed.text() == alone
    kept = with_prefixes(alone, ("croupier_searches_",))
    assert kept.count("# TYPE ") == kept.count("# HELP ") == 4
    assert all("croupier_searches_" in line for line in kept.splitlines())
