"""Calls: admission, field rules, errors and metrics, once for all calls of every protocol.

gRPC (`service/api/grpc_listener.py`) and the web gateway (`service/gateway/`) bring each call here,
with the servicer that answers it, and tell the caller the result: the servicer's response, or a
Refusal.
"""

import asyncio
import logging
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
)
from contextlib import aclosing, suppress
from typing import Any, NamedTuple, TypeAlias

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import code_pb2

import wire
from croupier.v1.error_pb2 import ErrorReason
from service.admission.admission import Admission
from service.admission.budgets import Budget, BudgetExhausted, Held
from service.admission.callers_file import Callers
from service.common.call import NOBODY, Call, current_call
from service.common.errors import as_refusal, shutting_down
from service.common.event_loop import LongWork, Work, metered, paying
from service.common.memory import give_back_soon
from service.observability import tracing
from service.observability.metrics import METHODS, Metrics
from wire.errors import CODES, Refusal, invalid_field, nearest, quoted
from wire.validation import first_violation

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
    name: str = ""  # If it is not that of the descriptor.

    def methods(self) -> "list[Method]":
        """Its methods."""
        name = self.name or self.descriptor.full_name
        return [Method(each, self.servicer, name) for each in self.descriptor.methods]


class Method:
    """A method, with what each of its calls would otherwise find out anew."""

    def __init__(self, descriptor: MethodDescriptor, servicer: object, service: str) -> None:
        """The servicer has a coroutine or an async generator of the method's name."""
        self.descriptor = descriptor
        self.path = f"/{service}/{descriptor.name}"
        self.streams = descriptor.server_streaming
        self.takes_stream = descriptor.client_streaming
        self.servicer: Any = getattr(servicer, descriptor.name)
        self._request = GetMessageClass(descriptor.input_type)

    def read(self, data: bytes) -> Message:
        """Parses a request; raises Refusal.

        Requests come as bytes, so that one that cannot be parsed is an error like any other.
        """
        return parse(self._request, data)


# Makes of a response what its protocol sends, such as JSON, in pieces and at its caller's expense.
Encode: TypeAlias = Callable[[Response], Work[bytes]]


# The reasons for which the caller can do nothing.
_SERVER_FAULTS = (
    ErrorReason.ERROR_REASON_INTERNAL,
    ErrorReason.ERROR_REASON_STORE_UNAVAILABLE,
    ErrorReason.ERROR_REASON_STORE_FULL,
)

_log = logging.getLogger(__name__)


class Calls:
    """Admits callers, checks requests by the schema, and turns exceptions into Refusals."""

    def __init__(
        self, metrics: Metrics, admission: Admission, long_work: LongWork | None = None
    ) -> None:
        self._metrics = metrics
        self.admission = admission
        self._long_work = long_work or LongWork()
        self._running = 0
        self._streams: dict[Call, asyncio.Task[Any]] = {}  # Those that run, and who reads them.
        self._came = 0.0  # When the newest call came, by time.perf_counter.
        self._ended = asyncio.Event()  # Set with the end of each call.
        self.draining = False  # Whether calls are refused.
        self.tasks = metrics.tasks

    def drain(self) -> None:
        """Refuses calls from now on."""
        self.draining = True

    async def replace_callers(self, callers: Callers) -> None:
        """Knows other callers from now on, and ends the streams of those that are none any more.

        Raises OSError or ValueError, and has changed nothing then.
        """
        await self.admission.replace(callers)
        for call, task in list(self._streams.items()):
            try:
                self.admission.readmit(call)
            except Refusal as refusal:
                call.ended_by = refusal
                task.cancel()

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
        call: Call,
        method: Method,
        read: Callable[[], Message],
        encode: Encode | None = None,
    ) -> Response:
        """The response to a unary call, which becomes the current one.

        `read` parses the request; it and this raise Refusal, whatever goes wrong. `encode` makes of
        the response what is returned, if it is not what the servicer returns.
        """
        began = self._begin(call)
        try:
            self._admit(call)
            carried_out: Any = self._carry_out(call, method, read, encode)
            if call.payers:
                carried_out = metered(carried_out, self._charge(call))
            response: Response = await carried_out
        # Also the cancellation of a call whose caller has gone, which is counted.
        except BaseException as error:
            raise await self._failed(call, error, began) from None
        self._end(call, "OK", "", began, logging.DEBUG)
        return response

    async def _carry_out(
        self, call: Call, method: Method, read: Callable[[], Message], encode: Encode | None
    ) -> Response:
        response: Response = await method.servicer(_checked(read()), call)
        return response if encode is None else await self._long_work.finish(encode(response))

    def metered(self, call: Call, work: Coroutine[Any, Any, Any]) -> Awaitable[Any]:
        """The result of work that is no call, at the expense of who is found to pay for it."""
        return metered(work, self._charge(call))

    def _charge(self, call: Call) -> Callable[[float], None]:
        def charge(seconds: float) -> None:
            self.admission.charge(call, Budget.PROCESSOR, 1000 * seconds)

        paying.set(charge)
        return charge

    async def stream(
        self,
        call: Call,
        method: Method,
        read: Callable[[], Any],
        encode: Encode | None = None,
    ) -> AsyncIterator[Response]:
        """The responses to a call whose responses are a stream; otherwise as `answer`.

        If the requests are a stream too, `read` returns what `requests` does.
        """
        began = self._begin(call)
        try:
            self._admit(call)
            task = asyncio.current_task()
            assert task is not None
            self._streams[call] = task
            with self.admission.hold(call, Budget.STREAMS):
                responses: Any = self._responses(call, method, read, encode)
                if call.payers:
                    responses = self._metered(call, responses)
                async with aclosing(responses):
                    async for response in responses:
                        yield response
        except BaseException as error:
            raise await self._failed(call, error, began) from None
        finally:
            give_back_soon()
        self._end(call, "OK", "", began, logging.DEBUG)

    async def _metered(
        self, call: Call, responses: AsyncGenerator[Response, None]
    ) -> AsyncIterator[Response]:
        # A caller that has used more of the processor than it may waits for its next response.
        charge = self._charge(call)
        async with aclosing(responses):
            while True:
                try:
                    response = await metered(anext(responses), charge)
                except StopAsyncIteration:
                    return
                yield response
                await self.admission.wait_for(call, Budget.PROCESSOR)

    async def _responses(
        self, call: Call, method: Method, read: Callable[[], Any], encode: Encode | None
    ) -> AsyncIterator[Response]:
        request = read() if method.takes_stream else _checked(read())
        async with aclosing(method.servicer(request, call)) as responses:
            async for response in responses:
                yield response if encode is None else await self._long_work.finish(encode(response))

    async def requests(
        self, call: Call, method: Method, sent: AsyncIterator[bytes]
    ) -> AsyncIterator[Message]:
        """The requests of a call that takes a stream of them, each of which counts as a call.

        Raises Refusal.
        """
        first = True
        async for data in sent:
            if not first:
                self.admission.spend(call, Budget.CALLS)
            first = False
            yield _checked(method.read(data))

    async def admit(self, call: Call, size: int = 0) -> Held:
        """Admits a call before its request is there; raises Refusal.

        Returns what holds `size` bytes for it, as many as may come. `answer` and `stream` ask once
        more when the request is there, since others of its caller have come meanwhile, and count
        what becomes of every call.
        """
        current_call.set(call)
        try:
            self._admit(call)
            held = self.admission.holding_bytes(call)
            held.set(size)
        except Refusal as refusal:
            raise await self._failed(call, refusal, self._begin(call)) from None
        return held

    async def admit_file(self, call: Call) -> None:
        """Counts a request for a file as a call of its address; raises BudgetExhausted."""
        try:
            self.admission.admit_address(call)
        except BudgetExhausted as exhausted:
            await self.admission.wait_to_refuse(exhausted, call.size)
            raise

    def _admit(self, call: Call) -> None:
        if self.draining:
            raise shutting_down()
        if call.principal is NOBODY:
            self.admission.admit(call)
        else:
            self.admission.readmit(call)
            self.admission.check(call, Budget.PROCESSOR)

    def _begin(self, call: Call) -> float:
        self._running += 1
        current_call.set(call)
        tracing.begin_call(call)
        self._metrics.rpc_began(call.method)
        self._came = time.perf_counter()
        return self._came

    async def _failed(self, call: Call, error: BaseException, began: float) -> BaseException:
        # What the caller is told: a Refusal, or nothing if it has gone.
        self._streams.pop(call, None)
        if call.ended_by is not None and isinstance(error, asyncio.CancelledError):
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            error = call.ended_by
        # Compiled code of a package may raise SystemExit, which would end the event loop.
        if not isinstance(error, (asyncio.CancelledError, GeneratorExit)):
            # Whatever the error is, the caller gets an answer that reveals nothing of it.
            error = as_refusal(call.method, error)
        reason = ""
        if isinstance(error, Refusal):
            code = code_pb2.Code.Name(CODES[error.reason])  # Its status may never be told.
            reason = ErrorReason.Name(error.reason).removeprefix("ERROR_REASON_")
            self._metrics.refusals.labels(reason).inc()
            level = logging.WARNING if error.reason in _SERVER_FAULTS else logging.INFO
        else:
            left = call.time_remaining()
            late = left is not None and left <= DEADLINE_TOLERANCE
            code = "DEADLINE_EXCEEDED" if late else "CANCELLED"
            slow = time.perf_counter() - began >= ANSWER_SECONDS and not METHODS[call.method]
            level = logging.WARNING if late and slow else logging.DEBUG
        if level == logging.WARNING:
            self._metrics.rpc_failed(call.method)
        try:
            if isinstance(error, BudgetExhausted):
                error.__traceback__ = None  # It would hold the request, and all made of it.
                await self.admission.wait_to_refuse(error, call.size)
        finally:
            self._end(call, code, reason, began, level)
        return error

    def _end(self, call: Call, code: str, reason: str, began: float, level: int) -> None:
        # Counts the end of a call, and tells the trace and the log of it.
        self._running -= 1
        self._streams.pop(call, None)
        self._ended.set()
        seconds = time.perf_counter() - began
        self._metrics.rpc_ended(call.method, code, call.protocol, seconds)
        if call.span is not None:
            tracing.end_call(call, code, reason, level == logging.WARNING)
        if _log.isEnabledFor(level):
            _log_call(level, call, code, reason, seconds)


def _log_call(level: int, call: Call, code: str, reason: str, seconds: float) -> None:
    milliseconds = 1000 * seconds
    fields = {"protocol": call.protocol, "code": code, "duration_ms": round(milliseconds, 3)}
    text = f"{call.method} {code}"
    if reason:
        fields["reason"] = reason
        text += f" ({reason})"
    text += f" {milliseconds:.1f} ms"
    _log.log(level, text, extra={"fields": fields})


def parse(request: type[Message], data: bytes) -> Message:
    """A request of a type, from bytes; raises Refusal."""
    try:
        return request.FromString(data)
    except DecodeError:
        raise unreadable() from None


def unreadable(why: str = "") -> Refusal:
    """The refusal of a request that cannot be parsed; `why` may come from the request."""
    return Refusal(
        ErrorReason.ERROR_REASON_INVALID_FIELD,
        "the request is not a message of the schema" + (why and f": {why[:MAX_WHY]}"),
    )


def no_method(path: str, methods: Iterable[str]) -> str:
    """What a caller is told of a path that is that of none of these methods."""
    known = [each.split("/") for each in methods]
    names = {name: f"/{service}/{name}" for _, service, name in known}
    near = nearest(path.rpartition("/")[2], names)
    services = ", ".join(sorted({service for _, service, _ in known}))
    instead = f"did you mean {names[near]}?" if near else f"its services are {services}"
    return f"this server has no method {quoted(path)}: {instead}"


def _checked(request: Message) -> Message:
    violation = first_violation(request)
    if violation is not None:
        raise invalid_field(violation.path, violation.reason, wire.rule_of(violation))
    # Unknown fields are neither stored with a match nor shown to others.
    wire.discard_unknown(request)
    return request
