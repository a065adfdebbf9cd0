"""The servers that Prometheus scrapes, who plays there, and what can befall them."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import grpc

from croupier.client import OPEN, Client, bot, clock
from croupier.errors import CroupierError
from croupier.v1 import catalog_pb2, catalog_pb2_grpc, hint_pb2, hint_pb2_grpc
from service.admission.callers_file import DEFAULT_ADDRESS, DEFAULT_PERSON
from service.observability.metrics import hosted_ids
from tests.support.certificates import Authority
from tests.support.planted_games import environment_of, plant_new_game
from tests.support.ports import free_port

ROOT = Path(__file__).parents[2]
ACTIONS = 6  # Of a player in a match, before it resigns.
PATIENCE = 600.0  # Seconds: as generous as the limit of a test.
POLL = 0.25
CONNECTIONS = 20  # Of each port of the server by itself.
CROWD, SEAT_HINTS = 600, 60  # The hints wanted at once, and of one seat: more than may wait.
WRONG_SECONDS = 60  # Of a clock.
# A game, whose rules fail when anybody acts, and how many matches of it there are.
GAME, FAILING = "high_card", 5
BROKEN = """

def _fail(*_):
    raise ValueError("these rules are broken")

HighCard.apply = _fail
"""
LIBFAKETIME = "lib/*/faketime/libfaketime.so.1"
DISK_BYTES = 64 << 20
# Runs a program in a namespace of its own: here one that sees a small disk at a folder.
IN_NAMESPACE = ("unshare", "--mount", "--map-root-user", "sh", "-c")
ON_SMALL_DISK = (
    *IN_NAMESPACE,
    'mount -t tmpfs -o size=$1 tmpfs "$2" && shift 2 && exec "$@"',
    "sh",
)


def say(text):
    print(f"{time.monotonic() - BEGAN:5.1f} s  {text}", flush=True)


BEGAN = time.monotonic()


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


class Certificate:
    """The files of a certificate that a server reads again when they change."""

    def __init__(self, home):
        self._authority = Authority(home, "authority")
        self.ca = self._authority.cert
        self.cert, self.key = home / "server.crt", home / "server.key"
        self.renew()

    def renew(self, days=30):
        """Puts a new one in its place, which is valid for longer than the alert unless told."""
        for new, there in zip(self._authority.issue(days=days), (self.cert, self.key), strict=True):
            new.replace(there)


def start_servers(stack, home, store, certificate):
    """Two servers that share the database, then the search servers that they use."""
    searching = [
        Running(stack, home / f"search-{number}.log", "--role", "search", "--web", "off")
        for number in range(2)
    ]
    options = ["--store", store, "--search-threads", "1"]
    options += ["--search-at", "ipv4:" + ",".join(each.address for each in searching)]
    tls = ["--tls-cert", str(certificate.cert), "--tls-key", str(certificate.key), "--web", "off"]
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


class Crowded(Running):
    """A server with one search thread, no budgets and a game that is broken."""

    def __init__(self, stack, home):
        callers = home / "unlimited.toml"
        lines = []
        for who, budgets in (("address", DEFAULT_ADDRESS), ("person", DEFAULT_PERSON)):
            lines += [f"[budgets.{who}]", *(f'{budget} = "unlimited"' for budget in budgets)]
        callers.write_text("\n".join(lines) + "\n")
        options = ["--store", "memory", "--search-threads", "1", "--callers-file", str(callers)]
        games = home / "games"
        plant_new_game(games)
        with (games / GAME / "rules/rules.py").open("a") as file:
            file.write(BROKEN)
        before = ("env", f"PYTHONPATH={environment_of(games)['PYTHONPATH']}")
        log = home / "crowded.log"
        super().__init__(stack, log, *options, "--web", "off", before=before)

    @contextlib.contextmanager
    def in_trouble(self):
        """While the block runs, more hints are wanted than it can find in the time it has."""
        over = threading.Event()
        troubles = [
            threading.Thread(target=each, args=(over,))
            for each in (lambda over: asyncio.run(self._ask(over)), self._hold)
        ]
        for each in troubles:
            each.start()
        try:
            yield
        finally:
            over.set()
            for each in troubles:
                each.join()

    def fail_bots(self):
        """Lets bots play the game that is broken."""
        client = Client(self.address)
        for _ in range(FAILING):
            client.create_match(GAME, (bot("casual"), OPEN))

    async def _ask(self, over):
        client = Client(self.address)
        seats = [
            client.create_match(hosted_ids()[0], seats=(OPEN, bot("random"))).seats[0]
            for _ in range(CROWD // SEAT_HINTS)
        ]
        async with grpc.aio.insecure_channel(self.address) as channel:
            stub = hint_pb2_grpc.HintServiceStub(channel)

            async def ask(seat):
                search = hint_pb2.Search(match_name=seat.match, limits={"iterations": 50_000})
                request = hint_pb2.SuggestActionRequest(search=search)
                metadata = [("authorization", f"Bearer {seat.token}")]
                while not over.is_set():
                    with contextlib.suppress(grpc.RpcError):
                        await stub.SuggestAction(request, metadata=metadata, timeout=20)
                    await asyncio.sleep(POLL)

            asking = [asyncio.create_task(ask(each)) for each in SEAT_HINTS * seats]
            await asyncio.to_thread(over.wait)
            for each in asking:
                each.cancel()
            await asyncio.gather(*asking, return_exceptions=True)

    def _hold(self, over):
        # Another program takes the processor from it again and again.
        while not over.wait(POLL):
            self.process.send_signal(signal.SIGSTOP)
            time.sleep(2 * POLL)
            self.process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def wrong_clock(stack, home, store):
    """A server of a log whose clock is ahead of the database's; None if no clock can be set."""
    found = [*programs().parent.glob(LIBFAKETIME), *Path("/usr").glob(LIBFAKETIME)]
    if not found:
        say("left out: a wrong clock, as there is no libfaketime")
        yield None
        return
    ahead = f"FAKETIME=+{WRONG_SECONDS}s"
    before = ("env", f"LD_PRELOAD={found[0]}", ahead, "DONT_FAKE_MONOTONIC=1")
    server = Running(stack, home / "wrong.log", "--store", store, "--web", "off", before=before)
    try:
        yield server
    finally:
        server.process.kill()


@contextlib.contextmanager
def locked(database, table, seconds=PATIENCE):
    """While the block runs, others write to a table of the database, and lock it for so long."""
    lock = f"BEGIN; LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE; SELECT pg_sleep({seconds})"
    over = threading.Event()

    def hold():
        while not over.is_set():
            with contextlib.suppress(AssertionError):  # It is cancelled in the end.
                database.execute(lock)

    holding = threading.Thread(target=hold)
    holding.start()
    try:
        yield
    finally:
        over.set()
        database.execute(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        )
        holding.join()


class Players:
    """Players of all games against bots, with hints, until they are stopped."""

    def __init__(self, servers, ca):
        self._stopped = threading.Event()
        self._clear = clear = Client(servers[0].address)
        self._secure = secure = Client(servers[1].address, tls=True, ca=ca)
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

    def leave_a_clock(self):
        """Leaves a match to its clock, which is due each second."""
        control = clock(1, default_action=True)
        self._clear.create_match(hosted_ids()[0], (OPEN, OPEN), time_control=control)

    def see_damage(self, database, schema):
        """Looks at a match that was changed in the database, at a server that does not know it."""
        match = self._clear.create_match(hosted_ids()[0], seats=(OPEN, OPEN))
        match.seats[0].resign()
        match_id = match.name.removeprefix("matches/")
        database.execute(f"UPDATE {schema}.entries SET at = at + 1 WHERE match_id = '{match_id}'")
        [found] = self._secure.views([match.seats[0]])
        assert found.HasField("error"), found

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
            for _ in range(ACTIONS):
                while not self._stopped.wait(0.05):
                    # An action that fails is tried again, as a player would, if it was not taken.
                    with contextlib.suppress(CroupierError):
                        view = next(seat.turns())
                        seat.submit(view.legal_actions[0], patience=0)
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
