"""The command line: serving, playing, measuring, and what an operator does with records."""

import argparse
import logging
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import grpc
import uvloop
from grpc_health.v1 import health_pb2, health_pb2_grpc

from cli import arena
from cli import records as record_commands
from croupier import terminal
from croupier.v1 import catalog_pb2, catalog_pb2_grpc
from lab import exploit
from service import wire
from service.api.catalog_service import describe
from service.process import run
from service.server import Options

DEFAULT_ADDRESS = "127.0.0.1:50051"
DEFAULT_METRICS_PORT = 9464
ANSWER_SECONDS = 5.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits with its status."""
    parser = argparse.ArgumentParser(
        prog="croupier", description="Hosts card games with hidden information over gRPC."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_serve(commands)
    _add_games(commands)
    _add_health(commands)
    terminal.add_parser(commands)
    arena.add_parser(commands)
    exploit.add_parser(commands)
    record_commands.add_parsers(commands, address=DEFAULT_ADDRESS, data=_default_data())
    chosen = parser.parse_args(arguments)
    sys.exit(chosen.run(chosen))


# serve


def _add_serve(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "serve",
        help="run the server",
        description="Runs the server until it gets SIGTERM or SIGINT. It then refuses new calls, "
        "lets those that run end, and exits with 0.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        type=_address,
        default=DEFAULT_ADDRESS,
        help="where to serve gRPC; port 0 takes a free one; the address is printed",
    )
    parser.add_argument(
        "--metrics-port",
        metavar="PORT",
        type=_port,
        default=DEFAULT_METRICS_PORT,
        help="where to serve metrics for Prometheus, on the same host; 0 for nowhere",
    )
    parser.add_argument(
        "--allow-seeds",
        action="store_true",
        help="let clients choose the seed of a match; who knows it knows all cards: for tests only",
    )
    parser.add_argument(
        "--search-threads",
        metavar="N",
        type=_count,
        default=0,
        help="threads for the searches of bots, and as many for hints; 0 for one a processor",
    )
    parser.add_argument(
        "--token-key-file",
        metavar="FILE",
        type=Path,
        default=None,
        help="a file of at least 32 random bytes that the tokens are made with; servers that share "
        "it accept each other's. Default: a key kept with the matches",
    )
    parser.add_argument(
        "--store",
        metavar="WHERE",
        default="sqlite",
        help='where matches are kept: "sqlite", a file under --data; "postgresql://...", a '
        'database that any number of servers share; or "memory", which ends with the process',
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        type=Path,
        default=_default_data(),
        help='the directory of "sqlite", of one server at a time; it is made if it is missing',
    )
    parser.add_argument(
        "--operator-token-file",
        metavar="FILE",
        type=Path,
        default=None,
        help="a file with a word of at least 32 characters: the token of the operator, who may "
        "list all matches and export their records. Default: nobody may",
    )
    parser.add_argument(
        "--retain-finished",
        metavar="DURATION",
        type=_duration,
        default=None,
        help="delete matches that have been over for so long: 90d, 12h, 30m, 45s. Default: never",
    )
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="what to log, on standard error",
    )
    parser.set_defaults(run=_serve)


def _serve(chosen: argparse.Namespace) -> int:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("service").setLevel(chosen.log_level.upper())
    host, port = chosen.listen
    options = Options(
        host=host,
        port=port,
        metrics_port=chosen.metrics_port,
        allow_seeds=chosen.allow_seeds,
        search_threads=chosen.search_threads,
        token_key_file=chosen.token_key_file,
        store=chosen.store,
        data=chosen.data,
        operator_token_file=chosen.operator_token_file,
        retain_finished=chosen.retain_finished,
    )
    try:
        uvloop.run(run(options))
    except (OSError, ValueError) as error:
        return _fail(str(error))
    return 0


# games and health


def _add_games(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "games",
        help="list the games",
        description="Lists the games that a running server hosts, or else those of this program.",
    )
    parser.add_argument("--server", metavar="HOST:PORT", help="the server to ask")
    parser.set_defaults(run=_games)


def _games(chosen: argparse.Namespace) -> int:
    games = [describe(game()) for game in wire.hosted_games().values()]
    if chosen.server:
        try:
            with grpc.insecure_channel(chosen.server) as channel:
                request = catalog_pb2.ListGamesRequest()
                stub = catalog_pb2_grpc.CatalogServiceStub(channel)
                games = list(stub.ListGames(request, timeout=ANSWER_SECONDS).games)
        except grpc.RpcError as error:
            return _no_answer(chosen.server, error)
    for game in games:
        name = game.name.removeprefix("games/")
        print(f"{name:20} {game.title}, rules version {game.rules_version}")
    return 0


def _add_health(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "health",
        help="ask a server whether it serves",
        description="Exits with 0 if a server answers that it serves, else with 1.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--server", metavar="HOST:PORT", default=DEFAULT_ADDRESS, help="the server to ask"
    )
    parser.set_defaults(run=_health)


def _health(chosen: argparse.Namespace) -> int:
    try:
        with grpc.insecure_channel(chosen.server) as channel:
            request = health_pb2.HealthCheckRequest()
            stub = health_pb2_grpc.HealthStub(channel)
            status = stub.Check(request, timeout=ANSWER_SECONDS).status  # type: ignore[attr-defined]
    except grpc.RpcError as error:
        return _no_answer(chosen.server, error)
    print(health_pb2.HealthCheckResponse.ServingStatus.Name(status))
    return 0 if status == health_pb2.HealthCheckResponse.SERVING else 1


# Helpers


def _fail(message: str) -> int:
    print(f"croupier: {message}", file=sys.stderr)
    return 1


def _no_answer(server: str, error: grpc.RpcError) -> int:
    return _fail(f"no answer from {server}: {error.code().name}, {error.details()}")


def _default_data() -> Path:
    # Where the XDG base directory specification has what a program keeps.
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(home) / "croupier"


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host, _port(port)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: 0 to 65535")
    return int(text)


def _duration(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration: 90d, 12h, 30m or 45s")
    return float(int(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]])


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)
