"""Graphs of small games, and what is kept of searches in them: it spares work, nothing else."""

import threading

import pytest

from ai import graphs as graphs_module
from ai import search as search_module
from ai.cfr import CfrWorker
from ai.game_graph import GameGraph
from ai.graphs import Graphs
from ai.results import Parameters
from ai.search import Search, search
from ai.worker import Stop
from engine import games
from engine.position import Position
from engine.sampler import Sampler
from lab.best_response import ExtensiveGame
from lab.exploit import presets
from tests.support.play import seeded

MEMORY = 1 << 28


def small_game(name="skystones_small"):
    preset = presets()[name]
    return games()[preset.game](preset.ruleset)


@pytest.fixture
def fresh(monkeypatch):
    """Nothing is kept at first; returns how to forget it all."""

    def forget():
        monkeypatch.setattr(search_module, "graphs", Graphs())

    forget()
    return forget


@pytest.mark.parametrize("name", presets())
def test_a_graph_has_all_that_can_happen(name):
    game = small_game(name)
    graph = GameGraph(game, 1 << 16)
    graph.run(0, 0, Stop())
    assert graph.complete
    # The sampler of each view of the naive tree finds its worlds in the graph.
    for info_set in seeded("graph", name).sample(ExtensiveGame(game).info_sets, 12):
        sampler = Sampler.of(info_set.view)
        worker = CfrWorker(graph, sampler)
        assert worker.knows_view
        expected = sampler.worlds(10_000)
        found = worker.weighted_sampler().worlds(10_000)
        assert found.keys() == expected.keys()


def test_what_is_kept_changes_no_answer(fresh):
    several = [one for one in ExtensiveGame(small_game()).info_sets if len(one.actions) > 1]
    views = [info_set.view for info_set in seeded("kept").sample(several, 5)]
    limits = (700, 3_000, 1_000, 3_000)
    cold = []
    for view in views:
        for iterations in limits:
            fresh()
            cold.append(search(view, iterations=iterations, seed=1))
    fresh()
    warm = [search(view, iterations=iterations, seed=1) for view in views for iterations in limits]
    assert warm == cold
    assert warm[0].iterations == 700


def test_a_search_goes_on_from_what_it_found(fresh):
    view = ExtensiveGame(small_game()).info_sets[0].view
    whole = search(view, iterations=3_000, seed=1)
    fresh()
    one = Search(view, seed=1)
    one.run(iterations=1_000)
    one.run(iterations=2_000)
    assert one.result() == whole
    fresh()
    reports = []
    one = Search(view, seed=1)
    one.run(iterations=3_000, every=1e-4, report=lambda: reports.append(one.result().iterations))
    assert one.result() == whole
    assert reports == sorted(reports)


def test_a_graph_that_was_interrupted_is_continued():
    kept = Graphs()
    game = small_game()
    stop = Stop()
    stop.set()
    assert kept.of(game, MEMORY, 0, stop) is None
    assert kept.of(game, MEMORY, 1e-4, Stop()) is None
    graph = kept.of(game, MEMORY, 0, Stop())
    assert graph.complete
    # Another game under the same ruleset has the same graph.
    assert kept.of(small_game(), MEMORY, 1e-9, Stop()) is graph
    assert kept.of(small_game("skystones_five"), MEMORY, 0, Stop()) is not graph


def test_a_view_that_no_line_of_play_leads_to_is_searched_from_the_present(fresh, monkeypatch):
    tree = ExtensiveGame(games()["leduc_poker"]())
    view = max((one.view for one in tree.info_sets), key=lambda view: sum(bytes(view)))
    present = search(view, iterations=500, seed=1, parameters=Parameters(from_deal=False))
    assert search(view, iterations=500, seed=1) != present
    other = Graphs().of(games()["kuhn_poker"](), MEMORY, 0, Stop())
    monkeypatch.setattr(Graphs, "of", lambda *_: other)
    fresh()
    assert search(view, iterations=500, seed=1) == present


def test_a_stopped_search_in_a_kept_graph_is_cancelled(fresh):
    view = ExtensiveGame(small_game()).info_sets[0].view
    search(view, iterations=1_000, seed=1)
    stop = Stop()
    stop.set()
    assert search(view, iterations=1_000, seed=1, stop=stop).stop_reason == "cancelled"
    assert search(view, iterations=2_000, seed=1, stop=stop).stop_reason == "cancelled"


def test_a_paused_search_waits_with_the_graph(fresh):
    view = ExtensiveGame(small_game()).info_sets[0].view
    expected = search(view, iterations=2_000, seed=1)
    fresh()
    stop = Stop()
    stop.pause()
    one = Search(view, seed=1)
    running = threading.Thread(target=one.run, kwargs={"stop": stop, "iterations": 2_000})
    running.start()
    for _ in range(100):
        stop.resume()
        stop.pause()
    stop.resume()
    running.join()
    assert one.result() == expected


def test_a_game_that_does_not_fit_is_tried_once(monkeypatch):
    kept = Graphs()
    made = []

    class Counted(GameGraph):
        def __init__(self, *_):
            made.append(self)

    monkeypatch.setattr(graphs_module, "GameGraph", Counted)
    for _ in range(3):
        assert kept.of(small_game(), 1 << 20, 0, Stop()) is None
    assert len(made) == 1


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(graphs_module, "MAX_BYTES", 20_000)
    kept = Graphs()
    kuhn, leduc = games()["kuhn_poker"](), games()["leduc_poker"]()
    first = kept.of(kuhn, MEMORY, 0, Stop())
    assert kept.of(kuhn, MEMORY, 0, Stop()) is first
    kept.of(leduc, MEMORY, 0, Stop())  # It has more bytes than that.
    assert kept.of(kuhn, MEMORY, 0, Stop()) is not first

    view = Position.deal(kuhn, 1).view(0)
    graph = kept.of(kuhn, MEMORY, 0, Stop())
    for iterations in range(1, 10):
        worker = CfrWorker(graph, Sampler.of(view))
        worker.run(iterations, 0, Stop())
        kept.keep_state(graph, worker.state())
    assert len(graph.states) == graphs_module.MAX_STATES
    assert kept.state_for(graph, 8).iterations == 8
    assert kept.state_for(graph, 100).iterations == 9
    assert kept.state_for(graph, 1) is None
    view = Position.deal(leduc, 1).view(0)
    other = CfrWorker(kept.of(leduc, MEMORY, 0, Stop()), Sampler.of(view))
    with pytest.raises(ValueError, match="another graph"):
        other.restore(graph.states[9])
