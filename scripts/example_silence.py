"""Streams that fall silent, or have no heartbeats, under the clients in examples/.

A proxy passes all calls on to a server. The first stream of a match it holds back from when the
stream is up to date, as a proxy does that has lost its server without a word.
"""

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from example_clients import FailedError, command_of

from croupier.v1 import match_pb2
from lab.service_bench.ports import free_port

LIMIT = 12.5  # Seconds of silence after which a client takes a stream with heartbeats as lost.
DEAF = 60.0  # Seconds after which a client that still waits has failed; it may search first.
LONG = 15.0  # Seconds that a stream without heartbeats may be silent.
MATCH_SECONDS = 180
WATCH = "/croupier.v1.MatchService/WatchMatch"


def check_silence(language: str, server: str) -> float:
    """Plays a match whose stream falls silent, one without heartbeats, and returns the silence.

    Raises FailedError unless the client resumes the silent stream in time, and only that one.
    """
    with ThreadPoolExecutor() as pool:
        silent, plain = (
            pool.submit(_play, language, _Proxy(server, has_heartbeats=each))
            for each in (True, False)
        )
    proxy, resumes = silent.result()
    if resumes != 1 or proxy.silence < LIMIT - 1:
        raise FailedError(f"{resumes} resumes, after a silence of {proxy.silence:.1f} s")
    if proxy.requests[1].after_version != proxy.version:
        raise FailedError(f"resumed after {proxy.requests[1].after_version}, not {proxy.version}")
    other, resumes = plain.result()
    if resumes or other.silence < LONG:
        raise FailedError(f"{resumes} resumes without heartbeats, after {other.silence:.1f} s")
    return proxy.silence


def _play(language: str, proxy: "_Proxy") -> tuple["_Proxy", int]:
    # Plays a match by a proxy; returns how often the stream was resumed.
    server = grpc.server(ThreadPoolExecutor(), [proxy])
    address = f"127.0.0.1:{free_port()}"
    server.add_insecure_port(address)
    server.start()
    try:
        done = subprocess.run(
            [*command_of(language), "--server", address, "--game", "skystones"],
            capture_output=True,
            text=True,
            timeout=MATCH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise FailedError(f"no end after {MATCH_SECONDS} s: {error.stdout!r}") from error
    finally:
        server.stop(None)
    if done.returncode:
        raise FailedError(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return proxy, json.loads(done.stdout.splitlines()[-1])["resumes"]


class _Proxy(grpc.GenericRpcHandler):
    # Passes bytes on, and knows of messages only those of WatchMatch.

    def __init__(self, server: str, *, has_heartbeats: bool) -> None:
        self._channel: Any = grpc.insecure_channel(server)
        self._has_heartbeats = has_heartbeats
        self.requests: list[match_pb2.WatchMatchRequest] = []
        self.version = 0  # The last one before the silence,
        self.silence = 0.0  # and how long it was, in seconds.

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        """Returns what handles a call."""
        if details.method == WATCH:
            return grpc.unary_stream_rpc_method_handler(self._watch)

        def call(request: bytes, context: grpc.ServicerContext) -> bytes:
            try:
                answer: bytes = self._channel.unary_unary(details.method)(
                    request, metadata=_token(context)
                )
            except grpc.RpcError as lost:
                error: Any = lost
                context.set_trailing_metadata(error.trailing_metadata())
                context.abort(error.code(), error.details())
            return answer

        return grpc.unary_unary_rpc_method_handler(call)

    def _watch(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        self.requests.append(match_pb2.WatchMatchRequest.FromString(request))
        ended = threading.Event()
        stream = self._channel.unary_stream(WATCH)(request, metadata=_token(context))

        def end() -> None:
            ended.set()
            stream.cancel()

        context.add_callback(end)
        for data in stream:
            response = match_pb2.WatchMatchResponse.FromString(data)
            if not response.up_to_date or self._has_heartbeats:
                yield data
            if response.up_to_date and not self.silence:
                began = time.monotonic()
                self.version = response.version
                ended.wait(DEAF if self._has_heartbeats else LONG)
                self.silence = time.monotonic() - began
                if ended.is_set():
                    return


def _token(context: grpc.ServicerContext) -> tuple[Any, ...]:
    return tuple(each for each in context.invocation_metadata() if each[0] == "authorization")
