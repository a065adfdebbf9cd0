"""One attempt to post a message to a URL, signed as Standard Webhooks asks for, with a deadline."""

import asyncio
import base64
import hmac
import ssl
import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import httpx2

from cli.arguments import MAX_PORT
from service.common.asking import answered

TIMEOUT = 15.0  # Seconds of one attempt, from the look-up of the name to the end of the headers.


class Answer(NamedTuple):
    """What became of an attempt."""

    status: int  # 0: there was none.
    why: str  # Why the message was not taken; empty if it was.
    pause: float  # Seconds for which the endpoint asks.


class Endpoint:
    """A URL that messages are posted to, each on a connection of its own.

    No proxy is used and no redirect is followed: it could lead anywhere. Of an answer, its headers
    are read, up to 100 KiB, and never its body.
    """

    def __init__(self, url: str, keys: Sequence[bytes]) -> None:
        """All `keys` sign, so that a receiver may know any of them.

        Raises ValueError, without showing the URL, which may hold a password, if it is none.
        """
        try:
            self._url = httpx2.URL(url)
            self._url.host.encode("idna")  # As the look-up of the name will.
        except (httpx2.InvalidURL, UnicodeError):
            self._url = httpx2.URL()
        no_port = (self._url.port or 0) > MAX_PORT
        if no_port or self._url.scheme not in ("https", "http") or not self._url.host:
            raise ValueError(
                "URL must begin with https:// or http://, name a host, and have a port up to 65535 "
                "or none, as https://USER:PASSWORD@HOST:PORT/PATH, "
                "with signs of the user and the password other than letters and digits as %XX"
            )
        bare = self._url.copy_with(username=None, password=None, query=None, fragment=None)
        self.shown = str(bare)  # Without what may be secret.
        self._keys = keys
        self._trust = ssl.create_default_context()
        self._runner = asyncio.Runner()

    def post(self, webhook_id: str, body: bytes) -> Answer:
        """Posts a message once."""
        return self._runner.run(self._post(webhook_id, body))

    async def _post(self, webhook_id: str, body: bytes) -> Answer:
        timestamp = str(int(time.time()))
        signed = f"{webhook_id}.{timestamp}.".encode() + body
        signatures = (hmac.digest(key, signed, "sha256") for key in self._keys)
        headers = {
            "content-type": "application/json",
            "webhook-id": webhook_id,
            "webhook-timestamp": timestamp,
            "webhook-signature": " ".join(f"v1,{base64.b64encode(s).decode()}" for s in signatures),
        }
        try:
            async with answered(
                "POST", self._url, TIMEOUT, self._trust, content=body, headers=headers
            ) as response:
                status, after = response.status_code, response.headers.get("retry-after", "")
        except OSError as error:
            return Answer(0, str(error), 0)
        return Answer(status, "" if 200 <= status < 300 else f"status {status}", _seconds(after))


def _seconds(after: str) -> float:
    # The seconds that a header Retry-After asks for.
    try:
        if after.isdecimal():
            return float(after)
        return max(0, parsedate_to_datetime(after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0
