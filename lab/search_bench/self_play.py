"""Random self-play in numbers: `python -m lab.search_bench.self_play`, a part of `make bench`.

Both seats choose uniformly among their legal actions. Below each game are the figures of another
engine, which was written independently from the same rulings, so that a rule that one of the two
has misread shows. Those figures are rounded, and come from samples of about a hundred matches.
"""

import argparse
import random
import statistics
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from engine import games
from engine.events import Event
from engine.position import Position
from lab import workers

MATCHES = 1_000
GOAL = 4  # In an exchange_decided of PowerShot Soccer.


class Count(NamedTuple):
    """An event to count, and the figures of the other engine."""

    title: str
    counts: Callable[[Event], bool]
    other_engine: tuple[str, str, str, str]


COUNTS = {
    "castle_rampage": Count(
        "turns",
        lambda event: event.kind == "turn_started",
        ("116 (16-405)", "10, 222", "0 %", "40"),
    ),
    "champion_chess": Count(
        "challenges",
        lambda event: event.kind == "challenge_decided" and event.seat == 0,
        ("45 (4-112)", "12, 64", "3 %", "7.9"),
    ),
    "powershot_soccer": Count(
        "goals",
        lambda event: event.kind == "exchange_decided" and event.values[0] == GOAL,
        ("172 (168-176)", "11, 14", "33 %", "3.6"),
    ),
    "skystones": Count(
        "rounds",
        lambda event: event.kind == "round_ended",
        ("76 (76-76)", "16, 45", "52 %", "4"),
    ),
}


class Played(NamedTuple):
    """A random match."""

    # How many actions were legal, by decision.
    actions: list[int]
    events: list[Event]
    # Of seat 0.
    score: float


def play(game_id: str, seed: int) -> Played:
    """Plays one match at random."""
    rng = random.Random(seed)
    position = Position.deal(games()[game_id](), seed)
    actions, events = [], []
    while not position.over:
        joint = {}
        for seat in position.deciders:
            legal = position.legal(seat)
            actions.append(len(legal))
            joint[seat] = rng.choice(legal)
        events += position.apply(joint, rng.getrandbits(64))
    assert position.scores is not None
    return Played(actions, events, position.scores[0])


def figures(matches: list[Played], count: Count) -> tuple[str, str, str, str]:
    """The figures of the matches, written as those of the other engine."""
    lengths = [len(match.actions) for match in matches]
    actions = [n for match in matches for n in match.actions]
    counted = statistics.mean(sum(map(count.counts, match.events)) for match in matches)
    draws = statistics.mean(match.score == 0.5 for match in matches)
    error = statistics.stdev(lengths) / len(lengths) ** 0.5
    return (
        f"{statistics.mean(lengths):.1f} ±{1.96 * error:.1f} ({min(lengths)}-{max(lengths)})",
        f"{statistics.mean(actions):.1f}, {max(actions)}",
        f"{100 * draws:.1f} %",
        f"{counted:.2f} {count.title}",
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        prog="lab.search_bench.self_play", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--matches", type=int, default=MATCHES, help="matches of each game")
    workers.add_options(parser)
    chosen = parser.parse_args()
    played_by = workers.read_options(parser, chosen)
    row = "{:18}{:26}{:14}{:9}{}".format
    print(row("game", "decisions (least-most)", "actions, most", "draws", "and"))
    for game_id, count in COUNTS.items():
        with workers.in_order(partial(play, game_id), range(chosen.matches), played_by) as results:
            played = list(results)
        print(row(game_id, *figures(played, count)), flush=True)
        print(row("  another engine", *count.other_engine))


if __name__ == "__main__":
    main()
