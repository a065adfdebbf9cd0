"""OpenSpiel's search as a player."""

import random
from collections import Counter

import pytest

from croupier.openspiel import CroupierGame
from engine import games
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from lab.openspiel import OpenSpielPlayer, PlayoutEvaluator

GAMES = list(games())
SEED = 41


def test_playouts_are_random_play_to_the_end():
    # A held decision stays in the playout, and the other one is random.
    game = games()["champion_chess"]()
    adapted = CroupierGame(game, {"turns": True, "seed": SEED})
    state = adapted.at(Position.deal(game, SEED))
    evaluator = PlayoutEvaluator(game)
    whole = Counter(tuple(evaluator.evaluate(state)) for _ in range(2000))
    state.apply_action(state.legal_actions()[0])
    held = dict(state.progress.held)
    halves = Counter(tuple(evaluator.evaluate(state)) for _ in range(2000))
    assert state.progress.held == held
    for scores in (whole, halves):
        assert all(mine == -other for mine, other in scores)
        assert len(scores) >= 2
    policy = PlayoutPolicy.uniform(game)
    score, _ = policy.playouts(state.progress.position, 20_000, SEED)
    mean = 2 * score - 1
    assert sum(mine * n for (mine, _), n in whole.items()) / 2000 == pytest.approx(mean, abs=0.08)


@pytest.mark.parametrize("game_id", GAMES)
def test_the_bot_answers_legally_and_repeats(game_id):
    player = OpenSpielPlayer(20)
    rng = random.Random(SEED)
    position = Position.deal(games()[game_id](), SEED)
    for _ in range(6):
        if position.over:
            break
        joint = {}
        for seat in position.deciders:
            view, legal, chance = position.view(seat), position.legal(seat), rng.getrandbits(256)
            choice = player.choose(view, legal, chance)
            assert choice == player.choose(view, legal, chance)
            assert choice.action in legal
            joint[seat] = choice.action
        position.apply(joint, rng.getrandbits(64))


def test_the_bot_finds_obvious_actions():
    # A King calls, a Jack folds.
    game = games()["kuhn_poker"]()
    for card, answer in ((3, "call"), (1, "fold")):
        view = Position.from_fields(game, {"cards": [2, card], "decisions": [2, 0, 0]}).view(1)
        for final in ("max_visits", "max_value"):
            choice = OpenSpielPlayer(300, final=final).choose(view, (3, 4), SEED)
            assert game.read_action(choice.action) == {"kind": answer}
