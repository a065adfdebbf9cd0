"""`croupier webhooks`: tells a URL of what changes in many matches, from the feed.

It is a client of the server: the server itself calls nobody, whatever URL somebody thinks up. What
it sends follows Standard Webhooks (https://www.standardwebhooks.com), so that their libraries
verify it.
"""

import argparse
import base64
import binascii
import hashlib
import hmac
import json
import os
import random
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from google.protobuf import json_format

from cli import arguments
from cli.arguments import CommandError, Commands, UsageError
from croupier.client import UPDATE_FILTERS, Client, Operator
from croupier.errors import CroupierError
from croupier.v1 import feed_pb2

API_KEY = "CROUPIER_API_KEY"
TYPE = "matches.changed"
SECRET_PREFIX = "whsec_"
MIN_SECRET_BYTES = 24  # As Standard Webhooks asks for.
TIMEOUT = 15.0  # Seconds of one attempt.
FIRST_PAUSE, MAX_PAUSE = 1.0, 300.0  # Seconds between attempts; each is about twice the one before.
GONE = 410  # The answer of an endpoint that wants no more.
FOR_EVER = 10 * 365 * 86400.0

OPTIONS = f"""
--state DIR
    the folder with its cursor and dead.jsonl; two processes must not share it
--secret-file FILE
    a file with the secret that signs: {SECRET_PREFIX} and at least {MIN_SECRET_BYTES} bytes in
    base64
--api-key KEY
    the API key whose matches to follow (also: {API_KEY} in the environment)
--operator-token-file FILE
    a file with the operator's token, to follow all matches
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
        "it is started again. No redirect is followed.",
    )
    where = "where to post; http:// for this machine or a private network"
    parser.add_argument("url", metavar="URL", help=where)
    arguments.add_server(parser, help="the server whose feed to follow")
    more: dict[str, Any] = {name: {"required": True} for name in ("--state", "--secret-file")}
    more["--api-key"] = {"default": os.environ.get(API_KEY, "")}
    arguments.declare(parser, OPTIONS, {"N": arguments.whole(1, 100)}, more)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Posts until it is interrupted, or until the endpoint wants no more."""
    if not chosen.url.startswith(("https://", "http://")):
        raise UsageError("URL must begin with https:// or http://")
    if bool(chosen.api_key) == (chosen.operator_token_file is not None):
        raise UsageError("give an API key, or --operator-token-file")
    secret = read_secret(chosen.secret_file)
    chosen.state.mkdir(parents=True, exist_ok=True)
    place = chosen.state / "cursor"
    cursor = place.read_text() if place.exists() else ""
    wanted = UPDATE_FILTERS[chosen.only] if chosen.only else feed_pb2.UPDATE_FILTER_UNSPECIFIED
    with Client(
        chosen.server, api_key=chosen.api_key, **arguments.security(chosen)._asdict()
    ) as client:
        source: Client | Operator = client
        if chosen.operator_token_file is not None:
            source = Operator(client, arguments.operator_token(chosen.operator_token_file))
        while True:
            try:
                responses = source.watch_matches(cursor, update_filter=wanted, patience=FOR_EVER)
                for response in responses:
                    if response.updates and not deliver(response, chosen, secret):
                        print(f"{chosen.url} wants no more (status {GONE})", file=sys.stderr)
                        return 1
                    if response.cursor:
                        keep(place, response.cursor)
            except CroupierError as error:
                if error.reason != "CURSOR_EXPIRED":
                    raise
                # At another log nobody knows what came after the cursor.
                anew = "it begins anew, with the matches that run"
                print(f"{chosen.server}: {error}; {anew}", file=sys.stderr)
                cursor = ""


def read_secret(path: Path) -> bytes:
    """The key in a file with a secret of Standard Webhooks; raises CommandError."""
    try:
        text = path.read_text("ascii").strip()
        key = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except (OSError, UnicodeDecodeError, binascii.Error) as error:
        raise CommandError(f"{path}: {error}") from None
    if len(key) < MIN_SECRET_BYTES:
        raise CommandError(
            f"{path}: a secret has at least {MIN_SECRET_BYTES} bytes, not {len(key)}"
        )
    return key


def deliver(
    response: feed_pb2.WatchMatchesResponse,
    chosen: argparse.Namespace,
    secret: bytes,
    pause: Callable[[float], None] = time.sleep,
) -> bool:
    """Posts updates, or writes them to dead.jsonl; returns whether the endpoint wants more."""
    updates = [json_format.MessageToDict(each) for each in response.updates]
    # The same updates have the same id, so that a receiver knows what it has had.
    named = json.dumps(updates, sort_keys=True).encode()
    webhook_id = f"msg_{hashlib.sha256(named).hexdigest()[:32]}"
    body = json.dumps(
        {
            "type": TYPE,
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "data": {"updates": updates},
        }
    ).encode()
    why = ""
    for attempt in range(chosen.attempts):
        if attempt:
            most = min(MAX_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1))
            pause(most * random.uniform(0.5, 1))
        try:
            post(chosen.url, body, webhook_id, secret)
            return True
        except urllib.error.HTTPError as error:
            error.close()
            why = f"status {error.code}"
            if error.code == GONE:
                return False
        # A connection that is lost, or an answer that is no HTTP: an endpoint may answer anything.
        except Exception as error:
            why = str(error) or type(error).__name__
        print(f"{chosen.url}: {why}; attempt {attempt + 1} of {chosen.attempts}", file=sys.stderr)
    with (chosen.state / "dead.jsonl").open("a") as dead:
        dead.write(json.dumps({"id": webhook_id, "why": why, "message": json.loads(body)}) + "\n")
        dead.flush()
        os.fsync(dead.fileno())
    return True


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any) -> None:
        """Follows none: it could lead anywhere."""


_OPENER = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))


def post(url: str, body: bytes, webhook_id: str, secret: bytes) -> None:
    """Posts a message once; raises OSError unless it was taken."""
    timestamp = str(int(time.time()))
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    signature = base64.b64encode(hmac.digest(secret, signed, "sha256")).decode()
    request = urllib.request.Request(
        url,
        body,
        {
            "content-type": "application/json",
            "webhook-id": webhook_id,
            "webhook-timestamp": timestamp,
            "webhook-signature": f"v1,{signature}",
        },
    )
    with _OPENER.open(request, timeout=TIMEOUT):
        pass  # Any status of 2xx: all others are errors.


def keep(place: Path, cursor: str) -> None:
    """Writes a cursor down, so that a crash leaves the old or the new one."""
    beside = place.with_suffix(".new")
    with beside.open("w") as file:
        file.write(cursor)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(place)
