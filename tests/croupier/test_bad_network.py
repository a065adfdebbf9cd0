"""The Python client over a network that loses connections, and servers that are killed."""

import contextlib
import queue
import select
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from croupier.client import (
    OPEN,
    Client,
    CroupierError,
    NewMatch,
    Operator,
    Seat,
    bot,
)
from tests.support.refusals import refused
from tests.support.replicas import Replica
from tests.support.serving import Client as ServiceClient
from tests.support.waiting import PAUSE


class Cable:
    """Forwards TCP connections to a server, until they are cut."""

    def __init__(self, server: str) -> None:
        host, port = server.rsplit(":", 1)
        self.server = host, int(port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.lock = threading.Lock()
        self.pairs: list[tuple[socket.socket, socket.socket]] = []
        self.connections = 0
        self.deaf = False  # Whether the server's next answer is lost, and then the connection.
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            pair = near, socket.create_connection(self.server)
            with self.lock:
                self.pairs.append(pair)
                self.connections += 1
            threading.Thread(target=self.forward, args=pair, daemon=True).start()

    def forward(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError), near, far:
            while True:
                for source in select.select([near, far], [], [])[0]:
                    data = source.recv(65536)
                    if source is far and self.deaf:
                        self.deaf = False
                        self.cut()
                    (far if source is near else near).sendall(data)
                    if not data:
                        self.cut()

    def cut(self) -> None:
        with self.lock:
            for pair in self.pairs:
                for end in pair:
                    with contextlib.suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)
            self.pairs.clear()


@pytest.fixture
def cable(address: str) -> Iterator[Cable]:
    cable = Cable(address)
    yield cable
    cable.listener.close()
    cable.cut()


def test_a_stream_goes_on_where_the_connection_was_lost(client: Client, cable: Cable) -> None:
    match = client.create_match("champion_chess", (OPEN, bot("random")), seed=4)
    with Client(cable.address) as far:
        stream = far_seat(far, match).watch()
        versions = [next(stream).version]
        cable.cut()
        match.seats[0].resign()
        versions += [response.version for response in stream]
    assert cable.connections == 2
    last = match.seats[0].view().version
    assert versions == list(range(last + 1))


def far_seat(client: Client, match: NewMatch) -> Seat:
    return Seat(client, match.name, match.seats[0].token)


def test_a_refused_stream_does_not_try_again(match: NewMatch) -> None:
    stream = match.spectator.watch(after_version=9, patience=float("inf"))
    assert refused(lambda: next(stream)).reason == "VERSION_IN_FUTURE"


def test_a_stream_that_cannot_go_on_raises(client: Client, cable: Cable) -> None:
    match = client.create_match("champion_chess")
    with Client(cable.address) as far:
        stream = far_seat(far, match).watch(patience=0.0)
        next(stream)
        cable.listener.close()
        cable.cut()
        error = refused(lambda: next(stream))
    assert error.code is grpc.StatusCode.UNAVAILABLE


def test_what_is_done_counts_once_if_the_answer_was_lost(client: Client, cable: Cable) -> None:
    match = client.create_match("champion_chess")
    with Client(cable.address) as far:
        seat = far_seat(far, match)
        action = seat.view().legal_actions[0]
        cable.deaf = True
        view = seat.submit(action)
        assert (view.version, list(view.deciders)) == (1, [1])
        assert match.seats[1].view().version == 1
        cable.deaf = True
        view = seat.resign()
    assert cable.connections == 3
    assert view == match.seats[0].view()
    assert list(view.result.scores) == [0.0, 1.0]


def test_a_match_whose_name_was_lost_is_created_once(
    start_client: Callable[..., ServiceClient], tmp_path: Path
) -> None:
    operator = tmp_path / "operator"
    operator.write_text("the operator of a server behind a cable".replace(" ", "-"))
    cable = Cable(start_client(operator_token_file=operator).address)
    with contextlib.closing(cable.listener), Client(cable.address) as far:
        far.games()
        cable.deaf = True
        match = far.create_match("champion_chess")
        assert cable.connections == 2
        matches = Operator(far, operator.read_text()).matches()
        assert [each.name for each in matches] == [match.name]
        assert match.seats[1].view().seat == 1
        # The same request id gives the same match again; without one, each match is another.
        request_id = str(uuid.uuid4())
        kept = far.create_match("champion_chess", request_id=request_id)
        again = far.create_match("champion_chess", request_id=request_id)
        assert (again.name, again.seats[0].token) == (kept.name, kept.seats[0].token)
        assert kept.name != match.name != far.create_match("champion_chess").name
    cable.cut()


def test_a_replay_goes_on_where_the_connection_was_lost(
    client: Client, match: NewMatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat = match.seats[0]
    seat.resign()
    whole = list(seat.replay(spectator=True))
    assert [each.version for each in whole] == [0, 1]
    replay, asked = client.review_stub.ReplayMatch, []

    class Losing:
        """A connection on which one response comes; then an earlier server shuts down."""

        def __init__(self, request: Any, metadata: Any) -> None:
            asked.append(request.after_version if request.HasField("after_version") else None)
            self.stream = replay(request, metadata=metadata)

        def __iter__(self) -> Iterator[Any]:
            yield next(self.stream)
            if len(asked) == 1:
                raise LostError

        def cancel(self) -> None:
            self.stream.cancel()

    monkeypatch.setattr(client.review_stub, "ReplayMatch", Losing)
    assert list(seat.replay(spectator=True)) == whole
    assert asked == [None, 0]
    monkeypatch.undo()
    from_record = list(client.replay(seat.record(), seats=[1]))
    assert [view.seat for each in from_record for view in each.views] == [1, 1]


class LostError(grpc.RpcError):
    """The connection is lost."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return ""

    trailing_metadata = details


def test_an_action_is_tried_until_the_server_is_up_again(
    replicas: Callable[..., Replica], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = replicas("--store", "sqlite", "--data", str(tmp_path / "data"))
    server.ready()
    pauses = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            server.start()
            server.ready()

    # So that patience never ends.
    monkeypatch.setattr("croupier.retry.time", SimpleNamespace(sleep=pause, monotonic=float))
    with Client(server.address) as client:
        match = client.create_match("champion_chess")
        seat = match.seats[0]
        action = seat.view().legal_actions[0]
        server.kill()
        with pytest.raises(CroupierError) as caught:
            seat.submit(action, patience=0.0)
        assert caught.value.code is grpc.StatusCode.UNAVAILABLE
        assert not pauses
        assert seat.submit(action).version == 1
        assert len(pauses) >= 2


def test_streams_live_again_after_a_killed_server_is_back(
    replicas: Callable[..., Replica], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = replicas("--store", "sqlite", "--data", str(tmp_path / "data"))
    server.ready()
    pauses: queue.Queue[float] = queue.Queue()

    def pause(seconds: float) -> None:
        time.sleep(PAUSE)
        pauses.put(seconds)

    monkeypatch.setattr("croupier.retry.time", SimpleNamespace(sleep=pause, monotonic=float))
    with Client(server.address) as client, Client(server.address) as other:
        match = client.create_match("champion_chess")
        seats = match.seats[0], Seat(other, match.name, match.seats[1].token)
        lives: list[queue.Queue[None]] = [queue.Queue(), queue.Queue()]

        def follow(seat: Seat, told: queue.Queue[None]) -> None:
            for response in seat.watch(heartbeats=True):
                if response.up_to_date:
                    told.put(None)

        followers = [
            threading.Thread(target=follow, args=each) for each in zip(seats, lives, strict=True)
        ]
        for follower in followers:
            follower.start()
        for told in lives:
            told.get()
        server.kill()
        # However long it is away, a player waits for no more than a few seconds when it is back.
        assert max(pauses.get() for _ in range(20)) < 3
        server.start()
        server.ready()
        for told in lives:
            told.get()
        seats[0].resign()
        for follower in followers:
            follower.join()
