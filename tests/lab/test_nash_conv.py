"""NashConv of the search beside that of a revision."""

import sys

import pytest

from ai.results import ActionResult
from engine import games
from engine.sampler import Sampler
from lab.best_response import ExtensiveGame
from lab.exploit import evaluate, presets
from lab.revision import Answer
from lab.search_bench import nash_conv
from lab.search_bench.nash_conv import Task

SMALL = "skystones_small"


def test_another_process_is_as_exploitable_as_this_one():
    found = {seed: nash_conv.nash_conv(Task(SMALL, 20, seed, None)) for seed in (1, 2)}
    preset = presets()[SMALL]
    tree = ExtensiveGame(games()[preset.game](preset.ruleset))
    for seed, figure in found.items():
        row = evaluate(tree, preset, "croupier", iterations=20, seed=seed)
        assert row.nash_conv == figure > 0
    assert found[1] != found[2]


def test_the_revision_of_a_task_answers(monkeypatch):
    asked = set()

    class Uniform:
        def ask(self, view, seed, options, *, all_actions):
            legal = Sampler.of(view).sample(0).legal(view.seat)
            results = [ActionResult(one, 1, 1, 0.5, 0.0, 1 / len(legal)) for one in legal]
            return Answer(legal[0], 1, 1.0, "iterations", results)

    def process(revision):
        asked.add(revision)
        return Uniform()

    monkeypatch.setattr(nash_conv, "search_process", process)
    found = nash_conv.nash_conv(Task("kuhn_poker", 10, 1, "old"))
    assert found == pytest.approx(11 / 12)  # NashConv of uniform play.
    assert asked == {"old"}


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["lab.search_bench.nash_conv", "--workers", "1", *arguments])
    nash_conv.main()


def test_the_command_prints_means_ranges_and_ratios(monkeypatch, capsys):
    figures = {None: {1: 0.1, 2: 0.3}, "old": {1: 0.5, 2: 0.3}}
    asked = []

    def figure(task):
        asked.append(task)
        return figures[task.revision][task.seed] * task.iterations

    monkeypatch.setattr(nash_conv, "build", lambda revision: None)
    monkeypatch.setattr(nash_conv, "nash_conv", figure)
    run(
        monkeypatch,
        *("--games", "kuhn_poker,leduc_poker", "--iterations", "1,2"),
        *("--seeds", "2", "--against", "old"),
    )
    assert len(set(asked)) == len(asked) == 16
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()[2:]]
    once = "0.2000 (0.1000 to 0.3000) 0.4000 (0.3000 to 0.5000) 0.50"
    twice = "0.4000 (0.2000 to 0.6000) 0.8000 (0.6000 to 1.0000) 0.50"
    assert rows == [
        f"{game} {iterations} {text}"
        for game in ("kuhn_poker", "leduc_poker")
        for iterations, text in ((1, once), (2, twice))
    ]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--games", "chess"], "no small game is called chess"),
        (["--iterations", "10,x"], "x"),
        (["--against", "no-such-revision"], "no such revision"),
    ],
)
def test_the_command_names_the_fault_of_its_arguments(monkeypatch, capsys, arguments, why):
    with pytest.raises(SystemExit):
        run(monkeypatch, *arguments)
    assert why in capsys.readouterr().err
