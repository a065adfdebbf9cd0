"""Measures what an action costs the service: `python -m lab.service_bench`, in `make bench`.

Played: actions as clients play them, with a connection for each seat, which follows its match, on
each store. The processor time of a call counts all threads of the server except those that search.

Instructions: what an action costs in instructions, counted under valgrind; only if it is asked for.

Each figure is the median of its rounds. With --against, the server of another checkout is measured
in the same rounds.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path

from croupier.terminal.arguments import declare
from lab.service_bench import instructions, played
from service import wire

_PLAYED, _INSTRUCTIONS = "played", "instructions"
_OPTIONS = f"""
--parts {_PLAYED}|{_INSTRUCTIONS} ({_PLAYED})
    what to measure
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
    """Prints the tables."""
    chosen = _parser().parse_args()
    games = chosen.games or list(wire.hosted_games())
    checkouts: dict[str, Path | None] = {"this code": None}
    if chosen.against:
        checkouts[chosen.against.resolve().name] = chosen.against
    with tempfile.TemporaryDirectory(dir=chosen.data, prefix="croupier-bench-") as name:
        directory = Path(name)
        if _PLAYED in chosen.parts:
            stores, tables = chosen.stores, chosen.tables
            rounds, seconds = chosen.rounds, chosen.seconds
            asyncio.run(
                played.measure(directory, games, stores, tables, rounds, seconds, checkouts)
            )
        if _INSTRUCTIONS in chosen.parts:
            asyncio.run(
                instructions.measure(
                    directory, games, chosen.rounds, checkouts, instructions.DECISIONS
                )
            )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lab.service_bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    several = {"--parts": (_PLAYED,), "--tables": (16, 64), "--stores": ("sqlite", "postgresql")}
    more = {flag: {"nargs": "+", "default": default} for flag, default in several.items()}
    more["--stores"]["choices"] = played.STORES
    more["--games"] = {"nargs": "+", "choices": tuple(wire.hosted_games())}
    declare(parser, _OPTIONS, {"N": int, "S": float}, more)
    return parser


if __name__ == "__main__":
    main()
