"""The comparison of speeds: its positions, its turns and its output."""

import sys

import pytest

from lab.revision import ROOT, Answer
from lab.search_bench import speed
from lab.search_bench.speed import PLIES, compare, positions


@pytest.mark.parametrize("game_id", PLIES)
def test_positions_repeat_and_owe_a_decision(game_id):
    found = dict(positions(game_id))
    assert len(found) == len(PLIES[game_id])
    assert all(position.legal(position.deciders[0]) for position in found.values())
    assert found == dict(positions(game_id))


class Process:
    """A process that is as fast as it is told, and notes when it was asked."""

    def __init__(self, name, rate, asked):
        self.name, self.rate, self.asked = name, rate, asked

    def ask(self, view, seed, options):
        self.asked.append((self.name, seed, options["iterations"]))
        return Answer(0, 600, 600 / (self.rate + seed), "iterations", [])


def test_both_take_turns_and_the_ratio_is_of_the_same_round():
    asked = []
    rates = compare(None, (Process("a", 30, asked), Process("b", 20, asked)), (6, 5), 3)
    assert asked == [
        *[("b", 0, 5), ("a", 0, 6)],
        *[("a", 1, 6), ("b", 1, 5)],
        *[("b", 2, 5), ("a", 2, 6)],
    ]
    assert rates.ratios == pytest.approx([30 / 20, 31 / 21, 32 / 22])


def test_the_command_prints_a_line_for_each_position_and_limit(monkeypatch, capsys):
    monkeypatch.setattr(speed, "build", lambda revision: ROOT)
    arguments = ["speed", "--games", "skystones", "--rounds", "1", "--iterations", "50"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--ms", "2", "--against", "none"])
    speed.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["skystones"] * 6
    assert "none" in lines[1]


def test_the_command_names_a_game_without_positions(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["lab.search_bench.speed", "--games", "kuhn_poker"])
    with pytest.raises(SystemExit):
        speed.main()
    assert "no positions are known of kuhn_poker" in capsys.readouterr().err
