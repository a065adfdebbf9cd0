"""TLS over real sockets: certificates that are trusted or not, mutual TLS, and new files."""

import logging
import os
import re
import shutil
import socket
import ssl
import threading
import urllib.request
from ssl import TLSVersion
from urllib.parse import urlsplit

import grpc
import pytest

from cli.main import main
from croupier.client import Client, CroupierError
from service.gateway.listener import WebOptions
from service.listening import tls
from service.observability.metrics import Metrics
from tests.support.certificates import Authority
from tests.support.ports import own_port
from tests.support.server_process import refused_start
from tests.support.waiting import FOREVER

pytestmark = pytest.mark.usefixtures("patient_probe")
CONNECTIONS = 60  # During the reload.


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """An authority that nobody trusts."""
    return Authority(tmp_path_factory.mktemp("stranger"), "stranger")


@pytest.fixture
def serve(start):
    """Starts a server with TLS files, and returns its port."""
    return lambda *files: port_of(start(tls=tls.Files(*files))[1])


def port_of(client):
    return client.address.rpartition(":")[2]


def games(address, **security):
    """The number of games that a new connection shows."""
    with Client(address, timeout=FOREVER, **security) as client:
        return len(client.games())


def fault(address, **security):
    """The error of a connection that must fail, without another try."""
    with Client(address, timeout=FOREVER, **security) as client:
        with pytest.raises(CroupierError) as caught:
            client.create_match("skystones")
        assert client.tally.read() == {}
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE
    return caught.value.message


def test_a_client_that_trusts_the_authority_is_served(serve, authority):
    port = serve(*authority.issue())
    for host in ("localhost", "127.0.0.1"):
        assert games(f"{host}:{port}", ca=authority.cert)


def test_a_server_of_another_authority_is_not_trusted(serve, authority, stranger):
    port = serve(*authority.issue())
    assert "CERTIFICATE_VERIFY_FAILED" in fault(f"localhost:{port}", ca=stranger.cert)
    assert "CERTIFICATE_VERIFY_FAILED" in fault(f"localhost:{port}", tls=True)


def test_a_certificate_of_another_host_is_not_trusted(serve, authority):
    port = serve(*authority.issue("DNS:elsewhere.example"))
    assert "Hostname Verification Check failed" in fault(f"localhost:{port}", ca=authority.cert)


def test_a_server_whose_certificate_has_expired_since_is_not_trusted(serve, authority, monkeypatch):
    # The server would not start with it, so it does not look.
    monkeypatch.setattr(tls, "_expiry", lambda cert, key: 0)
    port = serve(*authority.issue(days=-1))
    assert "certificate has expired" in fault(f"localhost:{port}", ca=authority.cert)


def test_a_client_in_the_clear_and_a_server_in_the_clear_are_told_apart(
    serve, shared_server, authority
):
    with Client(f"localhost:{serve(*authority.issue())}", timeout=FOREVER, patience=0) as client:
        with pytest.raises(CroupierError) as caught:
            client.create_match("skystones")
        assert caught.value.code is grpc.StatusCode.UNAVAILABLE
    assert "the server speaks no TLS" in fault(shared_server[1], ca=authority.cert)


def test_mutual_tls_admits_only_clients_of_its_authority(serve, authority, stranger, tmp_path):
    clients = Authority(tmp_path, "clients")
    port = serve(*authority.issue(), clients.cert)
    server = f"localhost:{port}", authority.cert
    cert, key = clients.issue("DNS:front-end")
    assert games(server[0], ca=server[1], cert=cert, key=key)
    for refused in ((), stranger.issue("DNS:front-end"), clients.issue("DNS:late", days=-1)):
        files = dict(zip(("cert", "key"), refused, strict=False))
        with (
            Client(server[0], ca=server[1], timeout=FOREVER, patience=0, **files) as client,
            pytest.raises(CroupierError) as caught,
        ):
            client.games()
        assert caught.value.code is grpc.StatusCode.UNAVAILABLE


# Versions


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("gateway", ["grpc", "web"])
def test_tls_before_1_2_is_refused(start, authority, gateway):
    server, client = start(tls=tls.Files(*authority.issue()), web=WebOptions(port=0))
    url = client.address if gateway == "grpc" else urlsplit(server.web_url).netloc
    context = ssl.create_default_context(cafile=authority.cert)
    # A client that would speak any version.
    context.set_ciphers("ALL:@SECLEVEL=0")
    served = set()
    for version in (TLSVersion.TLSv1, TLSVersion.TLSv1_1, TLSVersion.TLSv1_2, TLSVersion.TLSv1_3):
        context.minimum_version = TLSVersion.MINIMUM_SUPPORTED
        context.maximum_version = version
        context.minimum_version = version
        with socket.create_connection(("127.0.0.1", url.rpartition(":")[2])) as raw:
            try:
                with context.wrap_socket(raw, server_hostname="localhost") as connection:
                    served.add(connection.version())
            except (ssl.SSLError, OSError):
                continue
    assert served == {"TLSv1.2", "TLSv1.3"}


def test_metrics_are_in_the_clear_whatever_the_listeners_speak(start, authority):
    port = own_port()
    start(tls=tls.Files(*authority.issue()), metrics_port=port)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
        assert answer.read().strip() == b"ready"


# New files


class Shown:
    """The files of a server's certificate, which can be replaced."""

    def __init__(self, directory, pair):
        self.files = tls.Files(directory / "tls.crt", directory / "tls.key")
        self.put(pair)

    def put(self, pair):
        for source, target in zip(pair, self.files, strict=False):
            new = target.with_suffix(".new")
            shutil.copy(source, new)
            new.replace(target)


def test_a_reload_under_load_refuses_no_call(serve, authority, tmp_path, caplog):
    shown = Shown(tmp_path, authority.issue())
    address = f"localhost:{serve(*shown.files)}"
    done, failures = threading.Semaphore(0), []

    def call():
        # Half of the calls are on a connection that stays, half on a new one.
        try:
            with Client(address, ca=authority.cert, timeout=FOREVER, patience=0) as lasting:
                for _ in range(CONNECTIONS // 4):
                    assert lasting.games()
                    assert games(address, ca=authority.cert, patience=0)
                    done.release()
        except BaseException as error:
            failures.append(error)
            raise
        finally:
            done.release(CONNECTIONS)

    callers = [threading.Thread(target=call) for _ in range(4)]
    with caplog.at_level(logging.INFO, logger="service.listening.tls"):
        for caller in callers:
            caller.start()
        for _ in range(5):
            done.acquire()
            cert, key = authority.issue()
            # Until the key is replaced too, the previous certificate is used.
            shown.put((cert,))
            assert games(address, ca=authority.cert, patience=0)
            shown.put((cert, key))
        for caller in callers:
            caller.join()
        games(address, ca=authority.cert)
    assert not failures
    reloads = [each for each in caplog.messages if "used for new connections" in each]
    assert 1 <= len(reloads) <= 5


def test_a_new_certificate_is_shown_and_told(authority, stranger, serve, tmp_path):
    shown = Shown(tmp_path, authority.issue(days=1))
    port = serve(*shown.files[:2])
    assert games(f"localhost:{port}", ca=authority.cert)
    shown.put(stranger.issue(days=3))
    assert games(f"localhost:{port}", ca=stranger.cert)
    assert "CERTIFICATE_VERIFY_FAILED" in fault(f"localhost:{port}", ca=authority.cert)


@pytest.mark.parametrize("broken", ["text", "key", "expired", "missing", "empty"])
def test_files_that_cannot_be_used_leave_the_previous_ones(
    authority, serve, tmp_path, broken, caplog
):
    shown = Shown(tmp_path, authority.issue())
    port = serve(*shown.files[:2])
    cert, key = authority.issue()
    said = {
        "text": "are not a certificate and its key",
        "key": "is not the key of",
        "expired": "certificate has expired",
        "missing": "No such file",
        "empty": "are not a certificate and its key",
    }[broken]
    if broken == "text":
        shown.files.cert.write_text("a certificate")
    elif broken == "key":
        shown.put((cert,))
    elif broken == "expired":
        shown.put(authority.issue(days=-1))
    elif broken == "missing":
        shown.files.key.unlink()
    else:
        shown.files.key.write_bytes(b"")
    for _ in range(3):
        assert games(f"localhost:{port}", ca=authority.cert)
    (line,) = (each.getMessage() for each in caplog.records if each.name == "service.listening.tls")
    assert line.startswith("the changed TLS files are not used, the previous ones stay: ")
    assert said in line
    # When they can be used again, they are.
    with caplog.at_level(logging.INFO, logger="service.listening.tls"):
        shown.put((cert, key))
        assert games(f"localhost:{port}", ca=authority.cert)
    assert caplog.messages[-1] == "the changed TLS files are used for new connections"


def test_the_expiry_is_a_metric_of_servers_with_tls(authority, tmp_path):
    metrics = Metrics()
    name = "croupier_tls_certificate_expiry_timestamp_seconds"
    assert metrics.registry.get_sample_value(name) is None
    shown = Shown(tmp_path, authority.issue(days=2))
    metrics.add_certificate(tls.Certificate(shown.files).expires)
    for days in (2, 9):
        shown.put(authority.issue(days=days))
        # Nobody need connect for the metric to tell of a new file.
        ends = metrics.registry.get_sample_value(name)
        assert abs(ends - shown.files.cert.stat().st_mtime - days * 86400) < 60


# The command line


def test_a_server_that_cannot_use_its_files_says_why_in_one_line(authority, tmp_path):
    cert, key = authority.issue()
    _, other = authority.issue()
    expired, its_key = authority.issue(days=-1)
    text, pipe = tmp_path / "text", tmp_path / "pipe"
    text.write_text("neither\n")
    os.mkfifo(pipe)
    options = ("--store", "memory", "--tls-cert", str(cert), "--tls-key")
    assert f"{other} is not the key of {cert}" in refused_start(*options, str(other))
    assert f"{pipe} must be a regular file" in refused_start(*options, str(pipe))
    for files, said in (
        ((expired, its_key), f"{expired} is of no use: certificate has"),
        ((text, key), "PEM format"),
        ((cert, tmp_path / "none"), "No such file"),
        ((cert, key, text), f"{text} holds no certificates"),
        ((pipe, key), f"{pipe} must be a regular file"),
        ((cert, pipe), f"{pipe} must be a regular file"),
        ((cert, key, pipe), f"{pipe} must be a regular file"),
    ):
        with pytest.raises((ValueError, OSError), match=re.escape(said)):
            tls.Certificate(tls.Files(*files))


def test_every_command_of_a_client_speaks_tls(replicas, authority, tmp_path, capsys):
    def run(*arguments):
        """Runs a command, and returns its status and what it says of errors."""
        with pytest.raises(SystemExit) as ended:
            main(list(map(str, arguments)))
        return ended.value.code, capsys.readouterr().err

    clients = Authority(tmp_path, "people")
    cert, key = authority.issue()
    word = tmp_path / "operator"
    word.write_text("the-operator-of-a-server-with-mutual-tls")
    operator = ("--operator-token-file", str(word))
    server = replicas(
        *("--store", "memory", "--tls-cert", str(cert), "--tls-key", str(key)),
        *("--tls-client-ca", str(clients.cert), *operator),
    )
    server.ready()
    mine, my_key = clients.issue("DNS:me")
    reach = ("--server", server.address, "--tls-ca", authority.cert)
    known = (*reach, "--tls-cert", mine, "--tls-key", my_key)
    play = ("play", "skystones", "--auto", "--hint-iterations", "10")
    for command in (
        ("health", *known),
        ("games", *known),
        (*play, *known),
        ("export", "--all", "--output", tmp_path / "records", *operator, *known),
    ):
        assert run(*command)[0] == 0
    assert len(list((tmp_path / "records").iterdir())) == 1
    status, said = run("health", *reach)
    assert status == 1
    assert said.startswith(f"croupier: {server.address}: UNAVAILABLE")
    status, said = run(*play, *known[:2], "--tls")
    assert status == 1
    assert "CERTIFICATE_VERIFY_FAILED" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["serve", "--tls-cert", "x"], "--tls-cert and --tls-key belong together"),
        (["serve", "--tls-client-ca", "x"], "--tls-client-ca needs --tls-cert and --tls-key"),
        (["health", "--tls-key", "x"], "--tls-cert and --tls-key belong together"),
        (["health", "--tls", "--insecure"], "--insecure excludes --tls"),
        (["games", "--server", "localhost:1", "--tls-ca", "none"], "--tls-ca: none cannot be read"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(list(options))
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_serving_other_hosts_in_the_clear_is_warned_of(start, authority, caplog):
    files = tls.Files(*authority.issue())
    for options, warned in (
        ({"host": "0.0.0.0"}, True),
        ({"host": "0.0.0.0", "tls": files}, False),
        ({}, False),
    ):
        caplog.clear()
        start(**options)
        assert ("tokens travel in the clear on 0.0.0.0" in caplog.text) is warned
