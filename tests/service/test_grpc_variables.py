"""How gRPC itself is set up: the settings are made in time, and the installed gRPC knows them."""

import os
import subprocess
import sys

import pytest

from service import GRPC_VARIABLES

UNKNOWN = "Unknown experiment"  # As gRPC writes it to the standard error.
SERVE = """
import asyncio, grpc
async def serve():
    server = grpc.aio.server()
    server.add_insecure_port("127.0.0.1:0")
    await server.start()
    await server.stop(0)
asyncio.run(serve())
"""


def python(code, **variables):
    environment = {key: value for key, value in os.environ.items() if key not in GRPC_VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_installed_grpc_knows_the_experiments():
    assert UNKNOWN not in python(f"import service\n{SERVE}", GRPC_VERBOSITY="ERROR").stderr
    # It would say so if it did not: otherwise this test sees nothing.
    others = GRPC_VARIABLES["GRPC_EXPERIMENTS"] + ",-no_such_experiment"
    assert f"{UNKNOWN}: no_such_experiment" in python(SERVE, GRPC_EXPERIMENTS=others).stderr


@pytest.mark.parametrize("package", ["cli", "service"])
def test_they_are_set_before_grpc_is_imported(package):
    done = python(f"import sys, os, {package}; print('grpc' in sys.modules, dict(os.environ))")
    loaded, _, variables = done.stdout.partition(" ")
    assert loaded == "False"
    for name, value in GRPC_VARIABLES.items():
        assert f"{name!r}: {value!r}" in variables


def test_what_the_operator_has_set_stays():
    told = {"GRPC_EXPERIMENTS": "-tcp_rcv_lowat", "GRPC_ENABLE_FORK_SUPPORT": "1"}
    done = python(f"import os, cli; print([os.environ[name] for name in {list(told)}])", **told)
    assert done.stdout.strip() == str(list(told.values()))


BAD_REQUEST = """
import asyncio, service, grpc, sys
from lab.overload.stream_attacks import UNREADING, WATCH, request_on
async def serve():
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write((UNREADING + request_on(1, WATCH, "h")).replace(b"trailers", b"trailer5"))
    while data := await reader.read(4096):
        if b"\\0\\0\\0\\0\\x01" in data:  # A frame of the stream.
            break
    writer.close()
    await server.stop(0)
asyncio.run(serve())
"""


def test_a_stranger_does_not_make_grpc_write_to_standard_error():
    assert python(BAD_REQUEST).stderr == ""
    assert python(BAD_REQUEST, GRPC_VERBOSITY="ERROR").stderr
