"""`croupier serve`: runs the server."""

import argparse
import logging
from pathlib import Path

import uvloop

from cli import arguments
from cli.arguments import CommandError, Commands, UsageError
from service.connections import ConnectionLimits
from service.process import run as run_server
from service.server import Options, Server
from service.tls import Files
from service.web.door import WebOptions
from service.web.origins import read_origin

DEFAULT_METRICS_PORT = 9464
MAX_DEFAULT_ACTIONS = 1000  # As in the schema.
MAX_SEARCH_SECONDS = 60  # As in the schema.
MAX_SEARCHES = 10_000


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "serve",
        help="run the server",
        description="Runs the server until it gets SIGTERM or SIGINT. It then refuses new calls, "
        "waits until the running calls have ended, and exits with 0.",
    )
    add = parser.add_argument
    add(
        "--listen",
        metavar="HOST:PORT",
        type=arguments.address,
        default=arguments.DEFAULT_ADDRESS,
        help="where to serve gRPC (default: %(default)s); port 0 takes a free one; the address is "
        "printed",
    )
    add(
        "--web",
        metavar="HOST:PORT",
        type=_web_address,
        default=WebOptions(may_move=True),
        help="where to serve the table for a browser, and Connect, gRPC-Web and JSON; port 0 takes "
        f"a free one; off for nowhere (default: {WebOptions().host}:{WebOptions().port}, or a free "
        "port if that one is taken); the URL is printed",
    )
    add(
        "--web-origin",
        metavar="ORIGIN",
        type=_web_origin,
        action="append",
        default=[],
        help="let pages of this origin call, as https://play.example.org; may be repeated "
        "(default: only the pages of this server)",
    )
    add(
        "--web-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a name by which browsers know this server; may be repeated; requests to other names "
        "are refused (default: on a loopback address localhost, elsewhere any name)",
    )
    add(
        "--tls-cert",
        metavar="FILE",
        type=Path,
        help="serve with TLS: the server's certificate, followed by those of its issuers, in PEM "
        "format; when the TLS files change, the server uses them without a restart (default: serve "
        "in the clear)",
    )
    add("--tls-key", metavar="FILE", type=Path, help="the private key of --tls-cert")
    add(
        "--tls-client-ca",
        metavar="FILE",
        type=Path,
        help="admit only clients with a certificate that comes from these authorities (mutual TLS)",
    )
    add(
        "--metrics-port",
        metavar="PORT",
        type=arguments.port,
        default=DEFAULT_METRICS_PORT,
        help="where to serve metrics for Prometheus, on the same host and always in the clear "
        "(default: %(default)s); 0 for nowhere",
    )
    add(
        "--allow-seeds",
        action="store_true",
        help="let clients choose the seed of a match; for tests only, as a client that knows the "
        "seed knows all cards",
    )
    add(
        "--search-threads",
        metavar="N",
        type=arguments.whole(),
        default=0,
        help="threads for the searches of bots, and as many for hints (default: one for each "
        "processor)",
    )
    add(
        "--max-search-time",
        metavar="SECONDS",
        type=arguments.whole(1, MAX_SEARCH_SECONDS),
        default=MAX_SEARCH_SECONDS,
        help="how long the search for a hint may take from its start, whatever limits the caller "
        "sets (default: %(default)s)",
    )
    add(
        "--searches-running",
        metavar="N",
        type=arguments.whole(1, MAX_SEARCHES),
        default=0,
        help="how many searches for hints one caller may have under way at a time; others wait "
        "(default: twice the search threads, at least 4)",
    )
    add(
        "--searches-waiting",
        metavar="N",
        type=arguments.whole(1, MAX_SEARCHES),
        default=64,
        help="how many searches for hints of one caller may wait for their turn; the server "
        "refuses further ones (default: %(default)s)",
    )
    add(
        "--token-key-file",
        metavar="FILE",
        type=Path,
        help="a file of at least 32 random bytes with which tokens are made; servers that share it "
        "accept each other's tokens (default: a key that is kept with the matches)",
    )
    add(
        "--store",
        metavar="WHERE",
        default="sqlite",
        help='where matches are kept (default: %(default)s): "sqlite", a file under --data; '
        '"postgresql://...", a database that any number of servers share; or "memory", which ends '
        "with the process",
    )
    add(
        "--data",
        metavar="DIR",
        type=Path,
        default=arguments.default_data(),
        help='the directory of "sqlite", which one server at a time can use (default: '
        "%(default)s); the server creates it if it is missing",
    )
    add(
        "--operator-token-file",
        metavar="FILE",
        type=Path,
        help="a file with a word of at least 32 characters: the token of the operator, who may "
        "list all matches and export their records (default: nobody may)",
    )
    add(
        "--retain-finished",
        metavar="DURATION",
        type=arguments.duration,
        help="delete matches that have been over for this long, as 90d, 12h, 30m or 45s (default: "
        "never)",
    )
    add(
        "--callers-file",
        metavar="FILE",
        type=Path,
        help="a TOML file: the API keys and the issuer of signed tokens that this server knows, "
        "the proxies whose forwarded addresses it believes, and how much each caller may use "
        "(docs/operations.md); without it, callers from this machine are not limited",
    )
    limits = ConnectionLimits()
    add(
        "--max-connections",
        metavar="N",
        type=arguments.whole(),
        default=limits.connections,
        help="connections beyond this number are refused (default: as many as the process may have "
        "open files)",
    )
    add(
        "--max-streams",
        metavar="N",
        type=arguments.whole(1, 1 << 31),
        default=limits.streams,
        help="calls and streams of one connection at once; more wait at the client (default: "
        "%(default)s)",
    )
    add(
        "--max-idle",
        metavar="DURATION",
        type=arguments.duration,
        default=limits.idle,
        help="close a connection that has had no call for this long (default: 15m)",
    )
    add(
        "--max-age",
        metavar="DURATION",
        type=arguments.duration,
        default=limits.age,
        help="ask a client to connect anew after this long; its streams end an hour later at most "
        "(default: 12h)",
    )
    add(
        "--end-idle",
        metavar="DURATION",
        type=arguments.duration_or_never,
        default=Options().end_idle,
        help="end a match without a clock in which nothing has happened for this long: the seat "
        "that owes a decision loses; or never (default: 30d)",
    )
    add(
        "--max-default-actions",
        metavar="N",
        type=arguments.whole(0, MAX_DEFAULT_ACTIONS),
        default=Options().max_default_actions,
        help="end a match in which a seat lets its time run out once more after N actions in a row "
        "were played for it by default; a match may ask for fewer; 0 for no limit (default: "
        "%(default)s)",
    )
    add(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="what to log on standard error (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Serves until the process is told to stop."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("service").setLevel(chosen.log_level.upper())
    host, port = chosen.listen
    options = Options(
        host=host,
        port=port,
        metrics_port=chosen.metrics_port,
        allow_seeds=chosen.allow_seeds,
        search_threads=chosen.search_threads,
        max_search_seconds=chosen.max_search_time,
        searches_running=chosen.searches_running,
        searches_waiting=chosen.searches_waiting,
        token_key_file=chosen.token_key_file,
        store=chosen.store,
        data=chosen.data,
        operator_token_file=chosen.operator_token_file,
        retain_finished=chosen.retain_finished,
        callers_file=chosen.callers_file,
        connections=ConnectionLimits(
            connections=chosen.max_connections,
            streams=chosen.max_streams,
            idle=chosen.max_idle,
            age=chosen.max_age,
        ),
        tls=_tls_files(chosen),
        end_idle=chosen.end_idle,
        max_default_actions=chosen.max_default_actions,
        web=_web_options(chosen),
    )
    try:
        uvloop.run(run_server(lambda: Server(options)))
    except (OSError, ValueError) as error:
        raise CommandError(str(error)) from error
    return 0


def _web_address(text: str) -> WebOptions | None:
    if text == "off":
        return None
    host, port = arguments.address(text)
    return WebOptions(host, port)


def _web_origin(text: str) -> str:
    try:
        return read_origin(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _web_options(chosen: argparse.Namespace) -> WebOptions | None:
    web: WebOptions | None = chosen.web
    if web is not None:
        return web._replace(origins=tuple(chosen.web_origin), hosts=tuple(chosen.web_host))
    if chosen.web_origin or chosen.web_host:
        raise UsageError("--web-origin and --web-host need --web")
    return None


def _tls_files(chosen: argparse.Namespace) -> Files | None:
    if bool(chosen.tls_cert) != bool(chosen.tls_key):
        raise UsageError("--tls-cert and --tls-key belong together")
    if chosen.tls_cert is None:
        if chosen.tls_client_ca is not None:
            raise UsageError("--tls-client-ca needs --tls-cert and --tls-key")
        return None
    return Files(chosen.tls_cert, chosen.tls_key, chosen.tls_client_ca)
