"""`croupier webhooks` posts what changes in matches, signed, at least once, whatever is killed."""

import base64
import contextlib
import hashlib
import http.server
import json
import queue
import subprocess
import sys
import threading
import time

import pytest
from standardwebhooks import Webhook

from croupier.client import OPEN, Client, bot
from tests.support.serving import TIMEOUT

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
                self.send_response(status)
                if status == 302:
                    self.send_header("location", f"{receiver.url}/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()
                receiver.asked.put((self.path, status))
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
            webhook_id, message = self.taken.get(timeout=TIMEOUT)
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
def hooks(served, receiver, tmp_path):
    """Starts the command; it ends with the test."""
    (tmp_path / "secret").write_text(SECRET)
    started = []

    def start(*options):
        command = [sys.executable, "-m", "cli", "webhooks", receiver.url, "--server"]
        command += [served.address, "--api-key", KEY, "--secret-file", str(tmp_path / "secret")]
        command += ["--state", str(tmp_path / "state"), *options]
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
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
    before, _ = receiver.taken.get(timeout=TIMEOUT)
    first.kill()
    first.wait()
    # As if it had been killed before it kept the cursor.
    (tmp_path / "state" / "cursor").unlink(missing_ok=True)
    hooks()
    again, message = receiver.taken.get(timeout=TIMEOUT)
    assert again == before
    assert message["data"]["updates"][0]["name"] == match.name


def test_an_attempt_that_fails_is_repeated_and_a_redirect_is_not_followed(served, receiver, hooks):
    receiver.answers += [500, 302]
    match = served.create_match("skystones", (OPEN, OPEN))
    hooks()
    receiver.updates_until(match.name, 0)
    assert [receiver.asked.get(timeout=TIMEOUT) for _ in range(3)] == [
        ("/", 500),
        ("/", 302),
        ("/", 204),
    ]


def test_what_is_not_taken_is_kept_and_the_next_updates_go_on(served, receiver, hooks, tmp_path):
    receiver.answers += [500]
    match = served.create_match("skystones", (OPEN, OPEN))
    hooks("--attempts", "1")
    assert receiver.asked.get(timeout=TIMEOUT) == ("/", 500)
    match.seats[0].resign()
    receiver.updates_until(match.name, 1)
    [dead] = map(json.loads, (tmp_path / "state" / "dead.jsonl").read_text().splitlines())
    assert dead["why"] == "status 500"
    assert dead["message"]["data"]["updates"][0]["name"] == match.name


def test_an_endpoint_that_is_gone_ends_it(served, receiver, hooks):
    receiver.answers += [410]
    served.create_match("skystones", (OPEN, OPEN))
    process = hooks()
    _, told = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 1
    assert "wants no more" in told


def test_only_those_that_are_over(served, receiver, hooks):
    running = served.create_match("skystones", (OPEN, OPEN))
    hooks("--only", "over")
    for _ in range(1000):
        served.create_match("skystones", (OPEN, OPEN)).seats[0].resign()
        # Those that end before it has begun to follow are told by nobody.
        with contextlib.suppress(queue.Empty):
            _, message = receiver.taken.get(timeout=0.1)
            break
    found = message["data"]["updates"]
    assert running.name not in {each["name"] for each in found}
    assert all("result" in each for each in found)


def test_it_keeps_where_it_is_though_nothing_is_to_be_posted(served, hooks, receiver, tmp_path):
    cursor = tmp_path / "state" / "cursor"
    match = served.create_match("skystones", (OPEN, OPEN))
    process = hooks("--only", "over")
    deadline = time.monotonic() + TIMEOUT
    while not cursor.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
    process.kill()
    match.seats[0].resign()
    hooks("--only", "over")
    receiver.updates_until(match.name, 1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["ftp://x", "--api-key", "k"], "https://"),
        (["https://x"], "give an API key"),
        (["https://x", "--api-key", "k", "--operator-token-file", "f"], "give an API key"),
    ],
)
def test_wrong_options_are_told(tmp_path, options, told):
    (tmp_path / "secret").write_text(SECRET)
    command = [sys.executable, "-m", "cli", "webhooks", *options, "--state", str(tmp_path / "s")]
    command += ["--secret-file", str(tmp_path / "secret")]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.parametrize("secret", ["whsec_", "whsec_c2hvcnQ=", "whsec_!!!", "é"])
def test_a_secret_that_is_none_is_told(tmp_path, secret):
    (tmp_path / "secret").write_text(secret)
    command = [sys.executable, "-m", "cli", "webhooks", "https://x", "--api-key", "k"]
    command += ["--state", str(tmp_path / "s"), "--secret-file", str(tmp_path / "secret")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert str(tmp_path / "secret") in done.stderr
    assert "Traceback" not in done.stderr
