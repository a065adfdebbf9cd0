"""No secret travels in the clear to another host."""

from pathlib import Path

import grpc
import pytest

from croupier.client import Client, CroupierError, Operator
from croupier.transport import CleartextError, is_local
from croupier.v1 import hint_pb2
from tests.support.commands import croupier


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1:50051", True),
        ("127.3.2.1", True),
        ("localhost:50051", True),
        ("LOCALHOST", True),
        ("game.localhost:1", True),
        ("[::1]:50051", True),
        ("::1", True),
        ("[::ffff:127.0.0.1]:50051", True),
        ("dns:///localhost:50051", True),
        ("dns:localhost", True),
        ("dns://8.8.8.8/127.0.0.1:1", True),
        ("ipv4:127.0.0.1:1,127.0.0.2:2", True),
        ("ipv6:%5B::1%5D:50051", True),
        ("unix:/run/croupier", True),
        ("unix-abstract:croupier", True),
        ("0.0.0.0:50051", False),
        ("10.0.0.1:50051", False),
        ("localhost.example.org:50051", False),
        ("127.0.0.1.example.org:50051", False),
        ("ipv4:127.0.0.1:1,10.0.0.1:2", False),
        ("dns:///croupier.example.org", False),
        ("dns://127.0.0.1/croupier.example.org", False),
        ("[2001:db8::1]:50051", False),
        ("xds:///localhost", False),
        ("vsock:1:2", False),
        ("", False),
    ],
)
def test_a_local_address_is_recognized_by_its_text(address: str, local: bool) -> None:
    assert is_local(address) is local


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:65536",
        "[::1]:70000",
        "dns:///a:99999",
        "ipv4:127.0.0.1:1000000,10.0.0.1:2",
        "a:-1",
    ],
)
def test_a_port_that_there_is_not_is_refused_by_its_number(address: str) -> None:
    with pytest.raises(CroupierError, match=r"^\S* ?(-1|\d{5,7}) is not a port: 0 to 65535"):
        Client(address)


@pytest.mark.parametrize("address", ["", " ", "http://a:1", "HTTPS://a", "\ud800:1", "a\n:1"])
def test_what_is_no_address_is_refused_at_once(address: str) -> None:
    with pytest.raises(CroupierError, match=r"is no address of gRPC: give HOST:PORT") as refused:
        Client(address)
    assert refused.value.code is grpc.StatusCode.INVALID_ARGUMENT


@pytest.fixture
def elsewhere(shared_server: tuple[object, str]) -> tuple[str, str]:
    """The addresses of a server: one that counts as another host, and one that does not."""
    address = shared_server[1]
    return address.replace("127.0.0.1", "0.0.0.0"), address


def test_a_secret_is_not_sent_in_the_clear_to_another_host(elsewhere: tuple[str, str]) -> None:
    with Client(elsewhere[1]) as near:
        seat = near.create_match("skystones").seats[0]
        view = seat.view()
    with Client(elsewhere[0]) as client:
        # Calls without a secret are allowed.
        assert client.games()
        assert client.suggest(view, iterations=10).iterations == 10
        seat.client = client
        request = hint_pb2.SuggestActionRequest(search={"match_name": seat.match})
        for call in (
            lambda: client.create_match("skystones"),
            seat.view,
            seat.suggest,
            lambda: next(seat.watch()),
            lambda: next(iter(seat.analyze(iterations=10))),
            lambda: client.call(client.hint_stub.SuggestAction, request, seat.token),
            lambda: list(Operator(client, "word").matches()),
        ):
            with pytest.raises(CleartextError, match=r"in the clear to 0\.0\.0\.0:"):
                call()
        assert client.tally.read() == {}
    with Client(elsewhere[0], insecure=True) as client:
        seat.client = client
        assert seat.view() == view
        assert client.create_match("skystones").seats[1].view()


def test_the_commands_refuse_and_obey(elsewhere: tuple[str, str]) -> None:
    words = ("play", "skystones", "--auto", "--hint-iterations", "5", "--no-save")
    refused = croupier(*words, "--server", elsewhere[0])
    assert refused.status == 1
    assert "a token would travel in the clear" in refused.err
    assert croupier(*words, "--server", elsewhere[0], "--insecure").status == 0


@pytest.mark.parametrize(
    "security",
    [{"tls": True, "insecure": True}, {"cert": "a.crt"}, {"key": "a.key"}],
)
def test_settings_that_contradict_each_other_are_refused(security: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Client("localhost:1", **security)  # type: ignore[arg-type]


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Client("localhost:1", ca=tmp_path / "none")
