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

from lab.service_bench import instructions, played
from service import wire

_PLAYED, _INSTRUCTIONS = "played", "instructions"


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
    add = parser.add_argument
    add(
        "--parts",
        nargs="+",
        choices=(_PLAYED, _INSTRUCTIONS),
        default=(_PLAYED,),
        help=f"what to measure (default: {_PLAYED})",
    )
    add(
        "--tables",
        metavar="N",
        nargs="+",
        type=int,
        default=(16, 64),
        help="matches that are played at a time (default: 16 64)",
    )
    add(
        "--stores",
        nargs="+",
        choices=played.STORES,
        default=("sqlite", "postgresql"),
        help="stores of the matches that are played (default: sqlite postgresql)",
    )
    add(
        "--rounds",
        metavar="N",
        type=int,
        default=5,
        help="rounds, of which the median is taken (default: %(default)s)",
    )
    add(
        "--seconds",
        metavar="S",
        type=float,
        default=1.0,
        help="how long each server is measured in a round (default: %(default)s)",
    )
    add(
        "--games",
        metavar="GAME",
        nargs="+",
        choices=tuple(wire.hosted_games()),
        help="the games of the matches (default: all)",
    )
    add(
        "--data",
        metavar="DIR",
        type=Path,
        help="a directory on the disk that is measured (default: a temporary directory)",
    )
    add(
        "--against",
        metavar="DIR",
        type=Path,
        help="another checkout, which is built",
    )
    return parser


if __name__ == "__main__":
    main()
