"""Searches for lab/revision.py with the code around it: a request and an answer a line, in JSON.

This runs with the modules of another revision, so it uses only what has always been there, and says
what has changed since in the words of that revision.
"""

import inspect
import json
import signal
import sys
import time
from functools import cache
from typing import Any

import ai.search
from engine import games
from engine.game import Game, SeatView

try:
    from ai.results import Parameters
except ImportError:  # An older revision.
    from ai.search import Parameters  # type: ignore[attr-defined]
try:
    from engine.model import learned
except ImportError:  # An older revision, which has learned nothing.
    learned = None  # type: ignore[assignment]

NAMED_VALUES = {"true": True, "false": False, "none": None, "learned": "learned"}

# Entries of a hand history of Castle Rampage: engine/castle_rampage/history.pyx.
ENTRY_BITS, SHOWED, NEW_PILE, CARD_BITS, CARDS = 3, 6, 7, 5, 22
MAX_STORY = 1600


def read_value(text: str) -> Any:
    """The value of an option: a number, true, false or none."""
    if text in NAMED_VALUES:
        return NAMED_VALUES[text]
    return int(text) if text.isdecimal() else float(text)


@cache
def game_of(game_id: str, ruleset: str) -> Game:
    """A game under a ruleset, given as JSON."""
    game_class = games()[game_id]
    given = json.loads(ruleset)
    default = game_class().ruleset
    if game_id == "champion_chess" and "move" in default["cards"][0]:
        given["cards"] = [
            {"move" if name == "movement" else name: value for name, value in card.items()}
            for card in given["cards"]
        ]
    return game_class(given)


@cache
def tells_stories() -> bool:
    """Whether Castle Rampage still calls a hand history a story."""
    try:
        from engine.position import Position
    except ImportError:  # An older revision.
        from engine.game import Position  # type: ignore[attr-defined, no-redef]
    fields = Position.deal(games()["castle_rampage"](), 0).view(0).fields
    return "story" in fields["common"]["sides"][0]


def story_of(history: list[int]) -> list[int]:
    """A hand history of Castle Rampage as it was once written: with a byte for each card type.

    Raises ValueError if it had no room.
    """
    story = []
    at = 0
    while at < len(history):
        entry = history[at]
        at += 1
        story.append(entry)
        kind, value = entry & ((1 << ENTRY_BITS) - 1), entry >> ENTRY_BITS
        if kind not in (SHOWED, NEW_PILE):
            continue
        if kind == NEW_PILE and value:
            raise ValueError("a hand history that was summed up cannot be a story")
        counts = [0] * CARDS
        while history[at]:
            counts[history[at] & ((1 << CARD_BITS) - 1)] += (history[at] >> CARD_BITS) + 1
            at += 1
        at += 1
        story += [*counts[1:], 0]
    if len(story) > MAX_STORY:
        raise ValueError("a hand history is too long for a story")
    return story


def view_of(game: Game, fields: dict[str, Any]) -> SeatView:
    """The view with these fields."""
    if game.id == "castle_rampage" and tells_stories():
        del fields["common"]["decisions"]
        for side in fields["common"]["sides"]:
            story = story_of(side.pop("history")[: side.pop("history_length")])
            side["story_length"] = len(story)
            side["story"] = story + [0] * (MAX_STORY - len(story))
    return SeatView.from_fields(game, fields)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request: see `SearchProcess.ask` in lab/revision.py."""
    game = game_of(request["game"], json.dumps(request["ruleset"]))
    view = view_of(game, request["view"])
    values = {name: read_value(text) for name, text in request["options"].items()}
    iterations, seconds = values.pop("iterations", 0), values.pop("ms", 0) / 1000
    threads = values.pop("threads", 1)
    model = values.pop("model", "learned")
    settings: dict[str, Any] = {
        "threads": threads,
        "seed": request["seed"],
        "parameters": Parameters(**values),
    }
    if learned is not None and model == "learned":
        settings["model"] = learned(game)
    start = time.process_time()
    if request["root_actions"] is None:
        result = ai.search.search(view, iterations=iterations, seconds=seconds, **settings)
    else:
        actions = [game.make_action(fields) for fields in request["root_actions"]]
        result = search_for(actions, view, iterations, seconds, settings)
    processor_seconds = time.process_time() - start
    found: dict[str, Any] = {
        "action": game.read_action(result.action),
        "iterations": result.iterations,
        "processor_seconds": processor_seconds,
        "stop_reason": result.stop_reason,
    }
    if request["all_actions"]:
        found["actions"] = [
            each._asdict() | {"action": game.read_action(each.action)} for each in result.actions
        ]
    return found


def search_for(
    actions: list[int], view: SeatView, iterations: int, seconds: float, settings: dict[str, Any]
) -> Any:
    """The result of a search for some of the legal actions."""
    search_class = ai.search.Search
    if "root_actions" in inspect.signature(search_class.__init__).parameters:
        names = "max_iterations", "root_actions"
    else:  # An older revision.
        names = "most_iterations", "only"
    limits: dict[str, Any] = dict(zip(names, (iterations, actions), strict=True))
    search = search_class(view, **settings, **limits)
    search.run(iterations=iterations, seconds=seconds)
    return search.result()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The end of the input ends this process,
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # and an answer that nobody waits for.
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
