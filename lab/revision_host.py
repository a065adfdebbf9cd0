"""Answers what the search of the code around it plays, a line of JSON each: see lab/revision.py.

This runs with the modules of another revision, so it uses only what has always been there.
"""

import json
import signal
import sys
from functools import cache
from typing import Any

from ai.search import search
from engine import games
from engine.game import Game, SeatView

try:
    from ai.results import Parameters
except ImportError:  # An older revision.
    from ai.search import Parameters  # type: ignore[attr-defined]

NAMED_VALUES = {"true": True, "false": False, "none": None}


def read_value(text: str) -> Any:
    """The value of an option: a number, true, false or none."""
    if text in NAMED_VALUES:
        return NAMED_VALUES[text]
    return int(text) if text.isdecimal() else float(text)


@cache
def game_of(game_id: str, ruleset: str) -> Game:
    """A game under a ruleset, given as JSON."""
    return games()[game_id](json.loads(ruleset))


def answer(request: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """The fields of the action that the search plays, and how many iterations it took."""
    game = game_of(request["game"], json.dumps(request["ruleset"]))
    values = {name: read_value(text) for name, text in request["options"].items()}
    result = search(
        SeatView.from_fields(game, request["view"]),
        iterations=values.pop("iterations", 0),
        seconds=values.pop("ms", 0) / 1000,
        threads=values.pop("threads", 1),
        seed=request["seed"],
        parameters=Parameters(**values),
    )
    return game.read_action(result.action), result.iterations


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The end of the input ends this process.
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
