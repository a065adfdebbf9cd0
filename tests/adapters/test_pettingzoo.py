"""The games as environments of PettingZoo: PettingZoo's own tests, secrecy, numbers and rewards."""

import copy
import functools
import os
import pickle
import subprocess
import sys

import pytest

pytest.importorskip("pettingzoo", reason="needs the extra pettingzoo: make tools")

import numpy as np
from pettingzoo.test import (
    api_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
)

from adapters import pettingzoo
from engine import games
from engine.encoding import Numbering, labels, numbers, survey
from engine.position import Position
from engine.sampler import Sampler
from tests.support.long_form import LONG_FORM
from tests.support.planted_games import plant_new_game
from tests.support.play import note_on_failure, seeded

GAMES = list(games())
CYCLES = 1000 if LONG_FORM else 100
SEED = 7


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.filterwarnings("ignore:Observation is not a NumPy array")
@pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be")
@pytest.mark.filterwarnings("error")
def test_tests_of_pettingzoo_pass(game):
    api_test(pettingzoo.env(game), num_cycles=CYCLES)
    parallel_api_test(pettingzoo.parallel_env(game), num_cycles=CYCLES)
    seed_test(lambda: pettingzoo.env(game), num_cycles=CYCLES)
    parallel_seed_test(lambda: pettingzoo.parallel_env(game), num_cycles=CYCLES)
    render_test(functools.partial(pettingzoo.env, game))


def test_games_of_packages_are_played(tmp_path):
    plant_new_game(tmp_path)
    code = """if True:
        from pettingzoo.test import api_test, parallel_api_test
        from adapters import pettingzoo, vector
        api_test(pettingzoo.env("high_card"), num_cycles=50)
        parallel_api_test(pettingzoo.parallel_env("high_card"), num_cycles=50)
        env = pettingzoo.env("high_card", render_mode="ansi")
        env.reset(seed=1)
        print(env.render())
        both = vector.parallel_env("high_card", 2)
        seen, _ = both.reset()
        assert both.step({"seat_0": [0, 0], "seat_1": [0, 0]})[0]["seat_0"]["observation"].any()
    """
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "hand" in done.stdout


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_of_an_environment_plays_on_as_the_environment_does(game, copied):
    env = pettingzoo.env(game)
    env.reset(seed=SEED)
    for played in range(2):
        other = copied(env)
        while env.agents:
            observation, *_ = env.last()
            assert same(observation, other.last()[0])
            over = env.terminations[env.agent_selection]
            action = None if over else int(observation["action_mask"].argmax())
            env.step(action)
            other.step(action)
            assert env.rewards == other.rewards
        assert not other.agents
        if not played:
            env.reset()  # The next match, which the copy deals too.


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("game", GAMES)
def test_an_observation_depends_on_what_its_seat_may_know_alone(game):
    # Other worlds that have shown the seat the same look the same; to the other seat they do not.
    env = pettingzoo.parallel_env(game)
    rng = seeded(SEED, game)
    other_seat_differs = 0
    with note_on_failure(seed=SEED):
        observations, _ = env.reset(seed=SEED)
        for _ in range(12):
            if not env.agents:
                break
            position, infos = env.table.position, [env.table.info(seat) for seat in (0, 1)]
            for seat, agent in enumerate(pettingzoo.AGENTS):
                world = Sampler.of(position.view(seat)).sample(rng.getrandbits(64))
                env.table.position = world
                env.table._look()
                assert same(env.table.observe(seat), observations[agent])
                assert env.table.info(seat) == infos[seat]
                other = observations[pettingzoo.AGENTS[1 - seat]]
                other_seat_differs += not same(env.table.observe(1 - seat), other)
            env.table.position = position
            env.table._look()
            legal = {a: np.flatnonzero(o["action_mask"]).tolist() for a, o in observations.items()}
            observations, *_ = env.step({a: rng.choice(each) for a, each in legal.items()})
    assert other_seat_differs


def test_a_simultaneous_decision_is_hidden_until_both_have_decided():
    env = pettingzoo.env("champion_chess")
    env.reset(seed=SEED)
    before, info = env.observe("seat_1"), env.infos["seat_1"]
    for number in np.flatnonzero(env.observe("seat_0")["action_mask"]):
        env.reset(seed=SEED)
        env.step(number)
        assert env.agent_selection == "seat_1"
        assert same(env.observe("seat_1"), before)
        assert env.infos["seat_1"] == info


@pytest.mark.parametrize("game", GAMES)
def test_numbers_mean_what_infos_and_observations_say(game):
    env = pettingzoo.env(game)
    env.reset(seed=SEED)
    rng = seeded(SEED, game)
    for agent in env.agent_iter(40):
        observation, _, over, _, info = env.last()
        if over:
            break
        legal = env.table.position.legal(pettingzoo.AGENTS.index(agent))
        read = env.table.game.read_action
        assert info["actions"] == dict(enumerate(map(read, legal)))
        codes = observation["actions"].view("<u8").ravel()
        assert codes[: len(legal)].tolist() == list(legal)
        assert not codes[len(legal) :].any()
        assert np.flatnonzero(observation["action_mask"]).tolist() == list(range(len(legal)))
        assert observation["observation"][0] == pettingzoo.AGENTS.index(agent)
        assert len(env.labels) == len(observation["observation"])
        env.step(rng.choice(list(info["actions"])))


def test_a_table_gives_an_action_the_same_number_everywhere():
    game = games()["kuhn_poker"]()
    table = survey(game, 20)
    assert [game.read_action(code)["kind"] for code in table] == ["check", "bet", "call", "fold"]
    env = pettingzoo.env("kuhn_poker", table=table, spare=0)
    env.reset(seed=SEED)
    env.step(1)
    assert {n: each["kind"] for n, each in env.infos["seat_1"]["actions"].items()} == {
        2: "call",
        3: "fold",
    }
    assert env.action_space("seat_0").n == 4


def test_actions_that_a_table_lacks_get_the_spare_numbers():
    numbering = Numbering([20, 40], spare=2)
    assert numbering.numbered([10, 20, 30, 40]) == {0: 20, 1: 40, 2: 10, 3: 30}
    with pytest.raises(ValueError, match=r"3 legal actions .* 2 spare"):
        numbering.numbered([10, 30, 50])


def test_a_survey_finds_all_actions_of_a_small_game_and_repeats():
    game = games()["powershot_soccer"]()
    assert survey(game, 4) == survey(game, 4) != survey(game, 4, seed=1)


def test_views_are_flattened_in_the_order_of_their_labels():
    fields = {"seat": 1, "sides": [{"hand": [2, 3]}, {"hand": [4, 5]}], "over": 6}
    assert numbers(fields) == [1, 2, 3, 4, 5, 6]
    leduc = games()["leduc_poker"]()
    view = Position.deal(leduc, 1).view(0)
    named = dict(zip(labels(leduc), numbers(view.fields), strict=True))
    assert named["cards[0]"] == view.fields["cards"][0] > 0
    assert list(named)[:4] == ["seat", "cards[0]", "cards[1]", "common"]


@pytest.mark.parametrize("game", ["champion_chess", "skystones"])
def test_rewards_are_those_of_the_result(game):
    env = pettingzoo.env(game)
    rng = seeded(SEED, game)
    totals = dict.fromkeys(pettingzoo.AGENTS, 0)
    env.reset(seed=SEED)
    for agent in env.agent_iter():
        observation, reward, over, _, _ = env.last()
        totals[agent] += reward
        numbers = np.flatnonzero(observation["action_mask"])
        env.step(None if over else rng.choice(numbers))
    assert list(totals.values()) == [2 * score - 1 for score in env.table.position.scores]


def test_an_illegal_number_loses():
    env = pettingzoo.env("powershot_soccer")
    env.reset(seed=SEED)
    loser = env.agent_selection
    env.step(4000)
    assert env.terminations == {"seat_0": True, "seat_1": True}
    assert env.rewards == {agent: -1 if agent == loser else 1 for agent in env.agents}
    both = pettingzoo.parallel_env("champion_chess")
    both.reset(seed=SEED)
    _, rewards, over, _, _ = both.step({"seat_0": 4000, "seat_1": 4000})
    assert rewards == {"seat_0": -1, "seat_1": -1}
    assert all(over.values())
    assert not both.agents


def test_games_that_there_are_not_are_refused():
    with pytest.raises(ValueError, match="no game 'chess', only castle_rampage"):
        pettingzoo.env("chess")
