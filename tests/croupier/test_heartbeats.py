"""A stream that has proved that it lives is resumed when it falls silent."""

import threading
from collections.abc import Iterator
from concurrent import futures
from types import SimpleNamespace

import grpc
import pytest

from croupier.client import HEARTBEAT_INTERVAL, Client, Seat
from croupier.streams import in_background
from croupier.v1 import match_pb2, match_pb2_grpc
from tests.support.waiting import PAUSE

VERSION = match_pb2.WatchMatchResponse
ALIVE = [VERSION(version=0), VERSION(version=0, up_to_date=True)]


class Table(match_pb2_grpc.MatchServiceServicer):
    """Serves the stream of a match: what each call is sent before it waits for `go_on`."""

    def __init__(self) -> None:
        self.sent: list[list[match_pb2.WatchMatchResponse]] = []
        self.go_on = threading.Event()
        self.requests: list[match_pb2.WatchMatchRequest] = []

    def WatchMatch(
        self, request: match_pb2.WatchMatchRequest, context: grpc.ServicerContext
    ) -> Iterator[match_pb2.WatchMatchResponse]:
        self.requests.append(request)
        gone = threading.Event()
        context.add_callback(gone.set)
        yield from self.sent.pop(0)
        if self.sent:
            gone.wait()  # Until the client gives the stream up.
        else:
            self.go_on.wait()
            yield VERSION(version=1)


class Watch:
    """The clock by which a stream is silent, and each look at whether it is."""

    def __init__(self) -> None:
        self.now = self.step = 0.0  # Each reading is a step later.
        self.looks = threading.Semaphore(0)

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()

    class Event(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            watch.looks.release()
            return super().wait(PAUSE)

    monkeypatch.setattr("croupier.streams.time", watch)
    threads = SimpleNamespace(Event=Event, Thread=threading.Thread)
    monkeypatch.setattr("croupier.streams.threading", threads)
    return watch


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def seat(table: Table) -> Iterator[Seat]:
    server = grpc.server(futures.ThreadPoolExecutor(4))
    match_pb2_grpc.add_MatchServiceServicer_to_server(table, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with Client(f"127.0.0.1:{port}") as client:
        yield Seat(client, "matches/one", "token")
    table.go_on.set()
    server.stop(None)


def test_a_stream_asks_for_signs_of_life_and_keeps_them_to_itself(table: Table, seat: Seat) -> None:
    table.go_on.set()
    table.sent = [ALIVE]
    assert [change.version for change in seat.watch()] == [0, 1]
    table.sent = [ALIVE]
    shown = [change.up_to_date for change in seat.watch(heartbeats=True, follow_rematch=True)]
    assert shown == [False, True, False]
    intervals = [r.heartbeat_interval.ToSeconds() for r in table.requests]
    assert intervals == [HEARTBEAT_INTERVAL] * 2
    assert [r.follow_rematch for r in table.requests] == [False, True]


def test_a_stream_that_falls_silent_is_resumed(table: Table, seat: Seat, watch: Watch) -> None:
    table.go_on.set()
    table.sent = [ALIVE, []]
    watch.step = HEARTBEAT_INTERVAL
    assert [c.version for c in seat.watch()] == [0, 1]
    assert [r.HasField("after_version") for r in table.requests] == [False, True]
    assert seat.client.tally.read() == {"CANCELLED": 1}


def test_a_reader_who_is_busy_does_not_lose_the_stream(
    table: Table, seat: Seat, watch: Watch
) -> None:
    table.sent = [ALIVE]
    stream = seat.watch(heartbeats=True)
    assert [next(stream).up_to_date for _ in range(2)] == [False, True]
    watch.now += 100 * HEARTBEAT_INTERVAL
    for _ in range(3):
        watch.looks.acquire()
    table.go_on.set()
    assert [change.version for change in stream] == [1]
    assert len(table.requests) == 1


def test_a_failure_in_the_background_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    in_background("a test of failures", lambda: [].pop())
    for thread in threading.enumerate():
        if thread.name == "a test of failures":
            thread.join()
    assert "a test of failures has failed" in caplog.text
