"""The measure of the scores of hints: what it counts, and the command that runs it."""

import itertools
import random
import sys

import pytest

from ai.results import Standing
from engine import games
from engine.aspects import Aspects
from engine.calibration import Calibration
from engine.features import SCALE, Features
from engine.model import Model, learned
from engine.position import Position
from lab.search_bench import scores
from lab.search_bench.scores import (
    Foretold,
    OfAspect,
    Row,
    Task,
    aspects,
    fit,
    match,
    random_decision,
    rows,
    show_aspects,
    show_matches,
    show_rows,
)
from tests.support.play import note_on_failure

HOSTED = [game_id for game_id, game in games().items() if not game.reference]


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


@pytest.mark.parametrize("game_id", HOSTED)
def test_a_row_of_a_hint_is_compared_with_a_larger_search(game_id):
    found = [row for number in range(4) for row in rows(Task(game_id, 1, number, 400, 5, True))]
    advised = [row for row in found if row.standing is Standing.BEST]
    assert len(advised) == 4
    assert all(row.true_loss > -0.2 for row in advised)
    others = [row for row in found if row.standing is not Standing.BEST]
    assert others
    assert all(row.deviation >= 0 and row.true_deviation >= 0 for row in others)
    assert found == [
        row for number in range(4) for row in rows(Task(game_id, 1, number, 400, 5, True))
    ]


@pytest.mark.parametrize("game_id", HOSTED)
def test_what_hints_foretell_in_a_match_is_kept_with_its_result(game_id):
    told = match(Task(game_id, 1, 0, 30, 1, True))
    for seat in range(2):
        own = [each for each in told if each.seat == seat]
        assert [each.number for each in own] == list(range(len(own)))
        assert len({each.happened for each in own}) == 1
    assert sum({each.seat: each.happened for each in told}.values()) == 1


def test_figures_of_rows(capsys):
    good = Row(Standing.AS_GOOD, 0.0, 0.0, 0.0, 0.0)
    worse = Row(Standing.WORSE, 0.1, 0.02, 0.12, 0.02)
    found = [good] * 3 + [good._replace(true_loss=0.05)]
    found += [worse, worse._replace(true_loss=0.2)]
    show_rows("a game", [*found, Row(Standing.BEST, 0.0, 0.0, 0.01, 0.0)])
    bad, within, error, _ = capsys.readouterr().out.splitlines()
    assert bad.split()[-3:] == ["4", "1", "25.0%"]
    assert within.split()[-3:] == ["2", "1", "50.0%"]
    assert "+0.0600" in error


@pytest.mark.parametrize("game_id", HOSTED)
def test_what_hints_foretell_of_aspects_is_kept_with_what_happens(game_id):
    told = aspects(Task(game_id, 1, 0, 200, 1, True))
    units = Aspects.of(games()[game_id]()).units
    assert {name for name, _, _ in told} == units.keys()
    for name, foretold, happened in told:
        assert foretold >= 0
        assert happened in (0, 1) or units[name] == "amount"


def test_figures_of_aspects(capsys):
    told = [OfAspect("goal", 0.5, 1.0), OfAspect("goal", 0.25, 0.0), OfAspect("chips", 4.0, 4.0)]
    show_aspects("a game", [told, told, []])
    goal, chips = capsys.readouterr().out.splitlines()
    assert goal.split()[2:4] == ["goal", "4"]
    # The two decisions of a match differ from the mean by as much as each other.
    assert "0.3750, what happened is off by +0.1250 ± 0.0000" in goal
    assert "4.0000, what happened is off by +0.0000 ± 0.0000" in chips
    # The matches differ from the mean of their three decisions by -0.583 and by 0.583 together.
    show_aspects("a game", [told, [OfAspect("goal", 0.0, 1.0)]])
    assert "off by +0.4167 ± 0.5390" in capsys.readouterr().out.splitlines()[0]


def test_figures_of_matches(capsys):
    told = [Foretold(0, 0, 0.75, 1.0), Foretold(1, 0, 0.25, 0.0)]
    show_matches("a game", [told, told])
    both, low, high = capsys.readouterr().out.splitlines()
    assert "0.5000, what happened is off by +0.0000 ± 0.0000" in both
    assert "0.2500, what happened is off by -0.2500" in low
    assert "0.7500, what happened is off by +0.2500" in high


def test_who_foretells_the_true_probability_is_right(capsys):
    # A random walk of 12 steps, before each of which both seats foretell who leads in the end.
    steps, chance = 12, random.Random(1)
    wins = [[float(lead > 0) + (lead == 0) / 2 for lead in range(-steps, steps + 1)]]
    for _ in range(steps):
        wins.append(
            [(a + b) / 2 for a, b in zip([0.0, *wins[-1][:-1]], [*wins[-1][1:], 1.0], strict=True)]
        )
    matches = []
    for _ in range(4_000):
        leads = [0, *itertools.accumulate(chance.choice((-1, 1)) for _ in range(steps))]
        score = wins[0][leads[-1] + steps]
        told = []
        for number, lead in enumerate(leads[:-1]):
            expected = wins[steps - number][lead + steps]
            told += [Foretold(0, number, expected, score)]
            told += [Foretold(1, number, 1 - expected, 1 - score)]
        matches.append(told)
    show_matches("a walk", matches)
    for line in capsys.readouterr().out.splitlines():
        off, _, width = line.split()[-3:]
        assert abs(float(off)) <= 1.5 * float(width) + 1e-4, line


# The calibration


def test_a_fit_finds_by_how_much_scores_are_off():
    chance = random.Random(3)
    planted = Calibration(-0.05, 0.1), Calibration(0.02, 0.1)
    matches = []
    for number in range(40_000):
        foretold, moment = chance.uniform(0.05, 0.95), number % 2
        happened = float(chance.random() < planted[moment].of(foretold))
        told = Foretold(0, 0, foretold, happened, ("early", "late")[moment])
        proven = Foretold(0, 1, 0.9, 0.0, "late", True)
        matches.append([told, proven])
    found = fit(("early", "late"), matches)
    assert found["early"] / SCALE == pytest.approx(-0.05, abs=0.015)
    assert found["late"] / SCALE == pytest.approx(0.02, abs=0.015)
    assert found["stretch"] / SCALE == pytest.approx(0.1, abs=0.02)
    assert all(type(each) is int for each in found.values())
    few = fit(("early", "late"), matches[:4])
    assert all(abs(each) < SCALE / 8 for each in few.values())


def test_the_command_writes_a_calibration_into_the_model(monkeypatch, capsys, tmp_path):
    game = games()["skystones"]()
    path = tmp_path / "weights.json"
    monkeypatch.setattr(scores, "file_of", lambda game: path)
    arguments = ("--games", "skystones", "--number", "2", "--iterations", "200", "--seed", "4")
    run(monkeypatch, capsys, "fit", *arguments)
    written, before = Model.read(path, game), learned(game)
    assert (written.weights, written.net, written.uses) == (before.weights, before.net, before.uses)
    assert written.calibration.keys() == {"stretch", *Features.of(game).moments}
    assert written.provenance["calibration"] == {"number": 2, "iterations": 200, "seed": 4}
    # The calibration that a game has is not in what another one is fitted to.
    first = path.read_bytes()
    scores.keep(game, dict.fromkeys(written.calibration, 100), {})
    other = Model.read(path, game)
    assert set(other.calibration.values()) == {100}
    monkeypatch.setattr(scores, "learned", lambda game: other)
    run(monkeypatch, capsys, "fit", *arguments)
    assert path.read_bytes() == first


# The command


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["scores", *arguments, "--workers", "1"])
    scores.main()
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("what", ["rows", "matches", "aspects"])
def test_the_command_prints_a_table(monkeypatch, capsys, what):
    few = ("--games", "powershot_soccer", "--number", "3", "--iterations", "100", "--times", "2")
    head, *lines = run(monkeypatch, capsys, what, *few)
    assert head == "3 of each game, 100 iterations, seed 0."
    assert lines


def test_the_command_names_the_fault_of_its_arguments(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, capsys, "rows", "--games", "bridge")
    assert "there is no game bridge" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(monkeypatch, capsys, "fit", "--games", "kuhn_poker")
    assert "nothing is learned of kuhn_poker" in capsys.readouterr().err
