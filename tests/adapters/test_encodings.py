"""The numbers of a view, scaled and one-hot: what each column says, and what an observation has."""

import pytest

pytest.importorskip("pettingzoo", reason="needs the extra pettingzoo: make tools")

import numpy as np

from adapters import encodings, pettingzoo, vector
from engine import games

SEED = 7
LABELS = ["seat", "phase", "cards", "never"]
LOW, HIGH = [0, 1, 0, 5], [1, 3, 40, 5]


def test_a_column_is_a_value_or_says_how_large_a_number_is():
    encoding = encodings.Encoding(LABELS, LOW, HIGH)
    assert encoding.labels == ["seat=0", "seat=1", "phase=1", "phase=2", "phase=3", "cards"]
    seen = encoding([[0, 1, 0, 5], [1, 3, 10, 5], [1, 2, 40, 5]])
    assert seen.tolist() == [
        [1, 0, 1, 0, 0, 0],
        [0, 1, 0, 0, 1, 0.25],
        [0, 1, 0, 1, 0, 1],
    ]
    # Beyond what is known.
    assert encoding([2, 0, 50, 7]).tolist() == [0, 0, 0, 0, 0, 1]
    assert encoding([2, 0, -3, 7]).tolist() == [0, 0, 0, 0, 0, 0]


def test_all_numbers_can_be_scaled():
    encoding = encodings.Encoding(LABELS, LOW, HIGH, one_hot=1)
    assert encoding.labels == ["seat", "phase", "cards"]
    assert encoding([1, 2, 30, 5]).tolist() == [1, 0.5, 0.75]


@pytest.mark.parametrize("game", games())
def test_an_observation_has_the_columns_of_its_encoding(game):
    encoding = encodings.survey(game, matches=50, seed=SEED)
    again = encodings.survey(game, matches=50, seed=SEED)
    assert encoding.labels == again.labels
    assert len(set(encoding.labels)) == len(encoding.labels) > 0
    plain, coded = (vector.env(game, 6, encoding=each) for each in (None, encoding))
    assert coded.labels == encoding.labels
    rng = np.random.default_rng(SEED)
    numbers, shown = plain.reset(seed=SEED)[0], coded.reset(seed=SEED)[0]
    for _ in range(30):
        assert coded.observation_space.contains(shown)
        assert np.array_equal(shown["observation"], encoding(numbers["observation"]))
        chosen = vector.random_numbers(numbers["action_mask"], rng)
        numbers, shown = plain.step(chosen)[0], coded.step(chosen)[0]
        # One value of a number at a time.
        hot = [label.split("=")[0] for label in encoding.labels if "=" in label]
        for name in {*hot}:
            columns = [
                at for at, label in enumerate(encoding.labels) if label.startswith(f"{name}=")
            ]
            assert (shown["observation"][:, columns].sum(1) <= 1).all()


@pytest.mark.parametrize("made", [pettingzoo.env, pettingzoo.parallel_env])
def test_it_is_that_of_one_match_too(made):
    encoding = encodings.survey("skystones", matches=50)
    env = made("skystones", encoding=encoding)
    env.reset(seed=SEED)
    assert env.labels == encoding.labels
    seen = env.table.observe(0)
    assert env.observation_space("seat_0").contains(seen)
    assert seen["observation"].shape == (len(encoding.labels),)


@pytest.mark.parametrize("made", [pettingzoo.env, lambda game, **each: vector.env(game, 2, **each)])
def test_that_of_another_game_is_refused(made):
    encoding = encodings.survey("kuhn_poker", matches=50)
    with pytest.raises(ValueError, match="another game"):
        made("skystones", encoding=encoding)


def test_a_game_that_there_is_not_is_named():
    with pytest.raises(ValueError, match="there is no game 'poker', only"):
        encodings.survey("poker")
