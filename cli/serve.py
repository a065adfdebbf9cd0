"""`croupier serve`: runs the server."""

import argparse
import logging
import os
import sys
import threading
from functools import partial
from pathlib import Path
from typing import NoReturn

import uvloop

from cli.arguments import CommandError, Commands, UsageError
from cli.configuration import ConfiguredParser
from cli.server_options import add_options, read_options
from engine.packages import SKIP_BROKEN
from service.observability import tracing
from service.observability.logs import configure
from service.running.process import Reloadable, Served
from service.running.process import run as run_server
from service.running.search_server import SearchServer, SearchServerOptions
from service.running.server import Options, Server

# A thread keeps the interpreter for at most this time while others want it. With Python's 5 ms,
# each step of a commit, which another thread makes, could wait that long for a busy event loop.
SWITCH_SECONDS = 0.0005

_log = logging.getLogger(__name__)


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "serve",
        usage="%(prog)s [OPTION ...]",
        help="run the server",
        description="Runs the server until it gets SIGTERM or SIGINT. It then refuses new calls, "
        "waits until the running calls have ended, and exits with 0. At SIGHUP it reads again the "
        "callers file and the log level.",
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
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        if chosen.tracing:
            tracing.start()
        uvloop.run(run_server(lambda: _make(options), partial(_read_again, parser, chosen)))
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


class _Rereading(ConfiguredParser):
    def error(self, message: object) -> NoReturn:
        raise ValueError(message)


def _read_again(parser: ConfiguredParser, before: argparse.Namespace) -> Reloadable:
    # Flags and the environment are as they were, and the file of options may have changed.
    rereading = _Rereading()
    add_options(rereading)
    chosen = rereading.parse_args(parser.arguments)
    try:
        read_options(chosen)
    except UsageError as error:
        raise ValueError(error) from None
    late = [
        option.flag
        for option in rereading.options
        if option.action.dest not in Reloadable._fields
        and getattr(chosen, option.action.dest) != getattr(before, option.action.dest)
    ]
    if late:
        _log.warning(
            "reload: what has changed of these options needs a restart: %s", " ".join(late)
        )
    return Reloadable(chosen.log_level, chosen.callers_file)


def _check_files(parser: ConfiguredParser, chosen: argparse.Namespace) -> None:
    # The server would find it out too, but does not know the name of the option.
    for option in parser.options:
        path = getattr(chosen, option.action.dest)
        if option.action.metavar == "FILE" and isinstance(path, Path):
            try:
                # A pipe is not waited for.
                open(path, "rb", opener=lambda *to: os.open(to[0], to[1] | os.O_NONBLOCK)).close()
            except OSError as error:
                source = parser.source(option)
                said = f"argument {option.flag}: {path}: {error.strerror} ({source})"
                raise CommandError(said) from error
