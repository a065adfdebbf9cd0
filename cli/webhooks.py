"""`croupier webhooks`: tells a URL of what changes in many matches, from the feed.

It is a client of the server: the server itself calls nobody, whatever URL somebody thinks up. What
it sends follows Standard Webhooks (https://www.standardwebhooks.com), so that their libraries
verify it.
"""

import argparse
import base64
import errno
import fcntl
import hashlib
import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf import json_format

from cli import arguments
from cli.arguments import CommandError, Commands, UsageError
from croupier.client import UPDATE_FILTERS, Client
from croupier.errors import CroupierError
from croupier.files import read_again, read_once, write_whole
from croupier.retry import Retry
from croupier.v1 import feed_pb2

if TYPE_CHECKING:
    from cli.posting import Endpoint

TYPE = "matches.changed"
SECRET_PREFIX = "whsec_"
MIN_SECRET_BYTES = 24  # As Standard Webhooks asks for.
FIRST_PAUSE, MAX_PAUSE = 1.0, 300.0  # Seconds between attempts; each is about twice the one before.
GONE = 410  # The answer of an endpoint that wants no more.
# With these a server refuses a cursor that means nothing to it.
NO_CURSOR = ("CURSOR_EXPIRED", "INVALID_FIELD")
FOR_EVER = 10 * 365 * 86400.0

OPTIONS = f"""
--state DIR
    the folder with its cursor and dead.jsonl, which no other process may use meanwhile
--secret-file FILE
    a file with the secret that signs: {SECRET_PREFIX} and at least {MIN_SECRET_BYTES} bytes in
    base64; with several, one a line, all sign, until receivers know the new one
--operator-token-file FILE
    a file with the operator's token, to follow all matches, in place of those of the API key
--only {"|".join(UPDATE_FILTERS)}
    post only updates of matches that are due, or over
--attempts N [12]
    attempts to post a message, which take about a quarter of an hour
"""


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "webhooks",
        help="tell a URL of what changes in many matches",
        description="Follows the feed of a server and posts its updates, as JSON and without "
        "cards, to a URL, signed as Standard Webhooks asks for. An update is posted at least once: "
        "the same message again has the same webhook-id. What is not taken in all attempts is "
        "written to dead.jsonl. It remembers in its folder how far it is, and goes on there when "
        "it is started again. No redirect is followed. It needs the extra webhooks: pip install "
        "'croupier-server[webhooks]'",
    )
    where = "where to post; http:// for this machine or a private network; with USER:PASSWORD@ "
    where += "before the host, they are sent as Basic authentication"
    parser.add_argument("url", metavar="URL", help=where)
    arguments.add_server(parser, help="the server whose feed to follow")
    more: dict[str, Any] = {name: {"required": True} for name in ("--state", "--secret-file")}
    arguments.declare(parser, OPTIONS, {"N": arguments.whole(1, 100)}, more)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Posts until it is ended, or until the endpoint wants no more."""
    try:
        from cli.posting import Endpoint
    except ModuleNotFoundError as missing:
        needs = f"webhooks needs {missing.name}: pip install 'croupier-server[webhooks]'"
        raise CommandError(needs) from None
    if bool(chosen.api_key) == (chosen.operator_token_file is not None):
        raise UsageError("give an API key, or --operator-token-file")
    try:
        endpoint = Endpoint(chosen.url, read_secrets(chosen.secret_file))
    except ValueError as error:
        raise UsageError(str(error)) from None
    token = chosen.operator_token_file and arguments.operator_token(chosen.operator_token_file)
    wanted = UPDATE_FILTERS[chosen.only] if chosen.only else feed_pb2.UPDATE_FILTER_UNSPECIFIED
    folder = Folder(chosen.state)
    with _Follower(chosen.server, **arguments.connection(chosen)) as client:
        while True:
            try:
                for response in client.watch_matches(
                    folder.cursor, update_filter=wanted, patience=FOR_EVER, operator_token=token
                ):
                    note(client.address)
                    if response.updates and not deliver(
                        response, endpoint, folder, chosen.attempts
                    ):
                        say(f"{endpoint.shown} wants no more (status {GONE})")
                        return 1
                    if response.cursor:
                        folder.keep(response.cursor)
            except CroupierError as error:
                if not folder.cursor or error.reason not in NO_CURSOR:
                    raise
                # At another log nobody knows what came after the cursor.
                why = (
                    f"{client.address}: {error}; it begins anew, with the matches that run, and "
                    f"does not tell what has ended since {folder.since}"
                )
                say(why)
                folder.bury({"id": "", "why": why, "message": None})
                folder.cursor = ""


class _Follower(Client):
    def wait(self, retry: Retry, error: CroupierError) -> None:
        super().wait(retry, error)
        note(self.address, str(error))


def say(text: str) -> None:
    """Says something on standard error."""
    print(text, file=sys.stderr, flush=True)


_failing: set[str] = set()


def note(what: str, trouble: str = "") -> None:
    """Says once that something fails, and once that it is well again."""
    if bool(trouble) != (what in _failing):
        say(f"{what}: {trouble}; it is tried again" if trouble else f"{what} is well again")
        (_failing.add if trouble else _failing.discard)(what)


def read_secrets(path: Path) -> list[bytes]:
    """The keys in a file with secrets of Standard Webhooks, one a line; raises CommandError."""
    try:
        lines = read_once(path).decode("ascii").split()
        keys = [base64.b64decode(s.removeprefix(SECRET_PREFIX), validate=True) for s in lines]
    except (OSError, ValueError) as error:
        raise CommandError(f"{path}: {error}") from None
    short = min(map(len, keys), default=0)
    if short < MIN_SECRET_BYTES:
        raise CommandError(f"{path}: a secret has at least {MIN_SECRET_BYTES} bytes, not {short}")
    return keys


class Folder:
    """What is kept from one start to the next: how far it is, and what could not be posted."""

    def __init__(self, path: Path) -> None:
        """Raises OSError for a folder that cannot be written, or that another process uses."""
        path.mkdir(parents=True, exist_ok=True)
        self._lock = (path / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"{path} is in use by another process") from None
        self._place, self._dead = path / "cursor", path / "dead.jsonl"
        self.cursor = ""
        if self._place.exists():
            try:
                # Rubbish is a cursor that the server refuses.
                self.cursor = read_again(self._place).decode("ascii", "replace")
            except ValueError as error:
                raise OSError(str(error)) from None
            say(f"{path}: it goes on from {self.since}; what was deleted since is not told")
        self._write(self.cursor)
        if self._dead.exists():
            with self._dead.open("rb+") as dead:
                # A kill may have left a part of a line, whose message comes again.
                dead.truncate(sum(len(line) for line in dead if line.endswith(b"\n")))

    @property
    def since(self) -> str:
        """When the cursor was kept."""
        return _time(self._place.stat().st_mtime)

    def keep(self, cursor: str) -> None:
        """Keeps a cursor. If the disk is full, more comes again after the next start."""
        self.cursor = cursor
        try:
            self._write(cursor)
            note(str(self._place))
        except OSError as error:
            note(str(self._place), str(error))

    def _write(self, cursor: str) -> None:
        write_whole(self._place, cursor.encode(), sync=True)

    def bury(self, letter: dict[str, Any]) -> bool:
        """Appends a line to dead.jsonl; returns whether the disk has taken it."""
        line = json.dumps(letter).encode() + b"\n"
        try:
            with self._dead.open("ab", buffering=0) as dead:
                end = dead.tell()
                if dead.write(line) < len(line):
                    dead.truncate(end)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(dead.fileno())
            note(str(self._dead))
            return True
        except OSError as error:
            note(str(self._dead), str(error))
            return False


def deliver(
    response: feed_pb2.WatchMatchesResponse,
    endpoint: "Endpoint",
    folder: Folder,
    attempts: int,
    pause: Callable[[float], None] = time.sleep,
) -> bool:
    """Posts updates, or writes them to dead.jsonl; returns whether the endpoint wants more.

    While the disk does not take what was not taken, it is posted again.
    """
    updates = [json_format.MessageToDict(each) for each in response.updates]
    # The same updates have the same id, so that a receiver knows what it has had.
    named = json.dumps(updates, sort_keys=True).encode()
    webhook_id = f"msg_{hashlib.sha256(named).hexdigest()[:32]}"
    message = {"type": TYPE, "timestamp": _time(time.time()), "data": {"updates": updates}}
    body = json.dumps(message).encode()
    attempt, most = 0, FIRST_PAUSE
    while True:
        attempt += 1
        status, why, asked = endpoint.post(webhook_id, body)
        if not why:
            return True
        if status == GONE:
            return False
        say(f"{endpoint.shown}: {why}; attempt {attempt} of {attempts}")
        letter = {"id": webhook_id, "why": why, "message": message}
        if attempt >= attempts and folder.bury(letter):
            return True
        pause(min(MAX_PAUSE, max(asked, most * random.uniform(0.5, 1))))
        most = min(MAX_PAUSE, 2 * most)


def _time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
