"""A connection to a server: calls with a token, retries and searches."""

import json
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc
from google.protobuf.duration_pb2 import Duration

from croupier.errors import CroupierError
from croupier.v1 import catalog_pb2_grpc, hint_pb2, hint_pb2_grpc, match_pb2_grpc

TIMEOUT = 30.0  # Seconds that a call may take, not counting the time of a search.
PATIENCE = 30.0  # Seconds for which a call or a stream is tried again.
MAX_SEARCH_SECONDS = 60.0  # The server's limit.

# Calls that can be repeated without harm: CreateMatch and SubmitAction because of their request
# ids, Rematch because a match has at most one.
_REPEATABLE = {
    "CatalogService": ("ListGames", "GetGame"),
    "MatchService": (
        "CreateMatch",
        "GetView",
        "SubmitAction",
        "ResignMatch",
        "ContributeEntropy",
        "Rematch",
        "GetRecord",
        "ListMatches",
    ),
    "HintService": ("SuggestAction",),
}
_SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [
                {"service": f"croupier.v1.{service}", "method": method}
                for service, methods in _REPEATABLE.items()
                for method in methods
            ],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.1s",
                "maxBackoff": "1s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}
_CHANNEL = (
    ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
    # So that a server that is up again is found while there is patience.
    ("grpc.max_reconnect_backoff_ms", 2000),
)

_Response = TypeVar("_Response")


class Connection:
    """A connection to a server at "HOST:PORT". Several threads may use it."""

    def __init__(self, address: str, *, timeout: float = TIMEOUT) -> None:
        self.address = address
        self.timeout = timeout
        self._channel = grpc.insecure_channel(address, _CHANNEL)
        self.catalog_stub = catalog_pb2_grpc.CatalogServiceStub(self._channel)
        self.match_stub = match_pb2_grpc.MatchServiceStub(self._channel)
        self.hint_stub = hint_pb2_grpc.HintServiceStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; its streams end."""
        self._channel.close()

    def call(
        self,
        rpc: Callable[..., _Response],
        request: Any,
        token: str | None = None,
        timeout: float | None = None,
    ) -> _Response:
        """Calls a method of a stub; raises CroupierError."""
        try:
            return rpc(request, timeout=timeout or self.timeout, metadata=bearer(token))
        except grpc.RpcError as error:
            raise CroupierError.from_call(error) from error

    def persist(
        self,
        rpc: Callable[..., _Response],
        request: Any,
        patience: float,
        token: str | None = None,
    ) -> _Response:
        """Repeats a call until the server answers; raises CroupierError after `patience` seconds.

        The call must have the same effect however often it is repeated.
        """
        retry = Retry(patience)
        while True:
            try:
                return self.call(rpc, request, token)
            except CroupierError as error:
                retry.wait(error)

    def search(
        self,
        request: hint_pb2.SuggestActionRequest,
        iterations: int,
        seconds: float | None,
        threads: int,
        token: str | None = None,
    ) -> hint_pb2.Hint:
        """Asks for a hint; the search takes one second if no limit is given."""
        _limit(request, iterations, seconds, threads, 1.0)
        response: hint_pb2.SuggestActionResponse = self.call(
            self.hint_stub.SuggestAction, request, token, self._search_timeout(seconds)
        )
        return response.hint

    def start_analysis(
        self,
        request: hint_pb2.AnalyzePositionRequest,
        iterations: int,
        seconds: float | None,
        threads: int,
        every: float,
        token: str | None = None,
    ) -> "Analysis":
        """Starts a search with reports; it takes ten seconds if no limit is given."""
        _limit(request, iterations, seconds, threads, 10.0)
        request.report_interval.CopyFrom(duration(every))
        return Analysis(
            self.hint_stub.AnalyzePosition(
                request, timeout=self._search_timeout(seconds), metadata=bearer(token)
            )
        )

    def _search_timeout(self, seconds: float | None) -> float:
        # A search may have to wait for its turn, besides its own time.
        return self.timeout + (MAX_SEARCH_SECONDS if seconds is None else seconds)


class Analysis:
    """An iterator over the reports of a search; the last report has `final` set.

        with seat.analyze(seconds=10) as reports:
            for report in reports:
                if report.hint.expected_score > 0.9:
                    break

    Leaving the `with` block ends the search.
    """

    def __init__(self, call: Any) -> None:
        self._call = call

    def __iter__(self) -> Iterator[hint_pb2.AnalyzePositionResponse]:
        try:
            yield from self._call
        except grpc.RpcError as error:
            raise CroupierError.from_call(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cancel()

    def cancel(self) -> None:
        """Ends the search. Any thread may call it."""
        self._call.cancel()


class Retry:
    """Decides whether a call that got no answer is tried again, and when."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self.reset()

    def reset(self) -> None:
        """Starts the time over, because the server has answered."""
        self._pause = 0.1
        self._lost_at: float | None = None

    def wait(self, error: CroupierError) -> None:
        """Returns when it is time for the next try; raises `error` if there should be none."""
        now = time.monotonic()
        self._lost_at = now if self._lost_at is None else self._lost_at
        if error.code is not grpc.StatusCode.UNAVAILABLE or now - self._lost_at >= self._patience:
            raise error
        time.sleep(error.retry_after or self._pause)
        self._pause = min(2 * self._pause, 2.0)


def bearer(token: str | None) -> tuple[tuple[str, str], ...]:
    """Returns the metadata of a call with a token, or without one."""
    return () if token is None else (("authorization", f"Bearer {token}"),)


def duration(seconds: float) -> Duration:
    """Returns a number of seconds as a message."""
    return Duration(seconds=int(seconds), nanos=round(seconds % 1 * 1e9))


def _limit(
    request: hint_pb2.SuggestActionRequest | hint_pb2.AnalyzePositionRequest,
    iterations: int,
    seconds: float | None,
    threads: int,
    default_seconds: float,
) -> None:
    if iterations or seconds is not None or threads:
        request.limits.iterations = iterations
        request.limits.threads = threads
        if seconds is not None or not iterations:
            request.limits.time.CopyFrom(duration(default_seconds if seconds is None else seconds))
