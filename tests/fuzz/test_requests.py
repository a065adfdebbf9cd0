"""The short form of the fuzzing over the wire. The long form is `make fuzz`."""

import asyncio
import os
from collections import Counter

import grpc
import pytest

from tests.fuzz import requests

SEED = int(os.environ.get("TEST_FUZZ_SEED", "1"))
REQUESTS = 1000


VALID = {"CreateMatch", "GetView", "WatchMatch", "SuggestAction", "ListMatches"}


def test_no_request_disturbs_a_server():
    codes, seed, accepted = Counter(), SEED, set()
    # What is dealt, and so what is valid, is up to the server: a seed may ask for no hint in time.
    while not accepted >= VALID:
        print(f"{REQUESTS} requests, seed {seed}")
        wrong, found = asyncio.run(requests.fuzz(REQUESTS, seed))
        assert not wrong
        assert sum(found.values()) == REQUESTS
        codes.update(found)
        accepted = {method for method, code in codes if code == "OK"}
        seed += 1
    # Every method was called.
    known = {method.path.rpartition("/")[2] for method in requests.METHODS}
    assert {method for method, _ in codes} == known


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
