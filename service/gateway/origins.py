"""Which pages may call: those of this server, and those of the origins that the operator names.

A browser lets any page send requests to any server, this machine's included. Without a cookie such
a request has no rights of its user, but it has the user's address, and on this machine the server
sets no limits. So a request that a page of a foreign origin sends is refused, although a browser
would not show that page the response.

A page can also give its own host name the address of this machine (DNS rebinding), and is of the
same origin then. The browser still sends the name that it knows, in the header "host".
"""

import ipaddress
import re
from collections.abc import Collection

from service.listening.http import Headers

# What Connect and gRPC-Web send and read, besides what browsers allow anyway.
ALLOWED_HEADERS = (
    "authorization",
    "connect-accept-encoding",
    "connect-content-encoding",
    "connect-protocol-version",
    "connect-timeout-ms",
    "content-encoding",
    "content-type",
    "grpc-accept-encoding",
    "grpc-encoding",
    "grpc-timeout",
    "traceparent",
    "tracestate",
    "x-api-key",
    "x-grpc-web",
    "x-jwt-assertion",
    "x-player-id",
    "x-request-id",
    "x-user-agent",
)
EXPOSED_HEADERS = (
    "connect-content-encoding",
    "content-encoding",
    "grpc-encoding",
    "grpc-message",
    "grpc-status",
    "grpc-status-details-bin",
    "x-request-id",
)
PREFLIGHT_SECONDS = 7200  # As long as any browser remembers it.
_HOST = re.compile(r"(\[[^\[\]]*\]|[^\[\]:/?#@\\ ]+)(:\d*)?")


class Origins:
    """The origins and the names of hosts that the web gateway accepts."""

    def __init__(self, origins: Collection[str], hosts: Collection[str] | None) -> None:
        """Without `hosts`, any name is accepted. An address is always accepted."""
        self._origins = frozenset(origins)
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)

    def knows_host(self, host: bytes | None) -> bool:
        """Whether a header "host" names this server, or there is none.

        Every browser sends it. The check of a proxy by HTTP/1.0 has none.
        """
        if host is None or self._hosts is None:
            return True
        found = _HOST.fullmatch(host.decode("latin-1").lower())
        name = found[1].strip("[]") if found else ""
        return name in self._hosts or _is_address(name)

    def admits(self, headers: dict[bytes, bytes]) -> bool:
        """Whether a request comes from no page, from one of this server or of a named origin."""
        origin = headers.get(b"origin")
        if origin is None:
            # A page may load a URL without saying where it is from; the browser says how far.
            return headers.get(b"sec-fetch-site", b"none") in (b"same-origin", b"none")
        host = headers.get(b"host", b"").lower()
        return self.names(origin) or (bool(host) and _host_of(origin) == host)

    def names(self, origin: bytes) -> bool:
        """Whether the operator named an origin."""
        return origin.decode("latin-1") in self._origins

    def shared(self, origin: bytes | None) -> Headers:
        """The headers by which a browser shows a response to a page of an origin."""
        vary = (b"vary", b"origin")
        if origin is None or not self.names(origin):
            return [vary]
        return [
            vary,
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", ", ".join(EXPOSED_HEADERS).encode()),
        ]

    def preflight(self, origin: bytes) -> Headers:
        """The answer to the question whether a page of a named origin may call."""
        return [
            *self.shared(origin),
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", ", ".join(ALLOWED_HEADERS).encode()),
            (b"access-control-allow-private-network", b"true"),
            (b"access-control-max-age", b"%d" % PREFLIGHT_SECONDS),
        ]


def _host_of(origin: bytes) -> bytes:
    # A proxy may speak TLS for the server, so that the scheme tells nothing.
    return origin.lower().partition(b"://")[2]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
