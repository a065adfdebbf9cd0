"""Many matches at once as environments: what a step returns, opponents, and new deals."""

import pytest

pytest.importorskip("pettingzoo", reason="needs the extra pettingzoo: make tools")

import numpy as np

from adapters import pettingzoo, vector
from engine import games

GAMES = list(games())
SEED = 7
SIZE = 6


def play(env, steps, observations):
    for _ in range(steps):
        numbers = vector.random_numbers(observations["action_mask"], env.np_random)
        result = env.step(numbers)
        observations = result[0]
        yield numbers, result


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("seat", [0, 1, None])
def test_an_agent_decides_at_every_step_until_a_match_is_over(game, seat):
    env = vector.env(game, SIZE, seat=seat)
    observations, infos = env.reset(seed=SEED)
    assert env.seats.tolist() == ([0, 1] * 3 if seat is None else [seat] * SIZE)
    over = np.zeros(SIZE, bool)
    first = (None, (observations, 0 * over, over, over, infos))
    for numbers, result in [first, *play(env, 60, observations)]:
        observations, rewards, terminations, truncations, infos = result
        assert env.observation_space.contains(observations)
        assert numbers is None or env.action_space.contains(numbers)
        assert not truncations.any()
        assert (infos["decides"] == ~terminations).all()
        assert (observations["observation"][:, 0] == env.seats).all()
        assert not rewards[~terminations].any()
        legal = observations["action_mask"] != 0
        assert (observations["actions"].any(-1) == legal)[infos["decides"]].all()
        assert (legal.sum(1) == 1)[terminations].all()


def test_it_sees_what_the_environment_of_one_match_sees():
    env = vector.env("skystones", SIZE)
    observations, _ = env.reset(seed=SEED)
    one = pettingzoo.env("skystones")
    one.reset()
    for _, (seen, *_) in play(env, 30, observations):
        for match, seat in enumerate(env.seats.tolist()):
            one.table.position = env.batch.position(match)
            one.table._look()
            expected = one.table.observe(seat)
            assert all(np.array_equal(seen[key][match], expected[key]) for key in expected)


def test_a_seed_repeats_also_what_the_opponent_does():
    def told(seed):
        env = vector.env("powershot_soccer", SIZE)
        observations, _ = env.reset(seed=seed)
        return [result[0]["observation"].tolist() for _, result in play(env, 30, observations)]

    assert told(SEED) == told(SEED) != told(SEED + 1)


def test_without_copies_what_was_returned_changes():
    for copied in (True, False):
        env = vector.parallel_env("kuhn_poker", SIZE, copy=copied)
        first, _ = env.reset(SEED)
        before = first["seat_0"]["action_mask"].copy()
        env.step({agent: np.zeros(SIZE, int) for agent in env.possible_agents})
        assert np.array_equal(first["seat_0"]["action_mask"], before) == copied


def test_a_search_beats_play_at_random():
    env = vector.env("skystones", 4, opponent=40, seat=0)
    observations, _ = env.reset(seed=SEED)
    lost = [
        reward
        for _, (_, rewards, over, *_) in play(env, 60, observations)
        for reward in rewards[over].tolist()
    ]
    assert len(lost) >= 4 and np.mean(lost) < -0.5


@pytest.mark.parametrize("game", GAMES)
def test_both_seats_are_rewarded_with_opposites(game):
    env = vector.parallel_env(game, SIZE)
    rng = np.random.default_rng(SEED)
    observations, infos = env.reset(SEED)
    over = np.zeros(SIZE, bool)
    for _ in range(60):
        numbers = {
            agent: vector.random_numbers(seen["action_mask"], rng)
            for agent, seen in observations.items()
        }
        was_over = over
        observations, rewards, terminations, _, infos = env.step(numbers)
        over = terminations["seat_0"]
        assert not (over & was_over).any(), "a match that was over has begun anew"
        assert np.allclose(rewards["seat_0"], -rewards["seat_1"])
        assert not rewards["seat_0"][~over].any()
        decide = infos["seat_0"]["decides"] | infos["seat_1"]["decides"]
        assert (decide == ~over).all()


def test_what_is_wrong_is_refused():
    with pytest.raises(ValueError, match="no game 'chess'"):
        vector.env("chess", 2)
    with pytest.raises(ValueError, match="'strong'"):
        vector.env("skystones", 2, opponent="strong")
    with pytest.raises(ValueError, match="0, 1 or None, not 2"):
        vector.env("skystones", 2, seat=2)
    with pytest.raises(ValueError, match="at least one match"):
        vector.env("skystones", 0)
