"""Calls: admission, field rules, errors and metrics, once for all calls through every door.

A door is a protocol that clients speak: gRPC (`service/api/handlers.py`), and what browsers
speak (`service/web/`). It brings each call here, with the servicer that answers it, and tells the
caller the result: the servicer's response, or a Refusal.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, NamedTuple, Protocol, TypeAlias

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import code_pb2

from croupier.v1.error_pb2 import ErrorReason
from service import tracing
from service.admission.admission import Admission
from service.admission.budgets import Budget, BudgetExhausted
from service.admission.identification import Metadata
from service.admission.principals import current_principal
from service.current_call import CurrentCall
from service.errors import Refusal, invalid_field, log_failure, shutting_down
from service.metrics import METHODS, Metrics
from service.validation import first_violation

OUR_METHODS = "/croupier.v1."
MAX_WHY = 500  # Characters.
# A call that has not been answered by its deadline counts as the server's fault after this time.
ANSWER_SECONDS = 1.0
# A caller cancels a call by a deadline of its own. It comes earlier than the one that is read here,
# by the time that the call was on its way.
DEADLINE_TOLERANCE = 0.1
QUIET_PARTS = 10

# A servicer that puts a response together as bytes makes no message.
Response: TypeAlias = Message | bytes


class Service(NamedTuple):
    """A service of the schema, and who answers its calls."""

    descriptor: ServiceDescriptor
    servicer: object


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
        self._came = 0.0  # When the newest call came, by time.perf_counter.
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

    async def wait_quiet(self, quiet: float, most: float) -> None:
        """Returns when no call has come in for `quiet` seconds, or after `most` seconds.

        In each of its parts the event loop has looked for calls, so that a process that got no
        processor for that long does not take it for quiet.
        """
        until = time.perf_counter() + most
        parts = 0
        while parts < QUIET_PARTS and time.perf_counter() < until:
            came = self._came
            await asyncio.sleep(quiet / QUIET_PARTS)
            parts = parts + 1 if came == self._came else 0

    async def answer(
        self,
        call: CurrentCall,
        servicer: Callable[[Any, Context], Awaitable[Response]],
        read: Callable[[], Message],
        context: Context,
    ) -> Response:
        """The response to a unary call, which is the current one.

        `read` parses the request; it and this raise Refusal, whatever goes wrong.
        """
        began = self._begin(call, context)
        try:
            self._admit(call, context)
            response = await servicer(_checked(read()), context)
        # Also the cancellation of a call whose caller has gone, which is counted.
        except BaseException as error:
            raise await self._failed(call, error, began, context) from None
        self._count(call, "OK", began)
        self._tell(logging.DEBUG, call, "OK", "", began)
        return response

    async def stream(
        self,
        call: CurrentCall,
        servicer: Callable[[Any, Context], AsyncIterator[Response]],
        read: Callable[[], Message],
        context: Context,
    ) -> AsyncIterator[Response]:
        """The responses to a call whose responses are a stream; otherwise as `answer`."""
        began = self._begin(call, context)
        try:
            self._admit(call, context)
            request = _checked(read())
            with self._admission.hold(Budget.STREAMS):
                responses: Any = servicer(request, context)
                async with aclosing(responses):
                    async for response in responses:
                        yield response
        except BaseException as error:
            raise await self._failed(call, error, began, context) from None
        self._count(call, "OK", began)
        self._tell(logging.DEBUG, call, "OK", "", began)

    async def admit(self, call: CurrentCall, context: Context) -> None:
        """Admits a call before its request is there; raises Refusal.

        `answer` and `stream` admit all others, and count what becomes of every call.
        """
        try:
            self._admit(call, context)
        except Refusal as refusal:
            raise await self._failed(call, refusal, self._begin(call, context), context) from None

    async def admit_file(self, metadata: Metadata, peer: str) -> None:
        """Counts a request for a file as a call of its address; raises BudgetExhausted."""
        try:
            self._admission.admit_address(metadata, peer)
        except BudgetExhausted as exhausted:
            await self._admission.wait_to_refuse(exhausted)
            raise

    def _admit(self, call: CurrentCall, context: Context) -> None:
        if self.draining:
            raise shutting_down()
        if not call.caller:
            self._admission.admit(context.invocation_metadata() or (), context.peer())
            call.caller = current_principal.get()

    def _begin(self, call: CurrentCall, context: Context) -> float:
        self._running += 1
        if tracing.is_on():
            metadata = context.invocation_metadata() or ()
            traced = tracing.begin_call(call.method, call.request_id, metadata)
            if traced is not None:
                call.span, call.trace_id = traced
        self._metrics.rpc_began(_short(call.method))
        self._came = time.perf_counter()
        return self._came

    async def _failed(
        self, call: CurrentCall, error: BaseException, began: float, context: Context
    ) -> BaseException:
        # What the door is told: a Refusal, or that the caller has gone.
        if isinstance(error, Exception) and not isinstance(error, Refusal):
            # Whatever the error is, the caller gets an answer that reveals nothing of it.
            log_failure(call.method, error)
            error = Refusal(ErrorReason.ERROR_REASON_INTERNAL, "something went wrong here")
        reason = ""
        if isinstance(error, Refusal):
            code = code_pb2.Code.Name(error.status.code)
            reason = ErrorReason.Name(error.reason).removeprefix("ERROR_REASON_")
            self._metrics.refused(reason)
            level = logging.WARNING if error.reason in _SERVER_FAULTS else logging.INFO
        else:
            left = context.time_remaining()
            late = left is not None and left <= DEADLINE_TOLERANCE
            code = "DEADLINE_EXCEEDED" if late else "CANCELLED"
            slow = (
                time.perf_counter() - began >= ANSWER_SECONDS and not METHODS[_short(call.method)]
            )
            level = logging.WARNING if late and slow else logging.DEBUG
        if level == logging.WARNING:
            self._metrics.rpc_failed(_short(call.method))
        try:
            if isinstance(error, BudgetExhausted):
                await self._admission.wait_to_refuse(error)
        finally:
            self._count(call, code, began)
            self._tell(level, call, code, reason, began)
        return error

    def _count(self, call: CurrentCall, code: str, began: float) -> None:
        self._running -= 1
        self._ended.set()
        seconds = time.perf_counter() - began
        self._metrics.rpc_ended(_short(call.method), code, call.protocol, seconds)

    def _tell(self, level: int, call: CurrentCall, code: str, reason: str, began: float) -> None:
        # Tells the trace and the log of the end of a call.
        if call.span is not None:
            tracing.end_call(call.span, code, reason, call.match, level == logging.WARNING)
        if _log.isEnabledFor(level):
            _log_call(level, call, code, reason, began)


def _log_call(level: int, call: CurrentCall, code: str, reason: str, began: float) -> None:
    milliseconds = 1000 * (time.perf_counter() - began)
    fields = {"protocol": call.protocol, "code": code, "duration_ms": round(milliseconds, 3)}
    text = f"{call.method} {code}"
    if reason:
        fields["reason"] = reason
        text += f" ({reason})"
    text += f" {milliseconds:.1f} ms"
    _log.log(level, text, extra={"fields": fields})


def _short(method: str) -> str:
    # As the metrics name it: "MatchService/GetView".
    return method.removeprefix(OUR_METHODS)


def path_of(method: MethodDescriptor) -> str:
    """The path of a method: that of gRPC."""
    return f"/{method.containing_service.full_name}/{method.name}"


def request_reader(method: MethodDescriptor) -> Callable[[bytes], Message]:
    """What parses the requests of a method; it raises Refusal.

    A door takes requests as bytes, so that one which cannot be parsed is an error like any other.
    """
    kind = GetMessageClass(method.input_type)

    def read(data: bytes) -> Message:
        try:
            return kind.FromString(data)
        except DecodeError:
            raise unreadable() from None

    return read


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
