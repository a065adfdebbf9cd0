"""`croupier mcp`: lets a language model play, through the Model Context Protocol."""

import argparse
import logging
import os

from cli import arguments
from cli.arguments import CommandError, Commands, UsageError
from croupier.transport import identity, is_loopback

OPTIONS = """
--http HOST:PORT
    serve streamable HTTP there, at /mcp, in place of standard input and output; each request brings
    an API key of its own as Authorization: Bearer KEY, or in x-api-key, and may name a player in
    x-player-id; on an address that other hosts reach, it must; for other hosts than this one, put a
    proxy with TLS before it, which keeps tokens secret
--allowed-host NAME ...
    with --http, a name by which a proxy passes requests on, in the header Host, with a port or
    without; can be repeated (otherwise, on an address of this machine, only names of this machine)
--require-key
    with --http, each request must bring an API key, also on an address of this machine: behind a
    proxy, all callers seem to be of this machine, which has no limits
"""


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "mcp",
        help="let a language model play, through the Model Context Protocol",
        description="Serves the Model Context Protocol, on standard input and output or over HTTP, "
        "so that a language model can play the matches of a running server: as any client, with "
        "what its seat may know. It needs the extra mcp: pip install 'croupier-server[mcp]'",
    )
    arguments.add_server(parser, help="the server to play on")
    arguments.add_language(parser)
    arguments.declare(parser, OPTIONS, {"HOST:PORT": arguments.address})
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Serves until it is interrupted, or until its standard input ends."""
    try:
        from croupier.mcp import http_app, make_server
    except ModuleNotFoundError as missing:
        raise CommandError(str(missing)) from missing
    if chosen.http is not None and chosen.api_key != os.environ.get(arguments.API_KEY, ""):
        raise UsageError("--api-key excludes --http, where each request brings its own key")
    if chosen.http is None and (chosen.allowed_host or chosen.require_key):
        raise UsageError("--allowed-host and --require-key belong to --http")
    host, port = chosen.http or ("", 0)
    host = host.strip("[]")
    identity(chosen.api_key, "")  # Now, rather than at each call of a tool.
    server = make_server(
        chosen.server,
        api_key=chosen.api_key,
        language=chosen.language,
        security=arguments.security(chosen),
        forward=chosen.http is not None,
        needs_key=chosen.http is not None and (chosen.require_key or not is_loopback(host)),
    )
    for handler in logging.getLogger().handlers:  # The server has made them.
        handler.addFilter(_without_traceback)
    if chosen.http is None:
        server.run("stdio")
    else:
        from cli.mcp_http import serve_http  # Most of a server, which the other way needs not.

        serve_http(http_app(server, host, chosen.allowed_host), host, port)
    return 0


def _without_traceback(record: logging.LogRecord) -> bool:
    # The library logs one for each caller who leaves or asks for nonsense. To draw it takes longer
    # than most calls, and others wait.
    if record.exc_info and (error := record.exc_info[1]):
        record.msg, record.args = f"{record.getMessage()}: {type(error).__name__}: {error}", ()
        record.exc_info = None
    return True
