"""Prometheus scrapes real servers: every query returns data, and a receiver is told of outages.

Run it by `make alerts`. It starts PostgreSQL, two servers that share it (the second one with TLS),
two search servers, one server by itself with SQLite on a small disk, one with a single search
thread and no budgets, players, a Prometheus that scrapes the servers, and an Alertmanager that
tells a webhook of alerts. Then it

1. checks the rules, their unit tests, and the names of the metrics with promtool;
2. evaluates every query of the dashboard and every series that an alert reads, until all have data;
3. checks that no alert fires;
4. at the server by itself fills the disk, takes most connections, lets a caller use up a budget,
   and kills its search process again and again: waits for the alerts, and for their end;
5. asks the server without budgets for more hints than it can find, and takes the processor from it;
   lets a certificate come to its end, sets a clock wrong, and changes a match in the database;
6. lets nobody write to the database, and makes it slow;
7. stops the database, and waits for the alerts that tell of it; starts it, and waits for their end;
8. kills a server, and waits for the alert that names it; kills the search servers; and takes all
   targets from Prometheus;
9. checks that the webhook was told of all alerts that there are; another one may explain some.

The rules are evaluated with all durations divided by SCALE, so that an hour of the rules is 144
seconds here; their thresholds and expressions are those of the file. SHORT=1 leaves out the end of
the alerts and steps 5, 6 and 8.
"""

import contextlib
import http.server
import json
import math
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from tests.monitoring.outages import (
    IN_NAMESPACE,
    PATIENCE,
    POLL,
    ROOT,
    Alone,
    Certificate,
    Crowded,
    Players,
    locked,
    programs,
    say,
    start_servers,
    wrong_clock,
)
from tests.support.ports import free_port
from tests.support.postgresql import Postgres

RULES = ROOT / "deploy/prometheus/croupier.rules.yml"
RULES_TEST = Path(__file__).with_name("rules.test.yml")
DASHBOARD = ROOT / "deploy/grafana/croupier.json"
SCALE = 25
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SCRAPE = "2s"
RANGE = "20s"  # In place of Grafana's $__rate_interval.
STORE_ALERTS = {"CroupierStoreFailing", "CroupierActionErrorsFast", "CroupierSchedulerStands"}
STORE_ALERTS |= {"CroupierWebFails", "CroupierActionErrorsSlow"}
OWN_ALERTS = {"CroupierConnectionsNearLimit", "CroupierCallersRefused"}
OWN_ALERTS |= {"CroupierSearchProcessDies", "CroupierTaskEndsAgain", "CroupierDiskFills"}
SLOW_SECONDS = 4  # Of a lock, again and again.
CROWD_ALERTS = {"CroupierHintsLateFast", "CroupierHintsLateSlow", "CroupierEventLoopBlocked"}
CROWD_ALERTS |= {"CroupierSearchesSaturated", "CroupierSearchesRefused"}
EXPLAINED = {"CroupierSchedulerStands", "CroupierWebFails"}  # By CroupierStoreFailing.
EXPLAINED |= {"CroupierTaskDown", "CroupierTaskFails"}
# Runs a program that sees one folder in the place of another one.
WITH_FOLDER = (*IN_NAMESPACE, 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh")
SERIES = re.compile(r"\b((?:croupier_|up\b|process_|python_)\w*(?:\{[^}]*\})?|croupier:[\w:]+)")


def main():
    """Runs all steps; raises AssertionError where something does not hold."""
    short = bool(os.environ.get("SHORT"))
    promtool = programs() / "promtool"
    for command, file in (
        (["check", "config"], RULES.with_name("prometheus.yml")),
        (["test", "rules"], RULES_TEST),
    ):
        subprocess.run([promtool, *command, file], check=True, cwd=RULES.parent)
    example = RULES.with_name("alertmanager.yml")
    subprocess.run([promtool.with_name("amtool"), "check-config", example], check=True)
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="alerts-")))
        database = Postgres()
        stack.callback(database.close)
        schema = database.new_schema()
        certificate = Certificate(home)
        servers = start_servers(stack, home, database.url(schema), certificate)
        shown = urllib.request.urlopen(f"http://{servers[0].monitored}/metrics").read()
        subprocess.run([promtool, "check", "metrics"], input=shown, check=True)
        say(f"the metrics are well named; {count_series(shown)} series of a server")
        players = Players(servers, certificate.ca)
        stack.callback(players.stop)
        alone, crowded = Alone(stack, home), Crowded(stack, home)
        receiver = Receiver(stack)
        alertmanager = start_alertmanager(stack, home, receiver)
        prometheus = Prometheus(stack, home, [*servers, alone, crowded], alertmanager)
        evaluate_all(prometheus)
        prometheus.wait_quiet()
        left_out = set() if alone.has_disk else {"CroupierDiskFills"}
        own = OWN_ALERTS - left_out
        with alone.in_trouble():
            prometheus.wait(own, "the troubles of the server by itself are told")
        if not short:
            prometheus.wait_gone(own, "it is well again")
            with crowded.in_trouble():
                prometheus.wait(CROWD_ALERTS, "what a crowd at one server waits for is told")
            crowded.fail_bots()
            prometheus.wait({"CroupierBotsFail"}, "that the bots of a game fail is told")
            certificate.renew(days=3)
            prometheus.wait({"CroupierCertificateExpires"}, "the end of a certificate is told")
            certificate.renew()
            with wrong_clock(stack, home, database.url(schema)) as wrong:
                if wrong is None:
                    left_out.add("CroupierClockWrong")
                else:
                    prometheus.scrape([*servers, alone, wrong])
                    prometheus.wait({"CroupierClockWrong"}, "a wrong clock is told")
            prometheus.scrape([*servers, alone])
            of_clock = {"CroupierClockWrong", "CroupierOverdueWork"}  # It takes all for late.
            prometheus.wait_gone(of_clock, "all clocks are right")
            players.see_damage(database, schema)
            prometheus.wait({"CroupierMatchDamaged"}, "a damaged match is told")
            players.leave_a_clock()
            with locked(database, f"{schema}.heads"):
                prometheus.wait({"CroupierOverdueWork"}, "that nobody can write is told")
            prometheus.wait_gone({"CroupierStoreFailing"}, "the database can be written again")
            with locked(database, f"{schema}.heads", SLOW_SECONDS):
                prometheus.wait({"CroupierStoreSlow"}, "that the database is slow is told")
            prometheus.wait_gone({"CroupierStoreFailing"}, "the database answers well again")
        due = players.wait_until_due()
        say("the database stops")
        database.stop()
        players.insist(due)
        prometheus.wait(STORE_ALERTS, "the outage of the database is told")
        prometheus.wait_gone(
            {"CroupierDown", "CroupierEventLoopBlocked"}, "the servers themselves are well"
        )
        if short:
            receiver.wait((own | STORE_ALERTS) - EXPLAINED)
            say("left out with SHORT=1: the end of the alerts, and the death of servers")
            return
        database.start()
        say("the database is back")
        prometheus.wait_gone({"CroupierStoreFailing"}, "the log can be written again")
        servers[1].process.kill()
        prometheus.wait({"CroupierDown"}, "a dead server is told")
        down = [
            each for each in prometheus.firing() if each["labels"]["alertname"] == "CroupierDown"
        ]
        assert [each["labels"]["instance"] for each in down] == [servers[1].monitored]
        for each in servers[2:]:
            each.process.kill()
        prometheus.wait({"CroupierSearchesUnanswered"}, "that no search server answers is told")
        prometheus.scrape([])
        prometheus.wait({"CroupierAbsent"}, "that there is no server at all is told")
        every = set(re.findall(r"- alert: (\S+)", RULES.read_text())) - left_out
        assert every <= prometheus.fired, every - prometheus.fired
        receiver.wait(every - EXPLAINED)
        say(f"all {len(every)} alerts were seen")


def count_series(shown):
    """How many series a server shows."""
    return sum(not line.startswith("#") for line in shown.decode().splitlines())


class Receiver:
    """The webhook of an example: it remembers which alerts it was told of."""

    def __init__(self, stack):
        self._told = told = set()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                said = json.loads(self.rfile.read(int(self.headers["content-length"])))
                told.update(each["labels"]["alertname"] for each in said["alerts"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        stack.callback(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}"

    def wait(self, names):
        """Waits until it was told of these alerts."""
        until(lambda: names <= self._told, f"told of {sorted(names - self._told)}")
        say(f"the receiver was told of {sorted(self._told)}")


def start_alertmanager(stack, home, receiver):
    """Starts an Alertmanager with the example, all durations divided by SCALE; its address."""
    config = scaled(RULES.with_name("alertmanager.yml").read_text())
    assert config.count("https://alerts.example.org") == 2
    (home / "alertmanager.yml").write_text(
        config.replace("https://alerts.example.org", receiver.url)
    )
    address = f"127.0.0.1:{free_port()}"
    folder = programs()
    command = [folder / "prometheus-alertmanager", "--cluster.listen-address="]
    if folder != Path("/usr/bin"):  # Debian's wants a file at its place.
        command = [*WITH_FOLDER, str(folder.parent / "share"), "/usr/share", *command]
    command += [f"--config.file={home / 'alertmanager.yml'}", f"--storage.path={home / 'am'}"]
    command += [f"--web.listen-address={address}"]
    with (home / "alertmanager.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return address


class Prometheus:
    """A Prometheus that scrapes the servers, with the rules at their scale."""

    def __init__(self, stack, home, servers, alertmanager):
        port = free_port()
        self._url = f"http://127.0.0.1:{port}/api/v1/"
        (home / "rules.yml").write_text(scaled(RULES.read_text()))
        self._config, self._alertmanager = home / "prometheus.yml", alertmanager
        self.fired = set()  # The names of all alerts that were seen.
        self._write_config(servers)
        command = [programs() / "prometheus", f"--config.file={home / 'prometheus.yml'}"]
        command += [
            f"--storage.tsdb.path={home / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        with (home / "prometheus.log").open("w") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        stack.callback(self._process.wait)
        stack.callback(self._process.kill)

    def _write_config(self, servers):
        def targets(*addresses):
            return f"static_configs: [{{targets: {json.dumps(addresses)}}}]"

        scraped = targets(*(each.monitored for each in servers))
        self._config.write_text(
            f"global: {{scrape_interval: {SCRAPE}, evaluation_interval: {SCRAPE}}}\n"
            f"rule_files: [rules.yml]\n"
            f"alerting: {{alertmanagers: [{{{targets(self._alertmanager)}}}]}}\n"
            f"scrape_configs: [{{job_name: croupier, {scraped}}}]\n"
        )

    def scrape(self, servers):
        """Scrapes these servers from now on, and no others."""
        self._write_config(servers)
        self._process.send_signal(signal.SIGHUP)

    def query(self, expression):
        """The samples that a query returns now; those that are no number are left out."""
        asked = urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(f"{self._url}query?{asked}") as answer:
                found = json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{expression}: {error.read().decode()}") from None
        return [each for each in found if not math.isnan(float(each["value"][1]))]

    def firing(self):
        """The alerts that fire."""
        with urllib.request.urlopen(f"{self._url}alerts") as answer:
            alerts = json.load(answer)["data"]["alerts"]
        return [each for each in alerts if each["state"] == "firing"]

    def wait(self, names, what):
        """Waits until alerts of these names fire."""
        until(lambda: names <= self._names(), f"{what}: {sorted(names)}")
        say(f"{what}; firing: {sorted(self._names())}")

    def wait_quiet(self):
        """Waits until no alert fires.

        One may for a moment: a busy machine misses a scrape, and so a second counts for minutes.
        """
        until(lambda: not self._names(), f"no alert fires but {sorted(self._names())}")
        say("no alert fires")

    def wait_gone(self, names, what):
        """Waits until no alert of these names fires."""
        until(lambda: not names & self._names(), what)
        say(f"{what}; firing: {sorted(self._names())}")

    def _names(self):
        names = {each["labels"]["alertname"] for each in self.firing()}
        self.fired |= names
        return names


def until(holds, what):
    """Waits until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(POLL)


def scaled(rules):
    """The rules with all durations divided by SCALE; names of rules stay."""

    def shorter(found):
        milliseconds = int(found[2]) * UNITS[found[3]] * 1000 // SCALE
        return f"{found[1]}{milliseconds}ms"

    return re.sub(r"(\[|for: |_interval: |_wait: )(\d+)([smhd])\b", shorter, rules)


def queries():
    """The queries of the dashboard, by their panels, and the series that the rules read."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", ()):
            expression = target["expr"].replace("$__rate_interval", RANGE)
            for variable in ("$instance", "$game"):
                expression = expression.replace(variable, ".*")
            yield f"panel {panel['title']}", expression
    for alert, expression in re.findall(
        r"- (?:alert|record): (\S+)\n\s+expr:(.*?)\n      (?:  (?:for|labels):|- )",
        RULES.read_text() + "\n      - ",
        re.DOTALL,
    ):
        for series in SERIES.findall(expression):
            yield alert, series


def evaluate_all(prometheus):
    """Evaluates all queries until each has data."""
    until(lambda: ready(prometheus), "Prometheus answers")
    asked = list(queries())
    panels = sum(name.startswith("panel ") for name, _ in asked)
    missing = asked

    def all_have_data():
        nonlocal missing
        missing = [(name, each) for name, each in missing if not prometheus.query(each)]
        return not missing

    try:
        until(all_have_data, "data")
    except AssertionError:
        lines = "\n".join(f"{name}: {expression}" for name, expression in missing)
        raise AssertionError(f"no data:\n{lines}") from None
    say(
        f"{panels} queries of the dashboard and {len(asked) - panels} series of the rules have data"
    )


def ready(prometheus):
    """Whether Prometheus answers, and has scraped all servers."""
    try:
        return bool(prometheus.query("up")) and not prometheus.query("up == 0")
    except (OSError, AssertionError):  # It has not begun yet, or has not read its files.
        return False


if __name__ == "__main__":
    main()
