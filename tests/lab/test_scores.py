"""The measure of the scores of hints: what it counts, and the command that runs it."""

import random
import sys
from collections import defaultdict

import pytest

from ai.results import ActionResult
from engine import games
from engine.position import Position
from lab.revision import ROOT, Answer
from lab.search_bench import scores
from lab.search_bench.scores import MAX_ACTIONS, Task, random_decision
from tests.support.play import note_on_failure

HOSTED = [game_id for game_id, game in games().items() if not game.reference]


def by_name(found):
    """The values of each figure of each group."""
    values = defaultdict(list)
    for group, figure, value in found:
        values[group, figure].append(value)
    return values


# Scores


@pytest.mark.parametrize("game_id", HOSTED)
def test_random_decisions_have_several_actions_and_any_depth(game_id):
    later = 0
    for seed in range(12):
        with note_on_failure(seed=seed):
            position, seat = random_decision(game_id, random.Random(seed))
            assert len(position.legal(seat)) > 1
            assert random_decision(game_id, random.Random(seed)) == (position, seat)
            deal = Position.deal(games()[game_id](), random.Random(seed).getrandbits(64))
            later += position != deal
    assert later > 6


@pytest.fixture
def process(monkeypatch):
    """A process whose hints show 0.9 for the first action, and whose scores alone are 0.6."""

    class Process:
        def ask(self, view, seed, options, *, root_actions=None, all_actions=False):
            self.asked.append((seed, options, root_actions))
            legal = self.legal if root_actions is None else root_actions
            actions = [
                # The last of all is never tried.
                ActionResult(action, int(action != self.legal[-1]), 9, 0.6, 0.04, 0.0)
                for action in legal
            ]
            if root_actions is None:
                actions[0] = actions[0]._replace(expected_score=0.9, deviation=0.03)
            return Answer(actions[0].action, 9, 1.0, "iterations", actions)

    made = Process()
    made.asked = []
    monkeypatch.setattr(scores, "search_process", lambda revision: made)
    return made


def test_each_action_is_searched_for_alone_and_the_best_one_always(process):
    few = many = 0
    for number in range(40):
        task = Task("castle_rampage", 5, number, 40)
        position, seat = random_decision(task.game_id, task.chance())
        process.legal = position.legal(seat)
        process.asked = []
        found = by_name(scores.scores(task))
        when = "simultaneous" if len(position.deciders) > 1 else "in turn"
        hint, *alone = process.asked
        assert hint[1:] == ({"iterations": 40, "evaluation_share": 0.2}, None)
        assert all(options == {"iterations": 40, "single_action": 0} for _, options, _ in alone)
        assert len({seed for seed, _, _ in process.asked}) == len(process.asked)
        searched = [action for _, _, (action,) in alone]
        assert searched.count(process.legal[0]) == 1
        assert found[f"{when}, the best", "error"] == [pytest.approx(0.3)]
        assert found[f"{when}, the best", "deviation"] == [0.05]
        assert found[f"{when}, the best", "within"] == [False]
        assert len(found[f"{when}, all", "within"]) == len(searched)
        assert all(found[f"{when}, others", "within"])
        if len(process.legal) <= MAX_ACTIONS:
            few += 1
            assert sorted(searched) == list(process.legal)
            assert found[f"{when}, never tried", "error"] == [0]
        else:
            many += 1
            assert len(searched) == MAX_ACTIONS
    assert few and many


# The command


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["scores", *arguments, "--workers", "1"])
    scores.main()
    return capsys.readouterr().out.splitlines()


def test_a_search_is_as_good_as_itself(monkeypatch, capsys):
    real = scores.search_process
    monkeypatch.setattr(scores, "build", lambda revision: ROOT)
    monkeypatch.setattr(scores, "search_process", lambda revision: real(None))
    few = ("--games", "champion_chess", "--number", "2", "--iterations", "40", "--revision", "none")
    head, codes, *rows = run(monkeypatch, capsys, *few)
    assert head == "2 of each game, 40 iterations, seed 0."
    assert codes.split() == ["this", "code", "none"]
    assert any("within" in row for row in rows)
    for row in rows:
        *_, count, mean, deviation, count_of_it, mean_of_it, deviation_of_it = row.split()
        assert (count, mean, deviation) == (count_of_it, mean_of_it, deviation_of_it)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--games", "bridge"), "there is no game bridge"),
        (("--revision", "no-such-revision"), "no such revision"),
    ],
)
def test_the_command_names_the_fault_of_its_arguments(monkeypatch, capsys, arguments, why):
    with pytest.raises(SystemExit):
        run(monkeypatch, capsys, *arguments)
    assert why in capsys.readouterr().err
