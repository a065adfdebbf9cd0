"""docs/game-attributes.md names all that the package of a game may set."""

import inspect
import re
from pathlib import Path

from engine.game import Game
from engine.python_game import PythonGame
from wire.translation import Translation

PAGE = Path(__file__).parents[2] / "docs/game-attributes.md"
GIVEN = {"ruleset"}  # What a game has and does not set.


def test_one_page_names_all_that_a_game_may_set():
    named = set(re.findall(r"`(\w+)[`(]", PAGE.read_text(encoding="utf-8")))
    may_set = {name for kind in (Game, PythonGame, Translation) for name in vars(kind)}
    may_set |= {*re.findall(r"`(\w+)\(", PythonGame.__doc__)}
    assert {name for name in may_set if not name.startswith("_")} - GIVEN - named == set()


def test_it_says_what_each_method_of_a_game_in_python_is_given():
    told = set(re.findall(r"`(\w+\([^)`]*\))`", PAGE.read_text(encoding="utf-8")))
    methods = {
        f"{name}({', '.join(map(_bare, list(inspect.signature(method).parameters.values())[1:]))})"
        for name, method in vars(PythonGame).items()
        if callable(method) and not name.startswith("_") and name not in vars(Game)
    }
    methods |= set(re.findall(r"`(\w+\([^)]*\))", PythonGame.__doc__))
    assert told == methods


def _bare(parameter):
    return str(parameter.replace(annotation=parameter.empty))
