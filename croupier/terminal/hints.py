"""Asks for hints and draws them, and the cards of a game."""

import math
import time
from collections.abc import Iterator
from typing import Unpack

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from croupier.client import CroupierError, Seat
from croupier.connection import SearchOptions
from croupier.terminal import drawing, texts
from croupier.terminal.drawing import Drawing
from croupier.terminal.texts import Say
from croupier.v1 import catalog_pb2, hint_pb2

ROWS = 8  # Actions that a hint shows.
STEPS = 4  # Actions that a hint expects, one after the other.
TRIES = 10  # How often a hint is asked for while the server is too busy.


def ask(seat: Seat, **options: Unpack[SearchOptions]) -> hint_pb2.Hint:
    """Returns a hint for what a seat knows; waits while the server is busy."""
    for _ in range(TRIES):
        try:
            return seat.suggest(**options)
        except CroupierError as error:
            if error.retry_after is None:
                raise
            time.sleep(error.retry_after)
    return seat.suggest(**options)


def shown(draw: Drawing, hint: hint_pb2.Hint) -> Iterator[RenderableType]:
    """Draws what a search would play, and how it rates the actions."""
    say = draw.say
    # Where it is proven what each action is worth, the best ones are worth the same.
    best = [item for item in hint.actions if item.standing == hint_pb2.STANDING_BEST]
    mixed = len(best) > 1 and hint.stop_reason != hint_pb2.STOP_REASON_PROVEN
    line = Text(say("Drawn: " if mixed else "Play: "))
    line.append(draw.action(hint.action), style="bold green")
    line.append(expected(draw, hint), style="default")
    chances = say("   win {} %  draw {} %  loss {} %")
    line.append(chances.format(*outcome(hint)[1:]), style="dim")
    yield line
    # The reasons are those of the first, which is not always the one that was drawn.
    if hint.action == hint.actions[0].action:
        yield from (Text(f"  {why}") for why in draw.words.why(hint, draw.action))
    share, searched = map(say, ("play", "searched"))
    counted = any(item.visits for item in hint.actions)  # Not in a puzzle.
    titles = (share, say("action"), say("in points of 100"), *([searched] if counted else []))
    table = drawing.table(*titles, right=(share, searched))
    table.padding = (0, 2, 0, 2)
    listed = list(hint.actions[:ROWS])
    listed += [item for item in hint.actions[ROWS:] if item.action == hint.action]
    for item in listed:
        table.add_row(
            f"{item.probability:.0%}" if item.standing == hint_pb2.STANDING_BEST else "",
            draw.action(item.action),
            compared(item, say),
            *([texts.number(item.visits, say)] if counted else []),
        )
    yield table
    if len(hint.actions) > len(listed):
        yield Text(say("  and {} more").format(len(hint.actions) - len(listed)), style="dim")
    # The actions that are expected to follow the suggested one.
    steps = next(item.line for item in hint.actions if item.action == hint.action)
    for number, step in enumerate(steps[:STEPS]):
        when = say("then" if number else "expected:")
        text = Text(f"  {when} {draw.who(step.seat)}: ", style="dim")
        yield text.append(draw.action(step.action))


def expected(draw: Drawing, hint: hint_pb2.Hint) -> str:
    """Returns the score that a hint expects, in points of a hundred."""
    return draw.say("   {} of 100 points").format(outcome(hint)[0])


def outcome(hint: hint_pb2.Hint) -> tuple[int, int, int, int]:
    """Returns the points of a hundred that a hint expects, and the wins, draws and losses.

    All are rounded so that they add up: the draws to an even number, and the rest after them.
    """
    points = _points(hint.expected_score)
    half = min(_points(hint.draw / 2), points, 100 - points)
    return points, points - half, 2 * half, 100 - points - half


def compared(item: hint_pb2.ActionEvaluation, say: Say) -> str:
    """Says how an action compares with the advice, in points of a hundred."""
    if item.standing == hint_pb2.STANDING_BEST:
        return say("best")
    if item.standing == hint_pb2.STANDING_AS_GOOD:
        return say("as good")
    if item.standing != hint_pb2.STANDING_WORSE:
        return say("not examined")
    # What the deviation leaves open with 95 % probability.
    margin = min(100, _points(2 * item.loss_deviation))
    told = "worse by {} (± {})" if margin else "worse by {}"
    if margin and _points(item.loss) == 0:
        told = "no difference seen (± {1})"
    return say(told).format(_points(item.loss), margin)


def _points(score: float) -> int:
    return math.floor(100 * score + 0.5)


def cards(game: catalog_pb2.Game, say: Say) -> Table:
    """Draws the cards of a game with their numbers and texts."""
    titles = list(dict.fromkeys(number.title for card in game.cards for number in card.numbers))
    right = [say("copies"), *titles]
    table = drawing.table(say("card"), say("kind"), *right, "", right=right)
    for card in game.cards:
        numbers = {number.title: str(number.value) for number in card.numbers}
        cells = (numbers.get(title, "") for title in titles)
        table.add_row(card.title, card.kind, str(card.copies), *cells, card.text)
    return table
