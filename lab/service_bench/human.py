"""Measures many matches at the speed of people.

Each match has an action every few seconds, and both seats are connected and follow it. As many
connections as there are seats would take more files than a process may have, so some seats share
one. That the states of so many matches do not fit into the cache of matches is a part of it.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

from lab.service_bench.played import PLAY, Subject, create_matches, hosting
from lab.service_bench.players import Habits, Players
from lab.service_bench.printing import ms, progress, us
from lab.service_bench.scripts import Script

SHARE = 4  # Seats share a connection.
_SPARE_ACTIONS = 4  # Of each match, beyond those that it has time for.


def measure(
    directory: Path,
    scripts: Sequence[Script],
    matches: int,
    pace: float,
    seconds: float,
) -> None:
    """Prints one row: `matches` with an action every `pace` seconds."""
    with hosting(directory / "human", "sqlite", None) as server:
        empty = server.memory()
        progress(f"creating {matches} matches")
        created = asyncio.run(create_matches(server.address, list(islice(cycle(scripts), matches))))
        most = round(seconds / pace) + _SPARE_ACTIONS
        created = [match._replace(actions=match.actions[:most]) for match in created]
        progress(f"seating {2 * matches} players")
        players = Players([server.address], PLAY, created, matches, Habits(pace, SHARE))
        try:
            seated = server.memory()
            progress(f"playing for {seconds:.0f} s")
            figures = Subject("human", [server], players, Counter()).run(seconds)
        finally:
            players.close()
        print(
            f"\n{'matches':>7}{'connections':>13}{'actions/s':>11}{'CPU':>9}{'of a core':>11}"
            f"{'p50':>10}{'p99':>10}{'seen p99':>10}{'memory':>10}{'a match':>10}"
        )
        print(
            f"{matches:7}{-(-2 * matches // SHARE):13}{figures.rate:11,.0f}{us(figures.cpu):>9}"
            f"{figures.cpu * figures.rate:11.2f}{ms(figures.p50):>10}{ms(figures.p99):>10}"
            f"{ms(figures.seen):>10}{server.memory() / 2**20:7,.0f} MB"
            f"{(seated - empty) / matches / 1024:7,.0f} KB",
            flush=True,
        )
