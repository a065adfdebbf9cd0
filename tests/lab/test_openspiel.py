"""The games as OpenSpiel sees them, and its search as a player."""

import itertools
import random
from collections import Counter

import pyspiel
import pytest

from engine import games
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from lab.openspiel import AdaptedGame, OpenSpielPlayer, PlayoutEvaluator
from tests.support.play import note_on_failure, seeded

GAMES = list(games())
SEED = 41


def walk(ours, theirs, meet):
    """Walk both game trees side by side. Our utilities are half of OpenSpiel's stakes."""
    # An adapted game has a chance node at every step; in Kuhn poker it draws nothing.
    if ours.is_chance_node():
        ours.apply_action(0)
    assert ours.is_terminal() == theirs.is_terminal()
    if ours.is_terminal():
        assert [2 * utility for utility in ours.returns()] == theirs.returns()
        return
    player = ours.current_player()
    assert player == theirs.current_player()
    meet(ours.information_state_string(), theirs.information_state_string())
    legal = {ours.action_to_string(player, action): action for action in ours.legal_actions()}
    # Our actions: check and fold are pass for OpenSpiel, bet and call are bet.
    for kinds, number in ((("check", "fold"), 0), (("bet", "call"), 1)):
        [action] = [legal[text] for kind in kinds if (text := str({"kind": kind})) in legal]
        mine, other = ours.clone(), theirs.clone()
        mine.apply_action(action)
        other.apply_action(number)
        walk(mine, other, meet)


def test_kuhn_poker_is_that_of_openspiel():
    adapted = AdaptedGame(games()["kuhn_poker"]())
    keys = set()
    for cards in itertools.permutations((1, 2, 3), 2):
        position = Position.from_fields(
            games()["kuhn_poker"](), {"cards": list(cards), "decisions": [0, 0, 0]}
        )
        theirs = pyspiel.load_game("kuhn_poker").new_initial_state()
        for card in cards:
            theirs.apply_action(card - 1)
        walk(adapted.at(position), theirs, lambda *pair: keys.add(pair))
    # Each information state of OpenSpiel has one of ours: 12 in Kuhn poker.
    assert len(keys) == len({mine for mine, _ in keys}) == len({key for _, key in keys}) == 12


@pytest.mark.parametrize("leader", [0, 1])
@pytest.mark.parametrize("game_id", GAMES)
def test_random_play_through_openspiel_keeps_its_rules(game_id, leader):
    adapted = AdaptedGame(games()[game_id](), leader, SEED)
    rng = seeded(SEED, game_id, leader)
    state = adapted.new_initial_state()
    assert state.is_chance_node()
    with note_on_failure(seed=SEED):
        for _ in range(adapted.max_game_length()):
            if state.is_terminal():
                break
            legal = state.legal_actions()
            assert legal == sorted(set(legal))
            copy = state.clone()
            before = str(copy)
            state.apply_action(rng.choice(legal))
            assert str(copy) == before
        assert state.is_terminal()
        assert sum(state.returns()) == 0
        assert adapted.min_utility() <= state.returns()[0] <= adapted.max_utility()


@pytest.mark.parametrize("leader", [0, 1])
def test_a_held_decision_is_hidden_from_the_other_seat(leader):
    position = Position.deal(games()["champion_chess"](), SEED)
    assert position.deciders == (0, 1)
    adapted = AdaptedGame(position.game, leader)
    keys = {leader: set(), 1 - leader: set()}
    state = adapted.at(position)
    assert state.current_player() == leader
    for action in state.legal_actions():
        after = state.clone()
        after.apply_action(action)
        assert after.current_player() == 1 - leader
        for seat in (0, 1):
            keys[seat].add(after.information_state_string(seat))
    assert len(keys[1 - leader]) == 1
    assert len(keys[leader]) == len(state.legal_actions()) > 1


def test_playouts_are_random_play_to_the_end():
    # A held decision stays in the playout, and the other one is random.
    adapted = AdaptedGame(games()["champion_chess"](), seed=SEED)
    state = adapted.at(Position.deal(adapted.shared.game, SEED))
    whole = Counter(tuple(PlayoutEvaluator().evaluate(state)) for _ in range(2000))
    state.apply_action(state.legal_actions()[0])
    held = dict(state.progress.held)
    halves = Counter(tuple(PlayoutEvaluator().evaluate(state)) for _ in range(2000))
    assert state.progress.held == held
    for scores in (whole, halves):
        assert all(mine == -other for mine, other in scores)
        assert len(scores) >= 2
    policy = PlayoutPolicy.uniform(adapted.shared.game)
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
