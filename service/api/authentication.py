"""Authentication: tokens, invitations, and the caller that a token names.

Only a holder of the key can make tokens. A token names a match, a seat and a generation, as
`base64url(claim mac)`. The claim is a byte with the seat and then the id of the match; if the
generation is not 0, the byte has its highest bit set, and a second byte has the generation. An
invitation names a match and a seat.

Whether a token is the newest of its seat is in the match (`service/hosting/seats.py`).
"""

import base64
import binascii
import hashlib
import hmac
from functools import lru_cache
from pathlib import Path

from croupier.files import read_once
from croupier.v1 import match_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine.game import SPECTATOR
from service.common.call import Call, Kind, Principal
from service.hosting.delayed import DelayedWatch
from service.hosting.match_cache import Watch
from service.hosting.match_state import MatchState
from service.hosting.matches import Matches
from service.hosting.seats import Caller
from service.store import KEY_BYTES
from wire.errors import Refusal, invalid_field

MIN_OPERATOR_TOKEN = 32
_DOMAIN = b"croupier/token/v1\0"
_INVITATION_DOMAIN = b"croupier/invitation/v1\0"
_JOIN_DOMAIN = b"croupier/join/v1\0"
_REPLACEMENT_DOMAIN = b"croupier/replacement/v1\0"
_MATCH_DOMAIN = b"croupier/match/v1\0"
_PRINCIPAL_DOMAIN = b"croupier/principal/v1\0"
_MAC_BYTES = hashlib.sha256().digest_size
_SCHEME = "bearer "
_MAX_CACHED = 8192
_WITH_GENERATION = 0x80


class Tokens:
    """Makes tokens and reads them. Servers that share a key accept each other's."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        # Valid tokens only, since errors are not cached. A player sends its token with every call.
        self._read = lru_cache(_MAX_CACHED)(self._check)

    def make(self, caller: Caller) -> str:
        """The token of a seat, or of the spectators, of a match."""
        head = [caller.seat]
        if caller.generation:
            head = [caller.seat | _WITH_GENERATION, caller.generation]
        return self._sign(_DOMAIN, bytes(head) + caller.match_id.encode())

    def seat_token(self, holder: Caller) -> match_pb2.SeatToken:
        """The token of a seat of a match, as a message."""
        return match_pb2.SeatToken(seat=holder.seat, token=self.make(holder))

    def read(self, authorization: str) -> Caller:
        """The caller that sent this "authorization" header; raises Refusal."""
        return self._read(read_bearer(authorization))

    def read_field(self, token: str, path: str) -> Caller:
        """The holder of a token in the field `path` of a request; raises Refusal."""
        try:
            return self._read(token)
        except Refusal:
            raise invalid_field(path, "UNKNOWN_TOKEN", "is not a token of this server") from None

    def _check(self, token: str) -> Caller:
        claim = self._read_signed(_DOMAIN, token)
        if claim is None:
            raise _invalid()
        seat, generation, match_id = claim[0], 0, claim[1:]
        if seat & _WITH_GENERATION:
            seat, generation, match_id = seat & ~_WITH_GENERATION, claim[1], claim[2:]
        if seat > SPECTATOR:
            raise _invalid()
        return Caller(match_id.decode(), seat, generation)

    def invite(self, match_id: str, seat: int) -> str:
        """The invitation to a seat of a match. It is not a token."""
        return self._sign(_INVITATION_DOMAIN, bytes([seat]) + match_id.encode())

    def read_invitation(self, invitation: str) -> Caller:
        """The seat that an invitation is for; raises Refusal."""
        claim = self._read_signed(_INVITATION_DOMAIN, invitation)
        if claim is None:
            rule = "is not an invitation of this server"
            raise Refusal(
                ErrorReason.ERROR_REASON_INVITATION_INVALID,
                f"invitation: {rule}",
                fields=[("invitation", "UNKNOWN_INVITATION", rule)],
            )
        return Caller(claim[1:].decode(), claim[0])

    def id_source(self, request_id: str) -> bytes:
        """What the id of a match created with a request_id follows from; it hides the latter."""
        return hmac.digest(self._key, _MATCH_DOMAIN + request_id.encode(), "sha256")

    def seat_of(self, authorization: str) -> str | None:
        """The name of the seat in an "authorization" header; None if it holds no token of a seat.

        Each token that a seat has had makes another name, so that the holder of a replaced one
        cannot use up what the seat may use.
        """
        try:
            caller = self.read(authorization)
        except Refusal:
            return None
        if caller.seat == SPECTATOR:
            return None
        return f"{caller.match_id}/{caller.seat}/{caller.generation}"

    def pseudonym(self, principal: str) -> str:
        """A name under which the log can count what a principal has, without naming it."""
        return hmac.digest(self._key, _PRINCIPAL_DOMAIN + principal.encode(), "sha256").hex()[:32]

    def creator(self, call: Call) -> str:
        """A pseudonym under which the log counts the live matches of who calls; or empty."""
        return self.pseudonym(str(call.principal)) if call.payers else ""

    def owner(self, call: Call) -> str:
        """A pseudonym of the API key or subject with which a call comes; empty without one."""
        known = (call.principal, *call.payers)
        named = (str(each) for each in known if each.kind in (Kind.KEY, Kind.SUBJECT))
        return next((self.pseudonym(each) for each in named), "")

    def player(self, call: Call, player_id: str = "") -> str:
        """A pseudonym of the player or subject with whom a call comes; empty for anybody else.

        `player_id` is another player of the same key.
        """
        asked = Principal(Kind.PLAYER, f"{key_name(call)}/{player_id}")
        who = asked if player_id else call.principal
        return self.pseudonym(str(who)) if who.kind in (Kind.PLAYER, Kind.SUBJECT) else ""

    # A reader of the log must not be able to repeat a request and so to get its token.

    def join_id(self, request_id: str) -> str:
        """What the log has as the request_id of a JoinMatch; it hides the latter."""
        return self._hide(_JOIN_DOMAIN, request_id)

    def replacement_id(self, request_id: str) -> str:
        """What the log has as the request_id of a ReplaceSeatToken; it hides the latter."""
        return self._hide(_REPLACEMENT_DOMAIN, request_id)

    def _hide(self, domain: bytes, request_id: str) -> str:
        return hmac.digest(self._key, domain + request_id.encode(), "sha256").hex()

    def _sign(self, domain: bytes, claim: bytes) -> str:
        signed = claim + hmac.digest(self._key, domain + claim, "sha256")
        return base64.urlsafe_b64encode(signed).decode().rstrip("=")

    def _read_signed(self, domain: bytes, text: str) -> bytes | None:
        # The claim, which is not empty, or None if this is not one that was signed for the domain.
        try:
            data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        claim, mac = data[:-_MAC_BYTES], data[-_MAC_BYTES:]
        if not hmac.compare_digest(mac, hmac.digest(self._key, domain + claim, "sha256")):
            return None
        return claim


def key_name(call: Call) -> str:
    """The name of the API key with which a call comes, also where it names its player."""
    known = (call.principal, *call.payers)
    return next((principal.name for principal in known if principal.kind == Kind.KEY), "")


def read_bearer(authorization: str) -> str:
    """The token in an "authorization" header; raises Refusal if there is none."""
    if not authorization:
        raise Refusal(
            ErrorReason.ERROR_REASON_TOKEN_MISSING,
            'this call needs a token, as the metadata "authorization: Bearer {token}"',
        )
    if not authorization.lower().startswith(_SCHEME):
        raise _invalid('"authorization" must be "Bearer {token}"')
    return authorization[len(_SCHEME) :].strip()


def read_operator_token(path: Path) -> str:
    """The operator's token, the one line of a file; raises OSError or ValueError."""
    token = read_once(path).decode(errors="replace").strip()
    one_word = token.isascii() and token.isprintable() and " " not in token
    if len(token) < MIN_OPERATOR_TOKEN or not one_word:
        raise ValueError(
            f"{path}: an operator's token is one word of at least {MIN_OPERATOR_TOKEN} letters, "
            "digits and signs of ASCII"
        )
    return token


def read_key(path: Path) -> bytes:
    """The key that is the content of a file; raises OSError or ValueError."""
    key = read_once(path)
    if len(key) < KEY_BYTES:
        raise ValueError(f"{path}: a token key has at least {KEY_BYTES} bytes, not {len(key)}")
    return key


def _invalid(why: str = "the token was not made by this server") -> Refusal:
    return Refusal(ErrorReason.ERROR_REASON_TOKEN_INVALID, why)


class Authenticator:
    """Identifies callers, and finds the match that they call about."""

    def __init__(self, tokens: Tokens, matches: Matches, operator_token: str | None = None) -> None:
        self._tokens = tokens
        self._matches = matches
        self._operator_token = operator_token

    def is_operator(self, call: Call) -> bool:
        """Whether the operator calls; raises Refusal if the call comes without a token."""
        token = read_bearer(call.metadata.get("authorization", ""))
        operator = self._operator_token
        return operator is not None and hmac.compare_digest(token.encode(), operator.encode())

    def sends_operator_token(self, call: Call) -> bool:
        """As `is_operator`, for a call that needs no token."""
        return bool(call.metadata.get("authorization")) and self.is_operator(call)

    def admit_operator(self, call: Call) -> None:
        """Raises Refusal unless the operator calls."""
        if not self.is_operator(call):
            why = "this server has none: it was not started with --operator-token-file"
            raise Refusal(
                ErrorReason.ERROR_REASON_NOT_OPERATOR,
                "this call needs the operator's token, or the API key of a front end"
                + (f", and {why}" if self._operator_token is None else ""),
            )

    async def admit(self, call: Call, match: str) -> Caller:
        """The caller of a method about a match, whose name is "matches/{id}"; raises Refusal.

        Whether the token of the seat was replaced is for those to check who read the match
        (`Seats.check_token`).
        """
        match_id = match.removeprefix("matches/")
        call.match = match_id
        caller = self._tokens.read(call.metadata.get("authorization", ""))
        if caller.match_id != match_id:
            await self._matches.load(match_id)
            raise Refusal(
                ErrorReason.ERROR_REASON_TOKEN_OF_OTHER_MATCH, "the token is of another match"
            )
        return caller

    async def read(self, call: Call, match: str) -> MatchState:
        """A match that the operator and all holders of its tokens may know; raises Refusal."""
        if self.is_operator(call):
            match_id = match.removeprefix("matches/")
            call.match = match_id
            return await self._matches.load(match_id)
        _, state = await self.enter(call, match)
        return state

    async def enter(self, call: Call, match: str) -> tuple[Caller, MatchState]:
        """As `admit`, and the match as the log has it now; the token is the newest of its seat."""
        caller = await self.admit(call, match)
        return caller, await self.load(caller)

    async def load(self, caller: Caller) -> MatchState:
        """The match of a token as its holder may know it now; the token is the newest."""
        state = await self._matches.load(caller.match_id)
        state.seats.check_token(caller)
        return await self.shown(caller, state)

    async def shown(self, caller: Caller, state: MatchState) -> MatchState:
        """A match as the holder of a token may know it."""
        return state if caller.seat != SPECTATOR else await self._matches.delayed.shown(state)

    def delay(self, caller: Caller, state: MatchState, watch: Watch) -> Watch | DelayedWatch:
        """A watch of a match by which the holder of a token hears no more than it may."""
        if caller.seat != SPECTATOR or not state.header.spectator_delay:
            return watch
        return DelayedWatch(self._matches.delayed, watch)
