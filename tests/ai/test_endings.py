"""Exact endings: a naive solver agrees, and a search ends early where an ending is proven."""

import collections
import functools
import itertools
import os
from collections import Counter

import pytest

from ai.endings import prove
from ai.results import Parameters
from ai.search import Search, search
from ai.worker import Stop
from engine import games
from engine.position import Position
from engine.sampler import Sampler
from lab.exploit import presets
from tests.games import facts_of
from tests.support.play import note_on_failure, random_joint, seeded
from tests.support.sequence_form import LeftToChanceError, Rest, TooLargeError, step

# Positions of each case; `make soak` sets more.
POSITIONS = int(os.environ.get("TEST_ENDINGS", "25"))
CHOICES = 20  # Tested for each answer: whether the opponent knows enough to choose.
NODES = 4_000
EXACT = 1e-7  # The precision of the linear programmes.


def cases():
    """Games with solvable endings, and the number of last decisions to test."""
    yield pytest.param("skystones", {}, 3, id="skystones")
    yield pytest.param("powershot_soccer", {}, 2, id="powershot_soccer")
    for game_id, name in (
        ("skystones", "five"), ("skystones", "copies"), ("powershot_soccer", "star"),
    ):  # fmt: skip
        ruleset = facts_of(game_id).small_rulesets[name]
        yield pytest.param(game_id, ruleset, 12, id=f"{game_id}-{name}")
    for name in ("champion_chess_small", "champion_chess_steed"):
        yield pytest.param("champion_chess", presets()[name].ruleset, 12, id=name)


def late_decisions(game, case, last):
    """Yield the seed, position and seat of late decisions with a choice, in random matches."""
    for seed in itertools.count():
        rng = seeded("ending", case, seed)
        position = Position.deal(game, seed)
        played = []
        while not position.over:
            played.append(position.copy())
            position.apply(random_joint(position, rng), rng.getrandbits(64))
        for late in played[-last:]:
            for seat in late.deciders:
                if len(late.legal(seat)) > 1:
                    yield seed, late, seat


def proofs(game, case, last):
    """Yield the seed, position and seat of proven decisions, with proof and naive solver."""
    for seed, position, seat in late_decisions(game, case, last):
        sampler = Sampler.of(position.view(seat))
        proof = prove(sampler, position.legal(seat), nodes=NODES)
        if proof is None:
            continue
        try:
            rest = Rest(sampler.worlds(NODES), seat, 2 * NODES)
        except (TooLargeError, LeftToChanceError):
            continue
        yield seed, position, seat, proof, rest


@pytest.mark.parametrize(("game_id", "ruleset", "last"), list(cases()))
def test_a_naive_solver_finds_the_same(request, game_id, ruleset, last):
    # The naive solver is a linear programme of the game in which the opponent knows the cards of
    # the searching seat. The opponent must gain nothing by that.
    case = request.node.callspec.id
    rng = seeded("actions", case)
    game = games()[game_id](ruleset)
    for seed, position, seat, proof, rest in itertools.islice(proofs(game, case, last), POSITIONS):
        with note_on_failure(seed=seed, seat=seat):
            legal = position.legal(seat)
            assert list(proof.scores) == list(legal)
            assert proof.expected_score == max(proof.scores.values())
            assert proof.expected_score == pytest.approx(rest.value(), abs=EXACT)
            assert proof.win + proof.draw / 2 == pytest.approx(proof.expected_score, abs=EXACT)
            for action in {proof.best[0], rng.choice(legal)}:
                shares = {other: float(other == action) for other in legal}
                assert rest.value(shares) == pytest.approx(proof.scores[action], abs=EXACT)
            assert proof.scores[proof.best[0]] == pytest.approx(proof.expected_score, abs=EXACT)


@pytest.mark.parametrize("name", ["five", "copies"])
def test_an_ending_that_depends_on_what_the_opponent_cannot_know_is_not_proven(name):
    game = games()["skystones"](facts_of("skystones").small_rulesets[name])
    seen = Counter()
    for seed, position, seat in late_decisions(game, name, 3):
        with note_on_failure(seed=seed, seat=seat):
            expected = needs_no_knowledge(game, position.view(seat))
            if expected is not None:
                sampler = Sampler.of(position.view(seat))
                proven = prove(sampler, position.legal(seat)) is not None
                assert proven == expected
                seen[proven] += 1
        if min(seen[True], seen[False]) >= CHOICES:
            return


def needs_no_knowledge(game, view):
    """Whether the opponent's last choice is clear to it, whatever the seat of the view holds.

    None if the position has more decisions than that choice.
    """
    me, other = view.seat, 1 - view.seat
    # The opponent's best choices in each world, by its view.
    best = collections.defaultdict(list)
    clear = True  # Whether the opponent's choices are equally good in the worlds of the view.
    own = set()
    for known in {world.view(other) for world in Sampler.of(view).worlds(NODES)}:
        for world in Sampler.of(known).worlds(NODES):
            for action in world.legal(me):
                after = step(world, {me: action})
                if after.deciders != (other,) or len(after.legal(other)) < 2:
                    if final_score(after, me) is None:
                        return None
                    continue
                scores = {b: final_score(step(after, {other: b}), me) for b in after.legal(other)}
                if None in scores.values():
                    return None
                least = min(scores.values())
                key = after.view(other)
                best[key].append({b for b, score in scores.items() if score == least})
                if world.view(me) == view:
                    own.add(key)
                    clear = clear and least == max(scores.values())
    return clear or all(set.intersection(*best[key]) for key in own)


def final_score(position, seat):
    """The score of a seat if no choice is left in the position; else None."""
    while not position.over:
        if any(len(position.legal(decider)) > 1 for decider in position.deciders):
            return None
        position = step(position, {seat: position.legal(seat)[0] for seat in position.deciders})
    return position.scores[seat]


# The search


@functools.cache
def late_view():
    """A view of Skystones with two cards left in hand, and one card in the opponent's hand."""
    game = games()["skystones"]()
    _, position, seat = next(late_decisions(game, "search", 2))
    assert len(position.legal(seat)) == 4
    return position.view(seat)


def test_a_search_ends_with_the_proof():
    view = late_view()
    proof = prove(Sampler.of(view), Sampler.of(view).sample(0).legal(view.seat))
    result = search(view, iterations=2_000, seed=1)
    assert result.stop_reason == "proven"
    assert 0 < result.iterations < 2_000
    assert result.expected_score == proof.expected_score
    assert result.win + result.draw + result.loss == pytest.approx(1)
    assert {one.action: one.expected_score for one in result.actions} == proof.scores
    assert all(one.deviation == 0 for one in result.actions)
    assert sum(one.visits for one in result.actions) == result.iterations
    assert sum(one.probability for one in result.actions) == pytest.approx(1)
    best = max(one.expected_score for one in result.actions)
    assert result.actions[0].action == result.action
    assert result.actions[0].expected_score == best == result.expected_score


def test_the_search_of_a_bot_takes_as_long_with_a_proof_as_without():
    usual = search(late_view(), iterations=2_000, seed=1)
    bots = search(late_view(), iterations=2_000, seed=1, parameters=Parameters(proven=0))
    assert (bots.stop_reason, bots.iterations, bots.action) == ("proven", 2_000, usual.action)


def test_a_proof_does_not_depend_on_time_or_threads():
    view = late_view()
    once = search(view, iterations=2_000, seed=1)
    assert once == search(view, iterations=2_000, seed=1)
    for limits in ({"iterations": 5_000}, {"seconds": 5}, {"iterations": 2_000, "threads": 3}):
        other = search(view, seed=1, **limits)
        assert other.stop_reason == "proven"
        assert [(one.action, one.expected_score, one.probability) for one in other.actions] == [
            (one.action, one.expected_score, one.probability) for one in once.actions
        ]


def test_equal_actions_share_the_probability():
    # The squares of a 2 x 2 board look alike to the last card of a round.
    rng = seeded("ties")
    game = games()["skystones"](presets()["skystones_five"].ruleset)
    shared = 0
    for _ in range(40):
        position = Position.deal(game, rng.getrandbits(60))
        while not position.over:
            for seat in position.deciders:
                view = position.view(seat)
                proof = prove(Sampler.of(view), position.legal(seat))
                if not proof:
                    continue
                present = Parameters(from_deal=False)
                result = search(view, iterations=2_000, seed=1, parameters=present)
                likely = {one.action: one for one in result.actions if one.probability > 0}
                assert set(likely) == set(proof.best)
                assert {one.probability for one in likely.values()} == {1 / len(proof.best)}
                assert result.action in likely
                for one in result.actions:
                    loss = proof.expected_score - proof.scores[one.action]
                    assert one.loss == pytest.approx(loss, abs=EXACT)
                shared += len(likely) > 1
            joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
            position.apply(joint, rng.getrandbits(60))
    assert shared > 10


def test_equal_actions_that_are_dominated_are_left_out():
    # In the last decisions of most matches, nothing depends any longer on what is thrown away.
    rng = seeded("dominated")
    left_out = 0
    for _ in range(20):
        position = Position.deal(games()["powershot_soccer"](), rng.getrandbits(60))
        while not position.over:
            (seat,) = position.deciders
            legal = position.legal(seat)
            if len(position.view(seat).fields["common"]["plays"]) > 80 and len(legal) > 1:
                proof = prove(Sampler.of(position.view(seat)), legal)
                if proof:
                    candidates = position.without_dominated(seat)
                    assert set(proof.best) <= set(candidates)
                    left_out += len(legal) - len(candidates)
            position.apply({seat: rng.choice(legal)}, rng.getrandbits(60))
    assert left_out > 10


@pytest.mark.parametrize(("iterations", "endings"), [(500, False), (5, True)])
def test_endings_can_be_left_to_the_search_and_few_iterations_are(iterations, endings):
    parameters = Parameters(endings=endings)
    result = search(late_view(), iterations=iterations, seed=1, parameters=parameters)
    assert (result.stop_reason, result.iterations) == ("iterations", iterations)
    assert endings or any(one.deviation > 0 for one in result.actions)


def test_a_stopped_search_proves_nothing():
    stop = Stop()
    stop.set()
    result = search(late_view(), iterations=500, seed=1, stop=stop)
    assert (result.stop_reason, result.iterations) == ("cancelled", 0)


def test_a_proof_is_of_the_actions_that_are_searched_for():
    view = late_view()
    whole = search(view, iterations=2_000, seed=1)
    root_actions = sorted(one.action for one in whole.actions[1:])
    one = Search(view, seed=1, root_actions=root_actions)
    one.run(iterations=2_000)
    result = one.result()
    assert result.stop_reason == "proven"
    scores = {one.action: one.expected_score for one in whole.actions}
    assert {one.action: one.expected_score for one in result.actions} == {
        action: scores[action] for action in root_actions
    }
    assert result.expected_score == max(scores[action] for action in root_actions)


@pytest.mark.parametrize("game_id", [g for g in games() if not games()[g].reference])
def test_a_match_that_has_just_begun_is_not_solved(game_id):
    game = games()[game_id]()
    position = Position.deal(game, 1)
    seat = position.deciders[0]
    assert prove(Sampler.of(position.view(seat)), position.legal(seat)) is None
