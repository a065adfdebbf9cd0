"""The facts of the games as text; for each game, how its facts are written."""

import importlib
import json
from typing import ClassVar

from engine import games


class Facts:
    """How the facts of one game are written, and the knowledge that tests of all games need."""

    # Rulesets by name: all options in turn, and other card lists, for the properties of the engine.
    rulesets: ClassVar[dict] = {"default": {}}
    # Rulesets so small that the same view comes up often, for the test of the sampler.
    small_rulesets: ClassVar[dict] = {"default": {}}
    # The most joint actions of a match.
    longest = 1000

    def __init__(self, game_class):
        self.game_class = game_class
        self.seats = [title.lower() for title in game_class.seat_titles]

    def make_game(self, options):
        """The game under a ruleset given as text by option."""
        ruleset = {name: self.read_option(name, text) for name, text in options.items()}
        return self.game_class(ruleset)

    def read_option(self, name, text):
        """The value of an option of the ruleset."""
        return json.loads(text)

    def set_up(self, game, given):
        """The fields of a state that has every field of `given`, text by name."""
        raise NotImplementedError

    def read_action(self, position, seat, text):
        """The fields of an action, from its text."""
        return {"kind": text}

    def show_action(self, game, fields):
        """The text of the action with these fields."""
        return " ".join(
            [fields["kind"], *[str(value) for name, value in fields.items() if name != "kind"]]
        )

    def show_state(self, game, fields):
        """The fields of a state as text by name."""
        return flatten(fields)

    def show_view(self, game, fields):
        """The fields of a view as text by name."""
        return flatten(fields)

    def show_event(self, game, event):
        """The text of an event, in a line."""
        seat = [self.seats[event.seat]] if event.seat >= 0 else []
        return " ".join([*seat, event.kind, *[str(value) for value in event.values]])

    def check_conserved(self, game, fields):
        """Assert that the cards of a state are those of the ruleset, each in one place."""
        raise NotImplementedError

    def hidden(self, game, fields, seat):
        """The hidden things of a state, for `seat`, that make a difference to play; hashable."""
        raise NotImplementedError


def flatten(value, path=""):
    """Nested dicts and lists as text by path."""
    if isinstance(value, dict):
        parts = [(f"{path}.{name}" if path else name, part) for name, part in value.items()]
    elif isinstance(value, list):
        parts = [(f"{path}[{i}]", part) for i, part in enumerate(value)]
    else:
        return {path: str(value)}
    return {name: text for path, part in parts for name, text in flatten(part, path).items()}


def facts_of(game_id):
    """The `Facts` of a game."""
    module = importlib.import_module(f"tests.games.{game_id}")
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and issubclass(value, Facts)
    ]
    return found[0](games()[game_id])
