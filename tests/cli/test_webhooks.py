"""`croupier webhooks` posts what changes in matches, signed, at least once, whatever is killed."""

import base64
import hashlib
import http.server
import json
import os
import queue
import re
import resource
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from cli import arguments, webhooks
from cli.main import main
from croupier.client import OPEN, Client, bot
from tests.support.commands import croupier
from tests.support.long_form import LONG_FORM
from tests.support.play import seeded
from tests.support.waiting import wait_until

KEY = "key-of-the-front-end"
SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


class Receiver:
    """An endpoint of webhooks, which answers as it is told to and keeps what was taken."""

    def __init__(self):
        self.taken = queue.Queue()
        self.asked = queue.Queue()
        self.answers = []  # The statuses of the next answers; then 204.
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                status = receiver.answers.pop(0) if receiver.answers else 204
                message = Webhook(SECRET).verify(body, dict(self.headers))
                receiver.asked.put((self.path, status))
                self.send_response(status)
                if status == 302:
                    self.send_header("location", f"{receiver.url}/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()
                if status == 204:
                    receiver.taken.put((self.headers["webhook-id"], message))

            def log_message(self, *arguments):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def updates_until(self, name, version):
        """The updates of the messages taken until one of this version of a match came."""
        found = []
        while not any(u["name"] == name and int(u.get("version", 0)) >= version for u in found):
            webhook_id, message = self.taken.get()
            assert webhook_id.startswith("msg_")
            assert message["type"] == "matches.changed"
            found += message["data"]["updates"]
        return found


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def served(servers, tmp_path):
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    (tmp_path / "callers").write_text(f'[keys.studio]\nsha256 = "{digest}"\n')
    _, address = servers.start(callers_file=tmp_path / "callers")
    with Client(address, api_key=KEY) as client:
        yield client


@pytest.fixture
def command(served, receiver, tmp_path):
    """The arguments of the command."""
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    where = ("--server", served.address, "--api-key", KEY, "--state", str(tmp_path / "state"))
    return ["webhooks", receiver.url, "--secret-file", str(secret), *where]


@pytest.fixture
def hooks(command):
    """Starts the command in a process; it ends with the test."""
    started = []

    def start(*options):
        whole = [sys.executable, "-m", "cli", *command, *options]
        started.append(subprocess.Popen(whole, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_updates_are_posted_signed_and_go_on_after_a_kill(served, receiver, hooks):
    match = served.create_match("skystones", (OPEN, OPEN))
    process = hooks()
    [created] = receiver.updates_until(match.name, 0)
    assert created["change"] == "MATCH_CHANGE_CREATED"
    assert [each.get("seat", 0) for each in created["dueSeats"]] == [0, 1]
    # Once the next message has come, it has kept where it was after the first.
    receiver.updates_until(served.create_match("skystones", (OPEN, OPEN)).name, 0)
    process.kill()
    process.wait()
    match.seats[1].resign()
    other = served.create_match("skystones", (OPEN, bot("random")))
    hooks()
    found = receiver.updates_until(other.name, 0)
    [ended] = [each for each in found if each["name"] == match.name and "result" in each]
    assert ended["result"]["reason"] == "END_REASON_RESIGNATION"


def test_the_same_updates_have_the_same_id_when_they_are_posted_again(
    served, receiver, hooks, tmp_path
):
    match = served.create_match("skystones", (OPEN, OPEN))
    first = hooks()
    before, _ = receiver.taken.get()
    first.kill()
    first.wait()
    # As if it had been killed before it kept the cursor.
    (tmp_path / "state" / "cursor").unlink(missing_ok=True)
    hooks()
    again, message = receiver.taken.get()
    assert again == before
    assert message["data"]["updates"][0]["name"] == match.name


@pytest.fixture
def inside(command, monkeypatch):
    """Starts the command in a thread, without pauses; returns the future of its exit status."""
    monkeypatch.setattr(webhooks, "FIRST_PAUSE", 0.0)

    def status(options):
        with pytest.raises(SystemExit) as ended:
            main([*command, *options])
        return ended.value.code

    with ThreadPoolExecutor() as pool:
        yield lambda *options: pool.submit(status, options)


def test_an_attempt_that_fails_is_repeated_and_a_redirect_is_not_followed(
    served, receiver, inside, capsys
):
    receiver.answers += [500, 302, 204, 410]
    match = served.create_match("skystones", (OPEN, OPEN))
    status = inside()
    receiver.updates_until(match.name, 0)
    match.seats[0].resign()
    assert [receiver.asked.get() for _ in range(4)] == [
        ("/", 500),
        ("/", 302),
        ("/", 204),
        ("/", 410),
    ]
    # An endpoint that is gone ends it.
    assert status.result() == 1
    assert "wants no more" in capsys.readouterr().err


def test_what_is_not_taken_is_kept_and_the_next_updates_go_on(served, receiver, inside, tmp_path):
    receiver.answers += [500, 204, 410]
    match = served.create_match("skystones", (OPEN, OPEN))
    status = inside("--attempts", "1")
    assert receiver.asked.get() == ("/", 500)
    match.seats[0].resign()
    receiver.updates_until(match.name, 1)
    [dead] = dead_letters(tmp_path)
    assert dead["why"] == "status 500"
    assert dead["message"]["data"]["updates"][0]["name"] == match.name
    served.create_match("skystones", (OPEN, OPEN))
    assert status.result() == 1


def test_only_those_that_are_over_and_from_where_it_was(served, hooks, receiver, tmp_path):
    over, running = (served.create_match("skystones", (OPEN, OPEN)) for _ in range(2))
    process = hooks("--only", "over")
    # It keeps where it is though nothing is to be posted.
    wait_until(lambda: kept(tmp_path) or process.poll() is not None)
    process.kill()
    over.seats[0].resign()
    hooks("--only", "over")
    found = receiver.updates_until(over.name, 1)
    assert running.name not in {each["name"] for each in found}
    assert all("result" in each for each in found)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["ftp://x", "--api-key", "k"], "https://"),
        (["http://a..b/", "--api-key", "k"], "https://"),
        (["http://h:99999/", "--api-key", "k"], "up to 65535"),
        (["https://ada:secr#t@x", "--api-key", "k"], "as %XX"),
        (["https://x"], "give an API key"),
        (["https://x", "--api-key", "k", "--operator-token-file", "f"], "give an API key"),
    ],
)
def test_wrong_options_are_told(tmp_path, options, told, monkeypatch):
    monkeypatch.delenv(arguments.API_KEY, raising=False)
    ended = run(tmp_path, SECRET, *options)
    assert ended.status == 2
    assert told in ended.err and "secr" not in ended.err.replace("--secret", "")


@pytest.mark.parametrize("secret", ["whsec_", "whsec_c2hvcnQ=", "whsec_!!!", "é"])
def test_a_secret_that_is_none_is_told(tmp_path, secret):
    ended = run(tmp_path, secret, "https://x", "--api-key", "k")
    assert ended.status == 1
    assert str(tmp_path / "secret") in ended.err


def run(folder, secret, *options):
    """Runs the command with a secret and a state in a folder."""
    (folder / "secret").write_text(secret)
    kept = ("--state", str(folder / "state"), "--secret-file", str(folder / "secret"))
    return croupier("webhooks", *options, *kept)


@pytest.mark.parametrize("cursor", [b"abc.1", 200 * b"x", b"\xff\n"])
def test_it_begins_anew_where_its_cursor_means_nothing(
    served, receiver, inside, tmp_path, capsys, cursor
):
    match = served.create_match("skystones", (OPEN, OPEN))
    receiver.answers += [204, 410]
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "cursor").write_bytes(cursor)
    status = inside()
    receiver.updates_until(match.name, 0)
    match.seats[0].resign()
    assert status.result() == 1
    [missed] = dead_letters(tmp_path)
    assert "does not tell what has ended since 20" in missed["why"]
    assert missed["why"] in capsys.readouterr().err
    assert missed["message"] is None


def test_two_processes_do_not_share_a_folder(served, receiver, hooks):
    served.create_match("skystones", (OPEN, OPEN))
    hooks()
    receiver.taken.get()
    second = hooks()
    assert second.wait() == 1
    assert "in use by another process" in second.stderr.read()


def make_large(path):
    path.write_bytes(b"")
    os.truncate(path, 5 << 20)


@pytest.mark.parametrize("damage", [Path.mkdir, os.mkfifo, make_large])
def test_a_cursor_that_cannot_be_kept_is_told_before_anything_is_posted(
    served, receiver, command, tmp_path, damage
):
    cursor = tmp_path / "state" / "cursor"
    cursor.parent.mkdir()
    damage(cursor)
    served.create_match("skystones", (OPEN, OPEN))
    ended = croupier(*command)
    assert f"{cursor} " in ended.err
    assert ended.status == 1
    assert receiver.asked.empty()


def test_a_server_that_is_away_is_told_and_that_it_is_back(hooks, replicas, tmp_path):
    server = replicas("--store", "memory", "--callers-file", str(tmp_path / "callers"))
    server.kill()
    process = hooks("--server", server.address)
    assert re.match(
        f"{server.address}: UNAVAILABLE: .*; it is tried again$", process.stderr.readline()
    )
    server.start()
    assert process.stderr.readline() == f"{server.address} is well again\n"
    # It handles the signal, as it must as the first process of a container.
    process.terminate()
    assert process.wait() == 0


def test_a_full_disk_delays_and_loses_nothing(served, receiver, hooks, tmp_path):
    match = served.create_match("skystones", (OPEN, OPEN))
    process = hooks("--attempts", "1")
    receiver.updates_until(match.name, 0)
    wait_until(lambda: kept(tmp_path))
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
    receiver.answers += 3 * [500]
    match.seats[0].resign()
    assert any("dead.jsonl: [Errno" in line for line in process.stderr)
    assert dead_letters(tmp_path) == []
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, 2 * (resource.RLIM_INFINITY,))
    assert any("dead.jsonl is well again" in line for line in process.stderr)
    [dead] = dead_letters(tmp_path)
    assert told_of([dead["message"]]) == {(match.name, "1")}


def test_kills_and_full_disks_lose_nothing(served, receiver, hooks, tmp_path):
    first = served.create_match("skystones", (OPEN, OPEN))
    process = hooks("--attempts", "1")
    receiver.updates_until(first.name, 0)
    wait_until(lambda: kept(tmp_path))
    rng, ended = seeded("webhooks"), set()
    for _ in range(30 if LONG_FORM else 6):
        receiver.answers += [rng.choice([204, 302, 500])]
        if rng.random() < 0.5:
            size = rng.choice([0, 40, (tmp_path / "state" / "cursor").stat().st_size])
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, 2 * (size,))
        match = served.create_match("skystones", (OPEN, OPEN))
        match.seats[0].resign()
        ended.add((match.name, "1"))
        receiver.asked.get()
        process.kill()
        process.wait()
        with (tmp_path / "state" / "dead.jsonl").open("a") as dead:
            dead.write('{"id": ')  # As a kill amid a line leaves it.
        process = hooks("--attempts", "1")
    taken = []
    last = served.create_match("skystones", (OPEN, OPEN)).name
    while (last, "0") not in told_of(taken):
        taken.append(receiver.taken.get()[1])
    dead = dead_letters(tmp_path)
    assert all(re.fullmatch("status (302|500)", each["why"]) for each in dead)
    assert ended <= told_of([*taken, *(each["message"] for each in dead)])


def kept(folder):
    """The cursor that it has kept in the state of a folder, if any."""
    cursor = folder / "state" / "cursor"
    return cursor.exists() and cursor.read_text()


def dead_letters(folder):
    dead = folder / "state" / "dead.jsonl"
    return [json.loads(line) for line in dead.read_text().splitlines()] if dead.exists() else []


def told_of(messages):
    """The matches and versions that messages tell of."""
    updates = (update for message in messages for update in message["data"]["updates"])
    return {(update["name"], update.get("version", "0")) for update in updates}
