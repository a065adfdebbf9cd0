"""The scores of a hint: enough visits for each, honest deviations, nothing dominated named."""

import math

import pytest

from ai.results import Parameters
from ai.search import Search, search
from engine import games
from tests.support.play import decisions, seeded

GAMES = [game_id for game_id, game in games().items() if not game.reference]
SHARE = 0.2


@pytest.mark.parametrize("game_id", GAMES)
def test_every_action_gets_its_share_of_the_visits(game_id):
    for position, seat in decisions(game_id, 5, "scores"):
        result = search(
            position.view(seat),
            iterations=2_000,
            seed=1,
            parameters=Parameters(evaluation_share=SHARE, endings=False),
        )
        each = SHARE * result.iterations / len(result.actions)
        if result.actions[0].probability < 1:
            continue  # Regret matching tries each action anyway.
        assert min(one.visits for one in result.actions) >= math.floor(each) - 1


@pytest.mark.parametrize("game_id", GAMES)
def test_a_score_is_within_its_deviation_of_a_search_for_the_action_alone(game_id):
    rng = seeded("alone", game_id)
    within = []
    for position, seat in decisions(game_id, 10, "scores"):
        view = position.view(seat)
        hint = search(view, iterations=2_000, seed=1, parameters=Parameters(evaluation_share=SHARE))
        for one in rng.sample(hint.actions, min(5, len(hint.actions))):
            alone = Search(
                view, seed=2, root_actions=[one.action], parameters=Parameters(single_action=0)
            )
            alone.run(iterations=2_000)
            [other] = alone.result().actions
            deviation = math.hypot(one.deviation, other.deviation)
            within.append(abs(one.expected_score - other.expected_score) <= 2 * deviation + 1e-9)
    assert len(within) > 20
    assert sum(within) >= 0.88 * len(within)


def test_a_dominated_action_is_scored_but_never_named():
    named = seen = 0
    for position, seat in decisions("powershot_soccer", 150, "scores"):
        legal = position.legal(seat)
        dominated = set(legal) - set(position.without_dominated(seat))
        if not dominated:
            continue
        seen += 1
        result = search(
            position.view(seat),
            iterations=400,
            seed=seen,
            parameters=Parameters(evaluation_share=0.9, endings=False),
        )
        assert sorted(one.action for one in result.actions) == list(legal)
        assert all(one.visits for one in result.actions)
        named += result.action in dominated
    assert seen > 10
    assert named == 0
