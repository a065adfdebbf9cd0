"""Channels to a server: TLS, and no secret in the clear to another host."""

import ipaddress
import os
import re
import socket
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import grpc

from croupier.errors import CroupierError
from croupier.files import MAX_BYTES, read_once

_SCHEME = re.compile(r"(dns|ipv4|ipv6|unix|unix-abstract|vsock):(?://[^/]*/)?", re.IGNORECASE)
KEY_HEADER, PLAYER_HEADER = "x-api-key", "x-player-id"
_PORT = re.compile(r":\d+$")
_WEB = re.compile("https?://", re.IGNORECASE)
_PORTS = re.compile(r":(-?\d+)(?=,|$)")  # Of a list of addresses.
MAX_PORT = 65535
PROBE_SECONDS = 2.0


class Security(NamedTuple):
    """How the connection to a server is protected.

    Each of the files implies `tls`. All of them are in PEM format.
    """

    tls: bool = False
    ca: str | Path | None = None  # The authorities to trust; None for those that gRPC has.
    cert: str | Path | None = None  # The certificate of this client, for mutual TLS,
    key: str | Path | None = None  # and its private key.
    insecure: bool = False  # Whether tokens may travel in the clear to another host.


CLEARTEXT = Security()


class CleartextError(CroupierError):
    """A secret would have travelled in the clear to another host. The call was not sent."""

    def __init__(self, address: str) -> None:
        super().__init__(
            grpc.StatusCode.FAILED_PRECONDITION,
            f"a token would travel in the clear to {address}: use TLS (tls=True, or --tls),"
            " or say that the network is private (insecure=True, or --insecure)",
        )

    def __str__(self) -> str:
        return self.message


def identity(api_key: str, player: str) -> tuple[tuple[str, str], ...]:
    """Returns the metadata of an API key and a player's name; an empty one is left out.

    Raises CroupierError for one that cannot be sent.
    """
    _check("API key", api_key, "KEY_INVALID")
    _check("name of the player", player, "KEY_INVALID")
    return tuple(each for each in ((KEY_HEADER, api_key), (PLAYER_HEADER, player)) if each[1])


def bearer(token: str) -> tuple[str, str]:
    """Returns the metadata of a token; raises CroupierError for one that cannot be sent."""
    _check("token", token, "TOKEN_INVALID")
    return ("authorization", f"Bearer {token}")


def _check(what: str, value: str, reason: str) -> None:
    # gRPC would fail in a way that looks like a lost connection.
    if not (value.isascii() and value.isprintable()):
        raise CroupierError(
            grpc.StatusCode.UNAUTHENTICATED,
            f"the {what} has characters other than printable ASCII",
            reason,
        )


def open_channel(
    address: str, security: Security, options: Sequence[tuple[str, Any]] = ()
) -> grpc.Channel:
    """Returns a channel to the server at "HOST:PORT", or at another name that gRPC understands.

    On a channel in the clear to another host, calls that carry a secret raise CleartextError,
    unless `security.insecure` is set. Raises OSError for a file that cannot be read, and ValueError
    for settings that contradict each other.
    """
    credentials = channel_credentials(security)
    options = channel_options(address, options)
    if credentials is not None:
        return grpc.secure_channel(address, credentials, options)
    channel = grpc.insecure_channel(address, options)
    if security.insecure or is_local(address):
        return channel
    return grpc.intercept_channel(channel, _SecretGuard(address))


def channel_options(
    address: str, options: Sequence[tuple[str, Any]] = ()
) -> tuple[tuple[str, Any], ...]:
    """Returns the options of a channel: no proxy of the environment leads to this machine.

    Raises CroupierError for an address that is none, which gRPC would try for a while, and for a
    port that there is not, of which it would take the last 16 bits.
    """
    if not address.isprintable() or not address.strip() or _WEB.match(address):
        what = f"{address[:40]!a} is no address of gRPC: give HOST:PORT, without http://"
        raise CroupierError(grpc.StatusCode.INVALID_ARGUMENT, what)
    for port in _PORTS.findall(unquote(address)):
        if len(port) > len(str(MAX_PORT)) or not 0 <= int(port) <= MAX_PORT:
            what = f"{port[:9]} is not a port: 0 to {MAX_PORT}"
            raise CroupierError(grpc.StatusCode.INVALID_ARGUMENT, what)
    return (*options, ("grpc.enable_http_proxy", 0)) if is_local(address) else tuple(options)


def channel_credentials(security: Security) -> grpc.ChannelCredentials | None:
    """Returns the credentials of a channel with TLS; None for one in the clear.

    Raises OSError for a file that cannot be read, and ValueError for settings that contradict each
    other.
    """
    if not uses_tls(security):
        return None
    return grpc.ssl_channel_credentials(
        _read(security.ca), _read(security.key), _read(security.cert)
    )


def uses_tls(security: Security) -> bool:
    """Whether there is TLS; raises ValueError for settings that contradict each other."""
    tls = security.tls or bool(security.ca or security.cert or security.key)
    if tls and security.insecure:
        raise ValueError("TLS and insecure exclude each other")
    if bool(security.cert) != bool(security.key):
        raise ValueError("the certificate of a client needs its key, and the key its certificate")
    return tls


def explained(error: CroupierError, address: str, security: Security) -> CroupierError:
    """Returns the error of a call; where TLS or a proxy may be why, the message says so."""
    tls = any(security._replace(insecure=False))
    # A server that wants a certificate closes the connection; so does one that stops.
    refused = "connect" in error.message or (
        "Socket closed" in error.message and tls and not security.cert
    )
    if error.code is grpc.StatusCode.UNAVAILABLE and refused:
        speaks = _spoken(address)
        if speaks in (TLS, MUTUAL) and not tls:
            error.message = "the server speaks TLS: use --tls, in Python tls=True"
        elif speaks == CLEAR and tls:
            error.message = "the server speaks no TLS: leave --tls and its files out"
        elif speaks == MUTUAL and not security.cert and "VERIFY" not in error.message:
            error.message = (
                "the server speaks TLS with clients that have a certificate: use --tls-cert and "
                "--tls-key, in Python cert and key"
            )
        elif proxy := proxy_of(address):
            error.message += f"; the way is by the proxy of {proxy}, which no_proxy leads past"
    return error


def proxy_of(address: str) -> str:
    """The variable of the environment that names the proxy on the way to an address, if any."""
    # In the order in which gRPC asks: the first that is set holds, empty or not.
    ways = [name for name in ("grpc_proxy", "https_proxy", "http_proxy") if name in os.environ]
    past = [name for name in ("no_grpc_proxy", "no_proxy") if name in os.environ]
    suffixes = os.environ[past[0]].replace(" ", "").split(",") if past else []
    host = _host(_SCHEME.sub("", address))
    if is_local(address) or host.endswith(tuple(filter(None, suffixes))):
        return ""
    return ways[0] if ways and os.environ[ways[0]] else ""


CLEAR, TLS, MUTUAL = "in the clear", "TLS", "mutual TLS"


def _spoken(address: str) -> str:
    # Empty if that cannot be told. What gRPC says is about one of the server's addresses only.
    host, _, port = _SCHEME.sub("", address).partition(",")[0].rpartition(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    found = ""
    try:
        with (
            socket.create_connection((host.strip("[]"), int(port)), PROBE_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=host) as line,
        ):
            found = TLS
            # Only now a server tells that it misses a certificate, or closes without a word.
            return TLS if line.recv(1) else MUTUAL
    except ssl.SSLError as error:
        if error.reason == "WRONG_VERSION_NUMBER":
            return CLEAR
        return MUTUAL if "CERTIFICATE_REQUIRED" in str(error.reason) else found
    except ConnectionError:
        return found and MUTUAL
    except (OSError, ValueError):
        return found


def is_local(address: str) -> bool:
    """Whether everything sent to an address of gRPC stays on this machine; looks up no name."""
    scheme = _SCHEME.match(address)
    if scheme and scheme[1].lower() in ("unix", "unix-abstract"):
        return True
    if scheme and scheme[1].lower() == "vsock":
        return False
    targets = unquote(address[scheme.end() :] if scheme else address).split(",")
    return all(is_loopback(_host(target)) for target in targets)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine; looks up no name."""
    host = host.strip("[]").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _host(target: str) -> str:
    # "::1" is an address without a port, "127.0.0.1:50051" one with a port.
    if target.count(":") > 1 and "]" not in target:
        return target
    return _PORT.sub("", target)


def _read(path: str | Path | None) -> bytes | None:
    try:
        return None if path is None else read_once(Path(path), MAX_BYTES)
    except ValueError as error:
        raise OSError(str(error)) from None


class _SecretGuard(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    """Refuses calls with a secret: all metadata is secret, and MatchService returns tokens."""

    def __init__(self, address: str) -> None:
        self._address = address

    def intercept_unary_unary(
        self, continuation: Callable[..., Any], client_call_details: Any, request: Any
    ) -> Any:
        details = client_call_details
        if details.metadata or details.method.startswith("/croupier.v1.MatchService/"):
            raise CleartextError(self._address)
        return continuation(details, request)

    intercept_unary_stream = intercept_unary_unary
