"""The interceptor: brings the calls that come by gRPC to `Calls`."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeAlias

import grpc
from google.protobuf.message import DecodeError, Message
from grpc_status import rpc_status

from service.api.calls import OUR_METHODS, Calls, Response, unreadable
from service.current_call import REQUEST_ID_HEADER, CurrentCall, begin_call
from service.errors import Refusal

PROTOCOL = "grpc"  # In the metrics.

GrpcContext: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Lets `Calls` answer every call of our services."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._handlers: dict[str, Any] = {}  # By method, of ours that have been called.

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        method = handler_call_details.method
        guarded = self._handlers.get(method)
        if guarded is None:
            handler = await continuation(handler_call_details)
            if handler is None or not method.startswith(OUR_METHODS):
                return handler
            guarded = self._handlers[method] = self._guarding(method, handler)
        return guarded

    def _guarding(self, method: str, handler: Any) -> Any:
        # Requests come as bytes, so that one which cannot be parsed is an error like any other.
        calls = self._calls

        def reader(data: bytes) -> Callable[[], Message]:
            def read() -> Message:
                try:
                    request: Message = handler.request_deserializer(data)
                except DecodeError:
                    raise unreadable() from None
                return request

            return read

        async def answer(data: bytes, context: GrpcContext) -> Response:
            call = begin_call(method, PROTOCOL, context.invocation_metadata() or ())
            # Metadata at the beginning would be one more message, which costs a short call a tenth
            # of its time.
            context.set_trailing_metadata(_returned(call))
            try:
                return await calls.answer(call, handler.unary_unary, reader(data), context)
            except Refusal as refusal:
                await _abort(context, refusal, call)
                raise

        async def stream(data: bytes, context: GrpcContext) -> AsyncIterator[Response]:
            call = begin_call(method, PROTOCOL, context.invocation_metadata() or ())
            await context.send_initial_metadata(_returned(call))
            responses: Any = calls.stream(call, handler.unary_stream, reader(data), context)
            try:
                async with aclosing(responses):
                    async for response in responses:
                        yield response
            except Refusal as refusal:
                await _abort(context, refusal, call)
                raise

        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(stream, response_serializer=_serialize)
        return grpc.unary_unary_rpc_method_handler(answer, response_serializer=_serialize)


async def _abort(context: GrpcContext, refusal: Refusal, call: CurrentCall) -> None:
    status = rpc_status.to_status(refusal.status)
    trailing = (*(status.trailing_metadata or ()), *_returned(call))
    await context.abort(status.code, status.details, trailing)


def _returned(call: CurrentCall) -> tuple[tuple[str, str]]:
    return ((REQUEST_ID_HEADER, call.request_id),)


def _serialize(response: Response) -> bytes:
    return response if isinstance(response, bytes) else response.SerializeToString()
