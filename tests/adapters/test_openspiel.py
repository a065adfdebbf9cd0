"""The games as games of OpenSpiel: its checks, its algorithms on them, and the search as a bot."""

import copy
import itertools
import json
import pickle
import random
from urllib.parse import quote

import pytest

pytest.importorskip("pyspiel", reason="needs the extra openspiel: make tools")

import numpy as np
import pyspiel
from open_spiel.python import observation, policy, rl_environment
from open_spiel.python.algorithms import (
    evaluate_bots,
    exploitability,
    generate_playthrough,
    ismcts,
    mcts,
)

from adapters import openspiel
from engine import games
from engine.position import Position
from engine.sampler import Sampler
from lab.best_response import ExtensiveGame
from lab.exploit import by_search, evaluate, presets
from tests.support.long_form import LONG_FORM
from tests.support.play import note_on_failure, seeded

GAMES = list(games())
SEED = 41
PRESETS = [*presets()] if LONG_FORM else ["kuhn_poker", "leduc_poker"]
SIMULATIONS = 10 if LONG_FORM else 1


@pytest.mark.parametrize(("name", "known"), [("kuhn_poker", 11 / 12), ("leduc_poker", 4.7472)])
def test_utilities_count_as_the_literature_does(name, known):
    # NashConv of uniform play, in chips, as OpenSpiel finds it in its own games.
    game = openspiel.load_game(name, chance="explicit", turns=True)
    uniform = policy.UniformRandomPolicy(game)
    assert exploitability.nash_conv(game, uniform) == pytest.approx(known, abs=1e-4)


@pytest.mark.parametrize("game", GAMES)
def test_random_simulations_of_openspiel_pass(game):
    # The tests below play in turns, too.
    for turns in (False, True) if LONG_FORM else (False,):
        loaded = pyspiel.load_game(f"croupier_{game}", {"turns": turns, "seed": SEED})
        # A sampled outcome cannot be replayed, so such a state cannot be written either.
        pyspiel.random_sim_test(loaded, num_sims=SIMULATIONS, serialize=False, verbose=False)


@pytest.mark.parametrize("name", PRESETS)
def test_random_simulations_with_explicit_chance_pass(name):
    preset = presets()[name]
    for turns in (False, True):
        loaded = openspiel.load_game(preset.game, preset.ruleset, chance="explicit", turns=turns)
        pyspiel.random_sim_test(loaded, num_sims=SIMULATIONS, serialize=True, verbose=False)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("chance", ["sampled", "explicit"])
def test_games_and_states_are_copied(copied, chance):
    adapted = openspiel.load_game("kuhn_poker", chance=chance, seed=SEED)
    adapted.new_initial_state().apply_action(0)  # A copy goes on with what is drawn next.
    states = [each.new_initial_state() for each in (copied(adapted), adapted)]
    for _ in range(3):
        assert str(states[0]) == str(states[1]) == str(copied(states[0]))
        for each in states:
            each.apply_action(each.legal_actions()[0])


def test_a_playthrough_is_replayed_alike():
    name = "croupier_leduc_poker(chance=explicit)"
    text = generate_playthrough.playthrough(name, None, seed=SEED)
    assert "is_terminal() = True\n" in text.replace("IsTerminal", "is_terminal")
    actions = [int(line[8:]) for line in text.splitlines() if line.startswith("action: ")]
    assert generate_playthrough.playthrough(name, actions) == text


def walk(ours, theirs, meet):
    """Walk both game trees side by side. Our utilities are half of OpenSpiel's stakes."""
    assert ours.is_terminal() == theirs.is_terminal()
    if ours.is_terminal():
        assert ours.returns() == theirs.returns()
        return
    player = ours.current_player()
    assert player == theirs.current_player()
    meet(ours.information_state_string(), theirs.information_state_string())
    legal = {ours.action_to_string(player, action): action for action in ours.legal_actions()}
    # Our actions: check and fold are pass for OpenSpiel, bet and call are bet.
    for kinds, number in ((("check", "fold"), 0), (("bet", "call"), 1)):
        [action] = [legal[kind] for kind in kinds if kind in legal]
        mine, other = ours.clone(), theirs.clone()
        mine.apply_action(action)
        other.apply_action(number)
        walk(mine, other, meet)


def test_kuhn_poker_is_that_of_openspiel():
    adapted = openspiel.load_game("kuhn_poker", chance="explicit", scale=4.0)
    keys = set()
    for cards in itertools.permutations((1, 2, 3), 2):
        position = Position.from_fields(
            games()["kuhn_poker"](),
            {"cards": list(cards), "common": 0, "decisions": [0, 0, *[0] * 6]},
        )
        theirs = pyspiel.load_game("kuhn_poker").new_initial_state()
        for card in cards:
            theirs.apply_action(card - 1)
        walk(adapted.at(position), theirs, lambda *pair: keys.add(pair))
    # Each information state of OpenSpiel has one of ours: 12 in Kuhn poker.
    assert len(keys) == len({mine for mine, _ in keys}) == len({key for _, key in keys}) == 12


@pytest.mark.parametrize("leader", [0, 1])
def test_a_held_decision_is_hidden_from_the_other_seat(leader):
    position = Position.deal(games()["champion_chess"](), SEED)
    assert position.deciders == (0, 1)
    adapted = openspiel.load_game("champion_chess", turns=True, leader=leader)
    keys = {leader: set(), 1 - leader: set()}
    state = adapted.at(position)
    assert state.current_player() == leader
    for action in state.legal_actions():
        after = state.clone()
        after.apply_action(action)
        assert after.current_player() == 1 - leader
        for seat in (0, 1):
            known = (
                after.information_state_string(seat),
                after.observation_string(seat),
                tuple(after.information_state_tensor(seat)),
            )
            keys[seat].add(known)
    assert len(keys[1 - leader]) == 1
    assert len(keys[leader]) == len(state.legal_actions()) > 1


@pytest.mark.parametrize("game", GAMES)
def test_what_a_player_is_told_depends_on_what_it_may_know_alone(game):
    adapted = openspiel.load_game(game, seed=SEED)
    rng = seeded(SEED, game)
    nothing_private = pyspiel.IIGObservationType(
        public_info=True, perfect_recall=False, private_info=pyspiel.PrivateInfoType.NONE
    )
    public = observation.make_observation(adapted, nothing_private)

    def told(state, player):
        return (
            state.information_state_string(player),
            state.observation_string(player),
            state.information_state_tensor(player),
            state.observation_tensor(player),
            public.string_from(state, player),
            [] if player not in position.deciders else state.legal_actions(player),
        )

    position = Position.deal(adapted.game, SEED)
    differs = 0
    with note_on_failure(seed=SEED):
        for _ in range(8):
            if position.over:
                break
            for seat in (0, 1):
                world = Sampler.of(position.view(seat)).sample(rng.getrandbits(64))
                states = [adapted.at(each) for each in (position, world)]
                assert told(states[0], seat) == told(states[1], seat)
                differs += told(states[0], 1 - seat) != told(states[1], 1 - seat)
            joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
            position.apply(joint, rng.getrandbits(64))
    assert differs


@pytest.mark.parametrize("game", GAMES)
def test_resampled_states_look_the_same_to_the_player(game):
    state = openspiel.load_game(game, turns=True, seed=SEED).new_initial_state()
    rng = seeded(SEED, game)
    for _ in range(12):
        if state.is_terminal():
            break
        if not state.is_chance_node():
            player = state.current_player()
            other = state.resample_from_infostate(player, rng.random)
            assert other.current_player() == player
            assert other.legal_actions() == state.legal_actions()
            keys = [each.information_state_string(player) for each in (state, other)]
            assert keys[0] == keys[1]
        state.apply_action(rng.choice(state.legal_actions()))


@pytest.mark.parametrize("name", PRESETS)
def test_nash_conv_of_hints_is_the_same_as_ours(name, monkeypatch):
    preset = presets()[name]
    answers = {}

    def ask(view, iterations, seed):
        answers[view] = by_search(view, iterations, seed)
        return answers[view]

    tree = ExtensiveGame(games()[preset.game](preset.ruleset))
    monkeypatch.setattr("lab.exploit.by_search", ask)
    row = evaluate(tree, preset, "croupier", iterations=100)
    game = openspiel.load_game(
        preset.game, preset.ruleset, chance="explicit", turns=True, scale=float(preset.scale)
    )

    def play(state):
        player = state.current_player()
        codes = state.progress.codes[player]
        # Our measure asks neither where one action is legal nor where the hint itself never goes.
        answer = answers.get(state.view(player))
        if answer is None:
            return {number: 1 / len(codes) for number in codes}
        return {number: answer.get(code, 0.0) for number, code in codes.items()}

    table = policy.tabular_policy_from_callable(game, play)
    assert len(table.state_lookup) == len(tree.info_sets)
    found = exploitability.nash_conv(game, table)
    assert found == pytest.approx(row.nash_conv, abs=1e-9)
    assert found > 1e-4


def test_openspiels_own_turns_play_simultaneous_nodes():
    preset = presets()["champion_chess_small"]
    game = openspiel.load_game(preset.game, preset.ruleset, chance="explicit")
    assert game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
    turns = pyspiel.convert_to_turn_based(game)
    pyspiel.random_sim_test(turns, num_sims=2, serialize=False, verbose=False)


def test_ismcts_of_openspiel_plays_by_resampled_states():
    game = openspiel.load_game("skystones", turns=True, seed=SEED)
    bots = [
        ismcts.ISMCTSBot(
            game,
            mcts.RandomRolloutEvaluator(1, np.random.RandomState(SEED)),
            2.0,
            5,
            random_state=np.random.RandomState(SEED),
        ),
        openspiel.SearchBot(1, iterations=50, seed=SEED),
    ]
    state = game.new_initial_state()
    for _ in range(12):
        player = state.current_player()
        state.apply_action(bots[player].step(state) if player >= 0 else 0)
    assert state.move_number() == 12


def test_learners_of_openspiel_get_tensors():
    game = openspiel.load_game("powershot_soccer", seed=SEED, survey=50, spare=8)
    environment = rl_environment.Environment(game)
    rng = random.Random(SEED)
    step = environment.reset()
    for _ in range(20):
        player = step.observations["current_player"]
        assert len(step.observations["info_state"][player]) == len(game.labels)
        step = environment.step([rng.choice(step.observations["legal_actions"][player])])


@pytest.mark.parametrize("game", ["champion_chess", "kuhn_poker"])
def test_the_search_is_a_bot(game):
    loaded = openspiel.load_game(game, seed=SEED)
    bots = [openspiel.SearchBot(player, iterations=50, seed=SEED) for player in (0, 1)]
    state = loaded.at(Position.deal(loaded.game, SEED))
    for player, bot in enumerate(bots):
        if player in state.progress.position.deciders:
            shares, action = bot.step_with_policy(state)
            assert [number for number, _ in shares] == state.legal_actions(player)
            assert sum(share for _, share in shares) == pytest.approx(1)
            assert dict(shares)[action] > 0
    rng = np.random.RandomState(SEED)
    returns = evaluate_bots.evaluate_bots(loaded.new_initial_state(), bots, rng)
    assert sum(returns) == 0


def test_rulesets_and_their_faults():
    ruleset = dict(presets()["skystones_small"].ruleset)
    loaded = pyspiel.load_game(
        "croupier_skystones", {"ruleset": quote(json.dumps(ruleset)), "chance": "explicit"}
    )
    assert loaded.game.ruleset == openspiel.load_game("skystones", ruleset).game.ruleset
    with pytest.raises(ValueError, match="chance in skystones has more than"):
        openspiel.load_game("skystones", chance="explicit")
    with pytest.raises(KeyError, match="no game 'chess'"):
        openspiel.load_game("chess")
