"""The comparison of the scores of a hint with scores alone."""

import random
import sys

import pytest

from ai.results import ActionResult
from engine import games
from engine.position import Position
from lab.revision import ROOT, Answer
from lab.search_bench import hint_scores
from lab.search_bench.hint_scores import (
    BEST,
    MAX_ACTIONS,
    OTHER,
    UNTRIED,
    Score,
    Task,
    compare,
    random_decision,
)
from tests.support.play import note_on_failure

HOSTED = [game_id for game_id, game in games().items() if not game.reference]


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


@pytest.mark.parametrize(
    ("error", "deviation", "within"),
    [
        (0.02, 0.01, True),
        (-0.021, 0.01, False),
        (0.021, 0.01, False),
        (0, 0, True),
        (1e-8, 0, False),
    ],
)
def test_scores_agree_within_two_deviations(error, deviation, within):
    assert Score(BEST, error, deviation).within == within


class Process:
    """A process whose hints show 0.9 for the first action, and whose scores alone are 0.6."""

    def __init__(self):
        self.asked = []

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


@pytest.fixture
def process(monkeypatch):
    process = Process()
    monkeypatch.setattr(hint_scores, "search_process", lambda revision: process)
    return process


def test_each_action_is_searched_for_alone(process):
    for number in range(100):
        chance = random.Random(f"skystones/5/{number}")
        position, seat = random_decision("skystones", chance)
        process.legal = position.legal(seat)
        if len(process.legal) <= MAX_ACTIONS:
            break
    found = compare(Task("skystones", 5, number, 40, None))
    hint, *alone = process.asked
    assert hint[1:] == ({"iterations": 40, "evaluation_share": 0.2}, None)
    assert all(options == {"iterations": 40, "single_action": 0} for _, options, _ in alone)
    searched = [action for _, _, (action,) in alone]
    assert sorted(searched) == list(process.legal)
    assert len({seed for seed, _, _ in process.asked}) == len(process.asked)
    by_action = dict(zip(searched, found.scores, strict=True))
    best = by_action.pop(process.legal[0])
    assert (best.group, best.error, best.deviation) == (BEST, pytest.approx(0.3), 0.05)
    for action, score in by_action.items():
        assert score.group == (UNTRIED if action == process.legal[-1] else OTHER)
        assert score.error == 0


@pytest.mark.parametrize(
    ("revision", "parameters", "share"),
    [("old", "", {}), ("new", "evaluation_share: float = 0.0", {"evaluation_share": 0.2})],
)
def test_a_revision_is_asked_as_the_server_asks_if_it_knows_how(
    process, monkeypatch, tmp_path, revision, parameters, share
):
    (tmp_path / "ai").mkdir()
    (tmp_path / "ai/results.py").write_text(parameters)
    monkeypatch.setattr(hint_scores, "build", lambda revision: tmp_path)
    position, seat = random_decision("skystones", random.Random("skystones/5/1"))
    process.legal = position.legal(seat)
    compare(Task("skystones", 5, 1, 40, revision))
    assert process.asked[0][1] == {"iterations": 40, **share}


def test_the_best_action_is_compared_where_there_are_too_many(process):
    for number in range(40):
        chance = random.Random(f"castle_rampage/0/{number}")
        position, seat = random_decision("castle_rampage", chance)
        process.legal = position.legal(seat)
        process.asked = []
        found = compare(Task("castle_rampage", 0, number, 1, None))
        assert [score.group for score in found.scores].count(BEST) == 1, f"number={number}"


def test_the_command_compares_a_search_with_itself(monkeypatch, capsys):
    monkeypatch.setattr(hint_scores, "build", lambda revision: ROOT)
    monkeypatch.setattr(
        hint_scores, "search_process", lambda revision, real=hint_scores.search_process: real(None)
    )
    arguments = ["--games", "champion_chess", "--positions", "3", "--iterations", "60"]
    options = ["--revision", "none", "--workers", "1"]
    monkeypatch.setattr(sys, "argv", ["lab.search_bench.hint_scores", *arguments, *options])
    hint_scores.main()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    table = [row for row in rows if row[0] == "champion_chess"]
    ours = [row for row in table if "this" in row]
    theirs = [row for row in table if "none" in row]
    assert ours
    assert [[word for word in row if word not in ("this", "code")] for row in ours] == [
        [word for word in row if word != "none"] for row in theirs
    ]
