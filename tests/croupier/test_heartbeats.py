"""A stream that has proved that it lives is resumed when it falls silent."""

import threading
from collections.abc import Iterator
from concurrent import futures

import grpc
import pytest

from croupier.client import HEARTBEAT_INTERVAL, SILENT_INTERVALS, Client, Seat
from croupier.v1 import match_pb2, match_pb2_grpc

INTERVAL = 0.1  # Seconds; the constraints of the schema are not those of the fake server.
LIMIT = 30.0
VERSION = match_pb2.WatchMatchResponse
ALIVE = [VERSION(version=0), VERSION(version=0, up_to_date=True)]


class Table(match_pb2_grpc.MatchServiceServicer):
    """Serves the stream of a match: what each call is sent before it waits for `go_on`."""

    def __init__(self) -> None:
        self.sent: list[list[match_pb2.WatchMatchResponse]] = []
        self.beats = 0  # Signs of life at the interval, after what is sent first.
        self.go_on = threading.Event()
        self.requests: list[match_pb2.WatchMatchRequest] = []
        self.beaten = threading.Event()

    def WatchMatch(
        self, request: match_pb2.WatchMatchRequest, context: grpc.ServicerContext
    ) -> Iterator[match_pb2.WatchMatchResponse]:
        self.requests.append(request)
        gone = threading.Event()
        context.add_callback(gone.set)
        yield from self.sent.pop(0)
        for _ in range(self.beats):
            gone.wait(INTERVAL)
            yield VERSION(version=0, up_to_date=True)
        self.beaten.set()
        if self.sent:
            gone.wait(LIMIT)  # Until the client gives the stream up.
        else:
            self.go_on.wait(LIMIT)
            yield VERSION(version=1)


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


def test_a_stream_that_falls_silent_is_resumed(table: Table, seat: Seat) -> None:
    table.go_on.set()
    table.sent = [ALIVE, []]
    assert [c.version for c in seat.watch(heartbeat_interval=INTERVAL)] == [0, 1]
    assert [r.HasField("after_version") for r in table.requests] == [False, True]
    assert seat.client.tally.read() == {"CANCELLED": 1}


def test_silence_of_a_server_without_signs_of_life_is_no_loss(table: Table, seat: Seat) -> None:
    table.sent = [ALIVE[:1]]
    threading.Timer(4 * SILENT_INTERVALS * INTERVAL, table.go_on.set).start()
    assert [c.version for c in seat.watch(heartbeat_interval=INTERVAL)] == [0, 1]
    assert len(table.requests) == 1


def test_a_reader_who_is_busy_does_not_lose_the_stream(table: Table, seat: Seat) -> None:
    table.sent = [ALIVE]
    table.beats = int(4 * SILENT_INTERVALS)
    stream = seat.watch(heartbeat_interval=INTERVAL, heartbeats=True)
    assert [next(stream).up_to_date for _ in range(2)] == [False, True]
    assert table.beaten.wait(LIMIT)
    table.go_on.set()
    assert [change.version for change in stream][-1] == 1
    assert len(table.requests) == 1
