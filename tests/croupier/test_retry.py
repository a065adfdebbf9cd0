"""Lost calls and streams are tried again, whatever status a proxy gives; refusals are not."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from typing import NamedTuple

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from croupier.client import Client, CroupierError, Seat
from croupier.errors import DETAILS, MAX_RETRY_AFTER
from croupier.retry import LOST, may_pass
from croupier.v1 import (
    game_pb2,
    hint_pb2,
    hint_pb2_grpc,
    match_pb2,
    match_pb2_grpc,
)
from tests.support.waiting import FOREVER

BY_NAME = sorted(LOST, key=lambda code: code.name)
LAST = 3  # The version at which the match of the fake server is over.


@pytest.mark.parametrize(
    ("code", "message", "reason", "passes"),
    [
        ("UNAVAILABLE", "Socket closed", "", True),
        ("INTERNAL", "Received RST_STREAM with error code 2", "", True),
        ("UNKNOWN", "Stream removed", "", True),
        ("CANCELLED", "Received RST_STREAM with error code 8", "", True),
        ("DEADLINE_EXCEEDED", "upstream request timeout", "", True),
        ("UNAVAILABLE", "shutting down", "SHUTTING_DOWN", True),
        ("INTERNAL", "something went wrong here", "INTERNAL", False),
        ("RESOURCE_EXHAUSTED", "too many", "TOO_MANY_SEARCHES", False),
        ("PERMISSION_DENIED", "Received http2 header with status: 403", "", False),
        ("UNIMPLEMENTED", "Received http2 header with status: 404", "", False),
        ("UNAVAILABLE", "SSL_ERROR_SSL: CERTIFICATE_VERIFY_FAILED: expired", "", False),
        ("UNAVAILABLE", "failed with: Hostname Verification Check failed.", "", False),
        ("INTERNAL", "Exception serializing request!", "", False),
    ],
)
def test_what_may_pass_is_tried_again(code: str, message: str, reason: str, passes: bool) -> None:
    error = CroupierError(grpc.StatusCode[code], message, reason)
    assert may_pass(error) is passes


class Road(match_pb2_grpc.MatchServiceServicer, hint_pb2_grpc.HintServiceServicer):
    """A server behind a proxy that loses the first calls with some statuses."""

    def __init__(self) -> None:
        self.faults: list[Callable[[grpc.ServicerContext], None]] = []
        self.requests: list[object] = []

    def lose(self, *codes: grpc.StatusCode) -> None:
        """Makes the next calls fail with these statuses, without details of Croupier."""
        self.faults += [lambda context, code=code: context.abort(code, "lost") for code in codes]

    def refuse(self, code: grpc.StatusCode, reason: str) -> None:
        """Makes the next call fail with a refusal of Croupier."""
        info = any_pb2.Any()
        info.Pack(error_details_pb2.ErrorInfo(domain="croupier.v1", reason=reason))
        status = status_pb2.Status(code=code.value[0], message="no", details=[info])
        self.faults.append(lambda context: context.abort_with_status(rpc_status.to_status(status)))

    def _fail(self, request: object, context: grpc.ServicerContext) -> None:
        self.requests.append(request)
        if self.faults:
            self.faults.pop(0)(context)

    def GetView(
        self, request: match_pb2.GetViewRequest, context: grpc.ServicerContext
    ) -> match_pb2.GetViewResponse:
        self._fail(request, context)
        return match_pb2.GetViewResponse(view=game_pb2.View(version=7))

    def SubmitAction(
        self, request: match_pb2.SubmitActionRequest, context: grpc.ServicerContext
    ) -> match_pb2.SubmitActionResponse:
        self._fail(request, context)
        return match_pb2.SubmitActionResponse(view=game_pb2.View(version=8))

    def SuggestAction(
        self, request: hint_pb2.SuggestActionRequest, context: grpc.ServicerContext
    ) -> hint_pb2.SuggestActionResponse:
        self._fail(request, context)
        return hint_pb2.SuggestActionResponse(hint=hint_pb2.Hint(iterations=9))

    def AnalyzePosition(
        self, request: hint_pb2.AnalyzePositionRequest, context: grpc.ServicerContext
    ) -> Iterator[hint_pb2.AnalyzePositionResponse]:
        self._fail(request, context)
        yield hint_pb2.AnalyzePositionResponse()
        self._fail(request, context)
        yield hint_pb2.AnalyzePositionResponse(final_report=True)

    def WatchMatch(
        self, request: match_pb2.WatchMatchRequest, context: grpc.ServicerContext
    ) -> Iterator[match_pb2.WatchMatchResponse]:
        # One version for each stream that is lost.
        version = request.after_version + 1 if request.HasField("after_version") else 0
        while version <= LAST:
            yield match_pb2.WatchMatchResponse(version=version)
            self._fail(request, context)
            version += 1


@pytest.fixture
def road() -> Iterator[Road]:
    yield Road()


@pytest.fixture
def address(road: Road) -> Iterator[str]:
    server = grpc.server(futures.ThreadPoolExecutor(4))
    match_pb2_grpc.add_MatchServiceServicer_to_server(road, server)
    hint_pb2_grpc.add_HintServiceServicer_to_server(road, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None)


@pytest.fixture
def client(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr("croupier.retry.FIRST_PAUSE", 0.001)
    with Client(address, timeout=FOREVER) as client:
        yield client


@pytest.fixture
def seat(client: Client) -> Seat:
    return Seat(client, "matches/one", "token")


def counted(*codes: grpc.StatusCode) -> dict[str, int]:
    return {code.name: codes.count(code) for code in codes}


def test_a_call_is_repeated_after_each_status_of_a_proxy(road: Road, seat: Seat) -> None:
    for call in (seat.view, seat.suggest, lambda: seat.submit(game_pb2.MatchAction(), 7)):
        road.requests.clear()
        road.lose(*LOST)
        call()
        assert len(road.requests) == len(LOST) + 1
        # A repeated action has the same request_id.
        assert all(request == road.requests[0] for request in road.requests)
    assert seat.client.tally.read() == {code.name: 3 for code in LOST}


def test_a_stream_is_resumed_after_each_status_of_a_proxy(road: Road, seat: Seat) -> None:
    for code in LOST:
        road.requests.clear()
        road.lose(code, code)
        assert [response.version for response in seat.watch()] == list(range(LAST + 1))
        assert [request.after_version for request in road.requests] == [0, 0, 1, 1]
    assert seat.client.tally.read() == {code.name: 2 for code in LOST}


def test_an_analysis_starts_anew_until_it_has_reported(road: Road, seat: Seat) -> None:
    road.lose(grpc.StatusCode.UNKNOWN)
    assert [report.final_report for report in seat.analyze(iterations=1)] == [False, True]
    assert seat.client.tally.read() == {"UNKNOWN": 1}
    road.faults = [lambda context: None]
    road.lose(grpc.StatusCode.UNKNOWN)
    with pytest.raises(CroupierError):
        list(seat.analyze(iterations=1))
    assert seat.client.tally.read() == {"UNKNOWN": 1}


@pytest.mark.parametrize("code", [code for code in BY_NAME if code.name != "UNAVAILABLE"])
def test_a_refusal_of_the_server_is_not_repeated(
    road: Road, seat: Seat, code: grpc.StatusCode
) -> None:
    road.refuse(code, "INTERNAL")
    with pytest.raises(CroupierError) as caught:
        seat.view()
    assert (caught.value.code, caught.value.reason) == (code, "INTERNAL")
    road.refuse(code, "INTERNAL")
    with pytest.raises(CroupierError):
        list(seat.watch())
    assert len(road.requests) == 2


def test_a_stream_whose_client_is_closed_is_not_resumed(road: Road, seat: Seat) -> None:
    reached, go = threading.Event(), threading.Event()

    def hold(context: grpc.ServicerContext) -> None:
        reached.set()
        go.wait()

    road.faults.append(hold)
    caught: list[BaseException] = []

    def follow() -> None:
        try:
            list(seat.watch())
        except BaseException as error:
            caught.append(error)

    follower = threading.Thread(target=follow)
    follower.start()
    reached.wait()
    seat.client.close()
    follower.join()
    go.set()
    (error,) = caught
    assert isinstance(error, CroupierError)
    assert error.code is grpc.StatusCode.CANCELLED
    assert len(road.requests) == 1
    assert seat.client.tally.read() == {}


def test_a_call_that_has_taken_its_whole_time_is_not_repeated(road: Road, address: str) -> None:
    go = threading.Event()
    road.faults.append(lambda context: go.wait() and None)
    with Client(address, timeout=0.2) as client:
        with pytest.raises(CroupierError) as caught:
            Seat(client, "matches/one", "token").view()
        go.set()
    assert caught.value.code is grpc.StatusCode.DEADLINE_EXCEEDED
    assert len(road.requests) <= 1  # It may not have got that far.
    assert client.tally.read() == {}


@pytest.mark.parametrize("patience", [0, float("nan")])
def test_the_status_of_a_lost_call_is_told_when_patience_ends(
    road: Road, address: str, patience: float
) -> None:
    road.lose(grpc.StatusCode.INTERNAL)
    with Client(address, patience=patience) as client, pytest.raises(CroupierError) as caught:
        Seat(client, "matches/one", "token").view()
    assert (caught.value.code, caught.value.reason) == (grpc.StatusCode.INTERNAL, "")


class Failed(NamedTuple):
    """A failed call, with what a proxy or a server has sent of it."""

    details_bin: bytes

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.RESOURCE_EXHAUSTED

    def details(self) -> str:
        return "later"

    def trailing_metadata(self) -> Sequence[tuple[str, bytes]]:
        return [(DETAILS, self.details_bin)]


@pytest.mark.parametrize("seconds", [-5, 3, 10**13])
def test_whatever_a_server_says_when_to_come_back_is_a_time(seconds: int) -> None:
    status = status_pb2.Status(code=8, message="later")
    status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay={"seconds": seconds}))
    error = CroupierError.from_call(Failed(status.SerializeToString()))
    assert error.retry_after == min(max(0, seconds), MAX_RETRY_AFTER)


def test_details_that_are_none_are_left_out() -> None:
    broken = status_pb2.Status(code=8, message="later")
    broken.details.add(type_url="x/google.rpc.RetryInfo", value=b"\xff")
    for sent in (b"\xff", broken.SerializeToString()):
        assert str(CroupierError.from_call(Failed(sent))) == "RESOURCE_EXHAUSTED: later"
