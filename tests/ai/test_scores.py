"""The rows of a hint: their order and standings, honest losses, nothing dominated named."""

import math

import pytest

from ai.endings import prove
from ai.last_look import ALIKE, MIN_LOOK, MIN_SEEN, SHARE, LastLook
from ai.results import Parameters, Standing
from ai.search import Search, search
from ai.worker import Rounds
from engine import games
from engine.calibration import Calibration
from engine.model import STRETCH, Model, learned
from engine.position import Position
from engine.sampler import Sampler
from tests.support.play import cases, decisions, game_of, note_on_failure, random_joint, seeded

GAMES = [game_id for game_id, game in games().items() if not game.reference]
LEARNED = [game_id for game_id in GAMES if learned(games()[game_id]()) is not None]
LOOK = Parameters(last_look=SHARE)
EXAMINED = (Standing.AS_GOOD, Standing.WORSE)


@pytest.mark.parametrize("game_id", GAMES)
def test_rows_are_in_the_order_of_their_standing_and_add_up(game_id):
    seen = set()
    for number, (position, seat) in enumerate(decisions(game_id, 15, "rows")):
        with note_on_failure(number=number):
            view = position.view(seat)
            hint = search(view, iterations=1_000, seed=number, parameters=LOOK)
            assert hint == search(view, iterations=1_000, seed=number, parameters=LOOK)
            assert sorted(each.action for each in hint.actions) == list(position.legal(seat))
            standings = [list(Standing).index(each.standing) for each in hint.actions]
            assert standings == sorted(standings)
            for standing in EXAMINED:
                losses = [each.loss for each in hint.actions if each.standing is standing]
                assert losses == sorted(losses)
            best = [each for each in hint.actions if each.standing is Standing.BEST]
            assert math.fsum(each.probability for each in best) == pytest.approx(1)
            assert all(each.probability > 0 and each.loss == 0 for each in best)
            assert hint.expected_score == pytest.approx(
                math.fsum(each.probability * each.expected_score for each in best)
            )
            assert hint.win + hint.draw / 2 == pytest.approx(hint.expected_score, abs=1e-12)
            assert hint.win + hint.draw + hint.loss == pytest.approx(1)
            assert min(hint.win, hint.draw, hint.loss) >= 0
            seen |= {each.standing for each in hint.actions}
    assert {Standing.BEST, Standing.WORSE} <= seen


def widely_calibrated(game):
    """The model of a game, with a calibration that nobody overlooks."""
    known = learned(game)
    wide = dict.fromkeys(known.features.moments, 40) | {STRETCH: 160}
    return Model(known.game, known.weights, known.uses, {}, known.net, wide)


@pytest.mark.parametrize("game_id", LEARNED)
def test_a_report_before_the_last_look_is_calibrated_like_the_hint(game_id):
    limits = LOOK._replace(endings=False)
    for number, (position, seat) in enumerate(decisions(game_id, 8, "reports")):
        with note_on_failure(number=number):
            view = position.view(seat)
            model = widely_calibrated(view.game)
            told, raw = (
                search(view, iterations=MIN_LOOK, seed=number, parameters=each, model=model)
                for each in (limits, limits._replace(calibrated=False))
            )
            calibration = model.calibrated(position, seat)
            assert told.action == raw.action
            assert told.win + told.draw / 2 == pytest.approx(told.expected_score, abs=1e-12)
            for each, one in zip(told.actions, raw.actions, strict=True):
                scored = calibration.of(one.expected_score) if one.visits else one.expected_score
                assert each.expected_score == pytest.approx(scored)


@pytest.mark.parametrize("game_id", LEARNED)
def test_scores_are_calibrated_together_and_nothing_else_changes(game_id):
    plain = LOOK._replace(calibrated=False, endings=False)
    for number, (position, seat) in enumerate(decisions(game_id, 8, "calibrated")):
        with note_on_failure(number=number):
            view = position.view(seat)
            model = widely_calibrated(view.game)
            told, raw = (
                search(view, iterations=1_000, seed=number, parameters=each, model=model)
                for each in (LOOK._replace(endings=False), plain)
            )
            known = learned(view.game)
            assert raw == search(view, iterations=1_000, seed=number, parameters=plain, model=known)
            calibration = model.calibrated(position, seat)
            assert told.action == raw.action and told.reasons == raw.reasons
            assert told.win + told.draw / 2 == pytest.approx(told.expected_score, abs=1e-12)
            before = {each.action: each for each in raw.actions}
            for each in told.actions:
                one = before[each.action]
                assert (each.visits, each.probability) == (one.visits, one.probability)
                if each.standing is Standing.UNEXAMINED:
                    assert each == one
                    continue
                assert each.expected_score == pytest.approx(calibration.of(one.expected_score))
                if each.loss and one.probability == 0 and len(told.actions) > 1:
                    lost = calibration.of(raw.expected_score) - calibration.of(
                        raw.expected_score - one.loss
                    )
                    assert each.loss == pytest.approx(lost)
                    assert 0.1 * one.loss_deviation < each.loss_deviation < 2 * one.loss_deviation


def proven(game_id, name, most):
    """Views of random matches under a small ruleset whose rest can be solved, with the proofs."""
    game, _ = game_of(game_id, name)
    rng = seeded(game_id, name)
    found = []
    for _ in range(300):
        position = Position.deal(game, rng.getrandbits(60))
        while not position.over and len(found) < most:
            for seat in position.deciders:
                view, legal = position.view(seat), position.legal(seat)
                proof = prove(Sampler.of(view), legal) if len(legal) > 1 else None
                if proof:
                    found.append((view, proof))
            position.apply(random_joint(position, rng), rng.getrandbits(60))
    return found


@pytest.mark.parametrize(("game_id", "name"), cases("small_rulesets"))
def test_the_loss_of_an_action_is_that_of_the_exact_scores(game_id, name):
    within = []
    for number, (view, proof) in enumerate(proven(game_id, name, 40)):
        with note_on_failure(number=number):
            sampled = LOOK._replace(endings=False, from_deal=False)
            hint = search(view, iterations=3_000, seed=number, parameters=sampled)
            exact = math.fsum(each.probability * proof.scores[each.action] for each in hint.actions)
            for each in hint.actions:
                if each.standing in EXAMINED:
                    error = abs(each.loss - max(0.0, exact - proof.scores[each.action]))
                    within.append(error <= 2 * each.loss_deviation + 1e-9)
    assert sum(within) >= 0.88 * len(within)


@pytest.mark.parametrize(("game_id", "name"), cases("small_rulesets"))
def test_exact_scores_tell_what_is_as_good(game_id, name):
    for view, proof in proven(game_id, name, 40):
        hint = search(view, iterations=500, seed=1, parameters=LOOK._replace(from_deal=False))
        if hint.stop_reason != "proven":
            continue
        for each in hint.actions:
            loss = proof.expected_score - proof.scores[each.action]
            assert each.loss == pytest.approx(0 if each.probability else loss, abs=1e-9)
            assert each.loss_deviation == 0
            if each.probability:
                assert each.standing is Standing.BEST
            elif abs(loss - ALIKE) > 1e-9:
                assert each.standing is (Standing.AS_GOOD if loss < ALIKE else Standing.WORSE)


@pytest.mark.parametrize("game_id", GAMES)
def test_a_search_that_is_cut_short_shows_no_score_but_that_of_its_answer(game_id):
    for position, seat in decisions(game_id, 5, "rows"):
        running = Search(position.view(seat), seed=1, parameters=Parameters(endings=False))
        running.run(iterations=300)
        for each in running.result().actions:
            expected = Standing.BEST if each.probability else Standing.UNEXAMINED
            assert each.standing is expected


@pytest.mark.parametrize("game_id", GAMES)
def test_a_search_goes_on_after_its_last_look(game_id):
    for position, seat in decisions(game_id, 5, "rows"):
        running = Search(position.view(seat), seed=1, parameters=LOOK._replace(endings=False))
        for runs in (1, 2):
            running.run(iterations=400)
            result = running.result()
            assert result.iterations == 400 * runs
            assert sum(each.visits for each in result.actions) == (1 - SHARE) * 400 * runs
            assert result.actions[1].standing in {*EXAMINED, Standing.BEST}


@pytest.mark.parametrize("share", [0.0, SHARE])
@pytest.mark.parametrize("game_id", GAMES)
def test_a_search_without_room_for_nodes_looks_as_long_as_it_would_have(game_id, share):
    for position, seat in decisions(game_id, 5, "rows"):
        alone = Parameters(last_look=share, endings=False)
        running = Search(position.view(seat), seed=1, parameters=alone, max_nodes=100)
        running.run(seconds=5)
        result = running.result()
        assert result.stop_reason == "memory"
        searched = sum(each.visits for each in result.actions)
        assert result.iterations == searched + int(share / (1 - share) * searched)


def rounds(actions, *scores):
    """What a worker saw in rounds with these scores."""
    count = range(len(actions))
    return Rounds(
        actions,
        len(scores),
        tuple(math.fsum(each[i] for each in scores) for i in count),
        tuple(0.0 for _ in actions),
        tuple(tuple(math.fsum(each[i] * each[j] for each in scores) for j in count) for i in count),
    )


def test_an_action_that_surely_loses_is_looked_at_no_more():
    look = LastLook({1: 1.0}, [2, 3], 0, 100)
    look.add([rounds((1, 2, 3), *[(0.9, 0.8, 0.1), (0.5, 0.6, 0.0)] * 40)])
    assert look.actions == [1, 2]
    look.add([rounds((1, 2), *[(0.9, 0.9), (0.5, 0.5)] * 40)])
    assert look.loss(2)[0] == pytest.approx(0.0)
    assert look.loss(3)[0] == pytest.approx(0.65)


def test_the_better_action_becomes_the_answer():
    rng = seeded("better")
    scores = [(rng.random() * 0.5, 0.4 + rng.random() * 0.5) for _ in range(200)]
    look = LastLook({1: 1.0}, [2], 0, 100)
    look.add([rounds((1, 2), *scores)])
    look.settle()
    assert look.answer == {2: 1.0}
    mixed = LastLook({1: 0.5, 3: 0.5}, [2], 0, 100)
    mixed.add([rounds((1, 3, 2), *[(one, one, two) for one, two in scores])])
    mixed.settle()
    assert mixed.answer == {1: 0.5, 3: 0.5}


def test_what_was_seen_in_too_few_rounds_was_not_examined():
    position, seat = next(iter(decisions("skystones", 1, "rows")))
    [row, *_] = search(position.view(seat), iterations=100, seed=1).actions
    two = [row._replace(action=each, standing=Standing.UNEXAMINED) for each in (1, 2)]
    look = LastLook({1: 1.0}, [2], 0, 100)
    look.add([rounds((1, 2), *[(0.5, 0.4)] * (MIN_SEEN - 1))])
    assert not look.tells
    look.add([rounds((1,), (0.5,))])
    assert look.tells
    judged, _, _ = look.judge(two)
    assert [each.standing for each in judged] == [Standing.BEST, Standing.UNEXAMINED]
    look.add([rounds((1, 2), (0.5, 0.4))])
    judged, _, _ = look.judge(two)
    assert [each.standing for each in judged] == [Standing.BEST, Standing.WORSE]


def test_a_few_rounds_that_are_alike_do_not_show_that_an_action_is_as_good():
    position, seat = next(iter(decisions("skystones", 1, "rows")))
    [row, *_] = search(position.view(seat), iterations=100, seed=1).actions
    for count, standing in ((10, Standing.WORSE), (2_000, Standing.AS_GOOD)):
        look = LastLook({1: 1.0}, [2], 0, 100)
        look.add([rounds((1, 2), *[(0.25, 0.25), (0.75, 0.75)] * count)])
        rows, _, _ = look.judge([row._replace(action=1), row._replace(action=2)])
        assert [each.standing for each in rows] == [Standing.BEST, standing]


def test_a_calibration_makes_no_action_as_good():
    position, seat = next(iter(decisions("skystones", 1, "rows")))
    [row, *_] = search(position.view(seat), iterations=100, seed=1).actions
    look = LastLook({1: 1.0}, [2], 0, 100)
    look.add([rounds((1, 2), *[(0.98, 0.95)] * 2_000)])
    two = [row._replace(action=1), row._replace(action=2)]
    [_, other], _, _ = look.judge(two, Calibration(0.0, 0.24))
    assert other.loss < ALIKE
    assert other.standing is Standing.WORSE


def test_a_dominated_action_is_never_named():
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
            parameters=LOOK._replace(endings=False),
        )
        assert sorted(one.action for one in result.actions) == list(legal)
        named += result.action in dominated
    assert seen > 10
    assert named == 0
