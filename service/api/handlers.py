"""The handlers of our methods: they bring the calls that come by gRPC to `Calls`."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from typing import Any, TypeAlias

import grpc
from google.protobuf.descriptor import MethodDescriptor
from grpc_status import rpc_status

from service.admission.identification import Metadata
from service.api.calls import Calls, Response, Service, path_of, request_reader
from service.current_call import REQUEST_ID_HEADER, CurrentCall, begin_call
from service.errors import Refusal

PROTOCOL = "grpc"  # In the metrics.

GrpcContext: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class ServiceHandlers(grpc.GenericRpcHandler):
    """Lets `Calls` answer every call of some services.

    An interceptor could do the same for the handlers of the generated code, with a coroutine more
    for every call.
    """

    def __init__(self, calls: Calls, services: Iterable[Service]) -> None:
        self._handlers = {
            path_of(method): _handler(calls, method, getattr(service.servicer, method.name))
            for service in services
            for method in service.descriptor.methods
        }

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        return self._handlers.get(handler_call_details.method)


class _Context:
    """A call that came by gRPC, as `Calls` and the servicers see it."""

    __slots__ = ("_context", "_metadata")

    def __init__(self, context: GrpcContext) -> None:
        self._context = context
        # gRPC makes it anew for everyone who asks.
        self._metadata: Metadata = context.invocation_metadata() or ()

    def invocation_metadata(self) -> Metadata:
        return self._metadata

    def peer(self) -> str:
        return str(self._context.peer())

    def time_remaining(self) -> float | None:
        return self._context.time_remaining()


def _handler(calls: Calls, method: MethodDescriptor, servicer: Any) -> Any:
    path = path_of(method)
    read = request_reader(method)

    async def answer(data: bytes, grpc_context: GrpcContext) -> Response:
        context = _Context(grpc_context)
        call = begin_call(path, PROTOCOL, context.invocation_metadata())
        # Metadata at the beginning would be one more message, which costs a short call a tenth of
        # its time.
        grpc_context.set_trailing_metadata(_returned(call))
        try:
            return await calls.answer(call, servicer, lambda: read(data), context)
        except Refusal as refusal:
            await _abort(grpc_context, refusal, call)
            raise

    async def stream(data: bytes, grpc_context: GrpcContext) -> AsyncIterator[Response]:
        context = _Context(grpc_context)
        call = begin_call(path, PROTOCOL, context.invocation_metadata())
        await grpc_context.send_initial_metadata(_returned(call))
        responses: Any = calls.stream(call, servicer, lambda: read(data), context)
        try:
            async with aclosing(responses):
                async for response in responses:
                    yield response
        except Refusal as refusal:
            await _abort(grpc_context, refusal, call)
            raise

    if method.server_streaming:
        return grpc.unary_stream_rpc_method_handler(stream, response_serializer=_serialize)
    return grpc.unary_unary_rpc_method_handler(answer, response_serializer=_serialize)


async def _abort(context: GrpcContext, refusal: Refusal, call: CurrentCall) -> None:
    status = rpc_status.to_status(refusal.status)
    trailing = (*(status.trailing_metadata or ()), *_returned(call))
    try:
        await context.abort(status.code, status.details, trailing)
    except grpc.aio.InternalError:
        # The caller has gone, but gRPC did not know it yet, and would log this as an error.
        raise asyncio.CancelledError from None


def _returned(call: CurrentCall) -> tuple[tuple[str, str]]:
    return ((REQUEST_ID_HEADER, call.request_id),)


def _serialize(response: Response) -> bytes:
    return response if isinstance(response, bytes) else response.SerializeToString()
