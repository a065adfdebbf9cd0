"""Health and reflection: answered as gRPC defines them, and admitted, limited and ended as ours."""

import socket
import time

import grpc
import pytest
from google.protobuf import descriptor_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

from lab.overload.stream_attacks import UNREADING, WATCH, request_on
from tests.support.serving import read_error, refused
from tests.support.waiting import FOREVER

MATCH_SERVICE = "croupier.v1.MatchService"
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
REFLECTIONS = [f"grpc.reflection.{version}.ServerReflection" for version in ("v1", "v1alpha")]
CALLERS = """
[budgets.address]
streams = 3
processor_milliseconds_per_second = "unlimited"
{0}
"""


@pytest.fixture
def serve(start):
    def serve(more=""):
        return start(callers=CALLERS.format(more))

    return serve


def health(client):
    return health_pb2_grpc.HealthStub(client.channel)


def watch(client, name=""):
    request = health_pb2.HealthCheckRequest(service=name)
    return health(client).Watch(request)


def reflect(client, service, *requests):
    """Starts a stream of ServerReflectionInfo, by a version of reflection."""
    call = client.channel.stream_stream(
        f"/{service}/ServerReflectionInfo",
        reflection_pb2.ServerReflectionRequest.SerializeToString,
        reflection_pb2.ServerReflectionResponse.FromString,
    )
    return call(iter(requests))


def test_check_and_list_answer_for_each_service(serve):
    _, client = serve()
    listed = health(client).List(health_pb2.HealthListRequest()).statuses
    assert {"", MATCH_SERVICE, "croupier.v1.HintService"} <= set(listed)
    for name in listed:
        request = health_pb2.HealthCheckRequest(service=name)
        assert health(client).Check(request).status == SERVING
        assert listed[name].status == SERVING


def test_check_of_an_unknown_service_is_not_found(serve):
    _, client = serve()
    with pytest.raises(grpc.RpcError) as caught:
        health(client).Check(health_pb2.HealthCheckRequest(service="no.Such"))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


def test_watch_tells_of_the_end(servers, serve):
    server, client = serve()
    known, unknown = watch(client, MATCH_SERVICE), watch(client, "no.Such")
    assert (next(known).status, next(unknown).status) == (SERVING, UNKNOWN)
    servers.stop(server, FOREVER)
    assert [each.status for each in known] == [NOT_SERVING]
    assert list(unknown) == []


@pytest.mark.parametrize("length", [257, 100_000])
def test_a_name_is_at_most_256_characters(serve, length):
    _, client = serve()
    refusal = refused(list, watch(client, "x" * length))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert next(watch(client, "x" * 256)).status == UNKNOWN


@pytest.mark.parametrize("service", REFLECTIONS)
def test_each_version_of_reflection_describes_the_schema(serve, service):
    _, client = serve()
    asked = reflection_pb2.ServerReflectionRequest
    listed, symbol, missing = reflect(
        client,
        service,
        asked(list_services=""),
        asked(file_containing_symbol=MATCH_SERVICE),
        asked(file_containing_symbol="no.Such"),
    )
    names = {each.name for each in listed.list_services_response.service}
    assert {MATCH_SERVICE, "grpc.health.v1.Health", *REFLECTIONS} <= names
    files = map(
        descriptor_pb2.FileDescriptorProto.FromString,
        symbol.file_descriptor_response.file_descriptor_proto,
    )
    assert "croupier/v1/match.proto" in {each.name for each in files}
    assert missing.error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]


@pytest.mark.parametrize("service", ["health", *REFLECTIONS])
def test_a_stream_counts_in_the_budget_of_streams(serve, service):
    _, client = serve()
    streams = [watch(client) for _ in range(3)]
    assert [next(each).status for each in streams] == [SERVING] * 3
    another = watch(client) if service == "health" else reflect(client, service)
    assert_exhausted(refused(list, another), "streams")
    for each in streams:
        each.cancel()


def assert_exhausted(refusal, budget):
    exhausted = (grpc.StatusCode.RESOURCE_EXHAUSTED, "BUDGET_EXHAUSTED")
    assert (refusal.code, refusal.reason) == exhausted
    assert refusal.metadata["budget"] == budget


def test_each_request_of_a_stream_counts_as_a_call(serve):
    server, client = serve("calls_per_second = 5")
    now = time.monotonic()
    server._admission._ledger._now = lambda: now  # The budget does not refill.
    asked = reflection_pb2.ServerReflectionRequest(list_services="")
    stream = reflect(client, REFLECTIONS[0], *[asked] * 6)
    assert_exhausted(refused(list, stream), "calls_per_second")


def test_streams_that_nobody_reads_do_not_hold_up_the_end(servers, serve):
    server, client = serve()
    host, _, port = client.address.rpartition(":")
    unread = [socket.create_connection((host, int(port))) for _ in range(3)]
    for each in unread:
        each.sendall(UNREADING + request_on(1, WATCH, client.address))
    # Until the server counts all three.
    refusal = None
    while refusal is None:
        stream = watch(client)
        try:
            next(stream)
            stream.cancel()
        except grpc.RpcError as error:
            found = read_error(error)
            # Asking so often may use up the calls of a second, too.
            refusal = found if found.metadata["budget"] == "streams" else None
    assert_exhausted(refusal, "streams")
    servers.stop(server, 0.2)
    for each in unread:
        each.close()
