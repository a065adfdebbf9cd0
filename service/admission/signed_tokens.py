"""Signed tokens (JWT, RFC 7519): checks them by the keys that their issuer publishes."""

import asyncio
import http.client
import json
import logging
import time
import urllib.request
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt

from croupier.transport import is_loopback
from croupier.v1.error_pb2 import ErrorReason
from service.admission.callers_file import Jwt
from service.common.files import read_again
from service.common.tasks import KeptTask, Tasks
from service.common.urls import bare
from wire.errors import Refusal

REFRESH_SECONDS = 300.0
MIN_REFRESH_SECONDS = 30.0  # Between two refreshes, however many tokens name an unknown key.
FETCH_SECONDS = 10.0
MAX_KEYS_BYTES = 1 << 20
MAX_SUBJECT = 256

_log = logging.getLogger(__name__)


class SignedTokens:
    """Checks signed tokens. The keys are read at the start and refreshed in the background."""

    def __init__(self, configured: Jwt, tasks: Tasks) -> None:
        self._configured = configured
        self._tasks = tasks
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._check = lru_cache(4096)(self._verify)  # Of valid tokens; errors are not cached.
        self._unknown_key = asyncio.Event()
        self._task: KeptTask | None = None

    async def open(self) -> None:
        """Reads the keys; raises OSError or ValueError if a file cannot be read.

        Keys at a URL may be out of reach now: the server then starts, and tries again.
        """
        try:
            await self._refresh()
        except (OSError, ValueError) as error:
            if not _is_url(self._configured.jwks):
                raise
            _log.warning("cannot read the keys of signed tokens: %s", error)
        self._task = self._tasks.keep("signed tokens", self._refresh_on)

    def close(self) -> None:
        """Ceases to refresh the keys."""
        if self._task is not None:
            self._task.close()

    def subject(self, token: str) -> str:
        """The subject of a valid token; raises Refusal."""
        subject, expires = self._check(token)
        if expires <= time.time():
            raise _invalid("it has expired")
        return subject

    def _verify(self, token: str) -> tuple[str, float]:
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            key = self._keys.get(key_id)
            if key is None:
                self._unknown_key.set()
                raise _invalid("its key is unknown")
            claims = jwt.decode(
                token,
                key,
                algorithms=list(self._configured.algorithms),
                audience=self._configured.audience,
                issuer=self._configured.issuer,
                options={"require": ["exp", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise _invalid(str(error)) from None
        subject = str(claims["sub"])
        if not 0 < len(subject) <= MAX_SUBJECT:
            raise _invalid(f"its subject must have 1 to {MAX_SUBJECT} characters")
        return subject, float(claims["exp"])

    async def _refresh_on(self) -> None:
        while True:
            await asyncio.sleep(MIN_REFRESH_SECONDS)
            try:
                async with asyncio.timeout(REFRESH_SECONDS - MIN_REFRESH_SECONDS):
                    await self._unknown_key.wait()
            except TimeoutError:
                pass
            self._unknown_key.clear()
            try:
                await self._refresh()
            except (OSError, ValueError) as error:
                # The keys in use stay.
                _log.warning("cannot read the keys of signed tokens: %s", error)

    async def _refresh(self) -> None:
        data = await asyncio.to_thread(_read, self._configured.jwks)
        try:
            found: Any = jwt.PyJWKSet.from_dict(json.loads(data))
        except (jwt.PyJWTError, ValueError, AttributeError) as error:
            where = bare(self._configured.jwks)
            raise ValueError(f"{where}: no JSON Web Key Set: {error}") from None
        self._keys = {key.key_id: key for key in found.keys}
        self._check.cache_clear()  # A key may have been withdrawn.


def _read(where: str) -> bytes:
    if not _is_url(where):
        return read_again(Path(where))
    # No proxy of the environment leads to this machine.
    local = is_loopback(urlsplit(where).hostname or "")
    proxies = urllib.request.ProxyHandler({} if local else None)
    try:
        with urllib.request.build_opener(proxies).open(where, timeout=FETCH_SECONDS) as response:
            data: bytes = response.read(MAX_KEYS_BYTES)
    except (http.client.HTTPException, ValueError) as error:
        # It is no URL, or the answer is no HTTP; the text of the error may be the URL.
        raise OSError(f"{bare(where)}: {type(error).__name__}") from None
    return data


def _is_url(where: str) -> bool:
    return where.startswith(("https://", "http://"))


def _invalid(why: str) -> Refusal:
    return Refusal(ErrorReason.ERROR_REASON_KEY_INVALID, f"the signed token is not valid: {why}")
