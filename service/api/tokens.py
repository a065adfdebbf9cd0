"""Tokens of callers. A token names a match and a seat, and only a holder of the key can make it."""

import base64
import binascii
import hashlib
import hmac
from functools import lru_cache
from pathlib import Path

from croupier.v1.error_pb2 import ErrorReason
from engine.game import SPECTATOR
from service.errors import Refusal
from service.hosting.caller import Caller
from service.store import KEY_BYTES

MIN_OPERATOR_TOKEN = 32
_DOMAIN = b"croupier/token/v1\0"
_MATCH_DOMAIN = b"croupier/match/v1\0"
_PRINCIPAL_DOMAIN = b"croupier/principal/v1\0"
_MAC_BYTES = hashlib.sha256().digest_size
_SCHEME = "bearer "
_MAX_CACHED = 8192


class Tokens:
    """Makes tokens and reads them. Servers that share a key accept each other's."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        # Valid tokens only, since errors are not cached. A player sends its token with every call.
        self._read = lru_cache(_MAX_CACHED)(self._check)

    def make(self, caller: Caller) -> str:
        """The token of a seat, or of the spectators, of a match."""
        claim = bytes([caller.seat]) + caller.match_id.encode()
        return base64.urlsafe_b64encode(claim + self._mac(claim)).decode().rstrip("=")

    def read(self, authorization: str) -> Caller:
        """The caller that sent this "authorization" header; raises Refusal."""
        return self._read(read_bearer(authorization))

    def _check(self, token: str) -> Caller:
        try:
            data = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise _invalid() from None
        claim, mac = data[:-_MAC_BYTES], data[-_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(claim)) or claim[0] > SPECTATOR:
            raise _invalid()
        return Caller(claim[1:].decode(), claim[0])

    def id_source(self, request_id: str) -> bytes:
        """What the id of a match created with a request_id follows from; it hides the latter."""
        return hmac.digest(self._key, _MATCH_DOMAIN + request_id.encode(), "sha256")

    def seat_of(self, authorization: str) -> str | None:
        """The match and the seat of an "authorization" header, as "{match}/{seat}".

        None if the header holds no valid token of a seat.
        """
        try:
            caller = self.read(authorization)
        except Refusal:
            return None
        return None if caller.seat == SPECTATOR else f"{caller.match_id}/{caller.seat}"

    def pseudonym(self, principal: str) -> str:
        """A name under which the log can count what a principal has, without naming it."""
        return hmac.digest(self._key, _PRINCIPAL_DOMAIN + principal.encode(), "sha256").hex()[:32]

    def _mac(self, claim: bytes) -> bytes:
        return hmac.digest(self._key, _DOMAIN + claim, "sha256")


def read_bearer(authorization: str) -> str:
    """The token in an "authorization" header; raises Refusal if there is none."""
    if not authorization:
        raise Refusal(
            ErrorReason.ERROR_REASON_TOKEN_MISSING,
            'this call needs a token, as the metadata "authorization: Bearer {token}"',
        )
    if not authorization.lower().startswith(_SCHEME):
        raise _invalid()
    return authorization[len(_SCHEME) :].strip()


def read_operator_token(path: Path) -> str:
    """The operator's token, the one line of a file; raises OSError or ValueError."""
    token = path.read_text("ascii").strip()
    if len(token) < MIN_OPERATOR_TOKEN or not token.isprintable() or " " in token:
        raise ValueError(
            f"{path}: an operator's token is one word of at least {MIN_OPERATOR_TOKEN} letters, "
            "digits and signs of ASCII"
        )
    return token


def read_key(path: Path) -> bytes:
    """The key that is the content of a file; raises OSError or ValueError."""
    key = path.read_bytes()
    if len(key) < KEY_BYTES:
        raise ValueError(f"{path}: a token key has at least {KEY_BYTES} bytes, not {len(key)}")
    return key


def _invalid() -> Refusal:
    return Refusal(ErrorReason.ERROR_REASON_TOKEN_INVALID, "the token was not made by this server")
