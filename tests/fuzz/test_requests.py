"""The short form of the fuzzing over the wire. The long form is `make fuzz`."""

import asyncio
import os

import grpc
import pytest

from tests.fuzz import requests

SEED = int(os.environ.get("TEST_FUZZ_SEED", "1"))
REQUESTS = 1000


def test_no_request_disturbs_a_server():
    print(f"{REQUESTS} requests, seed {SEED}")
    wrong, codes = asyncio.run(requests.fuzz(REQUESTS, SEED))
    assert not wrong
    assert sum(codes.values()) == REQUESTS
    # Every method was called, and accepted what was valid.
    accepted = {method for method, code in codes if code == "OK"}
    assert accepted >= {"CreateMatch", "GetView", "WatchMatch", "SuggestAction", "ListMatches"}
    assert {method for method, _ in codes} == {
        method.path.rpartition("/")[2] for method in requests.METHODS
    }


@pytest.mark.parametrize("code", [grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN])
def test_a_planted_fault_is_found(code):
    async def fuzz():
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((Faulty(code),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        fuzzer = requests.Fuzzer(f"127.0.0.1:{port}", SEED)
        await fuzzer.run(100)
        await fuzzer.close()
        await server.stop(None)
        return fuzzer.faults

    faults = asyncio.run(fuzz())
    assert faults
    assert all(fault[1] == code for fault in faults)


class Faulty(grpc.GenericRpcHandler):
    """Answers every call with an error that only a fault can cause."""

    def __init__(self, code):
        self._code = code

    def service(self, details):
        async def fail(request, context):
            await context.abort(self._code, "planted")

        return grpc.unary_unary_rpc_method_handler(fail)
