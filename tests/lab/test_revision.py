"""Searches in another process: the same as here."""

import pytest

from ai.results import Parameters
from ai.search import Search, search
from engine import games
from engine.model import learned
from engine.position import Position
from lab.revision import SearchProcess

HOSTED = [game_id for game_id, game in games().items() if not game.reference]
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
    found = process.ask(view, 7, OPTIONS, all_actions=True)
    model = learned(view.game)
    here = search(view, iterations=300, seed=7, parameters=PARAMETERS, model=model)
    assert (found.action, found.iterations, found.stop_reason) == (here.action, 300, "iterations")
    assert found.actions == here.actions
    assert found.processor_seconds > 0
    assert process.ask(view, 7, OPTIONS).actions == []


@pytest.mark.parametrize("game_id", HOSTED)
def test_another_process_searches_for_some_actions(process, game_id):
    position = Position.deal(games()[game_id](), 1)
    seat = position.deciders[0]
    view, some = position.view(seat), position.legal(seat)[1:3]
    found = process.ask(view, 7, OPTIONS, root_actions=some, all_actions=True)
    here = Search(
        view,
        seed=7,
        parameters=PARAMETERS,
        max_iterations=300,
        root_actions=some,
        model=learned(view.game),
    )
    here.run(iterations=300)
    assert found.actions == here.result().actions
    assert {each.action for each in found.actions} == set(some)
