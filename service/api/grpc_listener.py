"""The listener of gRPC: a port, and the handlers that bring its calls to `Calls`."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from functools import partial
from typing import Any, TypeAlias

import grpc
from grpc_status import rpc_status

from service.admission.admission import CALL_BYTES
from service.admission.budgets import Held
from service.api.calls import Calls, Method, Response, Service, no_method, unreadable
from service.api.grpc_services import HealthService, grpc_services
from service.common.call import REQUEST_ID_HEADER, Call
from service.common.memory import give_back_soon
from service.listening.connections import (
    MAX_REQUEST_BYTES,
    REQUEST_SECONDS,
    STALLED_SECONDS,
    ConnectionLimits,
    channel_options,
    check_free,
    count_connections,
    max_connections,
    warn_of_cleartext,
)
from wire.errors import Refusal

PROTOCOL = "grpc"  # In the metrics.
LATE = f"it has not come within {REQUEST_SECONDS:g} s"
# Many such requests leave memory behind, and so do many calls that stay for so long.
LARGE_BYTES, LONG_SECONDS = 64 << 10, 1.0

GrpcContext: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
# Two servers must not share a port without noticing.
_NO_SHARED_PORT = ("grpc.so_reuseport", 0)
# The seconds that grpcio itself takes to end calls that are cut off.
END_SECONDS = 2.0


class ServiceHandlers(grpc.GenericRpcHandler):
    """Lets `Calls` answer every call of some services.

    An interceptor could do the same for the handlers of the generated code, with a coroutine more
    for every call.
    """

    def __init__(self, calls: Calls, services: Iterable[Service]) -> None:
        self._handlers = {
            method.path: _handler(calls, method)
            for service in services
            for method in service.methods()
        }

        async def refuse(path: str, context: GrpcContext, call: Call) -> None:
            try:
                await calls.admit_file(call)
            except Refusal as refusal:
                await _refuse(context, refusal, call)
            else:
                said = no_method(path, self._handlers)
                await _abort(context, grpc.StatusCode.UNIMPLEMENTED, said)

        async def answer(path: str, sent: Any, context: GrpcContext) -> bytes:
            # What is no call counts as one of its address, which pays for its refusal too.
            call = _call_of("", context)
            await calls.metered(call, refuse(path, context, call))
            return b""

        self._unknown = answer

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        path = handler_call_details.method
        if path in self._handlers:
            return self._handlers[path]
        unknown: Any = partial(self._unknown, path)
        return grpc.stream_unary_rpc_method_handler(unknown)


def _handler(calls: Calls, method: Method) -> Any:
    # Every method takes a stream for gRPC, so that a call is admitted before its request is read.

    async def begin(call: Call, context: GrpcContext) -> Held:
        # What a call holds is held until its caller has taken all, or has gone.
        began = time.monotonic()
        held = await calls.admit(call, MAX_REQUEST_BYTES)

        def ended(_: Any) -> None:
            held.set(0)
            if time.monotonic() - began > LONG_SECONDS:
                give_back_soon()

        context.add_done_callback(ended)  # type: ignore[arg-type]
        return held

    async def read(call: Call, context: GrpcContext, held: Held) -> bytes:
        # Not by `asyncio.timeout`, which costs a call several times as much as this.
        task: Any = asyncio.current_task()
        timer = asyncio.get_running_loop().call_later(REQUEST_SECONDS, task.cancel, LATE)
        try:
            data = await context.read()
        except asyncio.CancelledError as cancelled:
            give_back_soon()  # What gRPC has kept of a request that does not come whole.
            if cancelled.args != (LATE,):
                raise
            task.uncancel()
            raise unreadable(LATE) from None
        finally:
            timer.cancel()
        if not isinstance(data, bytes):
            raise unreadable("there is none")
        if len(data) > LARGE_BYTES:
            give_back_soon()
        call.size = len(data)
        held.set(CALL_BYTES + call.size)
        return data

    async def answer(sent: Any, context: GrpcContext) -> Response:
        call = _call_of(method.path, context)
        # Metadata at the beginning would be one more message, which costs a short call a tenth of
        # its time.
        context.set_trailing_metadata(_returned(call))
        try:
            held = await begin(call, context)
            data = await read(call, context, held)
            response = _serialize(await calls.answer(call, method, partial(method.read, data)))
            held.set(CALL_BYTES + call.size + len(response))
        except Refusal as refusal:
            await _refuse(context, refusal, call)
            return b""
        return response

    async def stream(sent: Any, context: GrpcContext) -> AsyncIterator[Response]:
        # `sent` has the requests of a method that takes a stream of them.
        call = _call_of(method.path, context)
        await context.send_initial_metadata(_returned(call))
        try:
            held = await begin(call, context)
            requests: Callable[[], Any]
            if method.takes_stream:
                requests = partial(calls.requests, call, method, sent)
            else:
                requests = partial(method.read, await read(call, context, held))
            responses: Any = calls.stream(call, method, requests)
            async with aclosing(responses):
                async for response in responses:
                    with _taken_soon(calls, context, responses):
                        yield response
        except Refusal as refusal:
            await _refuse(context, refusal, call)

    if method.streams:
        return grpc.stream_stream_rpc_method_handler(stream, response_serializer=_serialize)
    return grpc.stream_unary_rpc_method_handler(answer, response_serializer=_serialize)


def _call_of(path: str, context: GrpcContext) -> Call:
    metadata = context.invocation_metadata() or ()
    return Call(path, PROTOCOL, metadata, context.peer(), context.time_remaining)


@contextmanager
def _taken_soon(calls: Calls, context: GrpcContext, responses: Any) -> Iterator[None]:
    # A stream whose caller takes nothing ends, with all that works for it. gRPC keeps what was to
    # be sent until the caller takes it or goes: so it stays in the caller's budget.
    async def closed() -> bool:
        await responses.aclose()
        return True

    def end() -> None:
        context.set_code(grpc.StatusCode.UNAVAILABLE)
        context.set_details(f"nothing of this stream was taken for {STALLED_SECONDS:g} s")
        calls.tasks.finish("unread stream", closed)

    timer = asyncio.get_running_loop().call_later(STALLED_SECONDS, end)
    try:
        yield
    finally:
        timer.cancel()


async def _refuse(context: GrpcContext, refusal: Refusal, call: Call) -> None:
    status = rpc_status.to_status(refusal.status)
    metadata = (*(status.trailing_metadata or ()), *_returned(call))
    await _abort(context, status.code, status.details or "", metadata)


async def _abort(
    context: GrpcContext, code: grpc.StatusCode, details: str, metadata: Any = ()
) -> None:
    # A status that is only set comes after an empty response, which gRPC keeps with the call for as
    # long as its caller takes nothing.
    try:
        await context.abort(code, details, metadata)
    except grpc.aio.AbortError as aborted:
        # gRPC keeps it with the call, and raises it again. It would keep all that led here.
        aborted.__traceback__ = aborted.__context__ = None


def _returned(call: Call) -> tuple[tuple[str, str]]:
    return ((REQUEST_ID_HEADER, call.request_id),)


def _serialize(response: Response) -> bytes:
    return response if isinstance(response, bytes) else response.SerializeToString()


class GrpcListener:
    """A gRPC server."""

    def __init__(
        self,
        calls: Calls,
        limits: ConnectionLimits,
        credentials: grpc.ServerCredentials | None = None,
        listeners: int = 1,
    ) -> None:
        """Without `credentials` it serves in the clear. `listeners` share the files of the process.

        Raises ValueError if there are too few files.
        """
        self._calls = calls
        self._credentials = credentials
        self._health: HealthService | None = None
        self.most_connections = max_connections(limits, listeners)
        self._port = 0  # Of TCP, when it is open.
        options = (_NO_SHARED_PORT, *channel_options(limits, listeners))
        self._server = grpc.aio.server(options=options)

    async def open(self, address: str, services: Sequence[Service]) -> str:
        """Serves at an address: HOST:PORT, or unix:PATH. Returns it with the port that it has.

        Raises OSError if the address cannot be used.
        """
        names = [service.descriptor.full_name for service in services]
        self._health, more = grpc_services(names)
        self._server.add_generic_rpc_handlers([ServiceHandlers(self._calls, [*services, *more])])
        address = self._listen(address)
        await self._server.start()
        return address

    def connections(self) -> int:
        """How many connections its port has, by what Linux says."""
        return count_connections(self._port)

    def begin_to_close(self) -> None:
        """Tells those who watch its health that this server is going."""
        if self._health is not None:
            self._health.stop()

    async def close(self, grace: float) -> None:
        """Closes the port; calls that run have `grace` seconds to end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(grace + END_SECONDS):
                await self._server.stop(grace)

    def _listen(self, address: str) -> str:
        is_socket = address.startswith("unix:")
        host, _, port = address.rpartition(":")
        if not is_socket:
            check_free(host, int(port), "--listen")
        try:
            if self._credentials is not None:
                number = self._server.add_secure_port(address, self._credentials)
            else:
                if not is_socket:
                    warn_of_cleartext(host, address)
                number = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise OSError(f"cannot listen on {address}: {error}") from None
        if is_socket:
            return address
        self._port = number
        return f"{host}:{number}"
