"""What the Python client makes of refusals, and what it refuses itself."""

import math
from collections.abc import Iterator
from concurrent import futures

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from croupier.client import (
    Client,
    CroupierError,
    FieldViolation,
    NewMatch,
    Seat,
)
from croupier.connection import duration
from croupier.v1 import catalog_pb2_grpc
from tests.support.refusals import refused
from tests.support.waiting import FOREVER


def test_a_refusal_carries_code_reason_metadata_and_fields(client: Client, match: NewMatch) -> None:
    unknown = refused(lambda: client.game("whist"))
    assert (unknown.code, unknown.reason) == (grpc.StatusCode.NOT_FOUND, "GAME_NOT_FOUND")
    assert unknown.metadata == {"game": "games/whist"}
    assert not unknown.violations

    invalid = refused(lambda: match.seats[0].suggest(iterations=1, threads=17))
    assert (invalid.code, invalid.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert [violation.field for violation in invalid.violations] == ["search.limits.threads"]
    assert "search.limits.threads" in str(invalid)
    assert str(invalid).startswith("INVALID_FIELD: ")

    match.seats[0].token = "forged"
    forged = refused(match.seats[0].view)
    assert (forged.code, forged.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_INVALID")


class Refusing(catalog_pb2_grpc.CatalogServiceServicer):
    """Refuses every call with `status`."""

    status = status_pb2.Status()

    def ListGames(self, request: object, context: grpc.ServicerContext) -> None:
        context.abort_with_status(rpc_status.to_status(self.status))


@pytest.fixture
def refusing() -> Iterator[tuple[Refusing, Client]]:
    servicer = Refusing()
    server = grpc.server(futures.ThreadPoolExecutor(1))
    catalog_pb2_grpc.add_CatalogServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with Client(f"127.0.0.1:{port}", timeout=FOREVER, patience=0.0) as client:
        yield servicer, client
    server.stop(None)


def detail(message: object) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)  # type: ignore[arg-type]
    return packed


def test_every_detail_of_an_error_is_read(refusing: tuple[Refusing, Client]) -> None:
    servicer, client = refusing
    retry = error_details_pb2.RetryInfo()
    retry.retry_delay.FromMilliseconds(1500)
    faults = error_details_pb2.BadRequest()
    faults.field_violations.add(field="a.b", description="must be odd")
    faults.field_violations.add(field="c", description="is required")
    info = error_details_pb2.ErrorInfo(
        domain="croupier.v1", reason="TOO_MANY_SEARCHES", metadata={"queue": "9"}
    )
    servicer.status = status_pb2.Status(
        code=grpc.StatusCode.RESOURCE_EXHAUSTED.value[0],
        message="busy",
        details=[detail(retry), detail(faults), detail(info)],
    )
    error = refused(client.games)
    assert (error.code, error.message) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "busy")
    assert (error.reason, error.metadata) == ("TOO_MANY_SEARCHES", {"queue": "9"})
    assert error.violations == (
        FieldViolation("a.b", "must be odd"),
        FieldViolation("c", "is required"),
    )
    assert error.retry_after == 1.5
    assert str(error) == "TOO_MANY_SEARCHES: busy; a.b: must be odd; c: is required"


def test_an_error_of_another_domain_has_no_reason(refusing: tuple[Refusing, Client]) -> None:
    servicer, client = refusing
    info = error_details_pb2.ErrorInfo(domain="proxy.example", reason="TOO_BIG")
    servicer.status = status_pb2.Status(
        code=grpc.StatusCode.INTERNAL.value[0], message="no", details=[detail(info)]
    )
    error = refused(client.games)
    assert (error.reason, error.metadata, error.retry_after) == ("", {}, None)
    assert str(error) == "INTERNAL: no"


@pytest.mark.parametrize("nanos", [-(10**9) // 2, -1, 0, 1, 10**9 - 1, 1_999_999_999, 10**13 + 1])
def test_seconds_keep_their_sign_and_their_size(nanos):
    assert duration(nanos / 1e9).ToNanoseconds() == pytest.approx(nanos, abs=1e-3 + nanos * 1e-15)


@pytest.mark.parametrize("seconds", [math.inf, math.nan])
def test_seconds_without_an_end_are_refused(seconds):
    with pytest.raises(ValueError, match="seconds"):
        duration(seconds)


@pytest.mark.parametrize("word", ["a\nb", "sch\u00f6n", "a\x00"])
def test_a_word_that_cannot_be_sent_is_refused_at_once(address, word):
    for option in ("api_key", "player"):
        with pytest.raises(CroupierError, match="KEY_INVALID"):
            Client(address, **{option: word})
    with Client(address) as client, pytest.raises(CroupierError, match="TOKEN_INVALID"):
        Seat(client, "matches/a", word).view()
