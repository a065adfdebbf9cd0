"""Prometheus scrapes real servers: every query returns data, and an outage fires the right alerts.

Run it by `make alerts`. It starts PostgreSQL, two servers that share it (the second one with TLS),
two search servers, players, and a Prometheus that scrapes the servers.
Then it

1. checks the rules, their unit tests, and the names of the metrics with promtool;
2. evaluates every query of the dashboard and every series that an alert reads, until all have data;
3. checks that no alert fires;
4. stops the database, and waits for the alerts that tell of it; starts it, and waits for their end;
5. kills a server, and waits for the alert that names it.

The rules are evaluated with all durations divided by SCALE, so that an hour of the rules is 36
seconds here; their thresholds and expressions are those of the file. SHORT=1 leaves out the end of
the alerts and step 5.
"""

import contextlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from croupier.client import OPEN, Client, bot
from croupier.errors import CroupierError
from service.observability.metrics import hosted_ids
from tests.support.certificates import Authority
from tests.support.ports import free_port
from tests.support.postgresql import Postgres

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy/prometheus/croupier.rules.yml"
RULES_TEST = Path(__file__).with_name("rules.test.yml")
DASHBOARD = ROOT / "deploy/grafana/croupier.json"
SCALE = 100
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SCRAPE = "500ms"
RANGE = "5s"  # In place of Grafana's $__rate_interval.
ACTIONS = 6  # Of a player in a match, before it resigns.
PATIENCE = 600.0  # Seconds: as generous as the limit of a test.
POLL = 0.25
STORE_ALERTS = {"CroupierStoreFailing", "CroupierActionErrorsFast"}
SERIES = re.compile(r"\b((?:croupier_|up\b|process_|python_)\w*(?:\{[^}]*\})?|croupier:[\w:]+)")


def say(text):
    print(f"{time.monotonic() - BEGAN:5.1f} s  {text}", flush=True)


BEGAN = time.monotonic()


def main():
    """Runs all steps; raises AssertionError where something does not hold."""
    short = bool(os.environ.get("SHORT"))
    promtool = programs() / "promtool"
    for command, file in (
        (["check", "config"], RULES.with_name("prometheus.yml")),
        (["test", "rules"], RULES_TEST),
    ):
        subprocess.run([promtool, *command, file], check=True, cwd=RULES.parent)
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="alerts-")))
        database = Postgres()
        stack.callback(database.close)
        authority = Authority(home, "authority")
        servers = start_servers(stack, home, database, authority)
        shown = urllib.request.urlopen(f"http://{servers[0].monitored}/metrics").read()
        subprocess.run([promtool, "check", "metrics"], input=shown, check=True)
        say(f"the metrics are well named; {count_series(shown)} series of a server")
        players = Players(servers, authority.cert)
        stack.callback(players.stop)
        prometheus = Prometheus(stack, home, servers)
        evaluate_all(prometheus)
        prometheus.wait_quiet()
        due = players.wait_until_due()
        say("the database stops")
        database.stop()
        players.insist(due)
        prometheus.wait(STORE_ALERTS, "the outage of the database is told")
        prometheus.wait_gone(
            {"CroupierDown", "CroupierEventLoopBlocked"}, "the servers themselves are well"
        )
        if short:
            say("left out with SHORT=1: the end of the alerts, and the death of a server")
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
        say("all of it holds")


def programs():
    """The folder of Prometheus and promtool, which are fetched if they are missing."""
    found = subprocess.run(
        [ROOT / "scripts/install_prometheus.sh"], check=True, capture_output=True, text=True
    )
    return Path(found.stdout.strip())


class Running:
    """A server process, with where it serves and where it is monitored."""

    def __init__(self, stack, log, *options):
        self.monitored = f"127.0.0.1:{free_port()}"
        command = [sys.executable, "-m", "cli", "serve", "--listen", "127.0.0.1:0"]
        command += ["--metrics-port", self.monitored.rpartition(":")[2], *options]
        with log.open("w") as file:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=file, text=True, cwd=ROOT
            )
        stack.callback(self._end)
        self.address = self.process.stdout.readline().split()[-1]
        self.web = ""
        if "--web" in options and options[options.index("--web") + 1] != "off":
            self.web = self.process.stdout.readline().split()[-1]

    def _end(self):
        self.process.kill()
        self.process.communicate()


def start_servers(stack, home, database, authority):
    """Two servers that share the database, then the search servers that they use."""
    searching = [
        Running(stack, home / f"search-{number}.log", "--role", "search", "--web", "off")
        for number in range(2)
    ]
    options = ["--store", database.url(database.new_schema()), "--search-threads", "1"]
    options += ["--search-at", "ipv4:" + ",".join(each.address for each in searching)]
    # Longer than the alert on a certificate that expires soon.
    cert, key = authority.issue(days=30)
    tls = ["--tls-cert", str(cert), "--tls-key", str(key), "--web", "off"]
    serving = [
        Running(stack, home / "a.log", *options, "--web", "127.0.0.1:0"),
        Running(stack, home / "b.log", *options, *tls),
    ]
    say(f"{len(serving)} servers and {len(searching)} search servers run")
    return serving + searching


def count_series(shown):
    """How many series a server shows."""
    return sum(not line.startswith("#") for line in shown.decode().splitlines())


class Players:
    """Players of all games against bots, with hints, until they are stopped."""

    def __init__(self, servers, ca):
        self._stopped = threading.Event()
        self._clear = clear = Client(servers[0].address)
        secure = Client(servers[1].address, tls=True, ca=ca)
        for work in (
            lambda: self._play(clear),
            lambda: self._play(secure),
            lambda: self._browse(servers[0].web),
        ):
            threading.Thread(target=self._repeat, args=(work,), daemon=True).start()

    def stop(self):
        """Ends the playing."""
        self._stopped.set()

    def wait_until_due(self):
        """A seat that nobody else plays, and the view in which it may act."""
        match = self._clear.create_match(hosted_ids()[0], seats=(OPEN, bot("casual")))
        return match.seats[0], next(match.seats[0].turns())

    def insist(self, due):
        """Submits an action until it is taken.

        The other players may all wait for a bot or for a new match when an outage begins, and
        submit nothing that could fail.
        """
        seat, view = due

        def submit():
            while not self._stopped.wait(0.05):
                with contextlib.suppress(CroupierError):
                    seat.submit(view.legal_actions[0], patience=0)
                    return

        threading.Thread(target=submit, daemon=True).start()

    def _repeat(self, work):
        while not self._stopped.is_set():
            # Whatever fails during an outage is tried again.
            with contextlib.suppress(CroupierError, StopIteration, OSError):
                work()

    def _play(self, client):
        for game in hosted_ids():
            match = client.create_match(game, seats=(OPEN, bot("casual")))
            seat = match.seats[0]
            seat.suggest(iterations=200)
            view = next(seat.turns())
            for _ in range(ACTIONS):
                while not self._stopped.wait(0.05):
                    # An action that fails is tried again, as a player would.
                    with contextlib.suppress(CroupierError):
                        seat.submit(view.legal_actions[0], patience=0)
                        view = next(seat.turns())
                        break
            seat.resign()

    def _browse(self, url):
        self._stopped.wait(0.5)
        request = urllib.request.Request(
            f"{url}croupier.v1.CatalogService/GetGame",
            b'{"name": "games/none"}',
            {"content-type": "application/json"},
        )
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.urlopen(request, timeout=PATIENCE)


class Prometheus:
    """A Prometheus that scrapes the servers, with the rules at their scale."""

    def __init__(self, stack, home, servers):
        port = free_port()
        self._url = f"http://127.0.0.1:{port}/api/v1/"
        (home / "rules.yml").write_text(scaled(RULES.read_text()))
        targets = json.dumps([each.monitored for each in servers])
        (home / "prometheus.yml").write_text(
            f"global: {{scrape_interval: {SCRAPE}, evaluation_interval: {SCRAPE}}}\n"
            f"rule_files: [rules.yml]\n"
            f"scrape_configs: [{{job_name: croupier, static_configs: [{{targets: {targets}}}]}}]\n"
        )
        command = [programs() / "prometheus", f"--config.file={home / 'prometheus.yml'}"]
        command += [
            f"--storage.tsdb.path={home / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        with (home / "prometheus.log").open("w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        stack.callback(process.wait)
        stack.callback(process.kill)

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
        return {each["labels"]["alertname"] for each in self.firing()}


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

    return re.sub(r"(\[|for: )(\d+)([smhd])\b", shorter, rules)


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
    except OSError:
        return False


if __name__ == "__main__":
    main()
