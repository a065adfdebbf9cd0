"""The handlers of methods: they bring the calls that come by gRPC to `Calls`."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from functools import partial
from typing import Any, TypeAlias

import grpc
from grpc_status import rpc_status

from service.api.calls import Calls, Method, Response, Service
from service.call import REQUEST_ID_HEADER, Call
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
            method.path: _handler(calls, method)
            for service in services
            for method in service.methods()
        }

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        return self._handlers.get(handler_call_details.method)


def _handler(calls: Calls, method: Method) -> Any:
    path = method.path

    def call_of(context: GrpcContext) -> Call:
        metadata = context.invocation_metadata() or ()
        return Call(path, PROTOCOL, metadata, context.peer(), context.time_remaining)

    async def answer(data: bytes, context: GrpcContext) -> Response:
        call = call_of(context)
        # Metadata at the beginning would be one more message, which costs a short call a tenth of
        # its time.
        context.set_trailing_metadata(_returned(call))
        try:
            return await calls.answer(call, method, partial(method.read, data))
        except Refusal as refusal:
            await _abort(context, refusal, call)
            raise

    async def stream(sent: Any, context: GrpcContext) -> AsyncIterator[Response]:
        # `sent` is one request, or a stream of them.
        call = call_of(context)
        await context.send_initial_metadata(_returned(call))
        requests = partial(calls.requests, call, method, sent)
        read = requests if method.takes_stream else partial(method.read, sent)
        responses: Any = calls.stream(call, method, read)
        try:
            async with aclosing(responses):
                async for response in responses:
                    yield response
        except Refusal as refusal:
            await _abort(context, refusal, call)
            raise

    if method.takes_stream:
        return grpc.stream_stream_rpc_method_handler(stream, response_serializer=_serialize)
    if method.streams:
        return grpc.unary_stream_rpc_method_handler(stream, response_serializer=_serialize)
    return grpc.unary_unary_rpc_method_handler(answer, response_serializer=_serialize)


async def _abort(context: GrpcContext, refusal: Refusal, call: Call) -> None:
    status = rpc_status.to_status(refusal.status)
    trailing = (*(status.trailing_metadata or ()), *_returned(call))
    try:
        await context.abort(status.code, status.details, trailing)
    except grpc.aio.InternalError:
        # The caller has gone, but gRPC did not know it yet, and would log this as an error.
        raise asyncio.CancelledError from None


def _returned(call: Call) -> tuple[tuple[str, str]]:
    return ((REQUEST_ID_HEADER, call.request_id),)


def _serialize(response: Response) -> bytes:
    return response if isinstance(response, bytes) else response.SerializeToString()
