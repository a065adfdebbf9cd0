"""The measures of hints and reviews: what they count, and that one command runs them."""

import random
import sys
from collections import defaultdict

import pytest

from ai.results import ActionResult
from ai.strengths import STRENGTHS
from engine import games
from engine.position import Position
from lab.revision import ROOT, Answer
from lab.search_bench import answers, figures, quality, scores
from lab.search_bench.answers import judge
from lab.search_bench.figures import Task
from lab.search_bench.scores import MAX_ACTIONS, random_decision
from tests.support.play import note_on_failure

SOCCER = games()["powershot_soccer"]()
CHESS = games()["champion_chess"]()
HOSTED = [game_id for game_id, game in games().items() if not game.reference]
SHOOT, TACKLE, SAVE = 5, 7, 9  # Roles: engine/powershot_soccer/state.pxd.
A, B, C = 1 << 60 | 1, 1 << 60 | 2, 1 << 60 | 3


def by_name(found):
    """The values of each figure of each group."""
    values = defaultdict(list)
    for group, figure, value in found:
        values[group, figure].append(value)
    return values


# Answers


def throw(role, power, played=answers.GIVE_UP):
    """The action that throws away a card."""
    for card, spec in enumerate(SOCCER.ruleset["cards"]):
        if (spec["role"], spec["power"]) == (role, power):
            return SOCCER.make_action({"kind": "play_card", "card": card, "role": played})
    raise LookupError


def answer(*actions, stop_reason="iterations"):
    """An answer that plays the first of its actions: pairs of action, score, visits and share."""
    results = [
        ActionResult(action, visits, 9, score, 0.01, share)
        for action, score, visits, share in actions
    ]
    return Answer(actions[0][0], 9, 1.0, stop_reason, results)


@pytest.mark.parametrize("played", [answers.GIVE_UP, answers.DECLINE])
def test_a_higher_card_of_the_same_role_is_dominated(played):
    low, high, other = throw(TACKLE, 2, played), throw(TACKLE, 5, played), throw(SAVE, 6, played)
    found = {
        action: by_name(judge(SOCCER, (low, high, other), answer((action, 0.5, 9, 1.0))))
        for action in (low, high, other)
    }
    assert {action: each["throw-aways", "dominated"] for action, each in found.items()} == {
        low: [False],
        high: [True],
        other: [False],
    }


def test_a_card_that_is_played_is_not_thrown_away():
    low, high = (throw(TACKLE, power, TACKLE) for power in (2, 5))
    found = by_name(judge(SOCCER, (low, high), answer((high, 0.5, 9, 1.0))))
    assert set(found) == {("searched", "ties")}


def test_a_dominated_action_is_named_by_its_probability():
    low, high, shot = throw(TACKLE, 2), throw(TACKLE, 5), throw(SHOOT, 5)
    for share in (0.0, 0.1):
        given = answer((low, 0.5, 9, 0.5), (shot, 0.5, 9, 0.5 - share), (high, 0.5, 9, share))
        found = by_name(judge(SOCCER, (low, high, shot), given))
        assert found["throw-aways", "dominated"] == [False]
        assert found["throw-aways", "dominated, named"] == [share > 0]


@pytest.mark.parametrize(
    ("actions", "reason", "untold"),
    [
        ([(A, 1.0, 5, 1.0), (B, 1.0, 5, 0.0), (C, 0.5, 5, 0.0)], "iterations", [True]),
        ([(A, 1.0, 5, 0.9), (B, 1.0, 5, 0.1), (C, 0.5, 5, 0.0)], "iterations", [False]),
        ([(A, 0.9, 5, 1.0), (B, 0.8, 5, 0.0), (C, 0.8, 5, 0.0)], "iterations", []),
        # The most visited action need not have the best score.
        ([(A, 0.8, 7, 1.0), (B, 0.9, 1, 0.0), (C, 0.9, 1, 0.0)], "iterations", [True]),
        # Only a proven score counts without a visit.
        ([(A, 0.5, 5, 1.0), (B, 0.5, 0, 0.0)], "iterations", []),
        ([(A, 0.5, 5, 1.0), (B, 0.5, 0, 0.0)], "proven", [True]),
    ],
)
def test_equal_best_scores_are_a_tie(actions, reason, untold):
    group = "proven" if reason == "proven" else "searched"
    found = by_name(judge(CHESS, (A, B, C), answer(*actions, stop_reason=reason)))
    assert found[group, "ties"] == [bool(untold)]
    assert found[group, "ties not told"] == untold


def test_a_tie_is_told_by_words_too_and_needs_samples():
    found = answer((A, 1.0, 5, 1.0), (B, 1.0, 5, 0.0), (C, 0.5, 5, 0.0))
    told = [each._replace(tied=each.expected_score == 1) for each in found.actions]
    judged = by_name(judge(CHESS, (A, B, C), found._replace(actions=told)))
    assert judged["searched", "ties not told"] == [False]
    found.actions[1] = found.actions[1]._replace(deviation=answers.NO_SCORE)
    assert by_name(judge(CHESS, (A, B, C), found))["searched", "ties"] == [False]


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
    monkeypatch.setattr(figures, "search_process", lambda revision: made)
    return made


def test_each_action_is_searched_for_alone_and_the_best_one_always(process):
    few = many = 0
    for number in range(40):
        task = Task("scores", "castle_rampage", 5, number, 40)
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
    monkeypatch.setattr(sys, "argv", ["quality", *arguments, "--workers", "1"])
    quality.main()
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("measure", "game_id", "figure"),
    [
        ("scores", "champion_chess", "within"),
        ("answers", "powershot_soccer", "dominated"),
    ],
)
def test_a_search_is_as_good_as_itself(monkeypatch, capsys, measure, game_id, figure):
    real = figures.search_process
    monkeypatch.setattr(quality, "build", lambda revision: ROOT)
    monkeypatch.setattr(figures, "search_process", lambda revision: real(None))
    few = ("--games", game_id, "--number", "2", "--iterations", "40", "--revision", "none")
    head, codes, *rows = run(monkeypatch, capsys, measure, *few)
    assert head == f"{measure}: 2 of each game, 40 iterations, seed 0."
    assert codes.split() == ["this", "code", "none"]
    assert any(figure in row for row in rows)
    for row in rows:
        *_, count, mean, deviation, count_of_it, mean_of_it, deviation_of_it = row.split()
        assert (count, mean, deviation) == (count_of_it, mean_of_it, deviation_of_it)


@pytest.mark.parametrize(
    ("measure", "row"),
    [("luck", "terms add up"), ("reviews", "mistake or worse")],
)
def test_matches_are_reviewed(monkeypatch, capsys, measure, row):
    monkeypatch.setattr(quality.reviews, "EFFORT", 2)
    monkeypatch.setitem(STRENGTHS, "expert", STRENGTHS["beginner"])
    few = ("--games", "skystones", "--number", "1", "--iterations", "100")
    found = [line for line in run(monkeypatch, capsys, measure, *few) if row in line]
    assert found
    if measure == "luck":
        assert found[0].split()[-3:-1] == ["1", "1.0000"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("scores", "--games", "bridge"), "there is no game bridge"),
        (("scores", "--revision", "no-such-revision"), "no such revision"),
        (("reviews", "--revision", "HEAD"), "of this code alone"),
    ],
)
def test_the_command_names_the_fault_of_its_arguments(monkeypatch, capsys, arguments, why):
    with pytest.raises(SystemExit):
        run(monkeypatch, capsys, *arguments)
    assert why in capsys.readouterr().err
