"""Searches in another process: the same as here."""

import pytest

from ai.results import Parameters
from ai.search import search
from engine import games
from engine.model import learned
from engine.position import Position
from lab.player import shares_of
from lab.revision import SearchProcess

OPTIONS = {"iterations": 300, "exploration": 0.6, "endings": False, "horizon": None}
PARAMETERS = Parameters(exploration=0.6, endings=False, horizon=None)


@pytest.fixture(scope="module")
def process():
    process = SearchProcess()
    yield process
    process.close()


@pytest.mark.parametrize("game_id", games())
def test_another_process_finds_what_this_one_finds(process, game_id):
    position = Position.deal(games()[game_id](), 1)
    view = position.view(position.deciders[0])
    found = process.ask(view, 7, OPTIONS)
    model = learned(view.game)
    here = search(view, iterations=300, seed=7, parameters=PARAMETERS, model=model)
    assert (found.action, found.iterations, found.stop_reason) == (here.action, 300, "iterations")
    assert found.shares == shares_of(here.actions)
    assert found.processor_seconds > 0
