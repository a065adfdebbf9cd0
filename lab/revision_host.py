"""Answers, a JSON line each, what the search of the code around it plays: see lab/revision.py.

It runs with the modules of another revision, so it uses no more of them than has always been there.
"""

import json
import signal
import sys
from functools import cache
from typing import Any

from ai.search import Parameters, search
from engine import games
from engine.game import Game, SeatView

NAMED = {"true": True, "false": False, "none": None}


def number(text: str) -> Any:
    """The value of an option: a number, true, false or none."""
    if text in NAMED:
        return NAMED[text]
    return int(text) if text.isdecimal() else float(text)


@cache
def game_of(game_id: str, ruleset: str) -> Game:
    """A game under a ruleset, which is JSON here."""
    return games()[game_id](json.loads(ruleset))


def answer(request: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """The fields of the action that the search plays, and its iterations."""
    game = game_of(request["game"], json.dumps(request["ruleset"]))
    values = {name: number(text) for name, text in request["options"].items()}
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Who asks ends it, by closing its input.
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
