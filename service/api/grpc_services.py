"""The services that gRPC itself defines: health and reflection, answered as our own calls are.

grpcio has servicers for both. Its one for health keeps what strangers ask about, and holds a lock
while it sends; and neither would be counted, limited or ended as other calls are.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, text_format
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection, reflection_pb2

from croupier.v1.error_pb2 import ErrorReason
from service.api.calls import Service
from service.common.call import Call
from wire.errors import Refusal, invalid_field

MAX_NAME = 256  # Characters of the name of a service.
MAX_ANSWERS = 32  # Of reflection.
_health: Any = health_pb2  # Of which the stubs are older.
HEALTH: Any = health_pb2.DESCRIPTOR.services_by_name["Health"]
_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
_UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
REFLECTION_V1 = "grpc.reflection.v1.ServerReflection"


class HealthService:
    """Tells whether the services of a server serve (grpc.health.v1.Health)."""

    def __init__(self, names: Collection[str]) -> None:
        """`names` are those of the services; the empty name is the server."""
        self._names = frozenset(("", *names))
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Tells all who watch that nothing serves any more."""
        self._stopping.set()

    async def Check(
        self, request: health_pb2.HealthCheckRequest, call: Call
    ) -> health_pb2.HealthCheckResponse:
        """Answers whether a service serves."""
        status = self._status(request.service)
        if status == _UNKNOWN:
            raise Refusal(
                ErrorReason.ERROR_REASON_SERVICE_NOT_FOUND, "this server has no such service"
            )
        return health_pb2.HealthCheckResponse(status=status)

    async def List(self, request: Any, call: Call) -> Any:
        """Answers whether each service serves."""
        response = _health.HealthListResponse()
        for name in self._names:
            response.statuses[name].status = self._status(name)
        return response

    async def Watch(
        self, request: health_pb2.HealthCheckRequest, call: Call
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """Tells whether a service serves, and when it does not any more."""
        status = self._status(request.service)
        yield health_pb2.HealthCheckResponse(status=status)
        await self._stopping.wait()
        if status == _SERVING:
            yield health_pb2.HealthCheckResponse(status=_NOT_SERVING)

    def _status(self, name: str) -> Any:
        if len(name) > MAX_NAME:
            rule = f"must be at most {MAX_NAME} characters"
            raise invalid_field("service", "STRING_MAX_LEN", rule)
        if name not in self._names:
            return _UNKNOWN
        return _NOT_SERVING if self._stopping.is_set() else _SERVING


# grpcio has reflection in its version v1alpha alone. Version v1 differs by its name alone.
REFLECTION: Any = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"]


class ReflectionService:
    """Describes the services of a server (grpc.reflection), and remembers some answers.

    An answer has up to 60 KB, and takes longer to put together than to send.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._described: Any = reflection.aio.ReflectionServicer(names)
        self._answers: dict[bytes, bytes] = {}

    async def ServerReflectionInfo(
        self, requests: AsyncIterator[Any], call: Call
    ) -> AsyncIterator[bytes]:
        """Answers each request."""
        async for request in requests:
            asked = request.SerializeToString()
            if asked not in self._answers:
                if len(self._answers) >= MAX_ANSWERS:
                    self._answers.clear()
                async for response in self._described.ServerReflectionInfo(_only(request), None):
                    self._answers[asked] = response.SerializeToString()
            yield self._answers[asked]


async def _only(request: Any) -> AsyncIterator[Any]:
    yield request


def add_reflection_v1() -> None:
    """Lets reflection describe its version v1 too."""
    file = descriptor_pb2.FileDescriptorProto()
    reflection_pb2.DESCRIPTOR.CopyToProto(file)
    renamed = text_format.MessageToString(file).replace("v1alpha", "v1")
    file = text_format.Parse(renamed, descriptor_pb2.FileDescriptorProto())
    file.options.deprecated = False
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())


def grpc_services(names: Sequence[str]) -> tuple[HealthService, list[Service]]:
    """Health, and all that gRPC defines, for a server that has services of these names."""
    add_reflection_v1()
    health_service = HealthService(names)
    reflected = (*names, HEALTH.full_name, REFLECTION.full_name, REFLECTION_V1)
    described = ReflectionService(reflected)
    return health_service, [
        Service(HEALTH, health_service),
        Service(REFLECTION, described),
        Service(REFLECTION, described, REFLECTION_V1),
    ]
