"""`croupier load`: plays many matches at the speed of people, and tells what players notice."""

import argparse
import asyncio
import contextlib
import math
import random
import sys
import time
from collections.abc import Sequence

from cli import arguments
from cli.arguments import Commands, UsageError
from cli.load_players import PATIENCE, Figures, Load, play
from croupier.client import Client
from croupier.transport import Security, channel_credentials, is_local
from croupier.v1 import game_pb2

LATE_SECONDS = 0.02  # A program that is later than this measures itself.
OPTIONS = """
--games GAME,... (all that the server has)
    games to play
--matches N [50]
    matches at a time; each has two seats
--pace SECONDS [5]
    for which a seat thinks, on average
--seconds SECONDS [60]
    for which to play, once all seats are there
--seats-a-connection N [1]
    seats that share a connection, as behind a front end
--players N [0]
    with --api-key: so many players for whom it calls, for a key that names players;
    0 is the key alone
--seed N [0]
    of how players play
"""
ROW = "{:34}{:>9}{:>10}{:>12}{:>12}{:>12}{:>12}".format


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "load",
        help="play many matches against a server, and measure what players notice",
        description="Plays matches at the speed of people: every seat follows its match by a "
        "stream, thinks, and plays a random legal action. Then it prints how long players waited, "
        "and what was refused, repeated or lost. It exits with 1 if a call or a stream failed for "
        f"{PATIENCE:.0f} seconds or was refused for good. Ctrl-C ends it early, with the figures.",
    )
    arguments.add_server(parser, help="the server to play on")
    types = {
        "--matches": arguments.whole(1, 20_000),
        "--pace": arguments.seconds(3600),
        "--seconds": arguments.seconds(7 * 86400),
        "--seats-a-connection": arguments.whole(1, 100),
        "--players": arguments.whole(0),
        "--seed": int,
    }
    arguments.declare(parser, OPTIONS, types)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Plays, and prints the report."""
    security = arguments.security(chosen)
    if not (is_local(chosen.server) or security.insecure or channel_credentials(security)):
        raise UsageError(f"tokens would travel in the clear to {chosen.server}: use --tls")
    if chosen.players and not chosen.api_key:
        raise UsageError("--players needs --api-key")
    return asyncio.run(_run(chosen, security, _rulesets(chosen)))


async def _run(
    chosen: argparse.Namespace, security: Security, rulesets: Sequence[game_pb2.Ruleset]
) -> int:
    load = Load(
        chosen.server,
        security,
        rulesets,
        chosen.matches,
        chosen.pace,
        chosen.seconds,
        chosen.seats_a_connection,
        chosen.api_key,
        chosen.players,
    )
    figures = Figures()
    started, processor = time.monotonic(), time.process_time()
    with contextlib.suppress(asyncio.CancelledError):
        await play(load, figures, random.Random(chosen.seed), _tell)
    seconds = time.monotonic() - started
    print(report(load, figures, seconds, time.process_time() - processor))
    return 1 if figures.failed else 0


def _tell(text: str) -> None:
    print(f"... {text}", file=sys.stderr, flush=True)


def _rulesets(chosen: argparse.Namespace) -> list[game_pb2.Ruleset]:
    # The default rulesets of the games that were named, or of all.
    with Client(chosen.server, patience=0, **arguments.connection(chosen)) as client:
        listed = client.games()
    rulesets = {each.name.removeprefix("games/"): each.default_ruleset for each in listed}
    names = chosen.games.split(",") if chosen.games else list(rulesets)
    if unknown := [name for name in names if name not in rulesets]:
        known = ", ".join(rulesets)
        raise UsageError(f"the server has no game {', '.join(unknown)}; it has {known}")
    return [rulesets[name] for name in names]


def report(load: Load, figures: Figures, seconds: float, processor: float) -> str:
    """The report of a load that took so many seconds, and so many of a processor."""
    times = {
        "matches created": figures.created,
        "streams opened, to the first view": figures.opened,
        "actions answered": figures.answered,
        "actions seen by the other seat": figures.seen,
    }
    lines = [
        f"{load.server}: {load.matches} matches at a time, {2 * load.matches} seats on "
        f"{-(-2 * load.matches // load.seats_a_connection)} connections, {load.pace:g} s of "
        f"thought on average, {seconds:.0f} s",
        "",
        ROW("", "number", "a second", "p50", "p90", "p99", "most"),
    ]
    for title, each in times.items():
        shown = [_ms(_quantile(each, share)) if each else "" for share in (0.5, 0.9, 0.99, 1)]
        lines.append(ROW(title, len(each), f"{len(each) / seconds:.1f}", *shown).rstrip())
    counts = {
        "matches that ended": figures.ended,
        "calls repeated": figures.repeated,
        "streams resumed": figures.resumed,
        "actions that came too late": figures.overtaken,
        "calls and streams given up": figures.failed,
    }
    lines.append("")
    for title, counted in counts.items():
        why = ", ".join(f"{name} {count:,}" for name, count in counted.most_common())
        lines.append(
            ROW(title, counted.total(), "", "", "", "", "").rstrip() + (why and f"  {why}")
        )
    lag = _quantile(figures.lag, 0.99) if figures.lag else 0.0
    lines += [
        "",
        f"This program took {100 * processor / seconds:.0f} % of a processor; its own timers were "
        f"late by {_ms(lag)} (p99).",
    ]
    if lag > LATE_SECONDS:
        lines.append(
            "So the times above tell of this program as much as of the server: play fewer matches, "
            "or run it several times at once."
        )
    return "\n".join(lines)


def _quantile(values: Sequence[float], share: float) -> float:
    # The least value that so large a share of the values does not exceed.
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"
