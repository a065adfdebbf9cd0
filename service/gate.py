"""The gate that all our calls pass: field rules, errors, metrics. No servicer repeats them."""

import asyncio
import logging
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from types import TracebackType
from typing import Any, NoReturn, TypeAlias

import grpc
from google.protobuf.message import DecodeError, Message
from google.rpc import code_pb2
from grpc_status import rpc_status
from protovalidate import Validator

from croupier.v1.error_pb2 import ErrorReason
from service.errors import Refusal, invalid_field
from service.metrics import Metrics

OUR_METHODS = "/croupier.v1."

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

_log = logging.getLogger(__name__)


def log_failure(what: str, error: BaseException) -> None:
    """Logs what should not have happened: where, but not the message, which could name cards."""
    stack = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s failed: %s\n%s", what, type(error).__name__, stack)


class Gate(grpc.aio.ServerInterceptor):
    """Checks requests by the rules of the schema, and turns exceptions into errors by AIP-193."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._validator = Validator()
        self._handlers: dict[str, Any] = {}  # Of our methods that have been called.

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
        # The bytes come as they are: that they cannot be read is an error like any other.
        # So they may go: a servicer that puts an answer together as bytes makes no message of it.
        async def answer(data: bytes, context: Context) -> Message | bytes:
            async with _Guard(self._metrics, method, context):
                response: Message | bytes = await handler.unary_unary(
                    self._read(handler, data), context
                )
            return response

        async def stream(data: bytes, context: Context) -> AsyncIterator[Message | bytes]:
            async with _Guard(self._metrics, method, context):
                request = self._read(handler, data)
                async with aclosing(handler.unary_stream(request, context)) as messages:
                    async for message in messages:
                        yield message

        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(stream, response_serializer=_serialize)
        return grpc.unary_unary_rpc_method_handler(answer, response_serializer=_serialize)

    def _read(self, handler: Any, data: bytes) -> Message:
        try:
            request: Message = handler.request_deserializer(data)
        except DecodeError:
            raise Refusal(
                ErrorReason.ERROR_REASON_INVALID_FIELD, "the request is not a message of the schema"
            ) from None
        # The first one only: a message can break a hundred thousand rules, and to find them all
        # would hold up everybody else's calls, to be told in an error too long to be sent.
        for violation in self._validator.collect_violations(request, fail_fast=True):
            raise invalid_field(field_path(violation.proto), violation.proto.message)
        # What the schema does not know is neither kept with a match nor shown to others.
        request.DiscardUnknownFields()
        return request


def _serialize(response: Message | bytes) -> bytes:
    return response if isinstance(response, bytes) else response.SerializeToString()


class _Guard:
    """Around one call: what goes wrong becomes an error, and that the call ended is counted."""

    def __init__(self, metrics: Metrics, method: str, context: Context) -> None:
        self._metrics = metrics
        self._method = method
        self._context = context

    async def __aenter__(self) -> None:
        self._began = time.perf_counter()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        code = "OK"
        try:
            if isinstance(error, Refusal):
                code = code_pb2.Code.Name(error.status.code)
                await _send(self._context, error)
            elif isinstance(error, asyncio.CancelledError | GeneratorExit):
                code = "CANCELLED"
            # Whatever it is, the caller gets an answer that tells nothing, and the server goes on.
            elif isinstance(error, Exception):
                code = "INTERNAL"
                log_failure(self._method, error)
                await _send(
                    self._context,
                    Refusal(ErrorReason.ERROR_REASON_INTERNAL, "something went wrong here"),
                )
        finally:
            seconds = time.perf_counter() - self._began
            self._metrics.rpc(self._method.removeprefix(OUR_METHODS), code, seconds)
            _log.debug("%s %s %.1f ms", self._method, code, 1000 * seconds)


def field_path(violation: Any) -> str:
    """The path of the field that a violation is about, as in "seats[1].bot"."""
    path = ""
    for element in violation.field.elements if violation.field else ():
        path += f".{element.field_name}"
        if element.subscript is not None and element.subscript.field == "index":
            path += f"[{element.subscript.value}]"
    return path.removeprefix(".")


async def _send(context: Context, refusal: Refusal) -> NoReturn:
    status = rpc_status.to_status(refusal.status)
    await context.abort(status.code, status.details, status.trailing_metadata)
    raise AssertionError("abort raises")
