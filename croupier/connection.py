"""A connection to a server: calls with a token, repeated if they were lost, and searches."""

import math
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Self, TypedDict, TypeVar, Unpack

import grpc
from google.protobuf.duration_pb2 import Duration

from croupier.errors import CroupierError
from croupier.retry import Retry, Tally
from croupier.transport import Security, bearer, explained, identity, open_channel
from croupier.v1 import (
    catalog_pb2_grpc,
    feed_pb2_grpc,
    hint_pb2,
    hint_pb2_grpc,
    match_pb2_grpc,
    puzzle_pb2_grpc,
    review_pb2,
    review_pb2_grpc,
)

TIMEOUT = 30.0  # Seconds that a call may take, not counting the time of a search.
PATIENCE = 30.0  # Seconds for which a call or a stream is tried again after a loss.
WHOLE = 0.9  # The share of its timeout after which a call is late, not lost.
ASKS_FOR = 0.4  # Seconds for which the library goes on asking about a connection; it says 0.2.
MAX_SEARCH_SECONDS = 60.0  # The server's limit.

_CHANNEL = (
    # Two connections of one process do not share their sockets, and close their own.
    ("grpc.use_local_subchannel_pool", 1),
    # So that a server that is up again is found soon, and while there is patience.
    ("grpc.max_reconnect_backoff_ms", 1000),
    # So that a stream whose server or proxy vanished in silence is found to be lost.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 8_000),
    # Otherwise a ping that measures the bandwidth waits for a minute, and keepalive with it.
    ("grpc.http2.ping_timeout_ms", 8_000),
)

_Response = TypeVar("_Response")


class SearchOptions(TypedDict, total=False):
    """The limits of a search, each 0 or None for none, and its seed."""

    iterations: int
    seconds: float | None
    threads: int
    seed: int | None


class Connection:
    """A connection to a server at "HOST:PORT". Several threads may use it."""

    def __init__(
        self,
        address: str,
        *,
        timeout: float = TIMEOUT,
        patience: float = PATIENCE,
        tls: bool = False,
        ca: str | Path | None = None,
        cert: str | Path | None = None,
        key: str | Path | None = None,
        insecure: bool = False,
        api_key: str = "",
        player: str = "",
    ) -> None:
        """Connects with the first call.

        With `tls`, the server must show a certificate of its host that comes from an authority in
        the file `ca`, or from one that gRPC knows. `cert` and `key` are files with the certificate
        of this client and its key, for a server that asks for one. Each file implies `tls`. Without
        TLS, a call to another host that carries a token raises CroupierError, unless `insecure`
        says that the network is private.

        Every call carries the `api_key` that the server's operator has given to a front end, and
        the name of the `player` for whom the front end calls, if they are given.

        Raises OSError for a file that cannot be read, ValueError for options that do not fit, and
        CroupierError for a key or a player that cannot be sent.
        """
        self.address = address
        self.timeout = timeout
        self.patience = patience
        self.tally = Tally()
        self._identity = identity(api_key, player)
        self._closed = False
        self._asking: list[Callable[[grpc.ChannelConnectivity], None]] = []
        self._asked_at = float("-inf")
        self._security = Security(tls, ca, cert, key, insecure)
        self._channel = open_channel(address, self._security, _CHANNEL)
        self.catalog_stub = catalog_pb2_grpc.CatalogServiceStub(self._channel)
        self.match_stub = match_pb2_grpc.MatchServiceStub(self._channel)
        self.feed_stub = feed_pb2_grpc.FeedServiceStub(self._channel)
        self.hint_stub = hint_pb2_grpc.HintServiceStub(self._channel)
        self.review_stub = review_pb2_grpc.ReviewServiceStub(self._channel)
        self.puzzle_stub = puzzle_pb2_grpc.PuzzleServiceStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; its streams end."""
        self._closed = True
        if self._asking or time.monotonic() - self._asked_at < ASKS_FOR:
            for each in list(self._asking):
                self._channel.unsubscribe(each)
            time.sleep(ASKS_FOR)  # A thread of the library would fail at a closed channel.
        self._channel.close()

    def metadata(self, token: str | None = None) -> tuple[tuple[str, str], ...]:
        """Returns the metadata of a call with a token, or without one."""
        if token is None:
            return self._identity
        return (*self._identity, bearer(token))

    def call(
        self,
        rpc: Callable[..., _Response],
        request: Any,
        token: str | None = None,
        timeout: float | None = None,
    ) -> _Response:
        """Calls a method of a stub once; raises CroupierError."""
        try:
            return rpc(request, timeout=timeout or self.timeout, metadata=self.metadata(token))
        except grpc.RpcError as error:
            raise CroupierError.from_call(error) from error

    def persist(
        self,
        rpc: Callable[..., _Response],
        request: Any,
        patience: float | None = None,
        token: str | None = None,
        timeout: float | None = None,
    ) -> _Response:
        """Repeats a call until the server answers; raises CroupierError after `patience` seconds.

        The call must have the same effect however often it is repeated. The default is the
        `patience` of this object. A call that has taken the whole `timeout` is not repeated.
        """
        retry = self.retry(patience)
        timeout = timeout or self.timeout
        while True:
            began = time.monotonic()
            try:
                return self.call(rpc, request, token, timeout)
            except CroupierError as error:
                if time.monotonic() - began >= WHOLE * timeout:
                    raise
                self.wait(retry, error)

    def retry(self, patience: float | None = None) -> Retry:
        """Returns the retries of one call; `patience` is in seconds, by default this object's."""
        return Retry(self.patience if patience is None else patience, self.tally)

    def wait(self, retry: Retry, error: CroupierError) -> None:
        """Returns when it is time for the next try; raises `error` if there should be none."""
        if self._closed:  # By another thread.
            raise error
        explained(error, self.address, self._security)
        if not retry.lasts:
            retry.wait(error)
            return

        def ignore(_: grpc.ChannelConnectivity) -> None:
            pass

        # While no call is under way, the library connects only if somebody asks how it goes.
        self._asking.append(ignore)
        self._channel.subscribe(ignore, try_to_connect=True)
        try:
            retry.wait(error)
        finally:
            self._channel.unsubscribe(ignore)
            self._asking.remove(ignore)
            self._asked_at = time.monotonic()

    def search(
        self, search: hint_pb2.Search, token: str | None = None, **options: Unpack[SearchOptions]
    ) -> hint_pb2.Hint:
        """Asks for a hint; the search takes one second if no limit is given."""
        timeout = self._limit(search, 1.0, **options)
        request = hint_pb2.SuggestActionRequest(search=search)
        response: hint_pb2.SuggestActionResponse = self.persist(
            self.hint_stub.SuggestAction, request, token=token, timeout=timeout
        )
        return response.hint

    def start_analysis(
        self,
        search: hint_pb2.Search,
        every: float,
        token: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> "Analysis":
        """Starts a search with reports; it takes ten seconds if no limit is given."""
        timeout = self._limit(search, 10.0, **options)
        request = hint_pb2.AnalyzePositionRequest(search=search, report_interval=duration(every))

        def start() -> Any:
            return self.hint_stub.AnalyzePosition(
                request, timeout=timeout, metadata=self.metadata(token)
            )

        retry = self.retry()
        return Analysis(start, lambda error: self.wait(retry, error))

    def follow_review(
        self, request: review_pb2.ReviewMatchRequest, token: str | None = None
    ) -> Iterator[review_pb2.ReviewMatchResponse]:
        """Yields the reports of a review, each once, also if the connection is lost meanwhile."""
        told: set[tuple[str | None, int, int, bool]] = set()
        with closing(self._follow(self.review_stub.ReviewMatch, request, token)) as responses:
            for response in responses:
                made = response.decision
                key = (response.WhichOneof("report"), made.version, made.seat, made.deep)
                if key not in told:
                    told.add(key)
                    yield response

    def follow_replay(
        self, request: review_pb2.ReplayMatchRequest, token: str | None = None
    ) -> Iterator[review_pb2.ReplayMatchResponse]:
        """Yields the versions of a replay, each once, also if the connection is lost meanwhile."""
        with closing(self._follow(self.review_stub.ReplayMatch, request, token)) as responses:
            for response in responses:
                request.after_version = response.version
                yield response

    def _follow(self, rpc: Any, request: Any, token: str | None) -> Generator[Any, None, None]:
        # The responses to a stream, which is called again if the connection is lost meanwhile.
        retry = self.retry()
        while True:
            stream: Any = rpc(request, metadata=self.metadata(token))
            try:
                for response in stream:
                    retry = self.retry()
                    yield response
                return
            except grpc.RpcError as error:
                self.wait(retry, CroupierError.from_call(error))
            finally:
                stream.cancel()

    def _limit(
        self,
        search: hint_pb2.Search,
        default_seconds: float,
        iterations: int = 0,
        seconds: float | None = None,
        threads: int = 0,
        seed: int | None = None,
    ) -> float:
        # Sets the options of a search; returns the timeout of its call.
        if seed is not None:
            search.seed = seed
        if iterations or seconds is not None or threads:
            search.limits.iterations = iterations
            search.limits.threads = threads
            if seconds is not None or not iterations:
                limit = default_seconds if seconds is None else seconds
                search.limits.time.CopyFrom(duration(limit))
        # A search may have to wait for its turn, besides its own time.
        return self.timeout + (MAX_SEARCH_SECONDS if seconds is None else seconds)


class Analysis:
    """An iterator over the reports of a search; the last report has `final_report` set.

        with seat.analyze(seconds=10) as reports:
            for report in reports:
                if report.hint.expected_score > 0.9:
                    break

    Leaving the `with` block ends the search.
    """

    def __init__(self, start: Callable[[], Any], wait: Callable[[CroupierError], None]) -> None:
        """`wait` returns when `start` shall be tried again after an error, or raises the error."""
        self._start = start
        self._wait = wait
        self._call = start()
        self._cancelled = False

    def __iter__(self) -> Iterator[hint_pb2.AnalyzePositionResponse]:
        reported = False
        while True:
            try:
                for report in self._call:
                    reported = True
                    yield report
                return
            except grpc.RpcError as caught:
                error = CroupierError.from_call(caught)
            # A search that has reported is not started over: it would report less than before.
            if reported or self._cancelled:
                raise error
            self._wait(error)
            self._call = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.cancel()

    def cancel(self) -> None:
        """Ends the search. Any thread may call it."""
        self._cancelled = True
        self._call.cancel()


def duration(seconds: float) -> Duration:
    """Returns a number of seconds as a message; raises ValueError for one without an end."""
    if not math.isfinite(seconds):
        raise ValueError(f"{seconds} seconds have no end")
    message = Duration()
    message.FromNanoseconds(round(seconds * 1e9))
    return message
