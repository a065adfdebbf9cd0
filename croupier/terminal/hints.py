"""Asks for hints and draws them, and the cards of a game."""

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
    line = Text(say("Play: ")).append(draw.action(hint.action), style="bold green")
    line.append(expected(draw, hint), style="default")
    chances = say("   win {:.0%}  draw {:.0%}  loss {:.0%}")
    line.append(chances.format(hint.win, hint.draw, hint.loss), style="dim")
    yield line
    yield from (Text(f"  {why}") for why in draw.words.why(hint, draw.action))
    share, *right = map(say, ("play", "score", "best in", "searched"))
    table = drawing.table(share, say("action"), *right, right=(share, *right))
    table.padding = (0, 2, 0, 2)
    listed = list(hint.actions[:ROWS])
    listed += [item for item in hint.actions[ROWS:] if item.action == hint.action]
    for item in listed:
        deviation = f" ± {texts.number(item.deviation, say, 2)}" if item.visits else ""
        tied = say(" tied") if item.tied else ""
        table.add_row(
            f"{item.probability:.0%}",
            draw.action(item.action),
            f"{texts.number(item.expected_score, say, 2)}{deviation}{tied}",
            f"{item.best_share:.0%}" if item.best_share else "",
            texts.number(item.visits, say),
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
    """Returns the score that a hint expects."""
    return draw.say("   expected score {}").format(texts.number(hint.expected_score, draw.say, 2))


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
