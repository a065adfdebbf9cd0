"""Signed tokens (JWT, RFC 7519): checks them by the keys that their issuer publishes."""

import asyncio
import json
import logging
import ssl
import time
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import jwt

from croupier.files import read_again
from croupier.transport import is_loopback
from croupier.v1.error_pb2 import ErrorReason
from service.admission.callers_file import Jwt
from service.common.asking import answered
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
        self._trust = ssl.create_default_context()
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
        where = self._configured.jwks
        try:
            data = await _fetch(where, self._trust) if _is_url(where) else read_again(Path(where))
        except (OSError, ValueError) as error:
            kind = OSError if isinstance(error, OSError) else ValueError
            raise kind(f"jwt.jwks: {error}") from None
        try:
            self._keys = await asyncio.to_thread(_read_keys, data)
        except Exception as error:  # An issuer may answer anything.
            raise ValueError(f"jwt.jwks: {bare(where)}: no JSON Web Key Set: {error}") from None
        self._check.cache_clear()  # A key may have been withdrawn.


async def _fetch(where: str, trust: ssl.SSLContext) -> bytes:
    # No proxy of the environment leads to this machine.
    local, data = is_loopback(urlsplit(where).hostname or ""), b""
    try:
        async with answered(
            "GET",
            where,
            FETCH_SECONDS,
            trust,
            by_environment=not local,
            redirected=True,
            headers={"accept-encoding": "identity"},
        ) as response:
            if response.status_code != 200:
                raise ValueError(f"status {response.status_code}")
            async for piece in response.aiter_raw():
                data += piece
                if len(data) > MAX_KEYS_BYTES:
                    raise ValueError(f"it has more than {MAX_KEYS_BYTES} bytes")
    except OSError as error:
        raise OSError(f"{bare(where)}: {error}") from None
    return data


def _read_keys(data: bytes) -> dict[str | None, jwt.PyJWK]:
    return {key.key_id: key for key in jwt.PyJWKSet.from_dict(json.loads(data)).keys}


def _is_url(where: str) -> bool:
    return where.startswith(("https://", "http://"))


def _invalid(why: str) -> Refusal:
    return Refusal(ErrorReason.ERROR_REASON_KEY_INVALID, f"the signed token is not valid: {why}")
