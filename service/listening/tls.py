"""TLS: the certificate that a server shows, replaced when its files change."""

import logging
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, cast

import grpc

from croupier.files import read_again

_log = logging.getLogger(__name__)


class Files(NamedTuple):
    """The files of a server's TLS, in PEM format."""

    cert: Path  # The certificate, followed by those of its issuers up to the root.
    key: Path
    client_ca: Path | None = None  # The authorities of clients' certificates, which clients need.


class Certificate:
    """The certificate of a server as its files have it.

    Each handshake asks for it, and whoever asks when it expires. If the files have changed since
    the last time, they are loaded again; if they cannot be used, the previous certificate stays.
    Existing connections are not affected.
    """

    def __init__(self, files: Files) -> None:
        """Loads the files; raises OSError or ValueError if they cannot be used."""
        self._files = files
        self._lock = threading.Lock()
        self._seen = self._stamp()
        self._loaded = self._load()
        self._given = self._loaded  # To gRPC.

    def credentials(self) -> grpc.ServerCredentials:
        """Returns the credentials for a port of gRPC."""
        # The stubs of grpc do not know that None means no change.
        changed = cast("Callable[[], grpc.ServerCertificateConfiguration]", self._changed)
        return grpc.dynamic_ssl_server_credentials(
            self._loaded.configuration, changed, self._files.client_ca is not None
        )

    def context(self) -> ssl.SSLContext:
        """Returns the context for the next connection of HTTP."""
        with self._lock:
            self._refresh()
            return self._loaded.context

    def expires(self) -> float:
        """Returns when it expires, in seconds since 1970."""
        with self._lock:
            self._refresh()
            return self._loaded.expiry

    def _stamp(self) -> tuple[tuple[int, int, int], ...]:
        # Differs whenever a file has changed, also if a symbolic link leads elsewhere now.
        return tuple(_stamp_of(path) for path in self._files if path is not None)

    def _changed(self) -> grpc.ServerCertificateConfiguration | None:
        # Called in threads of gRPC, which would not say what it raises.
        with self._lock:
            self._refresh()
            if self._given is self._loaded:
                return None
            self._given = self._loaded
            return self._loaded.configuration

    def _refresh(self) -> None:
        stamp = self._stamp()
        if stamp == self._seen:
            return
        # Set before the files are loaded, so that unusable files are logged once.
        self._seen = stamp
        try:
            self._loaded = self._load()
        except (OSError, ValueError) as error:
            # This also happens when one file is replaced a moment after the other.
            _log.error("the changed TLS files are not used, the previous ones stay: %s", error)
        else:
            _log.info("the changed TLS files are used for new connections")

    def _load(self) -> "_Loaded":
        cert, key = read_again(self._files.cert), read_again(self._files.key)
        client_ca = self._files.client_ca
        roots = None if client_ca is None else read_again(client_ca)
        if client_ca is not None:
            _check_roots(client_ca)
        expiry = _expiry(self._files.cert, self._files.key)  # It finds the faults.
        configuration = grpc.ssl_server_certificate_configuration([(key, cert)], roots)
        loaded = _Loaded(configuration, _context(self._files), expiry)
        if self._stamp() != self._seen:
            raise ValueError("the files change at this moment")
        return loaded


class _Loaded(NamedTuple):
    """A certificate as grpcio and as connections of HTTP take it."""

    configuration: grpc.ServerCertificateConfiguration
    context: ssl.SSLContext
    expiry: float  # In seconds since 1970.


def _context(files: Files) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # As gRPC does. Not every Python has it as its default.
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(files.cert, files.key, password=lambda: b"")
    context.set_alpn_protocols(["http/1.1"])
    if files.client_ca is not None:
        context.load_verify_locations(files.client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _stamp_of(path: Path) -> tuple[int, int, int]:
    try:
        stat = path.stat()
    except OSError:
        return 0, 0, 0
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _check_roots(path: Path) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError:
        raise ValueError(f"{path} holds no certificates in PEM format") from None


def _expiry(cert: Path, key: Path) -> float:
    """Returns when a certificate expires; raises ValueError if no client would accept it.

    A client and a server in memory make a handshake with it. That finds every fault: files without
    a certificate, the key of another certificate, a certificate that is not valid yet or any more.
    """
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        # With an encrypted key and no password, OpenSSL would ask for one on the terminal.
        server.load_cert_chain(cert, key, password=lambda: b"")
        client.load_verify_locations(cert)
        peer = _shake_hands(client, server).getpeercert()
    except ssl.SSLCertVerificationError as error:
        raise ValueError(f"{cert} is of no use: {error.verify_message}") from None
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise ValueError(f"{key} is not the key of {cert}") from None
        raise ValueError(
            f"{cert} and {key} are not a certificate and its key in PEM format, without a password"
        ) from None
    assert peer is not None
    return ssl.cert_time_to_seconds(str(peer["notAfter"]))


def _shake_hands(client: ssl.SSLContext, server: ssl.SSLContext) -> ssl.SSLObject:
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(back, there)
    answering = server.wrap_bio(there, back, server_side=True)
    for each in (asking, answering, asking):
        try:
            each.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return asking
