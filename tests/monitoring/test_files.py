"""The dashboard, the rules and the page about them fit together and the metrics."""

import json
import re
from itertools import combinations
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from ai.memory import account
from service.observability.metrics import Metrics

ROOT = Path(__file__).parents[2]
DASHBOARD = json.loads((ROOT / "deploy/grafana/croupier.json").read_text())
RULES = (ROOT / "deploy/prometheus/croupier.rules.yml").read_text()
PAGE = (ROOT / "docs/monitoring.md").read_text()
WIDTH = 24
NAME = re.compile(r"\b(?:croupier|process|python)_[a-z_]+")
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


@pytest.fixture(scope="module")
def metrics():
    """All metrics that any server has: their names in queries, by the names of their families."""
    metrics = Metrics()
    metrics.add_process()
    metrics.add_memory("match", int, account)
    metrics.add_web(1, int)
    metrics.add_grpc(1, int)
    metrics.add_scheduler(int)
    metrics.add_disk(ROOT)
    metrics.add_match_cache(int)
    metrics.add_database(1, int, int, int)
    metrics.add_budgets(["calls"], ["address"])
    metrics.add_certificate(lambda: 0)
    names = {}
    for line in generate_latest(metrics.registry).decode().splitlines():
        if line.startswith("# TYPE"):
            _, _, family, kind = line.split()
            names[family] = {family}
            if kind == "histogram":
                names[family] = {f"{family}_{part}" for part in ("bucket", "sum", "count")}
    return names


def test_every_query_names_metrics_that_exist(metrics):
    known = set().union(*metrics.values())
    queries = [target["expr"] for panel in PANELS for target in panel["targets"]]
    variables = [json.dumps(each) for each in DASHBOARD["templating"]["list"]]
    for text in (
        *queries,
        *variables,
        *re.findall(r"expr:(.*?)(?=- record|- alert|labels:|\Z)", RULES, re.S),
    ):
        assert set(NAME.findall(text)) <= known, text


def test_the_dashboard_uses_what_the_rules_record():
    recorded = set(re.findall(r"- record: (\S+)", RULES))
    used = {
        name
        for panel in PANELS
        for target in panel["targets"]
        for name in re.findall(r"croupier:[\w:]+", target["expr"])
    }
    assert used <= recorded


def test_no_panel_overlaps_another():
    def overlap(one, other):
        return all(
            one[start] < other[start] + other[size] and other[start] < one[start] + one[size]
            for start, size in (("x", "w"), ("y", "h"))
        )

    places = [(panel["title"], panel["gridPos"]) for panel in DASHBOARD["panels"]]
    for title, place in places:
        assert place["x"] + place["w"] <= WIDTH, title
    for (title, one), (other_title, other) in combinations(places, 2):
        assert not overlap(one, other), (title, other_title)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_every_panel_is_complete(panel):
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["description"].endswith(".")
    # Its queries use the data source of their panel.
    assert panel["datasource"]["uid"] == "${datasource}"
    for target in panel["targets"]:
        assert target["expr"].count("(") == target["expr"].count(")")
        assert target["legendFormat"]


# docs/monitoring.md


def test_the_page_has_every_metric(metrics):
    ours = {name for name in metrics if name.startswith("croupier_")}
    assert set(re.findall(r"^\| `(croupier_\w+)", PAGE, re.M)) == ours


def test_the_page_has_every_alert():
    alerts = re.findall(r"- alert: (\S+)", RULES)
    assert sorted(alerts) == sorted(re.findall(r"^\| `(Croupier\w+)` \|", PAGE, re.M))


def test_every_alert_was_tried():
    tests = (ROOT / "tests/monitoring/rules.test.yml").read_text()
    for alert in re.findall(r"- alert: (\S+)", RULES):
        expected = re.findall(rf"alertname: {alert}(\n +exp_alerts)?\W", tests)
        assert any(expected), f"{alert} never fires in the tests"
        assert not all(expected), f"{alert} always fires in the tests"
