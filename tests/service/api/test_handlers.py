"""The handlers of gRPC, where a real call cannot be brought to the moment in question."""

import asyncio
from types import SimpleNamespace

import grpc
import pytest

from croupier.v1 import catalog_pb2, catalog_pb2_grpc
from service.admission.admission import Admission
from service.admission.callers_file import Callers
from service.api.calls import Calls, Service
from service.api.grpc_listener import ServiceHandlers
from service.observability.metrics import Metrics

METHOD = "/croupier.v1.CatalogService/ListGames"


class GoneContext:
    """The context of a call whose caller has gone, which gRPC does not know yet."""

    def invocation_metadata(self):
        return ()

    def peer(self):
        return "ipv4:127.0.0.1:1"

    def time_remaining(self):
        return None

    def set_trailing_metadata(self, metadata):
        pass

    async def abort(self, code, details, trailing):
        raise grpc.aio.InternalError("a batch failed")


def test_a_refusal_that_nobody_takes_counts_as_a_cancelled_call():
    metrics = Metrics()
    calls = Calls(metrics, Admission(Callers(), metrics))
    service = Service(
        catalog_pb2.DESCRIPTOR.services_by_name["CatalogService"],
        catalog_pb2_grpc.CatalogServiceServicer(),
    )
    calls.drain()
    handler = ServiceHandlers(calls, [service]).service(SimpleNamespace(method=METHOD))
    # gRPC logs any other exception as an error.
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(handler.unary_unary(b"", GoneContext()))
