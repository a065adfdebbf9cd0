"""Measures what an action costs the service: `python -m lab.service_bench`, in `make bench`.

Actions are played as clients play them, with a connection for each seat, which follows its match,
on each store. The processor time of a call counts all threads of the server except those that
search.

Each figure is the median of its rounds. With --against, the server of another checkout is measured
in the same rounds.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path

import wire
from croupier.terminal.arguments import declare
from lab.service_bench import played

_OPTIONS = """
--tables N (16 64)
    matches that are played at a time
--stores STORE (sqlite postgresql)
    stores of the matches that are played
--rounds N [5]
    rounds, of which the median is taken
--seconds S [1.0]
    how long each server is measured in a round
--games GAME (all)
    the games of the matches
--data DIR (a temporary directory)
    a directory on the disk that is measured
--against DIR
    another checkout, which is built
"""


def main() -> None:
    """Prints the table."""
    chosen = _parser().parse_args()
    games = chosen.games or list(wire.hosted_games())
    checkouts: dict[str, Path | None] = {"this code": None}
    if chosen.against:
        checkouts[chosen.against.resolve().name] = chosen.against
    with tempfile.TemporaryDirectory(dir=chosen.data, prefix="croupier-bench-") as name:
        stores, tables = chosen.stores, chosen.tables
        rounds, seconds = chosen.rounds, chosen.seconds
        asyncio.run(played.measure(Path(name), games, stores, tables, rounds, seconds, checkouts))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lab.service_bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    several = {"--tables": (16, 64), "--stores": ("sqlite", "postgresql")}
    more = {flag: {"nargs": "+", "default": default} for flag, default in several.items()}
    more["--stores"]["choices"] = played.STORES
    more["--games"] = {"nargs": "+", "choices": tuple(wire.hosted_games())}
    declare(parser, _OPTIONS, {"N": int, "S": float}, more)
    return parser


if __name__ == "__main__":
    main()
