"""Matches of the search against itself, with its answer at each decision.

A match is recorded as its decisions: what was played and, for policies to learn from, what the
search answered if it played without a model. To read a match is to play it again, which costs next
to nothing and shows each position with all that describes it; so new features need no new matches.

A search also asks about positions that it would never play itself. So in every second match, each
seat slips now and then: it plays any legal action, while the answer of the search is recorded as
ever. The other matches are *clean*: what happens in them is how the search plays, as in the rest of
a match after its `last_slip` (the number of a decision; -1: there is none).

In matches of a learner against the search as it is served, only the learner plays by the model of
the task, and only it slips. The answers of both are recorded.
"""

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ai.results import Parameters
from ai.search import search
from engine import games
from engine.game import Game
from engine.model import Model, learned
from engine.position import Position

SLIPS = 0.1  # The share of decisions in matches that are not clean.

Answer = dict[int, float]  # The probability of each action; those with 0 are left out.


class Task(NamedTuple):
    """One match to be played."""

    game_id: str
    seed: int
    number: int
    iterations: int  # Of each search.
    # The file of the model by which it plays; without: by the playout policy of the game alone.
    model: str = ""
    against_served: bool = False  # Only the learner plays by that model.
    temperature: float = 0.0  # How softly both choose, as bots do.


class Decided(NamedTuple):
    """A position of a match, and what the search answered there to the seats that had a choice."""

    position: Position
    answers: dict[int, Answer]  # By seat.


@cache
def _model(game_id: str, path: str) -> Model | None:
    return Model.read(Path(path), _game(game_id)) if path else None


@cache
def _game(game_id: str) -> Game:
    return games()[game_id]()


def play(task: Task) -> dict[str, Any]:
    """Plays a match and returns its record, which can be written as JSON."""
    chance = random.Random(f"train {task.game_id} {task.seed} {task.number}")
    game = _game(task.game_id)
    model = _model(task.game_id, task.model)
    served = 1 - learner(task.number) if task.against_served else None
    clean = is_clean(task.number)
    deal = chance.getrandbits(64)
    position = Position.deal(game, deal)
    steps: list[dict[str, Any]] = []
    last_slip = -1
    while not position.over:
        joint, answers = {}, {}
        for seat in position.deciders:
            legal = position.legal(seat)
            joint[seat] = legal[0]
            if len(legal) > 1:
                result = search(
                    position.view(seat),
                    iterations=task.iterations,
                    seed=chance.getrandbits(64),
                    parameters=Parameters(temperature=task.temperature),
                    model=learned(game) if seat == served else model,
                )
                if not task.model or task.against_served:
                    answers[seat] = [[one.action, one.probability] for one in result.actions]
                joint[seat] = result.action
                if not clean and seat != served and chance.random() < SLIPS:
                    joint[seat] = chance.choice(legal)
                    last_slip = len(steps)
        step = chance.getrandbits(64)
        position.apply(joint, step)
        steps.append(
            {
                "joint": list(joint.items()),
                "chance": step,
                "answers": [
                    [seat, [share for share in answer if share[1] > 0]]
                    for seat, answer in answers.items()
                ],
            }
        )
    return {"match": task.number, "deal": deal, "last_slip": last_slip, "steps": steps}


def is_clean(number: int) -> bool:
    """Whether nobody slips in the match of a number."""
    return number % 2 == 0


def learner(number: int) -> int:
    """The seat of the learner in the match of a number."""
    return number // 2 % 2


def of_served(match: dict[str, Any]) -> dict[str, Any]:
    """A match of a learner with the answers of its opponent alone."""
    seat = learner(match["match"])
    steps = [
        {**step, "answers": [each for each in step["answers"] if each[0] != seat]}
        for step in match["steps"]
    ]
    return {**match, "steps": steps}


def positions(game: Game, match: dict[str, Any]) -> Iterator[Decided]:
    """Plays a recorded match again. The last position is the end of the match, without answers.

    Each position is the same object; it changes when the next one is asked for.
    """
    position = Position.deal(game, match["deal"])
    for step in match["steps"]:
        yield Decided(position, {seat: dict(shares) for seat, shares in step["answers"]})
        position.apply(dict(step["joint"]), step["chance"])
    yield Decided(position, {})
