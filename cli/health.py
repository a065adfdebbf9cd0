"""`croupier health`: asks a server whether it serves."""

import argparse

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from cli import arguments
from cli.arguments import Commands
from croupier.errors import CroupierError
from croupier.transport import explained, identity, open_channel

ANSWER_SECONDS = 5.0


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "health",
        help="ask a server whether it serves",
        description="Exits with 0 if a server answers that it serves, else with 1.",
    )
    arguments.add_server(parser, help="the server to ask")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Prints the status of the server."""
    security, key = arguments.security(chosen), identity(chosen.api_key, "")
    try:
        with open_channel(chosen.server, security) as channel:
            request = health_pb2.HealthCheckRequest()
            stub = health_pb2_grpc.HealthStub(channel)
            answer = stub.Check(request, timeout=ANSWER_SECONDS, metadata=key)  # type: ignore[attr-defined]
    except grpc.RpcError as error:
        raise explained(CroupierError.from_call(error), chosen.server, security) from error
    print(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))
    return 0 if answer.status == health_pb2.HealthCheckResponse.SERVING else 1
