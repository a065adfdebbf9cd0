"""Searches at search servers: processes that only search, on this machine or on others.

A task is sent to one of the servers as a call of HintService, with the view that it searches. A
server that is lost, or that stops, in the middle of it is replaced by another one.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

import grpc
from grpc_status import rpc_status

from croupier.errors import CroupierError
from croupier.retry import may_pass
from croupier.transport import CLEARTEXT, Security, channel_credentials, channel_options
from croupier.v1 import hint_pb2, hint_pb2_grpc
from service.common.call import REQUEST_ID_HEADER, current_call
from service.common.errors import shutting_down
from service.observability import tracing
from service.observability.metrics import Metrics
from service.searching.tasks import Report, SearchTask
from wire.errors import Refusal

TRIES = 3  # Servers to which a task is sent before it is done here.
MIN_SEARCH_SECONDS = 1e-3  # As in the schema.
LATE_SECONDS = 0.05  # By which the clocks of gRPC may differ.
# The fields that a search without details returns: enough for a bot, and to charge its owner.
SHORT = (
    "hint.action",
    "hint.stop_reason",
    "hint.iterations",
    "search_time",
    "queue_time",
    "paused_time",
)

_CHANNEL = (
    ("grpc.service_config", '{"loadBalancingConfig": [{"round_robin": {}}]}'),
    # A server that is up again is found soon, and one that does not answer given up soon.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 2000),
    # A server that vanished in silence is found to be lost.
    ("grpc.keepalive_time_ms", 12_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # Otherwise a ping that measures the bandwidth waits for a minute, and keepalive with it.
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.client_idle_timeout_ms", 2**31 - 1),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", 16 << 20),
    # Here each try is counted, and goes on with the time that is left.
    ("grpc.enable_retries", 0),
)
_DOWN = (grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN)


_log = logging.getLogger(__name__)


MAX_SECONDS = 300.0  # For a search without a deadline, such as a bot's; also in a queue.


class NoSearchServerError(Exception):
    """No search server has answered."""


class _EndingError(Exception):
    """This server stops before a search server has answered."""


class SearchServers:
    """All search servers at one address of gRPC, which take turns."""

    def __init__(
        self, address: str, threads: int, metrics: Metrics, security: Security = CLEARTEXT
    ) -> None:
        """`address` is a target of gRPC, such as "dns:///croupier-search:50051".

        A search with more than `threads` pays for no more, since a server may have fewer. Raises
        OSError for a file of `security` that cannot be read.
        """
        self._address = address
        self._threads = threads
        self._credentials = channel_credentials(security)
        self._metrics = metrics
        self._channel: grpc.aio.Channel | None = None
        self._stub: Any = None
        self._stopping = False  # Whether a search that a server has cut short is the answer.
        self._ending = False  # Whether the running calls are cancelled.
        self._calls: set[grpc.aio.Call] = set()

    @property
    def is_secure(self) -> bool:
        """Whether the connections have TLS."""
        return self._credentials is not None

    def open(self) -> None:
        """Begins to connect; called on the event loop."""
        options = channel_options(self._address, _CHANNEL)
        if self._credentials is None:
            self._channel = grpc.aio.insecure_channel(self._address, options)
        else:
            self._channel = grpc.aio.secure_channel(self._address, self._credentials, options)
        self._channel.get_state(try_to_connect=True)
        self._stub = hint_pb2_grpc.HintServiceStub(self._channel)

    async def wait_ready(self, seconds: float) -> bool:
        """Whether a server can be reached, after at most so many seconds."""
        assert self._channel is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._channel.channel_ready()
                return True
        return False

    async def reports(self, task: SearchTask) -> AsyncGenerator[tuple[Report, bool], None]:
        """The reports of a search, and whether each is final, which the last one is.

        After the loss of a server the search begins anew at another one, with the time that is
        left. Raises Refusal, and NoSearchServerError.
        """
        assert self._channel is not None
        search = hint_pb2.Search()
        search.CopyFrom(task.search)
        limit = search.limits.time.ToNanoseconds() / 1e9
        began = time.monotonic()
        last: Report | None = None
        for _ in range(TRIES):
            if self._channel.get_state(try_to_connect=True) in _DOWN:
                break
            if limit:
                left = max(MIN_SEARCH_SECONDS, limit - (time.monotonic() - began))
                search.limits.time.FromNanoseconds(int(1e9 * left))
            try:
                async with aclosing(self._try(task, search)) as reports:
                    async for report, final in reports:
                        if final and not self._stopping and _was_cut_short(report):
                            break  # Its server was ended: the next try searches again.
                        last = report
                        if final:  # Whoever reads need not come back after it.
                            self._count(task, "answered")
                        yield report, final
                        if final:
                            return
            except _EndingError:
                if last is None:
                    raise shutting_down() from None
                last.hint.stop_reason = hint_pb2.STOP_REASON_SHUTDOWN
                yield last, True
                return
            except CroupierError as error:
                if not may_pass(error):
                    _log.warning("a search server at %s failed: %s", self._address, error)
            self._count(task, "lost")
        self._count(task, "unanswered")
        raise NoSearchServerError

    def _count(self, task: SearchTask, outcome: str) -> None:
        self._metrics.search_server_calls.labels(task.requester.kind, outcome).inc()

    def let_stop(self) -> None:
        """Accepts what the servers have found when they stop: this server stops too."""
        self._stopping = True

    def end_searches(self) -> None:
        """Refuses all searches, those under way included."""
        self._ending = True
        for call in list(self._calls):
            call.cancel()

    async def close(self) -> None:
        """Closes the connections."""
        self.end_searches()
        if self._channel is not None:
            await self._channel.close()

    async def _try(
        self, task: SearchTask, search: hint_pb2.Search
    ) -> AsyncGenerator[tuple[Report, bool], None]:
        # One call of one server. Its owner pays for the time that it takes, as far as it is known,
        # but not for one that was lost with its server.
        if self._ending:
            raise _EndingError
        began = reported = time.monotonic()
        seconds = 0.0  # That the search has taken, when it reported.
        # No answer at all would let a bot wait for ever.
        timeout = min(max(0.0, task.deadline - began), MAX_SECONDS)
        call = self._start(task, search, timeout)
        self._calls.add(call)
        final = lost = False
        try:
            async for response, final in _responses(call):
                reported = time.monotonic()
                seconds = _seconds(response.search_time) - _seconds(response.paused_time)
                yield response, final
        except grpc.aio.AioRpcError as error:
            late = time.monotonic() >= task.deadline - LATE_SECONDS
            if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED and late:
                # There is nothing to say: the call for which this is ends by its own deadline. Any
                # other one is that of a proxy, which has lost the server.
                await asyncio.Event().wait()
            caught = CroupierError.from_call(error)
            if caught.reason and not may_pass(caught):
                raise Refusal.of(rpc_status.from_call(error)) from None  # type: ignore[arg-type]
            lost = True
            raise caught from None
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if self._ending and not (current and current.cancelling()):
                raise _EndingError from None
            raise
        finally:
            self._calls.discard(call)
            if not final:
                call.cancel()
                seconds += time.monotonic() - reported
            if not lost:
                task.charge(seconds * min(task.limits.threads, self._threads))

    def _start(self, task: SearchTask, search: hint_pb2.Search, timeout: float | None) -> Any:
        metadata = (*task.metadata(), *tracing.outgoing().items())
        call = current_call.get()
        if call is not None:
            metadata += ((REQUEST_ID_HEADER, call.request_id),)
        if not task.every:
            suggestion = hint_pb2.SuggestActionRequest(search=search)
            if not task.details:
                suggestion.read_mask.paths.extend(SHORT)
            return self._stub.SuggestAction(suggestion, timeout=timeout, metadata=metadata)
        analysis = hint_pb2.AnalyzePositionRequest(search=search)
        analysis.report_interval.FromNanoseconds(int(1e9 * task.every))
        return self._stub.AnalyzePosition(analysis, timeout=timeout, metadata=metadata)


async def _responses(call: Any) -> AsyncIterator[tuple[Any, bool]]:
    if isinstance(call, grpc.aio.UnaryUnaryCall):
        yield await call, True
        return
    async for response in call:
        yield response, response.final_report


def _was_cut_short(report: Report) -> bool:
    return bool(report.hint.stop_reason == hint_pb2.STOP_REASON_SHUTDOWN)


def _seconds(duration: Any) -> float:
    return float(duration.ToNanoseconds() / 1e9)
