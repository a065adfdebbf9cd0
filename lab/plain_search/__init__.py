"""A plain search in C, to compare the speed of the real one with: search.c in this folder.

It knows only one kind of position of Skystones: a seat is about to put the first card of a round on
an empty board. It is compiled when it is first asked, by $CC or else cc.
"""

import os
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from engine.game import SeatView

SOURCE = Path(__file__).with_name("search.c")
PROGRAM = Path(__file__).parents[2] / "build" / "plain_search"
FLAGS = ("-std=c11", "-O3")
EDGES = ("north", "east", "south", "west")
PLACE = 2  # The phase.


class Placement(NamedTuple):
    """What the search found about one placement."""

    visits: int
    score: float  # The mean for the seat that decides.


class Found(NamedTuple):
    """What one search found, by action, and how long it took."""

    seconds: float  # Of processor time.
    placements: dict[int, Placement]

    @property
    def action(self) -> int:
        """The most visited action."""
        return max(self.placements, key=lambda action: self.placements[action].visits)


def build() -> Path:
    """Compiles the program, unless that has been done since it changed."""
    if PROGRAM.exists() and PROGRAM.stat().st_mtime >= SOURCE.stat().st_mtime:
        return PROGRAM
    PROGRAM.parent.mkdir(exist_ok=True)
    scratch = PROGRAM.with_suffix(f".{os.getpid()}")
    compiler = shlex.split(os.environ.get("CC", "cc"))
    subprocess.run([*compiler, *FLAGS, "-o", str(scratch), str(SOURCE), "-lm"], check=True)
    scratch.replace(PROGRAM)  # At once, for a second process that compiles it too.
    return PROGRAM


def search(view: SeatView, iterations: int, seed: int) -> Found:
    """Searches with random playouts to the end of the match.

    Raises ValueError for a view of another kind of position.
    """
    text = f"{iterations} {seed}\n{_position(view)}"
    run = subprocess.run([build()], input=text, capture_output=True, text=True, check=True)
    seconds, *lines = run.stdout.splitlines()
    placements = {}
    for line in lines:
        card, square, visits, score = line.split()
        action = view.game.make_action(
            {"kind": "place_card", "card": int(card), "square": int(square)}
        )
        placements[action] = Placement(int(visits), float(score))
    return Found(float(seconds), placements)


def _position(view: SeatView) -> str:
    # What the program reads of a position.
    ruleset, seat, fields = view.game.ruleset, view.seat, view.fields
    common, cards = fields["common"], ruleset["cards"]
    if (
        view.game.id != "skystones"
        or (ruleset["board_size"], ruleset["hand_size"]) != (3, 5)
        or ruleset["special_fields"]
        or any(card["copies"] > 1 for card in cards)
        or common["phase"] != PLACE
        or common["turn"] != seat
        or any(square["card"] for square in common["board"])
    ):
        raise ValueError("the plain search knows only the first placement of a round of Skystones")
    hand, pile = _cards(fields["hand"]), _cards(fields["pile"])
    placed = {one["card"] for one in common["placements"][: common["placement_count"]]}
    unseen = sorted(set(range(len(cards))) - {*hand, *pile} - placed)
    other = common["sides"][1 - seat]
    numbers: list[Iterable[int]] = [
        [ruleset["hand_limit"], len(cards)],
        *([card[edge] for edge in EDGES] for card in cards),
        [
            seat,
            common["sides"][seat]["points"] - other["points"],
            len(unseen) - other["hand_size"] - other["pile_size"],
        ],
        *([len(group), *group] for group in (hand, [*hand, *pile], unseen)),
    ]
    return "\n".join(" ".join(map(str, line)) for line in numbers) + "\n"


def _cards(counts: Sequence[int]) -> list[int]:
    return [card for card, count in enumerate(counts) if count]
