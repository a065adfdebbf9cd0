"""What counts as a throw-away that is dominated, and as a tie that is not told."""

import sys

import pytest

from ai.results import ActionResult
from engine import games
from lab.revision import Answer
from lab.search_bench import dominated
from lab.search_bench.dominated import Decision, Task, collect, judge, play

SOCCER = games()["powershot_soccer"]()
CHESS = games()["champion_chess"]()
SHOOT, TACKLE, SAVE = 5, 7, 9  # Roles: engine/powershot_soccer/state.pxd.
A, B, C = 1 << 60 | 1, 1 << 60 | 2, 1 << 60 | 3


def throw(role, power, played=dominated.GIVE_UP):
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


@pytest.mark.parametrize("played", [dominated.GIVE_UP, dominated.DECLINE])
def test_a_higher_card_of_the_same_role_is_dominated(played):
    low, high, other = throw(TACKLE, 2, played), throw(TACKLE, 5, played), throw(SAVE, 6, played)
    legal = (low, high, other)
    found = {
        action: judge(SOCCER, legal, answer((action, 0.5, 9, 1.0))).dominated for action in legal
    }
    assert found == {low: False, high: True, other: False}
    assert judge(SOCCER, legal, answer((low, 0.5, 9, 1.0))).may_throw


def test_a_card_that_is_played_is_not_thrown_away():
    low, high = (throw(TACKLE, power, TACKLE) for power in (2, 5))
    found = judge(SOCCER, (low, high), answer((high, 0.5, 9, 1.0)))
    assert not found.may_throw
    assert not found.dominated


def test_a_dominated_action_is_named_by_its_probability():
    low, high, shot = throw(TACKLE, 2), throw(TACKLE, 5), throw(SHOOT, 5)
    for share in (0.0, 0.1):
        found = judge(
            SOCCER,
            (low, high, shot),
            answer((low, 0.5, 9, 0.5), (shot, 0.5, 9, 0.5 - share), (high, 0.5, 9, share)),
        )
        assert (found.dominated, found.named) == (False, share > 0)


@pytest.mark.parametrize(
    ("actions", "tie", "untold"),
    [
        ([(A, 1.0, 5, 1.0), (B, 1.0, 5, 0.0), (C, 0.5, 5, 0.0)], True, True),
        ([(A, 1.0, 5, 0.9), (B, 1.0, 5, 0.1), (C, 0.5, 5, 0.0)], True, False),
        ([(A, 0.9, 5, 1.0), (B, 0.8, 5, 0.0), (C, 0.8, 5, 0.0)], False, False),
        # The most visited action need not have the best score.
        ([(A, 0.8, 7, 1.0), (B, 0.9, 1, 0.0), (C, 0.9, 1, 0.0)], True, True),
        ([(A, 0.8, 7, 1.0), (B, 0.9, 1, 0.0), (C, 0.8, 1, 0.0)], False, False),
    ],
)
def test_equal_best_scores_are_a_tie(actions, tie, untold):
    found = judge(CHESS, (A, B, C), answer(*actions))
    assert (found.tie, found.untold, found.proven) == (tie, untold, False)


def test_a_tie_is_told_by_words_too():
    found = answer((A, 1.0, 5, 1.0), (B, 1.0, 5, 0.0), (C, 0.5, 5, 0.0))
    told = [each._replace(tied=each.expected_score == 1) for each in found.actions]
    assert judge(CHESS, (A, B, C), found).untold
    assert not judge(CHESS, (A, B, C), found._replace(actions=told)).untold


def test_a_score_without_samples_is_no_tie():
    found = answer((A, 0.5, 5, 1.0), (B, 0.5, 1, 0.0))
    assert judge(CHESS, (A, B), found).tie
    found.actions[1] = found.actions[1]._replace(deviation=0.5)
    assert not judge(CHESS, (A, B), found).tie


def test_only_a_proven_score_counts_without_a_visit():
    actions = [(A, 0.5, 5, 1.0), (B, 0.5, 0, 0.0)]
    assert judge(CHESS, (A, B), answer(*actions)) == Decision(
        False, False, False, False, False, False
    )
    found = judge(CHESS, (A, B), answer(*actions, stop_reason="proven"))
    assert (found.tie, found.untold, found.proven) == (True, True, True)


def test_self_play_judges_every_decision(monkeypatch):
    process = dominated.search_process(None)
    seats = []

    class Spy:
        def ask(self, view, seed, options, *, all_actions):
            seats.append(view.seat)
            return process.ask(view, seed, options, all_actions=all_actions)

    monkeypatch.setattr(dominated, "search_process", lambda revision: Spy())
    task = Task("powershot_soccer", 3, 0, 20, None)
    decisions = play(task)
    assert len(decisions) == len(seats) > 100
    assert set(seats) == {0, 1}
    assert play(task) == decisions
    assert any(decision.may_throw for decision in decisions)


def test_matches_are_played_until_there_are_enough_decisions(monkeypatch):
    yes, no = (Decision(may, False, False, False, False, False) for may in (True, False))
    played = []

    def match(task):
        played.append(task.match)
        return [yes, no, yes._replace(dominated=True)]

    monkeypatch.setattr(dominated, "play", match)
    task = Task("powershot_soccer", 0, 0, 1, None)
    found = collect(task, 5, lambda decision: decision.may_throw, 1)
    assert [each.dominated for each in found] == [False, True, False, True, False]
    assert played == [0, 1, 2]


def test_the_command_prints_both_tables(monkeypatch, capsys):
    arguments = ["--decisions", "20", "--tie-decisions", "12", "--iterations", "30"]
    monkeypatch.setattr(sys, "argv", ["lab.search_bench.dominated", *arguments, "--workers", "1"])
    dominated.main()
    _, _, _, _, throw_aways, _, _, _, *ties = capsys.readouterr().out.splitlines()
    assert throw_aways.split()[:3] == ["this", "code", "20"]
    assert sum(int(row.split()[4]) for row in ties) == 12
