"""Searches from the deal: independent solvers agree, and beliefs rest on the opponent's play."""

import os
import statistics

import pytest

from ai.game_graph import may_fit
from ai.search import Search, search
from engine import games
from engine.position import Position
from engine.sampler import Sampler
from lab.best_response import ExtensiveGame
from lab.exploit import presets
from tests.support.long_form import LONG_FORM
from tests.support.play import seeded
from tests.support.sequence_form import LeftToChanceError, Rest

# Random rulesets of each game; `make soak` sets more.
RULESETS = int(os.environ.get("TEST_CFR", "1"))
ITERATIONS = 4_000
GAIN = 0.02  # Of the best answers to them, at most.
CONVERGING = ("leduc_poker", "champion_chess_small")
DEALS = 4_000  # Seeds, of which many give the same deal.
MOST = 60_000  # Positions that the naive solver goes through.


def skystones(rng):
    """A ruleset of Skystones with four random characters on 2 x 2 squares."""
    sides = ("north", "east", "south", "west")
    cards = [
        {"title": title, "element": rng.randrange(1, 6)}
        | {side: rng.randrange(4) for side in sides}
        for title in "ABCD"
    ]
    return {"board_size": 2, "hand_size": 1, "hand_limit": 9, "cards": cards}


def champion_chess(rng):
    """A ruleset of Champion Chess with a King and two other random cards, hands of two."""
    others = rng.sample(range(1, 9), 2)
    numbers = ("movement", "attack", "defend")
    cards = [
        {"card": card, "copies": 1, **{name: rng.randrange(8) for name in numbers}}
        for card in (0, *sorted(others))
    ]
    return {"hand_size": 2, "castling": False, "cards": cards}


def small_games():
    """Small games: those of the lab, and random ones."""
    for preset in presets().values():
        if preset.name in CONVERGING or preset.name == "skystones_five":
            continue  # skystones_five has 13,520 views.
        if preset.name == "champion_chess_steed" and RULESETS == 1:
            continue  # It takes as long as the others together.
        yield pytest.param(preset.game, preset.ruleset, id=preset.name)
    for number in range(RULESETS):
        for make in (skystones, champion_chess):
            ruleset = make(seeded("ruleset", make.__name__, number))
            yield pytest.param(make.__name__, ruleset, id=f"{make.__name__}-{number}")


def answers(tree, iterations):
    """The answers of the search at all information sets, as a strategy."""
    found = {}
    strategy = []
    for info_set in tree.info_sets:
        if info_set.view not in found:
            result = search(info_set.view, iterations=iterations, seed=1)
            found[info_set.view] = {one.action: one.probability for one in result.actions}
        strategy += [found[info_set.view][action] for action in info_set.actions]
    return strategy


@pytest.mark.parametrize(("game_id", "ruleset"), list(small_games()))
def test_no_opponent_gains_against_the_answers(game_id, ruleset):
    tree = ExtensiveGame(games()[game_id](ruleset))
    assert tree.nash_conv(answers(tree, ITERATIONS)) < GAIN


# The second takes twenty times as long as the first.
@pytest.mark.parametrize("name", CONVERGING if LONG_FORM else CONVERGING[:1])
def test_more_iterations_come_closer_to_an_equilibrium(name):
    preset = presets()[name]
    tree = ExtensiveGame(games()[preset.game](preset.ruleset))
    figures = [tree.nash_conv(answers(tree, n)) for n in (1_000, ITERATIONS, 16_000)]
    assert figures == sorted(figures, reverse=True)
    assert figures[1] < GAIN
    assert figures[-1] < min(0.002, figures[0] / 10)


@pytest.mark.parametrize("case", range(-1, 2 * RULESETS))
def test_a_linear_programme_finds_the_same_value(case):
    # Without a case, Kuhn poker.
    make = (skystones, champion_chess)[case % 2]
    ruleset = make(seeded("value", make.__name__, case)) if case >= 0 else {}
    game = games()[make.__name__ if case >= 0 else "kuhn_poker"](ruleset)
    deals = {Position.deal(game, seed) for seed in range(DEALS)}
    chances = dict.fromkeys(deals, 1 / len(deals))  # All distinct deals are equally likely.
    try:
        expected = Rest(chances, 0, MOST).value()
    except LeftToChanceError:
        pytest.skip("chance decides within a match")
    scores = {}
    for deal in deals:
        assert 0 in deal.deciders
        view = deal.view(0)
        if view not in scores:
            scores[view] = search(view, iterations=16_000, seed=1).expected_score
    mean = statistics.fmean(scores[deal.view(0)] for deal in deals)
    assert mean == pytest.approx(expected, abs=0.002), ruleset


def kuhn(cards, decisions):
    """A position of Kuhn poker: 1 is the Jack and 3 the King; 1 checks and 2 bets."""
    decisions = [*decisions, *[0] * (8 - len(decisions))]
    fields = {"cards": cards, "common": 0, "decisions": decisions}
    return Position.from_fields(games()["kuhn_poker"](), fields)


def test_beliefs_rest_on_what_the_opponent_plays():
    # In every equilibrium First bets three times as often with the King as with the Jack. Second
    # calls with a Queen, in one of three matches, because it can tell.
    view = kuhn([3, 2], [2]).view(1)
    one = Search(view, seed=1)
    one.run(iterations=20_000)
    beliefs = {belief.card: belief.probability for belief in one.worlds.beliefs(20_000, 1).cards}
    assert beliefs == pytest.approx({0: 0.25, 2: 0.75}, abs=0.02)
    by_chance = Sampler.of(view).beliefs(20_000, 1).cards
    assert [belief.probability for belief in by_chance] == pytest.approx([0.5, 0.5], abs=0.02)
    call = max(one.result().actions, key=lambda each: each.action == 3)
    assert call.probability == pytest.approx(1 / 3, abs=0.02)
    # What it scores rests on the same: calling loses 2 chips to a King, of 4 between 0 and 1.
    assert call.expected_score == pytest.approx(0.25 * 1 + 0.75 * 0, abs=0.02)
    assert one.result().worlds == 2


@pytest.mark.parametrize("name", ["skystones_small", "champion_chess_small"])
def test_blunders_are_answered_well(name):
    # Nobody who plays well, neither the opponent nor the seat itself, gets into most of these.
    preset = presets()[name]
    tree = ExtensiveGame(games()[preset.game](preset.ruleset))
    rng = seeded("blunders", name)
    losses = []
    for info_set in rng.sample(tree.info_sets, 400):
        result = search(info_set.view, iterations=ITERATIONS, seed=1)
        best = max(one.expected_score for one in result.actions)
        losses.append(best - result.expected_score)
    assert statistics.fmean(losses) < 0.001


def test_the_figures_of_a_result_are_those_of_the_answers():
    view = kuhn([3, 2], [2]).view(1)
    result = search(view, iterations=ITERATIONS, seed=1)
    mean = sum(one.probability * one.expected_score for one in result.actions)
    assert result.expected_score == pytest.approx(mean)
    # Every end has a winner here, who wins 1 or 2 chips of the 4 between the scores 0 and 1.
    assert (result.draw, result.win + result.loss) == (0, pytest.approx(1))
    assert result.win == pytest.approx(result.expected_score)
    fold, call = sorted(result.actions, key=lambda each: each.action == 3)
    assert fold.expected_score == pytest.approx(0.25)
    assert call.expected_score == pytest.approx(0.25, abs=0.001)
    # The scores settle, and are known to.
    short = search(view, iterations=4, seed=1)
    deviations = [max(one.deviation for one in each.actions) for each in (short, result)]
    assert deviations[0] > 10 * deviations[1]
    assert fold.deviation < 1e-6


@pytest.mark.parametrize("game_id", [g for g in games() if not games()[g].reference])
def test_a_large_game_is_searched_from_the_present(game_id):
    game = games()[game_id]()
    assert not may_fit(game)
    position = Position.deal(game, 1)
    one = Search(position.view(position.deciders[0]), seed=1)
    one.run(iterations=20)
    assert one.from_deal is None
    assert one.worlds is one.sampler


def test_a_short_search_is_from_the_present():
    preset = presets()["champion_chess_small"]
    view = Position.deal(games()[preset.game](preset.ruleset), 3).view(0)  # With two actions.
    for limits, expected in (
        ({"iterations": 2_000}, True),
        ({"iterations": 200}, False),
        ({"seconds": 0.0005}, False),
        ({"seconds": 0.01}, True),
    ):
        one = Search(view, seed=1)
        one.run(**limits)
        assert (one.from_deal is not None) == expected, limits
