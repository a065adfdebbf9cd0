"""The methods: ours, which `Calls` answers, and those of grpcio's own servicers."""

from collections.abc import Iterable
from contextlib import aclosing
from typing import Any, NoReturn

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError
from google.rpc import code_pb2

from service.api.calls import Calls, Response, Service, path_of, request_reader
from service.api.handlers import PROTOCOL
from service.current_call import REQUEST_ID_HEADER, CurrentCall, begin_call
from service.errors import Refusal, log_failure
from service.http2.call import Call, Method
from service.http2.protocol import OK, Fault, Headers, binary, status

_REQUEST_ID = REQUEST_ID_HEADER.encode()
_DETAILS = b"grpc-status-details-bin"


class Methods:
    """All methods of a server, by their paths. A server of grpcio takes others in the same way."""

    def __init__(self) -> None:
        self._methods: dict[str, Method] = {}
        self._others: list[grpc.GenericRpcHandler] = []

    def add_services(self, calls: Calls, services: Iterable[Service]) -> None:
        """Lets `Calls` answer every call of some services."""
        for service in services:
            for method in service.descriptor.methods:
                servicer = getattr(service.servicer, method.name)
                self._methods[path_of(method)] = _ours(calls, method, servicer)

    def add_generic_rpc_handlers(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """Adds handlers as a server of grpcio does."""
        self._others.extend(handlers)

    def add_registered_method_handlers(self, service: str, handlers: dict[str, Any]) -> None:
        """Adds the handlers of a service as a server of grpcio does."""
        for name, handler in handlers.items():
            self._methods[f"/{service}/{name}"] = _other(f"/{service}/{name}", handler)

    def find(self, path: str) -> Method:
        """The method of a path; raises Fault."""
        method = self._methods.get(path)
        if method is not None:
            return method
        for others in self._others:
            handler = others.service(_Details(path))
            if handler is not None:
                method = self._methods[path] = _other(path, handler)
                return method
        raise Fault(code_pb2.UNIMPLEMENTED, "there is no such method")


class _Details(grpc.HandlerCallDetails):
    """What a handler of grpcio is asked by."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.invocation_metadata = ()


def _ours(calls: Calls, method: MethodDescriptor, servicer: Any) -> Method:
    path = path_of(method)
    read = request_reader(method)

    async def answer(call: Call, data: bytes) -> None:
        call.running = True
        current = begin_call(path, PROTOCOL, call.metadata)
        try:
            response = await calls.answer(current, servicer, lambda: read(data), call)
        except Refusal as refusal:
            call.finish(_refused(refusal, current))
        else:
            call.answer(_serialize(response), [OK, _returned(current)])
        finally:
            call.close()

    async def stream(call: Call, data: bytes) -> None:
        call.running = True
        current = begin_call(path, PROTOCOL, call.metadata)
        call.stream.begin([_returned(current)])
        responses: Any = calls.stream(current, servicer, lambda: read(data), call)
        try:
            async with aclosing(responses):
                async for response in responses:
                    await call.send(_serialize(response))
        except Refusal as refusal:
            call.finish(_refused(refusal, current))
        else:
            call.finish([OK])
        finally:
            call.close()

    return Method(stream if method.server_streaming else answer)


def _refused(refusal: Refusal, current: CurrentCall) -> Headers:
    said = refusal.status
    details = binary(said.SerializeToString())
    return [*status(said.code, said.message), (_DETAILS, details), _returned(current)]


def _returned(current: CurrentCall) -> tuple[bytes, bytes]:
    return _REQUEST_ID, current.request_id.encode()


def _serialize(response: Response) -> bytes:
    return response if isinstance(response, bytes) else response.SerializeToString()


class _Aborted(Exception):
    """A servicer has ended its call."""


class _Context:
    """A call as servicers of grpcio see it: the part of its context that health checks use."""

    def __init__(self, call: Call, handler: Any) -> None:
        self._call = call
        self._write = handler.response_serializer
        self.invocation_metadata = call.invocation_metadata
        self.peer = call.peer
        self.time_remaining = call.time_remaining

    async def write(self, response: Any) -> None:
        await self._call.send(self._write(response) if self._write else response)

    async def abort(self, code: grpc.StatusCode, details: str = "") -> NoReturn:
        self._call.finish(status(code.value[0], details))
        raise _Aborted


def _other(path: str, handler: Any) -> Method:
    behavior = (
        handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
    )
    read = handler.request_deserializer

    def parsed(data: bytes) -> Any:
        try:
            return read(data) if read else data
        except DecodeError:
            text = "the request is not a message of the schema"
            raise Fault(code_pb2.INVALID_ARGUMENT, text) from None

    async def several(call: Call) -> Any:
        async with aclosing(call.requests()) as requests:
            async for data in requests:
                yield parsed(data)

    async def respond(call: Call, data: bytes | None) -> None:
        context = _Context(call, handler)
        request = parsed(data) if data is not None else several(call)
        result = behavior(request, context)
        if hasattr(result, "__aiter__"):
            async with aclosing(result):
                async for response in result:
                    await context.write(response)
        else:
            response = await result
            if not handler.response_streaming:
                await context.write(response)
        call.finish([OK])

    async def answer(call: Call, data: bytes | None) -> None:
        call.running = True
        try:
            await respond(call, data)
        except Fault as fault:
            call.finish(fault.headers())
        except _Aborted:
            pass
        except Exception as error:
            log_failure(path, error)
            call.finish(status(code_pb2.UNKNOWN, "something went wrong here"))
        finally:
            call.close()

    return Method(answer, bool(handler.request_streaming))
