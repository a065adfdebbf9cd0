"""Searches for lab/revision.py with the code around it: a request and an answer a line, in JSON.

This runs with the modules of another revision, so it uses only what has always been there.
"""

import json
import signal
import sys
import time
from functools import cache
from typing import Any

from ai.results import Parameters
from ai.search import Search
from engine import games
from engine.game import Game, SeatView
from engine.model import learned

NAMED_VALUES = {"true": True, "false": False, "none": None, "learned": "learned"}


def read_value(text: str) -> Any:
    """The value of an option: a number, true, false or none."""
    if text in NAMED_VALUES:
        return NAMED_VALUES[text]
    return int(text) if text.isdecimal() else float(text)


@cache
def game_of(game_id: str, ruleset: str) -> Game:
    """A game under a ruleset, given as JSON."""
    return games()[game_id](json.loads(ruleset))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request: see `SearchProcess.ask` in lab/revision.py."""
    game = game_of(request["game"], json.dumps(request["ruleset"]))
    view = SeatView.from_fields(game, request["view"])
    values = {name: read_value(text) for name, text in request["options"].items()}
    iterations, seconds = values.pop("iterations", 0), values.pop("ms", 0) / 1000
    threads = values.pop("threads", 1)
    model = learned(game) if values.pop("model", "learned") == "learned" else None
    sharpness = values.pop("sharpness", 1)
    if model is not None and sharpness != 1:
        model = model.against(sharpness)
    start = time.process_time()
    search = Search(
        view,
        threads=threads,
        seed=request["seed"],
        parameters=Parameters(**values),
        max_iterations=iterations,
        model=model,
    )
    search.run(iterations=iterations, seconds=seconds)
    result = search.result()
    return {
        "action": game.read_action(result.action),
        "iterations": result.iterations,
        "processor_seconds": time.process_time() - start,
        "stop_reason": result.stop_reason,
        "shares": [
            (game.read_action(each.action), each.probability)
            for each in result.actions
            if each.probability > 0
        ],
    }


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The end of the input ends this process,
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # and an answer that nobody waits for.
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
