"""Runs the server with one more method, a bare echo, with which other calls are compared.

The echo answers with the bytes of the request. It passes through gRPC and the interceptors as any
call of another service does.
"""

import argparse
import logging
from pathlib import Path
from typing import Any

import grpc
import uvloop

from service.process import run
from service.server import Options, Server
from service.web.door import WebOptions

ECHO = "/croupier.bench.Echo/Echo"


def main() -> None:
    """Serves a SQLite log on a free port of the loopback interface."""
    parser = argparse.ArgumentParser(prog="lab.service_bench.serve", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the directory of the log")
    parser.add_argument("--token-key-file", type=Path, required=True, help="the key of the tokens")
    parser.add_argument("--search-processes", type=int, default=Options().search_processes)
    chosen = parser.parse_args()
    logging.getLogger("service").setLevel(logging.WARNING)
    make = grpc.aio.server

    def make_with_echo(*arguments: Any, **options: Any) -> grpc.aio.Server:
        server = make(*arguments, **options)
        service, method = ECHO.strip("/").split("/")
        handlers: dict[str, Any] = {method: grpc.unary_unary_rpc_method_handler(_echo)}
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, handlers)])
        return server

    # The server offers no way to add a method, because only this benchmark needs one.
    grpc.aio.server = make_with_echo
    options = Options(
        port=0,
        store="sqlite",
        data=chosen.data,
        token_key_file=chosen.token_key_file,
        web=WebOptions(port=0),
        search_processes=chosen.search_processes,
    )
    uvloop.run(run(lambda: Server(options)))


async def _echo(data: bytes, context: Any) -> bytes:
    return data


if __name__ == "__main__":
    main()
