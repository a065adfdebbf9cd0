"""AIVAT: corrections are 0 on average whatever is played, and they take variance away."""

import itertools
import json
import math
import random
import statistics
import subprocess
import sys
import zlib

import pytest

from ai.luck import Luck
from ai.search import search
from ai.strengths import STRENGTHS
from engine import games
from engine.model import nothing
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import KnownWorld
from lab import arena, elo
from lab.arena import Pairing, Task
from lab.players import BotPlayer, Configuration
from tests.support.long_form import LONG_FORM
from tests.support.play import note_on_failure

GAMES = list(games())
PILES = ["castle_rampage", "champion_chess", "powershot_soccer"]
SAMPLES = 3
STEPS = 1_500 if LONG_FORM else 600


def match_of(luck, game, rng, shares_of):
    """The corrections of a match in which each action is drawn from its shares, and its score."""
    position = Position.deal(game, rng.getrandbits(64))
    found = []
    while not position.over:
        shares = [shares_of(position, seat) for seat in (0, 1)]
        joint = {
            seat: rng.choices(*zip(*shares[seat], strict=True))[0] for seat in position.deciders
        }
        after = position.copy()
        after.apply(joint, rng.getrandbits(64))
        found.append(luck.correction(position, shares, after, rng.getrandbits(64)))
        position = after
    return found, position.scores[0]


def check_zero(steps, seed=""):
    """Check that each step is 0 on average given those before it: their sum is about normal."""
    z = sum(steps) / math.sqrt(sum(step * step for step in steps))
    assert any(steps)
    assert abs(z) < 4, f"seed {seed!r}: z = {z:.1f}"


def uneven(position, seat):
    """Shares that fall with the number of the action: 1/2, 1/3, 1/4 and so on, of their sum."""
    weights = [(action, 1 / (2 + i)) for i, action in enumerate(position.legal(seat))]
    total = sum(weight for _, weight in weights)
    return [(action, weight / total) for action, weight in weights]


def by_search(position, seat):
    """The shares of a short search."""
    if len(position.legal(seat)) < 2:
        return [(action, 1.0) for action in position.legal(seat)]
    found = search(position.view(seat), iterations=25, seed=zlib.crc32(bytes(position)))
    return [(one.action, one.probability) for one in found.actions]


def by_policy(position, seat):
    """The action of the policy by which playouts go on, for certain."""
    game = position.game
    if not position.legal(seat):
        return []
    seed = zlib.crc32(bytes(position))
    # In Champion Chess, playouts do not go by what is learned.
    policy = PlayoutPolicy.of(game, nothing(game) if game.id == "champion_chess" else None)
    return [(policy.action(position, seat, seed), 1.0)]


@pytest.mark.parametrize(
    ("game_id", "shares_of"),
    [*itertools.product(GAMES, (uneven, by_search)), *((game_id, by_policy) for game_id in PILES)],
)
def test_corrections_are_0_on_average(game_id, shares_of):
    game = games()[game_id]()
    luck = Luck(game, SAMPLES, 3)
    if shares_of is by_policy:
        # As if the order of each pile were known: then only what is drawn by a step itself is luck,
        # and few outcomes are enumerated.
        luck.piles = 0
    rng = random.Random(game_id)
    steps = []
    while len(steps) < STEPS:
        steps += match_of(luck, game, rng, shares_of)[0]
    check_zero(steps, game_id)


@pytest.mark.parametrize("seed", range(3))
def test_a_decision_is_drawn_from_its_shares(seed):
    # The same decision again and again, of which the last action is the likeliest.
    game = games()["champion_chess"]()
    luck = Luck(game, SAMPLES, 3)
    rng = random.Random(seed)
    position = Position.deal(game, seed)
    legal = [position.legal(seat) for seat in (0, 1)]
    while min(map(len, legal)) < 2:
        position.apply({seat: legal[seat][0] for seat in position.deciders}, rng.getrandbits(64))
        legal = [position.legal(seat) for seat in (0, 1)]
    weights = [[1 + 9 * (action == actions[-1]) for action in actions] for actions in legal]
    shares = [
        [(action, weight / sum(each)) for action, weight in zip(actions, each, strict=True)]
        for actions, each in zip(legal, weights, strict=True)
    ]
    steps = []
    for _ in range(3_000):
        joint = {seat: rng.choices(legal[seat], weights[seat])[0] for seat in (0, 1)}
        after = luck.shuffled(position, rng.getrandbits(64))
        after.apply(joint, rng.getrandbits(64))
        steps.append(luck.correction(position, shares, after, rng.getrandbits(64)))
    check_zero(steps)


def test_in_kuhn_poker_the_expectation_stays_and_the_variance_falls():
    # All deals and all decisions of two mixed strategies, with their exact probabilities.
    game = games()["kuhn_poker"]()
    luck = Luck(game, SAMPLES, 100)
    strategies = random.Random(3), random.Random(4)
    risks = [[[rng.random() for _ in range(3)] for _ in range(4)] for rng in strategies]

    def shares_of(position, seat):
        legal = position.legal(seat)
        if not legal:
            return []
        fields = position.fields
        made = sum(1 for decision in fields["decisions"] if decision)
        risk = risks[seat][made][fields["cards"][seat] - 1]
        return list(zip(legal, (risk, 1 - risk), strict=True))

    def outcomes(position, probability, correction):
        if position.over:
            yield probability, position.scores[0], correction
            return
        shares = [shares_of(position, seat) for seat in (0, 1)]
        (seat,) = position.deciders
        for action, share in shares[seat]:
            after = position.copy()
            after.apply({seat: action}, 0)
            step = luck.correction(position, shares, after, 77)
            yield from outcomes(after, probability * share, correction + step)

    found = []
    for cards in itertools.permutations((1, 2, 3), 2):
        fields = {"cards": list(cards), "common": 0, "decisions": [0, 0, *[0] * 6]}
        found += outcomes(Position.from_fields(game, fields), 1 / 6, 0.0)
    assert sum(p for p, _, _ in found) == pytest.approx(1)
    assert sum(p * correction for p, _, correction in found) == pytest.approx(0, abs=1e-12)
    mean = sum(p * score for p, score, _ in found)
    plain = sum(p * (score - mean) ** 2 for p, score, _ in found)
    corrected = sum(p * (score + correction - mean) ** 2 for p, score, correction in found)
    assert corrected < 0.9 * plain


@pytest.mark.parametrize("game_id", GAMES)
def test_a_step_without_luck_is_not_corrected(game_id):
    game = games()[game_id]()
    luck = Luck(game, SAMPLES, 3)
    corrected = 0
    for seed in range(4):
        rng = random.Random(seed)
        position = Position.deal(game, seed)
        while not position.over:
            joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
            shares = [[(joint[seat], 1.0)] if seat in joint else [] for seat in (0, 1)]
            after = position.copy()
            after.apply(joint, rng.getrandbits(64))
            step = luck.correction(position, shares, after, rng.getrandbits(64))
            corrected += step != 0
            if step:
                with note_on_failure(seed=seed):
                    assert len(set(draws(luck, position, joint))) > 1
            position = after
    # The other games have no chance after the deal.
    assert bool(corrected) == (game_id in PILES)


def draws(luck, before, joint):
    """What both seats see after a step, with chance of other seeds."""
    for seed in range(200):
        after = luck.shuffled(before, seed)
        after.apply(joint, seed)
        yield after.view(0), after.view(1)


@pytest.mark.parametrize(("game_id", "matches"), [("champion_chess", 120), ("castle_rampage", 40)])
def test_corrections_take_variance_away(game_id, matches):
    game = games()[game_id]()
    luck = Luck(game, 8, 8)
    rng = random.Random(6)
    plain, corrected = [], []
    for _ in range(matches):
        steps, score = match_of(luck, game, rng, by_policy)
        plain.append(score)
        corrected.append(score + sum(steps))
    assert statistics.variance(corrected) < 0.9 * statistics.variance(plain)


@pytest.mark.parametrize("game_id", GAMES)
def test_the_order_of_a_pile_is_drawn_again_and_nothing_else(game_id):
    game = games()[game_id]()
    luck = Luck(game, SAMPLES, 3)
    changed = 0
    for seed in range(5):
        rng = random.Random(seed)
        position = Position.deal(game, seed)
        with note_on_failure(seed=seed):
            while not position.over:
                other = luck.shuffled(position, rng.getrandbits(64))
                changed += other != position
                assert all(other.view(seat) == position.view(seat) for seat in (0, 1))
                joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
                position.apply(joint, rng.getrandbits(64))
    assert bool(changed) == (game_id in PILES)


@pytest.mark.parametrize(
    ("game_id", "cards"),
    [
        ("castle_rampage", lambda fields: fields["common"]["draw_size"]),
        ("champion_chess", lambda fields: sum(side["deck_size"] for side in fields["side"])),
        ("powershot_soccer", lambda fields: sum(fields["common"]["draw_sizes"])),
    ],
)
def test_every_place_of_a_pile_takes_part(game_id, cards):
    game = games()[game_id]()
    luck = Luck(game, SAMPLES, 3)
    position = Position.deal(game, 3)
    before = bytes(position)
    changed = set()
    for seed in range(200):
        after = bytes(luck.shuffled(position, seed))
        changed |= {i for i in range(len(before)) if before[i] != after[i]}
    assert len(changed) == cards(position.fields)


# Pairs


@pytest.mark.parametrize("game_id", GAMES)
def test_corrections_cancel_where_both_games_are_alike(game_id):
    for pair in range(3):
        found = arena.play_pair(Task(game_id, "random", "random", 2, pair, playouts=4))
        assert found.corrections[0] == -found.corrections[1]
        assert found.correction == 0
        assert any(found.corrections) or game_id == "kuhn_poker"


def test_corrections_change_no_game_and_are_made_only_if_asked():
    task = Task("castle_rampage", "search:iterations=30", "random", 2, 0)
    plain, corrected = arena.play_pair(task), arena.play_pair(task._replace(playouts=4))
    assert (plain.scores, plain.actions) == (corrected.scores, corrected.actions)
    assert plain.corrections == (0, 0) != corrected.corrections
    assert plain.correction_seconds == 0 < corrected.correction_seconds
    assert corrected.correction_seconds < corrected.processor_seconds


def test_the_second_game_counts_for_the_other_seat(monkeypatch):
    class Steps(arena.Steps):
        def decided(self, seat, action, shares, happened):
            self.correction = 0.25

    monkeypatch.setattr(arena, "Steps", Steps)
    found = arena.play_pair(Task("kuhn_poker", "random", "casual", 2, 0, playouts=4))
    assert found.corrections == (0.25, -0.25)


@pytest.mark.parametrize("game_id", GAMES)
def test_a_step_has_the_decisions_of_its_seats(game_id, monkeypatch):
    told = []

    class Spy:
        def correction(self, before, choices, after, seed):
            for seat in (0, 1):
                legal = before.legal(seat) if seat in before.deciders else ()
                assert dict(choices[seat]) == {action: 1 / len(legal) for action in legal}
            told.append((before, after, seed))
            return 0.0

    monkeypatch.setattr(arena, "luck_of", lambda task, samples: Spy())
    arena.play_pair(Task(game_id, "random", "random", 2, 0, playouts=1))
    half = len(told) // 2
    assert told[:half] == told[half:], "both games share the random numbers of their corrections"
    assert len({seed for _, _, seed in told}) == half
    for (_, after, _), (before, _, _) in itertools.pairwise(told[:half]):
        assert after == before
    assert told[-1][1].over


def test_players_tell_the_distribution_of_their_action():
    game = games()["champion_chess"]()
    position = Position.deal(game, 1)
    view, legal = position.view(0), position.legal(0)
    player = Configuration.read("search:iterations=200,model=none").player()
    result = search(view, iterations=200, seed=9, model=nothing(game))
    choice = player.choose(view, legal, 9)
    assert dict(choice.shares) == {
        one.action: one.probability for one in result.actions if one.probability > 0
    }
    assert sum(dict(choice.shares).values()) == pytest.approx(1)
    slipped = BotPlayer(STRENGTHS["random"]).choose(view, legal, 9)
    assert dict(slipped.shares) == dict.fromkeys(legal, 1 / len(legal))
    assert Configuration.read("policy").player().choose(view, legal, 9).shares == ()


def test_a_searched_action_is_drawn_from_its_shares():
    # As often as the shares say, over many searches with seeds of their own.
    game = games()["kuhn_poker"]()
    player = Configuration.read("search:iterations=200").player()
    differences = []
    for seed in range(600):
        position = Position.deal(game, seed)
        choice = player.choose(position.view(0), position.legal(0), seed)
        action, share = choice.shares[0]
        differences.append(share - (choice.action == action))
    check_zero(differences)


# Statistics


def test_few_pairs_are_corrected_in_full():
    found = elo.Corrected.of([0.5, 1.0, 0.0], [0.1, -0.3, 0.3])
    assert found.coefficient == 1
    assert found.score.estimate == pytest.approx((0.6 + 0.7 + 0.3) / 3)
    assert found.variance_ratio == pytest.approx(
        statistics.pvariance([0.6, 0.7, 0.3]) / statistics.pvariance([0.5, 1.0, 0.0])
    )
    half = elo.Z * statistics.stdev([0.6, 0.7, 0.3]) / math.sqrt(3)
    assert found.score.low == pytest.approx(found.score.estimate - half)
    assert found.elo.estimate == elo.elo_of(found.score.estimate)


def test_one_pair_has_no_interval():
    assert elo.Corrected.of([1.0], [-0.25]) == (elo.Interval(0.75, 0.0, 1.0), None, 1.0)


@pytest.mark.parametrize(
    ("gain", "noise", "coefficient", "ratio"),
    [
        (1, 0, 1, 1 / 5),  # All luck is seen: what stays is a quarter of it.
        (0.5, 0, 2, 1 / 5),
        (1, 1, 0.5, 3 / 5),
        (0, 1, 0, 1),
    ],
)
def test_the_coefficient_leaves_the_least_variance(gain, noise, coefficient, ratio):
    rng = random.Random(8)
    scores, corrections = [], []
    for _ in range(4_000):
        luck, rest = rng.gauss(0, 0.2), rng.gauss(0, 0.1)
        scores.append(0.6 + luck + rest)
        corrections.append(-gain * luck + noise * rng.gauss(0, 0.2))
    found = elo.Corrected.of(scores, corrections)
    assert found.coefficient == pytest.approx(coefficient, abs=0.05)
    assert found.variance_ratio == pytest.approx(ratio, abs=0.05)
    assert found.score.low < 0.6 < found.score.high


def test_a_coefficient_does_not_depend_on_its_own_pair():
    # The mean over many short runs would be off if it did: here the score falls with the square of
    # the correction.
    rng = random.Random(9)
    means = []
    for _ in range(3_000):
        corrections = [rng.choice((-1.0, -1.0, 2.0)) for _ in range(22)]
        scores = [0.5 - 0.3 * each * each for each in corrections]
        shifted = [score + rng.gauss(0, 0.1) for score in scores]
        mean = statistics.fmean(shifted)
        means.append(elo.Corrected.of(shifted, corrections).score.estimate - mean)
    error = statistics.stdev(means) / math.sqrt(len(means))
    assert abs(statistics.fmean(means)) < 4 * error


# Runs


def test_a_run_has_both_scores():
    configurations = ("search:iterations=40", "beginner")
    one = Pairing("champion_chess", *map(Configuration.read, configurations))
    result = arena.run(one, pairs=4, seed=3, playouts=8, workers=2)
    again = arena.run(one, pairs=4, seed=3, playouts=8)
    assert [pair.corrections for pair in result.pairs] == [pair.corrections for pair in again.pairs]
    figures = json.loads(json.dumps(result.as_json()))
    aivat = figures["statistics"]["aivat"]
    corrected = [pair.score + pair.correction for pair in result.pairs]
    assert aivat["score"]["estimate"] == pytest.approx(statistics.fmean(corrected))
    assert aivat["elo"]["low"] == elo.elo_of(aivat["score"]["low"])
    plain = statistics.pvariance([pair.score for pair in result.pairs])
    ratio = pytest.approx(statistics.pvariance(corrected) / plain) if plain else None
    assert aivat["variance_ratio"] == ratio
    assert 0 < aivat["processor_share"] < 1
    assert (aivat["playouts"], aivat["coefficient"]) == (8, 1)
    assert figures["pairs"][3]["corrections"] == list(result.pairs[3].corrections)
    without = arena.run(one, pairs=1, seed=3).as_json()
    assert "aivat" not in without["statistics"]
    assert "corrections" not in without["pairs"][0]


def test_the_command_prints_both_scores(tmp_path):
    written = tmp_path / "results.json"
    command = "arena beginner random --game champion_chess --games 8 --aivat --aivat-playouts 5"
    done = subprocess.run(
        [sys.executable, "-m", "cli", *command.split(), "--workers", "1", "--json", written],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    [result] = json.loads(written.read_text())["results"]
    aivat = result["statistics"]["aivat"]
    assert aivat["playouts"] == 5
    plain, corrected, cost = (line.strip() for line in done.stdout.splitlines()[-7:-4])
    assert plain.startswith("Elo ")
    assert corrected.startswith("AIVAT: Elo ")
    assert f"score {100 * aivat['score']['estimate']:.1f} %" in corrected
    ratio = aivat["variance_ratio"]
    shown = "-" if ratio is None else f"{ratio:.2f}"
    assert cost.startswith(f"AIVAT: variance {shown} of the plain one")


@pytest.mark.parametrize("game_id", GAMES)
def test_the_luck_of_deals_is_0_on_average(game_id):
    game = games()[game_id]()
    luck = Luck(game, SAMPLES, 4)
    rng = random.Random(game_id)
    found, starts = [], []
    for _ in range(300):
        correction, mean = luck.deal(Position.deal(game, rng.getrandbits(64)), rng.getrandbits(64))
        found.append(correction)
        starts.append(mean)
    assert all(0 <= mean <= 1 for mean in starts)
    if any(found):
        check_zero(found, game_id)


@pytest.mark.parametrize("game_id", PILES)
def test_the_deviation_of_luck_covers_other_seeds(game_id):
    # The same step again and again: corrections differ by the noise that is told, roughly.
    game = games()[game_id]()
    luck = Luck(game, 16, 16)
    rng = random.Random(game_id)
    position = Position.deal(game, 3)
    joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
    after = position.copy()
    after.apply(joint, 5)
    choices = [[(joint[seat], 1.0)] if seat in joint else [] for seat in (0, 1)]
    found, told = [], []
    for _ in range(100):
        found.append(luck.correction(position, choices, after, rng.getrandbits(64)))
        told.append(luck.deviation)
    assert statistics.stdev(found) < 2 * statistics.fmean(told) + 1e-9


@pytest.mark.parametrize("game_id", GAMES)
def test_a_known_world_keeps_all_cards_that_anybody_has_seen(game_id):
    game = games()[game_id]()
    rng = random.Random(game_id)
    position = Position.deal(game, rng.getrandbits(64))
    while not position.over:
        for seat in position.deciders:
            drawn = KnownWorld(position, seat).sample(rng.getrandbits(64))
            assert drawn.hidden(seat) == position.hidden(seat)
            for viewer in (0, 1):
                assert bytes(drawn.view(viewer)) == bytes(position.view(viewer))
        joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
        position.apply(joint, rng.getrandbits(64))
