"""Playout policies choose legally, sensibly and only by what their seat knows."""

import itertools
import random
import zlib
from collections import Counter

import pytest

from ai.results import Parameters
from ai.search import search
from engine import games
from engine.features import Features
from engine.game import Game
from engine.model import learned, nothing
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from lab.chi_squared import compare, upper_tail
from tests.games import facts_of
from tests.support.long_form import LONG_FORM
from tests.support.models import positions as match_positions
from tests.support.models import random_model
from tests.support.play import cases, game_of, note_on_failure, random_joint, seeded

MATCHES = 10 if LONG_FORM else 5
WORLDS = 5
PLAYED_ON = 1_000  # Playouts by the rules, from each of so many positions:
STARTS = 4
LEAST_P = 1e-6

GAMES = [pytest.param(game_class(), id=game_id) for game_id, game_class in games().items()]
HOSTED = [one for one in GAMES if not one.values[0].reference]


def positions(game: Game, seed: int) -> list[Position]:
    """Return all positions of a random match in which a seat must decide."""
    return list(match_positions(game, seed))[:-1]


def policies(game: Game, seed: int) -> list[PlayoutPolicy]:
    """Return the policy of a game and, if something can be learned of it, one with a model."""
    models = [] if Features.of(game) is None else [random_model(game, seed)]
    return [PlayoutPolicy.of(game), *(PlayoutPolicy.of(game, model) for model in models)]


@pytest.mark.parametrize("game", GAMES)
def test_its_choices_are_legal_and_its_estimates_are_probabilities(game: Game) -> None:
    for seed, policy in ((n, each) for n in range(MATCHES) for each in policies(game, n)):
        stage = -1
        for ply, position in enumerate(positions(game, seed)):
            where = f"seed {seed}, ply {ply}"
            for seat in position.deciders:
                for chance in range(3):
                    assert policy.action(position, seat, chance) in position.legal(seat), where
            score, draw = policy.score(position)
            assert draw / 2 <= score <= 1 - draw / 2 and draw >= 0, where
            assert policy.at(position) >= stage, where
            stage = policy.at(position)


@pytest.mark.parametrize("game", GAMES)
def test_it_chooses_by_what_its_seat_knows(game: Game) -> None:
    for seed, policy in ((n, each) for n in range(MATCHES // 2) for each in policies(game, n)):
        for ply, position in enumerate(positions(game, seed)[::4]):
            for seat in position.deciders:
                sampler = Sampler.of(position.view(seat))
                worlds = [sampler.sample(world) for world in range(WORLDS)]
                chosen = {policy.action(world, seat, ply) for world in worlds}
                assert chosen == {policy.action(position, seat, ply)}, f"seed {seed}, ply {ply * 4}"


@pytest.mark.parametrize("game", HOSTED)
def test_it_beats_random_play(game: Game) -> None:
    policy = PlayoutPolicy.of(game)
    score = 0.0
    for seed, informed in itertools.product(range(25), (0, 1)):
        chance = random.Random(seed)
        position = Position.deal(game, seed)
        for ply in itertools.count():
            if position.over:
                break
            joint = {
                seat: policy.action(position, seat, seed * 7_919 + ply)
                if seat == informed
                else chance.choice(position.legal(seat))
                for seat in position.deciders
            }
            position.apply(joint, seed * 100_003 + ply)
        assert position.scores is not None
        score += position.scores[informed]
    # Each policy scores at least 95 % over hundreds of matches.
    assert score / 50 > 0.8


@pytest.mark.parametrize("game", GAMES)
def test_both_seats_expect_equal_scores_over_many_deals(game: Game) -> None:
    # Both seats have the same chances, so over many deals their mean scores are equal.
    scores = [
        PlayoutPolicy.of(game).playouts(Position.deal(game, seed), 20, seed)[0]
        for seed in range(200)
    ]
    mean = sum(scores) / len(scores)
    deviation = (sum((score - mean) ** 2 for score in scores) / len(scores) ** 2) ** 0.5
    assert abs(mean - 0.5) < 5 * deviation


def test_a_node_tries_few_of_many_actions_first() -> None:
    game = games()["castle_rampage"]()
    alone = [one for seed in range(5) for one in positions(game, seed) if len(one.deciders) == 1]
    position = max(alone, key=lambda one: len(one.legal(one.deciders[0])))
    view = position.view(position.deciders[0])
    legal = len(position.legal(position.deciders[0]))

    def tried(iterations: int, widening: float) -> int:
        parameters = Parameters(widening=widening)
        result = search(view, iterations=iterations, seed=1, parameters=parameters)
        return sum(one.visits > 0 for one in result.actions)

    assert tried(400, 0.5) <= 0.5 * 400**0.5 + 1
    assert tried(400, 0.5) < tried(1_600, 0.5) < tried(1_600, 1) <= legal
    assert tried(2 * legal, 0) == legal


# Of the choices and estimates below. Matches have shown what they are worth, so a policy that was
# not meant to change gives the same ones.
CHECKSUMS = {
    "castle_rampage": 3_428_874_817,
    "champion_chess": 1_973_483_845,
    "powershot_soccer": 1_181_802_319,
    "skystones": 3_265_184_109,
}


@pytest.mark.parametrize("game_id", CHECKSUMS)
def test_its_choices_and_estimates_are_those_that_were_measured(game_id: str) -> None:
    facts = facts_of(game_id)
    checksum = 0
    for name in (*facts.rulesets, *facts.small_rulesets):
        game, _ = game_of(game_id, name)
        policy = PlayoutPolicy.of(game)
        for seed in range(5):
            rng = seeded("choices", game_id, name, seed)
            position = Position.deal(game, seed)
            while not position.over:
                joint = random_joint(position, rng)
                found: list[float] = [round(each, 9) for each in policy.score(position)]
                for seat in joint:
                    chosen = [policy.action(position, seat, rng.getrandbits(64)) for _ in range(5)]
                    found += chosen
                    if rng.random() < 0.5:
                        joint[seat] = chosen[0]
                checksum = zlib.crc32(repr(found).encode(), checksum)
                position.apply(joint, rng.getrandbits(64))
    assert checksum == CHECKSUMS[game_id]


def played_on(policy: PlayoutPolicy, position: Position, rng: random.Random) -> tuple[float, float]:
    """The score and the draw at the end of a playout whose choices are applied by the rules."""
    position = position.copy()
    end = policy.at(position) + policy.horizon
    while not position.over and policy.at(position) < end:
        joint = {
            seat: policy.action(position, seat, rng.getrandbits(64)) for seat in position.deciders
        }
        position.apply(joint, rng.getrandbits(64))
    if position.scores is None:
        return policy.score(position)
    return position.scores[0], position.scores[0] == 0.5


ALL_CASES = {one.id: one for one in (*cases("rulesets"), *cases("small_rulesets"))}


@pytest.mark.parametrize(("game_id", "ruleset"), ALL_CASES.values())
def test_its_playouts_are_play_by_its_choices(game_id: str, ruleset: str) -> None:
    # Playouts have forms of positions, and rules, of their own.
    game, _ = game_of(game_id, ruleset)
    # In Champion Chess, only what a search tries in its tree is learned.
    model = nothing(game) if game_id == "champion_chess" else learned(game)
    policies = {"uniform": PlayoutPolicy.uniform(game), "own": PlayoutPolicy.of(game, model)}
    if Features.of(game) is not None and game_id != "champion_chess":
        policies["random"] = PlayoutPolicy.of(game, random_model(game, 5))
    statistic, freedom = 0.0, 0
    for name, policy in policies.items():
        rng = seeded("playouts", game_id, ruleset, name)
        for seed in range(STARTS):
            with note_on_failure(policy=name, seed=seed):
                found = positions(game, seed)
                position = found[(seed + 1) * (len(found) - 1) // STARTS]
                fast, slow = (
                    Counter(tuple(round(float(each), 9) for each in one) for one in several)
                    for several in (
                        [
                            policy.playouts(position, 1, rng.getrandbits(64))
                            for _ in range(10 * PLAYED_ON)
                        ],
                        [played_on(policy, position, rng) for _ in range(PLAYED_ON)],
                    )
                )
                chi, degrees = compare(fast, slow)
                assert upper_tail(chi, degrees) > LEAST_P, f"{fast}, {slow}"
                statistic, freedom = statistic + chi, freedom + degrees
    assert freedom > 0
    assert upper_tail(statistic, freedom) > LEAST_P
