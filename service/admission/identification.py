"""Identification: finds the principal of a call in its metadata and its peer's address."""

import hashlib
import ipaddress
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import unquote

from croupier.v1.error_pb2 import ErrorReason
from service.admission.callers_file import Callers, Key
from service.common.call import Call, Kind, Principal
from wire.errors import Refusal

if TYPE_CHECKING:
    from service.admission.signed_tokens import SignedTokens

KEY_HEADER = "x-api-key"
PLAYER_HEADER = "x-player-id"
SIGNED_TOKEN_HEADER = "x-jwt-assertion"
MAX_PLAYER_ID = 64

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_IPV6_PREFIX = 64  # Bits; a household gets at least such a network.
_MAX_CACHED = 8192
_MAX_CACHED_LENGTH = 512  # Of what a caller sends, so that nobody fills the memory.


class Peer(NamedTuple):
    """Where a call comes from."""

    address: IpAddress | None  # None: a socket of this machine.
    principal: Principal

    @property
    def is_loopback(self) -> bool:
        """Whether the call comes from this machine."""
        return self.address is None or self.address.is_loopback


class Identification:
    """Identifies the callers that an operator has named, and all others by seat or address."""

    def __init__(self, callers: Callers, signed_tokens: "SignedTokens | None") -> None:
        # The name of the seat in an "authorization" header; None if it holds no token of a seat.
        self.seat_of: Callable[[str], str | None] = lambda authorization: None
        # A connection calls again and again with one or two tokens.
        self._without_key = lru_cache(_MAX_CACHED)(self._identify_without_key)
        self.know(callers, signed_tokens)

    def know(self, callers: Callers, signed_tokens: "SignedTokens | None") -> None:
        """Identifies by these from now on."""
        self._callers = callers
        self._signed_tokens = signed_tokens
        self._without_key.cache_clear()

    def identify(self, call: Call) -> tuple[Principal, tuple[Principal, ...]]:
        """The principal of a call, and those whose budgets it uses: none for one without limits.

        Raises Refusal for an API key or a signed token that is not valid.
        """
        sent = call.metadata
        if KEY_HEADER in sent:
            key = self._key(sent[KEY_HEADER])
            paying = Principal(Kind.KEY, key.name)
            player = sent.get(PLAYER_HEADER) if key.names_players else None
            if player:
                principal = _player(key, player)
                return principal, (principal, paying)
            return paying, (paying,)
        if SIGNED_TOKEN_HEADER in sent and self._signed_tokens is not None:
            subject = self._signed_tokens.subject(sent[SIGNED_TOKEN_HEADER])
            principal = Principal(Kind.SUBJECT, subject)
            return principal, (principal,)
        authorization = sent.get("authorization", "")
        forwarded = sent.get(self._callers.forwarded_header, "")
        if len(authorization) + len(forwarded) > _MAX_CACHED_LENGTH:
            return self._identify_without_key(authorization, forwarded, call.peer)
        return self._without_key(authorization, forwarded, call.peer)

    def _identify_without_key(
        self, authorization: str, forwarded: str, peer: str
    ) -> tuple[Principal, tuple[Principal, ...]]:
        where = self._origin(forwarded, read_peer(peer))
        seat = self.seat_of(authorization)
        # Spectators share a token, so that only their addresses tell them apart.
        principal = where.principal if seat is None else Principal(Kind.SEAT, seat)
        if self._is_free(where):
            return principal, ()
        return principal, (where.principal,) if seat is None else (principal, where.principal)

    def address_payers(self, call: Call) -> tuple[Principal, ...]:
        """Whose budgets a call uses that is known by its address alone."""
        forwarded = call.metadata.get(self._callers.forwarded_header, "")
        where = self._origin(forwarded, read_peer(call.peer))
        return () if self._is_free(where) else (where.principal,)

    def peer_payers(self, peer: str) -> tuple[Principal, ...]:
        """Whose budgets a connection uses; nobody's if it carries the calls of many."""
        where = read_peer(peer)
        if self._is_free(where) or _is_in(where.address, self._callers.trusted_proxies):
            return ()
        return (where.principal,)

    def check_restriction(self, what: str, principal: Principal) -> None:
        """Raises Refusal if the operator restricts this to keys and the caller has none."""
        if what not in self._callers.require_key:
            return
        if principal.kind not in (Kind.KEY, Kind.PLAYER, Kind.SUBJECT):
            raise Refusal(
                ErrorReason.ERROR_REASON_KEY_REQUIRED,
                f"this server carries out this call only for a caller with an API key (metadata "
                f'"{KEY_HEADER}") or a signed token (metadata "{SIGNED_TOKEN_HEADER}")',
            )

    def _is_free(self, where: Peer) -> bool:
        return where.is_loopback and not self._callers.loopback_is_limited

    def _key(self, sent: str) -> Key:
        # Found by its hash, so that comparing takes the same time for every wrong key.
        key = self._callers.keys.get(hashlib.sha256(sent.encode()).hexdigest())
        if key is None:
            raise Refusal(ErrorReason.ERROR_REASON_KEY_INVALID, "this server knows no such API key")
        return key

    def _origin(self, forwarded: str, peer: Peer) -> Peer:
        # Proxies append the address that they see, so the origin is the last address that is not
        # itself a trusted proxy. Anything before it may be made up.
        trusted = self._callers.trusted_proxies
        if not trusted or not _is_in(peer.address, trusted):
            return peer
        for hop in reversed(forwarded.split(",")):
            found = _read_address(hop.strip())
            if found is None:
                break
            peer = _peer(found)
            if not _is_in(found, trusted):
                break
        return peer


@lru_cache(_MAX_CACHED)
def read_peer(text: str) -> Peer:
    """Reads a peer as gRPC writes it: "ipv4:127.0.0.1:50051", "ipv6:%5B::1%5D:50051", "unix:"."""
    scheme, _, rest = text.partition(":")
    if scheme not in ("ipv4", "ipv6"):
        return Peer(None, Principal(Kind.ADDRESS, "local"))
    host = unquote(rest).rpartition(":")[0]
    address = _read_address(host)
    if address is None:
        return Peer(None, Principal(Kind.ADDRESS, text))
    return _peer(address)


def _peer(address: IpAddress) -> Peer:
    name = str(address)
    if isinstance(address, ipaddress.IPv6Address):
        name = str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))
    return Peer(address, Principal(Kind.ADDRESS, name))


def _read_address(text: str) -> IpAddress | None:
    # Also with brackets, a port or a zone, as some proxies write it.
    host = text.strip("[]").partition("%")[0]
    if "]" in text:
        host = text.partition("]")[0].strip("[").partition("%")[0]
    elif text.count(":") == 1:
        host = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _is_in(address: IpAddress | None, networks: Iterable[object]) -> bool:
    return address is not None and any(address in network for network in networks)  # type: ignore[operator]


def _player(key: Key, name: str) -> Principal:
    if len(name) > MAX_PLAYER_ID:
        raise Refusal(
            ErrorReason.ERROR_REASON_KEY_INVALID,
            f'metadata "{PLAYER_HEADER}" must be at most {MAX_PLAYER_ID} characters',
        )
    return Principal(Kind.PLAYER, f"{key.name}/{name}")
