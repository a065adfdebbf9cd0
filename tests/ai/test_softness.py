"""Softer answers: what seemed nearly as good, never what seemed far worse; and the strengths."""

from itertools import chain, pairwise

import pytest

from ai.results import ActionResult, Parameters, Standing
from ai.search import search
from ai.softness import MAX_LOSS, MAX_TEMPERATURE, MIN_TEMPERATURE, soften
from ai.strengths import STRENGTHS
from engine import games
from engine.model import learned
from lab.players import BotPlayer
from tests.support.play import decisions, seeded

GAMES = [game_id for game_id, game in games().items() if not game.reference]
FAR = 0.35  # Of the expected score: what everybody sees.
SOFT = ("beginner", "casual", "regular", "skilled")


def found(*visits_and_scores, mixed=False):
    """Return what a search found; mixed, the visits are the probabilities as well."""
    total = sum(visits for visits, _ in visits_and_scores)
    best = max(visits for visits, _ in visits_and_scores)
    return [
        ActionResult(
            number, visits, total, score, 0.01, visits / total if mixed else float(visits == best)
        )
        for number, (visits, score) in enumerate(visits_and_scores)
    ]


def chances(actions, temperature, expected=0.6, *, mixed=False, never=()):
    softer = soften(actions, expected, temperature, mixed=mixed, never=never)
    assert sum(each.probability for each in softer) == pytest.approx(1)
    shares = [each.probability for each in softer]
    assert shares == sorted(shares, reverse=True)
    by_action = {each.action: each.probability for each in softer}
    return [by_action[number] for number in range(len(actions))]


@pytest.mark.parametrize("mixed", [False, True])
def test_the_higher_the_temperature_the_more_alike_are_the_actions(mixed):
    actions = found((600, 0.6), (300, 0.58), (100, 0.5), mixed=mixed)
    at = [chances(actions, t, mixed=mixed) for t in (0.05, 0.5, 1, 2, 100)]
    assert at[0] == pytest.approx([0.6, 0.3, 0.1] if mixed else [1, 0, 0], abs=0.03)
    if not mixed:
        assert at[2] == pytest.approx([0.6, 0.3, 0.1])
    for sharper, softer in pairwise(at):
        assert sharper[0] > softer[0] > softer[1] > softer[2] > sharper[2]
    assert at[-1] == pytest.approx([1 / 3] * 3, abs=0.02)


@pytest.mark.parametrize("mixed", [False, True])
def test_what_seems_far_worse_is_never_chosen(mixed):
    loses = 0.6 - MAX_LOSS
    actions = found((500, 0.6), (400, loses - 0.001), (100, loses + 0.001), mixed=mixed)
    for temperature in (0.1, 1, 100):
        first, second, third = chances(actions, temperature, mixed=mixed)
        assert second == 0 < third < first


@pytest.mark.parametrize("mixed", [False, True])
def test_a_temperature_out_of_range_acts_as_the_nearest_in_it(mixed):
    actions = found((600, 0.6), (300, 0.58), (100, 0.5), mixed=mixed)
    for temperature, nearest in ((5e-324, MIN_TEMPERATURE), (1e308, MAX_TEMPERATURE)):
        assert chances(actions, temperature, mixed=mixed) == chances(actions, nearest, mixed=mixed)


def test_neither_untried_nor_dominated_actions_are_chosen():
    actions = found((500, 0.6), (0, 0.5), (700, 0.6))
    assert chances(actions, 50, never={2}) == [1, 0, 0]
    nothing = found((0, 0.5), (0, 0.5))
    assert soften(nothing, 0.5, 1.0, mixed=False) == nothing
    assert soften(actions, 0.6, 1.0, mixed=False, never={0, 1, 2}) == actions


@pytest.mark.parametrize("game_id", GAMES)
def test_stronger_bots_search_more_and_choose_less_softly(game_id):
    game = games()[game_id]()
    assert set(game.temperatures) == set(SOFT)
    for weaker, stronger in zip(SOFT, (*SOFT[1:], "expert"), strict=True):
        weaker, stronger = STRENGTHS[weaker], STRENGTHS[stronger]
        assert 0 < weaker.iterations < stronger.iterations
        assert weaker.temperature(game) > stronger.temperature(game) >= 0
    assert STRENGTHS["expert"].temperature(game) == 0


@pytest.mark.parametrize("game_id", GAMES)
def test_bots_never_choose_what_seems_far_worse_to_them(game_id):
    rng = seeded("far worse", game_id)
    softly = 0
    for position, seat in decisions(game_id, 12, "softness"):
        view, legal = position.view(seat), position.legal(seat)
        for name in SOFT:
            strength, chance = STRENGTHS[name], rng.getrandbits(256)
            choice = BotPlayer(strength).choose(view, legal, chance)
            assert choice == BotPlayer(strength).choose(view, legal, chance)
            firm = search(
                view, iterations=strength.iterations, seed=chance % 2**64, model=learned(view.game)
            )
            best = firm.expected_score
            losses = {each.action: best - each.expected_score for each in firm.actions}
            if not any(each.deviation == 0 for each in firm.actions):
                assert losses[choice.action] <= MAX_LOSS
            softly += len(choice.shares) > sum(each.probability > 0 for each in firm.actions)
    assert softly > 12  # Otherwise nothing was tested.


def test_even_beginners_hardly_ever_throw_a_match_away():
    rng = seeded("throws")
    bot = BotPlayer(STRENGTHS["beginner"])
    even = Parameters(last_look=0.5)
    thrown = at_random = 0.0
    for position, seat in chain(*(decisions(game_id, 25, "softness") for game_id in GAMES)):
        view, legal = position.view(seat), position.legal(seat)
        judged = search(view, iterations=10_000, seed=1, parameters=even, model=learned(view.game))
        limit = judged.expected_score - FAR
        far_worse = {
            each.action
            for each in judged.actions
            if each.standing is Standing.WORSE and each.expected_score < limit
        }
        at_random += len(far_worse) / len(legal)
        if far_worse:
            chances = (rng.getrandbits(256) for _ in range(5))
            thrown += sum(bot.choose(view, legal, each).action in far_worse for each in chances) / 5
    assert thrown <= at_random / 4
