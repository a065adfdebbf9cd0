"""The interceptor: admission, field rules, errors and metrics of all our calls, once for all."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, TypeAlias

import grpc
from google.protobuf.message import DecodeError, Message
from google.rpc import code_pb2
from grpc_status import rpc_status

from croupier.v1.error_pb2 import ErrorReason
from service.admission.admission import Admission
from service.admission.budgets import Budget, BudgetExhausted
from service.errors import Refusal, invalid_field, log_failure, shutting_down
from service.metrics import Metrics
from service.validation import first_violation

OUR_METHODS = "/croupier.v1."

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

_log = logging.getLogger(__name__)


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Admits callers, checks requests by the schema, and turns exceptions into AIP-193 errors."""

    def __init__(self, metrics: Metrics, admission: Admission) -> None:
        self._metrics = metrics
        self._admission = admission
        self._handlers: dict[str, Any] = {}  # By method, of ours that have been called.
        self._draining = False
        self._running = 0  # Calls.
        self._ended = asyncio.Event()  # Set with the end of each call.

    def drain(self) -> None:
        """Refuses calls from now on."""
        self._draining = True

    async def wait_idle(self, seconds: float) -> None:
        """Returns when no call runs, or after a time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._running:
                    self._ended.clear()
                    await self._ended.wait()

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
        # Responses may be bytes too: a servicer that puts one together as bytes makes no message.
        async def answer(data: bytes, context: Context) -> Message | bytes:
            began = self._begin()
            try:
                self._admit(context)
                request = self._read(handler, data)
                response: Message | bytes = await handler.unary_unary(request, context)
            # Also the cancellation of a call whose caller has gone, which is counted.
            except BaseException as error:
                await self._fail(method, error, began, context)
                raise
            self._count(method, "OK", began)
            return response

        async def stream(data: bytes, context: Context) -> AsyncIterator[Message | bytes]:
            began = self._begin()
            try:
                self._admit(context)
                request = self._read(handler, data)
                with self._admission.hold(Budget.STREAMS):
                    async with aclosing(handler.unary_stream(request, context)) as messages:
                        async for message in messages:
                            yield message
            except BaseException as error:
                await self._fail(method, error, began, context)
                raise
            self._count(method, "OK", began)

        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(stream, response_serializer=_serialize)
        return grpc.unary_unary_rpc_method_handler(answer, response_serializer=_serialize)

    def _admit(self, context: Context) -> None:
        if self._draining:
            raise shutting_down()
        self._admission.admit(context.invocation_metadata() or (), context.peer())

    def _begin(self) -> float:
        self._running += 1
        return time.perf_counter()

    def _read(self, handler: Any, data: bytes) -> Message:
        try:
            request: Message = handler.request_deserializer(data)
        except DecodeError:
            raise Refusal(
                ErrorReason.ERROR_REASON_INVALID_FIELD, "the request is not a message of the schema"
            ) from None
        violation = first_violation(request)
        if violation is not None:
            raise invalid_field(*violation)
        # Unknown fields are neither stored with a match nor shown to others.
        request.DiscardUnknownFields()
        return request

    async def _fail(
        self, method: str, error: BaseException, began: float, context: Context
    ) -> None:
        # Tells the caller what went wrong, unless it has gone.
        refusal = None
        code = "CANCELLED"
        if isinstance(error, Refusal):
            refusal, code = error, code_pb2.Code.Name(error.status.code)
        # Whatever the error is, the caller gets an answer that reveals nothing of it.
        elif isinstance(error, Exception):
            refusal = Refusal(ErrorReason.ERROR_REASON_INTERNAL, "something went wrong here")
            code = "INTERNAL"
            log_failure(method, error)
        try:
            if isinstance(error, BudgetExhausted):
                await self._admission.wait_to_refuse(error)
        finally:
            self._count(method, code, began)
        if refusal is not None:
            status = rpc_status.to_status(refusal.status)
            await context.abort(status.code, status.details, status.trailing_metadata)

    def _count(self, method: str, code: str, began: float) -> None:
        self._running -= 1
        self._ended.set()
        seconds = time.perf_counter() - began
        self._metrics.rpc(method.removeprefix(OUR_METHODS), code, seconds)
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("%s %s %.1f ms", method, code, 1000 * seconds)


def _serialize(response: Message | bytes) -> bytes:
    return response if isinstance(response, bytes) else response.SerializeToString()
