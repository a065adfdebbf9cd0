"""The options of a server: each is declared here, once.

An option whose name (`dest`) is a field of `service.running.server.Options` reaches the server as
it is.
"""

import argparse

from cli import arguments
from cli.arguments import UsageError
from cli.configuration import ConfiguredParser
from croupier.transport import Security
from service.gateway.options import WebOptions, read_origin
from service.listening.connections import ConnectionLimits
from service.listening.tls import Files
from service.observability.logs import FORMATS
from service.running.search_server import SearchServerOptions
from service.running.server import Options
from service.searching.options import SearchOptions

MAX_DEFAULT_ACTIONS = 1000  # As in the schema.
MAX_SEARCH_SECONDS = 60  # As in the schema.
MAX_SEARCHES = 10_000
MAX_SEARCH_PROCESSES = 64
# So that match servers soon find search servers that were added.
MAX_SEARCH_CONNECTION_SECONDS = 300.0
_LIMITS = ConnectionLimits()
_WEB = WebOptions()


OPTIONS = {
    "role": """
--role match|search [match]
    "match" hosts matches; "search" hosts none and keeps nothing, and searches for match servers
    that name it by --search-at: nobody else should reach it
""",
    "addresses": f"""
--listen HOST:PORT [{arguments.DEFAULT_ADDRESS}]
    where to serve gRPC alone; port 0 takes a free one; the address is printed
--web HOST:PORT ({_WEB.host}:{_WEB.port}, or a free port if that one is taken)
    where to serve the web app, and Connect, gRPC-Web and JSON; port 0 takes a free one; off for
    nowhere; the URL is printed
--web-origin ORIGIN ... (only the pages of this server)
    let pages of this origin call, as https://play.example.org; may be repeated
--web-host NAME ... (on a loopback address localhost, elsewhere any name)
    a name by which browsers know this server; may be repeated; requests to other names are refused
--web-take-unknown [false]
    leave out fields of JSON that this server does not know, for clients that send such; else they
    are refused, since they may be misspelt
--metrics-host HOST [127.0.0.1]
    the address on which metrics for Prometheus are served, always in the clear; 0.0.0.0 for all
--metrics-port PORT [9464]
    the port of the metrics; 0 for nowhere
""",
    "TLS": """
--tls-cert FILE (serve in the clear)
    serve with TLS: the server's certificate, followed by those of its issuers, in PEM format; when
    the TLS files change, the server uses them without a restart
--tls-key FILE (none)
    the private key of --tls-cert
--tls-client-ca FILE (admit clients without a certificate)
    admit only clients with a certificate that comes from these authorities (mutual TLS)
""",
    "callers": """
--callers-file FILE (callers from this machine are not limited, others have the default budgets)
    a TOML file: the API keys and the issuer of signed tokens that this server knows, the proxies
    whose forwarded addresses it believes, and how much each caller may use (docs/operations.md)
--token-key-file FILE (a key that is kept with the matches)
    a file of at least 32 random bytes with which tokens are made; servers that share it accept each
    other's tokens
--operator-token-file FILE (nobody may)
    a file with a word of at least 32 characters: the token of the operator, who may list all
    matches and export their records
""",
    "matches": f"""
--store WHERE [sqlite]
    where matches are kept: "sqlite", a file under --data; "postgresql://...", a database that any
    number of servers share; or "memory", which ends with the process
--data DIR ($XDG_DATA_HOME/croupier, or ~/.local/share/croupier)
    the directory of "sqlite", which one server at a time can use; the server creates it if it is
    missing
--retain-finished DURATION (never)
    delete matches that have been over for this long, as 90d, 12h, 30m or 45s
--end-idle DURATION [30d]
    end a match without a clock in which nothing has happened for this long: the seat that owes a
    decision loses; or never
--max-default-actions N [{Options().max_default_actions}]
    end a match in which a seat lets its time run out once more after N actions in a row were played
    for it by default; a match may ask for fewer; 0 for no limit
--tell-presence [true]
    tell each player of a match between people whether the other one has it open; all servers of a
    store need the same
--allow-seeds [false]
    let clients choose the seed of a match; for tests only, as a client that knows the seed knows
    all cards
--skip-broken-games [false]
    leave out an installed game that cannot be used, instead of not starting
--max-rules-time SECONDS [{round(Options().max_rules_seconds)}]
    interrupt code of an installed game in Python that has not returned after this long, and fail
    the call; in a search this is processor time (docs/operations.md)
""",
    "searches": f"""
--search-threads N [0]
    threads for the searches of bots, and as many for hints; 0 for one for each processor
--max-search-time SECONDS [{MAX_SEARCH_SECONDS}]
    how long the search for a hint may take from its start, whatever limits the caller sets
--searches-running N (twice the search threads, at least 4)
    how many searches for hints one caller may have under way at a time; others wait
--searches-waiting N [{Options().searches_waiting}]
    how many searches for hints of one caller may wait for their turn; the server refuses further
    ones
--search-memory SIZE (of this machine, or of the control group, what is left for searches)
    how much memory all searches of this server may hold, as 512M or 2G; its search processes share
    it (docs/deploy/capacity.md)
--search-processes N [1]
    processes of their own for searches, which share the search threads; 0: searches run in the
    process that answers calls
--search-at TARGET (search processes)
    search servers instead of processes, as dns:///croupier-search:50051 or any other target of
    gRPC; while none answers, this process searches as far as it has memory
--search-tls-ca FILE (speak in the clear)
    speak TLS with the search servers, whose certificates come from these authorities
--search-tls-cert FILE (none)
    the certificate that this server shows to the search servers
--search-tls-key FILE (none)
    the private key of --search-tls-cert
""",
    "connections": f"""
--max-connections N [{_LIMITS.connections}]
    connections beyond this number are refused; 0 for as many as the process may have open files,
    less 256
--max-streams N [{_LIMITS.streams}]
    calls and streams of one connection at once; more wait at the client
--max-idle DURATION [15m]
    close a connection that has had no call for this long
--max-age DURATION [12h]
    ask a client to connect anew after this long; its streams end an hour later at most
""",
    "logging": f"""
--log-level debug|info|warning|error [info]
    what to log on standard error
--log-format {"|".join(FORMATS)} [{FORMATS[0]}]
    how to log: text for people, or json, one object a line
--tracing [false]
    send traces to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names; needs the extra otel
""",
}


def add_options(parser: ConfiguredParser) -> None:
    """Declares all options of a server."""
    types = {
        "HOST:PORT": arguments.address,
        "--web": _web_address,
        "ORIGIN": _web_origin,
        "PORT": arguments.port,
        "WHERE": arguments.store,
        "DIR": arguments.directory,
        "DURATION": arguments.duration,
        "SIZE": arguments.size,
        "--end-idle": arguments.duration_or_never,
        "N": arguments.whole(),
        "--max-default-actions": arguments.whole(0, MAX_DEFAULT_ACTIONS),
        "SECONDS": arguments.whole(1, MAX_SEARCH_SECONDS),
        "--searches-running": arguments.whole(1, MAX_SEARCHES),
        "--searches-waiting": arguments.whole(1, MAX_SEARCHES),
        "--search-processes": arguments.whole(0, MAX_SEARCH_PROCESSES),
        "--max-streams": arguments.whole(1, 1 << 31),
    }
    more = {
        "--web": {"default": WebOptions(may_move=True), "dest": "web_address"},
        "--data": {"default": arguments.default_data()},
        "--max-search-time": {"dest": "max_search_seconds"},
        "--max-rules-time": {"dest": "max_rules_seconds"},
        "--searches-running": {"default": Options().searches_running},
        "--search-memory": {"default": Options().search_memory},
        "--search-at": {"default": ""},
    }
    parser.add_file_option()
    for title, text in OPTIONS.items():
        parser.add_options(title, text, types, more)


def read_options(chosen: argparse.Namespace) -> Options | SearchServerOptions:
    """Returns the options of the server; raises UsageError if they do not fit together."""
    if chosen.role == "search":
        return _search_server_options(chosen)
    arguments.check_data(chosen.store, chosen.data)
    same = {name: value for name, value in vars(chosen).items() if name in Options._fields}
    host, port = chosen.listen
    return Options(
        **same,
        host=host,
        port=port,
        connections=_connections(chosen),
        tls=_tls_files(chosen),
        web=_web_options(chosen),
        search_security=_search_security(chosen),
    )


def _search_server_options(chosen: argparse.Namespace) -> SearchServerOptions:
    # The other options are those of match servers, which may share a file of options with it.
    host, port = chosen.listen
    return SearchServerOptions(
        f"{host}:{port}",
        SearchOptions(
            chosen.search_threads,
            chosen.max_search_seconds,
            chosen.searches_running,
            chosen.searches_waiting,
            chosen.max_rules_seconds,
            chosen.search_memory,
        ),
        _connections(chosen)._replace(age=min(chosen.max_age, MAX_SEARCH_CONNECTION_SECONDS)),
        _tls_files(chosen),
        (chosen.metrics_host, chosen.metrics_port) if chosen.metrics_port else None,
    )


# Types of arguments


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


# Options of which several make one of the server


def _connections(chosen: argparse.Namespace) -> ConnectionLimits:
    return ConnectionLimits(
        connections=chosen.max_connections,
        streams=chosen.max_streams,
        idle=chosen.max_idle,
        age=chosen.max_age,
    )


def _web_options(chosen: argparse.Namespace) -> WebOptions | None:
    web: WebOptions | None = chosen.web_address
    if web is not None:
        return web._replace(
            origins=tuple(chosen.web_origin),
            hosts=tuple(chosen.web_host),
            take_unknown=chosen.web_take_unknown,
        )
    if chosen.web_origin or chosen.web_host or chosen.web_take_unknown:
        raise UsageError("--web-origin, --web-host and --web-take-unknown need --web")
    return None


def _search_security(chosen: argparse.Namespace) -> Security:
    files = (chosen.search_tls_ca, chosen.search_tls_cert, chosen.search_tls_key)
    if any(files) and not chosen.search_at:
        raise UsageError("--search-tls-ca, --search-tls-cert and --search-tls-key need --search-at")
    if bool(files[1]) != bool(files[2]):
        raise UsageError("--search-tls-cert and --search-tls-key belong together")
    return Security(ca=files[0], cert=files[1], key=files[2])


def _tls_files(chosen: argparse.Namespace) -> Files | None:
    if bool(chosen.tls_cert) != bool(chosen.tls_key):
        raise UsageError("--tls-cert and --tls-key belong together")
    if chosen.tls_cert is None:
        if chosen.tls_client_ca is not None:
            raise UsageError("--tls-client-ca needs --tls-cert and --tls-key")
        return None
    return Files(chosen.tls_cert, chosen.tls_key, chosen.tls_client_ca)
