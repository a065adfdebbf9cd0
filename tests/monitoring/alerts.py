"""Prometheus scrapes real servers: every query returns data, and a receiver is told of outages.

Run it by `make alerts`. It starts PostgreSQL, two servers that share it (the second one with TLS),
two search servers, one server by itself with SQLite on a small disk, players, a Prometheus that
scrapes the servers, and an Alertmanager that tells a webhook of alerts.
Then it

1. checks the rules, their unit tests, and the names of the metrics with promtool;
2. evaluates every query of the dashboard and every series that an alert reads, until all have data;
3. checks that no alert fires;
4. at the server by itself fills the disk, takes most connections, lets a caller use up a budget,
   and kills its search process again and again: waits for the alerts, and for their end;
5. stops the database, and waits for the alerts that tell of it; starts it, and waits for their end;
6. kills a server, and waits for the alert that names it; kills the search servers; and takes all
   targets from Prometheus;
7. checks that the webhook was told of all these alerts; another one may explain some of them.

The rules are evaluated with all durations divided by SCALE, so that an hour of the rules is 144
seconds here; their thresholds and expressions are those of the file. SHORT=1 leaves out the end of
the alerts and step 6.
"""

import contextlib
import http.server
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import grpc

from croupier.client import OPEN, Client, bot
from croupier.errors import CroupierError
from croupier.v1 import catalog_pb2, catalog_pb2_grpc
from service.observability.metrics import hosted_ids
from tests.support.certificates import Authority
from tests.support.ports import free_port
from tests.support.postgresql import Postgres

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy/prometheus/croupier.rules.yml"
RULES_TEST = Path(__file__).with_name("rules.test.yml")
DASHBOARD = ROOT / "deploy/grafana/croupier.json"
SCALE = 25
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SCRAPE = "2s"
RANGE = "20s"  # In place of Grafana's $__rate_interval.
ACTIONS = 6  # Of a player in a match, before it resigns.
PATIENCE = 600.0  # Seconds: as generous as the limit of a test.
POLL = 0.25
STORE_ALERTS = {"CroupierStoreFailing", "CroupierActionErrorsFast", "CroupierSchedulerStands"}
STORE_ALERTS.add("CroupierWebFails")
OWN_ALERTS = {"CroupierConnectionsNearLimit", "CroupierCallersRefused"}
OWN_ALERTS |= {"CroupierSearchProcessDies", "CroupierTaskEndsAgain"}
EXPLAINED = {"CroupierSchedulerStands", "CroupierWebFails"}  # By CroupierStoreFailing.
CONNECTIONS = 20  # Of each port of the server by itself.
DISK_BYTES = 64 << 20
# Run a program that sees a small disk at a folder, or one folder in the place of another one.
IN_NAMESPACE = ("unshare", "--mount", "--map-root-user", "sh", "-c")
ON_SMALL_DISK = (
    *IN_NAMESPACE,
    'mount -t tmpfs -o size=$1 tmpfs "$2" && shift 2 && exec "$@"',
    "sh",
)
WITH_FOLDER = (*IN_NAMESPACE, 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh")
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
    example = RULES.with_name("alertmanager.yml")
    subprocess.run([promtool.with_name("amtool"), "check-config", example], check=True)
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
        alone = Alone(stack, home)
        receiver = Receiver(stack)
        alertmanager = start_alertmanager(stack, home, receiver)
        prometheus = Prometheus(stack, home, [*servers, alone], alertmanager)
        evaluate_all(prometheus)
        prometheus.wait_quiet()
        own = OWN_ALERTS | ({"CroupierDiskFills"} if alone.has_disk else set())
        with alone.in_trouble():
            prometheus.wait(own, "the troubles of the server by itself are told")
        if not short:
            prometheus.wait_gone(own, "it is well again")
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
        later = {"CroupierDown", "CroupierSearchesUnanswered", "CroupierAbsent"}
        receiver.wait((own | STORE_ALERTS | later) - EXPLAINED)
        say("all of it holds")


def programs():
    """The folder of Prometheus and promtool, which are fetched if they are missing."""
    found = subprocess.run(
        [ROOT / "scripts/install_prometheus.sh"], check=True, capture_output=True, text=True
    )
    return Path(found.stdout.strip())


class Running:
    """A server process, with where it serves and where it is monitored."""

    def __init__(self, stack, log, *options, before=()):
        self.monitored = f"127.0.0.1:{free_port()}"
        command = [*before, sys.executable, "-m", "cli", "serve", "--listen", "127.0.0.1:0"]
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


class Alone(Running):
    """A server with a small disk, few connections and small budgets, which can get into trouble."""

    def __init__(self, stack, home):
        self._disk = home / "disk"
        self._disk.mkdir()
        callers = home / "callers.toml"
        callers.write_text("[budgets.address]\ncalls_per_second = 30\n")
        small = (*ON_SMALL_DISK, str(DISK_BYTES), str(self._disk))
        self.has_disk = subprocess.run([*small, "true"], capture_output=True).returncode == 0
        if not self.has_disk:
            say("left out: a full disk, as this machine permits no file systems (unshare --mount)")
        options = ["--data", str(self._disk), "--callers-file", str(callers)]
        options += ["--max-connections", str(CONNECTIONS), "--web", "127.0.0.1:0"]
        before = small if self.has_disk else ()
        super().__init__(stack, home / "alone.log", *options, before=before)

    @contextlib.contextmanager
    def in_trouble(self):
        """While the block runs, much is wrong with it."""
        # Its disk is not that of this process.
        filler = Path(f"/proc/{self.process.pid}/root{self._disk}/filler")
        if self.has_disk:
            filler.write_bytes(bytes(DISK_BYTES - (4 << 20)))
        over = threading.Event()
        troubles = [
            threading.Thread(target=each, args=(over,)) for each in (self._call, self._kill)
        ]
        own = [("grpc.use_local_subchannel_pool", 1)]
        channels = [grpc.insecure_channel(self.address, own) for _ in range(CONNECTIONS - 2)]
        try:
            for each in channels:
                grpc.channel_ready_future(each).result(PATIENCE)
            for each in troubles:
                each.start()
            yield
        finally:
            over.set()
            for each in troubles:
                each.join()
            for each in channels:
                each.close()
            if self.has_disk:
                filler.unlink()

    def _call(self, over):
        with grpc.insecure_channel(self.address) as channel:
            stub = catalog_pb2_grpc.CatalogServiceStub(channel)
            while not over.is_set():
                with contextlib.suppress(grpc.RpcError):
                    stub.ListGames(catalog_pb2.ListGamesRequest())

    def _kill(self, over):
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        while not over.wait(POLL):
            for pid in children.read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)


def count_series(shown):
    """How many series a server shows."""
    return sum(not line.startswith("#") for line in shown.decode().splitlines())


class Players:
    """Players of all games against bots, with hints, until they are stopped."""

    def __init__(self, servers, ca):
        self._stopped = threading.Event()
        self._clear = clear = Client(servers[0].address)
        secure = Client(servers[1].address, tls=True, ca=ca)
        self._waiting = clear.create_match(hosted_ids()[0], seats=(OPEN, OPEN)).seats[0]
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
        seat = self._waiting
        headers = {"content-type": "application/json", "authorization": f"Bearer {seat.token}"}
        for call, name in (
            ("CatalogService/GetGame", "games/none"),
            ("MatchService/GetView", seat.match),
        ):
            self._stopped.wait(0.2)
            body = json.dumps({"name": name}).encode()
            request = urllib.request.Request(f"{url}croupier.v1.{call}", body, headers)
            with contextlib.suppress(urllib.error.HTTPError):
                urllib.request.urlopen(request, timeout=PATIENCE)


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
    except OSError:
        return False


if __name__ == "__main__":
    main()
