"""`croupier serve`: runs the server."""

import argparse
import logging
import os
import threading
from functools import partial
from pathlib import Path

import uvloop

from cli.arguments import CommandError, Commands
from cli.configuration import ConfiguredParser
from cli.server_options import add_options, read_options
from engine.packages import SKIP_BROKEN
from service.observability import tracing
from service.observability.logs import configure
from service.running.process import Served
from service.running.process import run as run_server
from service.running.search_server import SearchServer, SearchServerOptions
from service.running.server import Options, Server

_log = logging.getLogger(__name__)


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "serve",
        usage="%(prog)s [OPTION ...]",
        help="run the server",
        description="Runs the server until it gets SIGTERM or SIGINT. It then refuses new calls, "
        "waits until the running calls have ended, and exits with 0.",
    )
    add_options(parser)
    parser.set_defaults(run=partial(run, parser))


def run(parser: ConfiguredParser, chosen: argparse.Namespace) -> int:
    """Serves until the process is told to stop."""
    configure(chosen.log_format, chosen.log_level)
    for warning in parser.unknown_variables():
        _log.warning(warning)
    options = read_options(chosen)
    _check_files(parser, chosen)
    if chosen.skip_broken_games:
        os.environ[SKIP_BROKEN] = "true"  # Search processes read it, too.
    try:
        if chosen.tracing:
            tracing.start()
        uvloop.run(run_server(lambda: _make(options)))
    except (OSError, ValueError) as error:
        raise CommandError(str(error)) from error
    finally:
        tracing.stop()
    if stuck := [each.name for each in threading.enumerate() if not each.daemon][1:]:
        # Python would wait for its threads.
        _log.error("code of a game does not return in %s: the process ends without it", stuck)
        logging.shutdown()
        os._exit(0)
    return 0


def _make(options: Options | SearchServerOptions) -> Served:
    if isinstance(options, SearchServerOptions):
        return SearchServer(options)
    return Server(options)


def _check_files(parser: ConfiguredParser, chosen: argparse.Namespace) -> None:
    # The server would find it out too, but does not know the name of the option.
    for option in parser.options:
        path = getattr(chosen, option.action.dest)
        if option.action.metavar == "FILE" and isinstance(path, Path):
            try:
                path.open("rb").close()
            except OSError as error:
                source = parser.source(option)
                said = f"argument {option.flag}: {path}: {error.strerror} ({source})"
                raise CommandError(said) from error
