"""docs/game-attributes.md names all that the package of a game may set."""

import re
from pathlib import Path

from engine.game import Game
from engine.python_game import PythonGame
from wire.translation import Translation

PAGE = Path(__file__).parents[2] / "docs/game-attributes.md"
GIVEN = {"ruleset"}  # What a game has and does not set.


def test_one_page_names_all_that_a_game_may_set():
    named = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))
    may_set = {name for kind in (Game, PythonGame, Translation) for name in vars(kind)}
    may_set |= {*re.findall(r"`(\w+)\(", PythonGame.__doc__)}
    assert {name for name in may_set if not name.startswith("_")} - GIVEN - named == set()
