"""Calls: admission, field rules, errors and metrics, once for all calls through every door.

A door is a protocol that clients speak: gRPC (`service/api/interceptor.py`), and what browsers
speak (`service/web/`). It brings each call here, with the servicer that answers it, and tells the
caller the result: the servicer's response, or a Refusal.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Protocol, TypeAlias

from google.protobuf.message import Message
from google.rpc import code_pb2

from croupier.v1.error_pb2 import ErrorReason
from service.admission.admission import Admission
from service.admission.budgets import Budget, BudgetExhausted
from service.admission.identification import Metadata
from service.errors import Refusal, invalid_field, log_failure, shutting_down
from service.metrics import METHODS, Metrics
from service.validation import first_violation

OUR_METHODS = "/croupier.v1."
MAX_WHY = 500  # Characters.
# A call that has not been answered by its deadline counts as the server's fault after this time.
ANSWER_SECONDS = 1.0
# The call may be cancelled a little before the deadline that is read here.
DEADLINE_TOLERANCE = 0.005

# A servicer that puts a response together as bytes makes no message.
Response: TypeAlias = Message | bytes


class Context(Protocol):
    """What can be asked about a call, through whichever door it came."""

    def invocation_metadata(self) -> Metadata | None:
        """The metadata, by keys in lower case."""

    def peer(self) -> str:
        """The address of the other end of the connection, as gRPC writes it."""

    def time_remaining(self) -> float | None:
        """The seconds until the call's deadline; None if it has none."""


# The reasons for which the caller can do nothing.
_SERVER_FAULTS = (
    ErrorReason.ERROR_REASON_INTERNAL,
    ErrorReason.ERROR_REASON_STORE_UNAVAILABLE,
    ErrorReason.ERROR_REASON_STORE_FULL,
)

_log = logging.getLogger(__name__)


class Calls:
    """Admits callers, checks requests by the schema, and turns exceptions into Refusals."""

    def __init__(self, metrics: Metrics, admission: Admission) -> None:
        self._metrics = metrics
        self._admission = admission
        self._running = 0
        self._ended = asyncio.Event()  # Set with the end of each call.
        self.draining = False  # Whether calls are refused.

    def drain(self) -> None:
        """Refuses calls from now on."""
        self.draining = True

    async def wait_idle(self, seconds: float) -> None:
        """Returns when no call runs, or after a time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._running:
                    self._ended.clear()
                    await self._ended.wait()

    async def answer(
        self,
        method: str,
        servicer: Callable[[Any, Context], Awaitable[Response]],
        read: Callable[[], Message],
        context: Context,
        protocol: str,
    ) -> Response:
        """The response to a unary call of a method, as "/croupier.v1.MatchService/GetView".

        `read` parses the request; it and this raise Refusal, whatever goes wrong. The metrics count
        the call under `protocol`.
        """
        began = self._begin(method)
        try:
            self._admit(context)
            response = await servicer(_checked(read()), context)
        # Also the cancellation of a call whose caller has gone, which is counted.
        except BaseException as error:
            raise await self._failed(method, protocol, error, began, context) from None
        self._count(method, "OK", protocol, began)
        return response

    async def stream(
        self,
        method: str,
        servicer: Callable[[Any, Context], AsyncIterator[Response]],
        read: Callable[[], Message],
        context: Context,
        protocol: str,
    ) -> AsyncIterator[Response]:
        """The responses to a call whose responses are a stream; otherwise as `answer`."""
        began = self._begin(method)
        try:
            self._admit(context)
            request = _checked(read())
            with self._admission.hold(Budget.STREAMS):
                responses: Any = servicer(request, context)
                async with aclosing(responses):
                    async for response in responses:
                        yield response
        except BaseException as error:
            raise await self._failed(method, protocol, error, began, context) from None
        self._count(method, "OK", protocol, began)

    async def admit_file(self, metadata: Metadata, peer: str) -> None:
        """Counts a request for a file as a call of its address; raises BudgetExhausted."""
        try:
            self._admission.admit_address(metadata, peer)
        except BudgetExhausted as exhausted:
            await self._admission.wait_to_refuse(exhausted)
            raise

    def _admit(self, context: Context) -> None:
        if self.draining:
            raise shutting_down()
        self._admission.admit(context.invocation_metadata() or (), context.peer())

    def _begin(self, method: str) -> float:
        self._running += 1
        self._metrics.rpc_began(_short(method))
        return time.perf_counter()

    async def _failed(
        self, method: str, protocol: str, error: BaseException, began: float, context: Context
    ) -> BaseException:
        # What the door is told: a Refusal, or that the caller has gone.
        if isinstance(error, Exception) and not isinstance(error, Refusal):
            # Whatever the error is, the caller gets an answer that reveals nothing of it.
            log_failure(method, error)
            error = Refusal(ErrorReason.ERROR_REASON_INTERNAL, "something went wrong here")
        if isinstance(error, Refusal):
            code = code_pb2.Code.Name(error.status.code)
            reason = ErrorReason.Name(error.reason).removeprefix("ERROR_REASON_")
            self._metrics.refused(reason)
            ours = error.reason in _SERVER_FAULTS
        else:
            left = context.time_remaining()
            late = left is not None and left <= DEADLINE_TOLERANCE
            code = "DEADLINE_EXCEEDED" if late else "CANCELLED"
            waited = time.perf_counter() - began
            ours = late and waited >= ANSWER_SECONDS and not METHODS[_short(method)]
        if ours:
            self._metrics.rpc_failed(_short(method))
        try:
            if isinstance(error, BudgetExhausted):
                await self._admission.wait_to_refuse(error)
        finally:
            self._count(method, code, protocol, began)
        return error

    def _count(self, method: str, code: str, protocol: str, began: float) -> None:
        self._running -= 1
        self._ended.set()
        seconds = time.perf_counter() - began
        self._metrics.rpc_ended(_short(method), code, protocol, seconds)
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("%s %s %.1f ms", method, code, 1000 * seconds)


def _short(method: str) -> str:
    # As the metrics name it: "MatchService/GetView".
    return method.removeprefix(OUR_METHODS)


def unreadable(why: str = "") -> Refusal:
    """The refusal of a request that cannot be parsed; `why` may come from the request."""
    return Refusal(
        ErrorReason.ERROR_REASON_INVALID_FIELD,
        "the request is not a message of the schema" + (why and f": {why[:MAX_WHY]}"),
    )


def _checked(request: Message) -> Message:
    violation = first_violation(request)
    if violation is not None:
        raise invalid_field(*violation)
    # Unknown fields are neither stored with a match nor shown to others.
    request.DiscardUnknownFields()
    return request
