"""`croupier serve` with a bare echo on the same gRPC server, for what calls cost beside it.

The echo answers with the bytes that it was sent. It passes all that gRPC and the interceptors do
with a call that is none of ours.
"""

from typing import Any

import grpc

from service import cli

ECHO = "/croupier.bench.Echo/Echo"


def main() -> None:
    """Serves, as the command line says."""
    make = grpc.aio.server

    def make_with_echo(*arguments: Any, **options: Any) -> grpc.aio.Server:
        server = make(*arguments, **options)
        service, method = ECHO.strip("/").split("/")
        handlers: dict[str, Any] = {method: grpc.unary_unary_rpc_method_handler(_echo)}
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, handlers)])
        return server

    # The product has no way to add a method from outside, and needs none.
    grpc.aio.server = make_with_echo
    cli.main()


async def _echo(data: bytes, context: Any) -> bytes:
    return data


if __name__ == "__main__":
    main()
