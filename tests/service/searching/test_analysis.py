"""Analyses: partial reports, then exactly one final report; the statistics in a hint."""

import asyncio
import hashlib
import os
import random
import re
import subprocess
import sys
import threading
from pathlib import Path

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

import wire
from ai.last_look import SHARE
from ai.principal_lines import PrincipalLines
from ai.results import Parameters
from ai.search import Search
from croupier.v1 import game_pb2, hint_pb2, match_pb2
from engine import games
from engine.aspects import Aspects
from engine.match import Match
from engine.position import Position
from engine.sampler import Sampler
from lab.exploit import presets
from service.admission.admission import Admission
from service.admission.callers_file import Callers
from service.api.hint_service import HintService
from service.common.call import Call
from service.common.tasks import Tasks
from service.observability.metrics import Metrics
from service.searching import hints, searches
from service.searching.hints import answer, check, write_beliefs
from service.searching.options import HINT_ITERATIONS
from service.searching.pool import Limits, SearchJob, SearchPool
from service.searching.searches import OwnThreads, Searches
from service.searching.tasks import TEMPERATURE_HEADER, Kind
from tests.support.play import note_on_failure, seeded
from tests.support.searching import in_time, outcome_in, task_of
from tests.support.serving import hosted_cases, play_on, refused, ruleset_of
from tests.support.waiting import PAUSE

FEW = hint_pb2.SearchLimits(iterations=2000)
LONG = hint_pb2.SearchLimits(time=Duration(seconds=60))
OFTEN = Duration(nanos=20_000_000)
# The number of searches that are cancelled one after the other; 10,000 in `make soak`.
CANCELLED = int(os.environ.get("TEST_SOAK", "100"))


def reason(name):
    return hint_pb2.StopReason.Value(f"STOP_REASON_{name}")


def analysis(client, view, limits=FEW, timeout=None, report_interval=None, **fields):
    """Starts a call of AnalyzePosition, and returns its stream."""
    request = hint_pb2.AnalyzePositionRequest(
        search={"view": view, "limits": limits, **fields}, report_interval=report_interval
    )
    return client.hints.AnalyzePosition(request, timeout=timeout)


def some_view(client, game_id="champion_chess", seed=1):
    view = client.create(ruleset_of(game_id), seed=seed).spectator.view()
    seat = view.deciders[0]
    return client.create(ruleset_of(game_id), seed=seed).players[seat].view()


NOT_COMPARED = {hint_pb2.STANDING_BEST, hint_pb2.STANDING_UNEXAMINED}


def check_reports(reports, why):
    """Checks that partial reports grow and one final report follows, and returns its hint."""
    *partial, final = reports
    assert final.final_report
    assert final.hint.stop_reason == reason(why)
    for report in partial:
        assert not report.final_report
        assert report.hint.stop_reason == reason("UNSPECIFIED")
        # What is exact needs no comparison: an ending, or a game that is searched from the deal.
        if why != "PROVEN" and report.hint.worlds == report.hint.iterations:
            assert {each.standing for each in report.hint.actions} <= NOT_COMPARED
        assert report.hint.model == final.hint.model
    iterations = [report.hint.iterations for report in reports]
    assert iterations == sorted(iterations)
    for report in reports:
        assert sum(each.probability for each in report.hint.actions) == pytest.approx(1)
    return final.hint


@pytest.mark.parametrize(("game_id", "name"), hosted_cases())
def test_an_analysis_ends_with_the_same_hint_as_a_suggestion(client, game_id, name):
    table = client.create(ruleset_of(game_id, name), seed=3)
    play_on(table, seeded(game_id, name), most=4)
    for player in table.players.values():
        view = player.view()
        if view.seat not in view.deciders:
            continue
        with note_on_failure(seat=view.seat):
            reports = list(analysis(client, view, seed=5, report_interval=OFTEN))
            final = reports[-1].hint
            proven = final.stop_reason == reason("PROVEN")
            why = "PROVEN" if proven else "ITERATIONS"
            check_reports(reports, why if len(view.legal_actions) > 1 else "SINGLE_ACTION")
            suggested = client.hint(view, FEW, 5).hint
            assert final == suggested
            if (game_id, name) == (
                "skystones",
                "copies",
            ):  # From the deal: those that fit the view.
                assert 0 < final.worlds <= final.nodes
            else:  # The actions that are compared share their worlds.
                assert 0 < final.worlds <= final.iterations
            assert final.nodes > 0
            assert not final.full
            assert final.actions[0].standing == hint_pb2.STANDING_BEST


def test_an_analysis_with_a_time_limit_sends_partial_reports(client):
    view = some_view(client)
    limits = hint_pb2.SearchLimits(time=Duration(nanos=100_000_000))
    check_reports(list(analysis(client, view, limits, report_interval=OFTEN)), "TIME")
    call = analysis(client, view, LONG, report_interval=OFTEN)
    reports = [next(call) for _ in range(4)]
    call.cancel()
    assert not any(report.final_report for report in reports)


def test_an_analysis_answers_just_before_its_deadline(client):
    view = some_view(client)
    reports = in_time(lambda seconds: list(analysis(client, view, LONG, timeout=seconds)))
    assert check_reports(reports, "DEADLINE").iterations > 0


@pytest.mark.parametrize("seconds", [0.02, 0.4, 1.5])
def test_a_search_ends_early_enough_for_its_answer_to_be_in_time(seconds):
    job = SearchJob(Limits(seconds=60), Parameters())
    end = hints._end(job, job.began + seconds, legal=100)
    assert end.stop_reason == hint_pb2.STOP_REASON_DEADLINE
    assert 0.4 * seconds <= end.at - job.began <= seconds - min(0.4 * seconds, 0.1)


def test_an_analysis_ends_at_its_limit_of_nodes(client):
    view = some_view(client)
    limits = hint_pb2.SearchLimits(time=Duration(seconds=60), nodes=500)
    hint = check_reports(list(analysis(client, view, limits)), "MEMORY")
    assert hint.full
    assert hint.nodes == 500


def test_an_analysis_of_one_action_ends_before_its_limit(client):
    view = some_view(client)
    only = view.legal_actions[-1:]
    hint = check_reports(list(analysis(client, view, LONG, include_actions=only)), "SINGLE_ACTION")
    assert [each.action for each in hint.actions] == list(only)
    assert hint.action == only[0]


# Include and exclude


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_only_included_and_not_excluded_actions_are_searched(client, game_id):
    view = some_view(client, game_id)
    legal = list(view.legal_actions)
    include, exclude = legal[: len(legal) // 2 + 1], legal[1:2]
    hint = list(analysis(client, view, include_actions=include, exclude_actions=exclude))[-1].hint
    left = [action for action in include if action not in exclude]
    searched = sorted(each.action.SerializeToString() for each in hint.actions)
    assert searched == sorted(action.SerializeToString() for action in left)
    main = 1 - SHARE if len(left) > 1 else 1
    assert sum(each.visits for each in hint.actions) == main * hint.iterations
    rest = list(analysis(client, view, exclude_actions=exclude))[-1].hint
    assert len(rest.actions) == len(legal) - 1


def test_a_hint_says_why(client):
    said = 0
    for game_id, game in wire.hosted_games().items():
        known = list(Aspects.of(game()).units)
        for seed in range(6):
            view = some_view(client, game_id, seed)
            hint = client.hint(view, hint_pb2.SearchLimits(iterations=10_000), seed).hint
            if hint.stop_reason != reason("ITERATIONS"):
                continue
            for each in hint.actions:
                foretold = [aspect.aspect for aspect in each.aspects]
                examined = each.standing != hint_pb2.STANDING_UNEXAMINED
                assert foretold == (known if examined else [])
            for why in hint.reasons:
                said += 1
                means = [
                    aspect.mean
                    for action in (hint.actions[0].action, why.other_action)
                    for each in hint.actions
                    for aspect in each.aspects
                    if (each.action, aspect.aspect) == (action, why.aspect)
                ]
                assert means == [why.value, why.other_value]
    assert said > 1


def test_illegal_actions_can_be_neither_included_nor_excluded(client):
    view = some_view(client)

    def ask(**fields):
        return refused(lambda: list(analysis(client, view, **fields)))

    bad = game_pb2.MatchAction(champion_chess={"play_aid": {}})
    path = "champion_chess.play_aid"
    precondition = grpc.StatusCode.FAILED_PRECONDITION
    for name in ("include_actions", "exclude_actions"):
        refusal = ask(**{name: [view.legal_actions[0], bad]})
        assert refusal[:3] == (precondition, "ILLEGAL_ACTION", [f"search.{name}[1].{path}"])
    invalid = grpc.StatusCode.INVALID_ARGUMENT
    other = game_pb2.MatchAction(skystones={"pick_card": {"card": 1}})
    refusal = ask(include_actions=[other])
    assert refusal[:3] == (invalid, "INVALID_FIELD", ["search.include_actions[0].skystones"])
    for fields in (
        {"exclude_actions": view.legal_actions},
        {"include_actions": view.legal_actions[:1], "exclude_actions": view.legal_actions[:1]},
    ):
        assert ask(**fields)[:3] == (invalid, "INVALID_FIELD", ["search.exclude_actions"])
    assert ask(report_interval=Duration(nanos=1))[:2] == (invalid, "INVALID_FIELD")
    assert ask(belief_worlds=100_001)[:2] == (invalid, "INVALID_FIELD")


def test_a_strength_means_what_the_schema_says():
    schema = (Path(__file__).parents[3] / "proto/croupier/v1/hint.proto").read_text()
    told = re.findall(r"\b(BEGINNER|CASUAL|REGULAR|SKILLED|EXPERT)\b[\s/]+([\d,]*\d)", schema)
    right = {match_pb2.BotStrength.Value(f"BOT_STRENGTH_{name}"): number for name, number in told}
    assert {key: f"{number:,}" for key, number in HINT_ITERATIONS.items()} == right


def test_a_strength_instead_of_limits(client):
    view = some_view(client)
    by_strength = {"strength": "BOT_STRENGTH_CASUAL"}
    hint = client.hint_later(view=view, seed=1, **by_strength).result().hint
    assert hint.iterations == 400
    # A bot chooses more softly, a hint does not, whatever its caller says.
    softly = ((TEMPERATURE_HEADER, "5"),)
    for wanted in (by_strength, {"limits": {"iterations": 400}}):
        assert client.hint_later(softly, view=view, seed=1, **wanted).result().hint == hint
    refusal = refused(client.hint_later(view=view, strength="BOT_STRENGTH_RANDOM").result)
    assert refusal[1:3] == ("INVALID_FIELD", ["search.strength"])


# Statistics in a hint


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_beliefs_fill_the_hidden_places(client, game_id):
    view = some_view(client, game_id)
    hint = list(analysis(client, view, belief_worlds=2000))[-1].hint
    known = {card["id"] for card in wire.hosted_games()[game_id]().cards()}
    sums = {}
    for belief in hint.beliefs:
        assert belief.card in known
        assert 0 < belief.probability <= 1
        assert belief.probability <= belief.expected_copies + 1e-9
        sums[belief.place_name] = sums.get(belief.place_name, 0) + belief.expected_copies
    # The sums are whole, because every world has the same number of cards at a place.
    assert sums
    for total in sums.values():
        assert total == pytest.approx(round(total), abs=1e-6)
    if game_id == "champion_chess":
        side = view.champion_chess.sides[1 - view.seat]
        assert sums["opponent_hand"] == pytest.approx(side.hand_size)
        assert sums["opponent_pile"] == pytest.approx(side.deck_size)


def king_facing_a_bet():
    """A position of Kuhn poker in which seat 1 has the best card, and must call or fold."""
    game = games()["kuhn_poker"]()
    for seed in range(100):
        position = Position.deal(game, seed)
        position.apply({0: 2}, 0)
        if position.fields["cards"][1] == 3:
            return position
    raise AssertionError


def test_beliefs_are_the_shares_of_the_worlds():
    position = king_facing_a_bet()
    sampler = Sampler.of(position.view(1))
    worlds, beliefs = sampler.beliefs(20_000, 1)
    assert worlds == 20_000
    assert [(belief.place, belief.card) for belief in beliefs] == [
        ("opponent_hand", 0),
        ("opponent_hand", 1),
    ]
    for belief in beliefs:
        assert belief.expected == belief.probability == pytest.approx(0.5, abs=0.02)


def test_beliefs_of_a_hint_are_those_of_the_search():
    # In a small game they rest on what the opponent would have played, not on random play.
    preset = presets()["champion_chess_small"]
    game = games()[preset.game](preset.ruleset)
    differ = 0
    for seed in range(30):
        rng = random.Random(seed)
        position = Position.deal(game, seed)
        for _ in range(2):
            if not position.over:
                joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
                position.apply(joint, seed)
        if 0 not in position.deciders or len(position.legal(0)) < 2:
            continue
        task = task_of(position.view(0), seed, 2000)
        hint = answer(task, SearchJob(Limits(iterations=4000), Parameters())).hint
        search = Search(task.view, seed=seed)
        search.run(iterations=4000)
        expected = search.worlds.beliefs(2000, seed)
        assert list(hint.beliefs) == write_beliefs(game, expected)
        by_chance = check(task).sampler.beliefs(2000, seed)
        chances = {(one.place, one.card): one.probability for one in by_chance.cards}
        differ += any(
            abs(one.probability - chances[one.place, one.card]) > 0.1 for one in expected.cards
        )
    assert differ


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_line_can_be_played_in_some_world(game_id):
    match = Match(wire.hosted_games()[game_id](), bytes(32))
    # With more than 50 actions, or while the opponent sets up a castle from an unknown hand, the
    # search follows no line often enough to report it.
    while len(match.legal(match.deciders[0])) > 50 or (
        game_id == "castle_rampage" and len(match.deciders) > 1
    ):
        for seat in match.deciders:
            match.apply(seat, match.legal(seat)[0])
    seat = match.deciders[0]
    search = Search(match.view(seat), seed=1)
    search.run(iterations=5000)
    lines = PrincipalLines(search)
    lines = {each.action: lines.line(each.action) for each in search.result().actions}
    assert any(lines.values())
    for action, line in lines.items():
        if not line:
            continue
        # Only the first decision after the action is checked: later ones may depend on chance.
        for world in range(400):
            position = search.sampler.sample(world)
            joint = {seat: action}
            if line[0][0] != seat and line[0][0] in position.deciders:
                joint[line[0][0]] = line[0][1]
            if all(joint.get(each, 0) in position.legal(each) for each in position.deciders):
                break
        else:
            raise AssertionError((action, line))


# Unread streams and cancelled searches


def view_of_many_actions():
    match = Match(wire.hosted_games()["skystones"](), bytes(32))
    assert len(match.legal(0)) > 10
    return match.view(0)


async def test_an_unread_stream_keeps_only_the_newest_report(client, monkeypatch):
    view = some_view(client)
    told = []

    def answer_and_note(task, job, every, tell):
        def tell_and_note(report):
            tell(report)
            told.append(report)

        return answer(task, job, every, tell_and_note)

    monkeypatch.setattr(searches, "answer", answer_and_note)
    pool = SearchPool("test", 1, Metrics())
    request = hint_pb2.AnalyzePositionRequest(
        search={"view": view, "limits": LONG},
        report_interval=OFTEN,
    )
    threads = Searches(OwnThreads({Kind.HINT: pool}, Tasks()))
    service = HintService(threads, Admission(Callers(), Metrics()), Metrics())
    reports = service.AnalyzePosition(request, Call("AnalyzePosition", "test"))
    first = await anext(reports)
    assert not first.final_report
    while len(told) < 4:  # Without a reader.
        await asyncio.sleep(PAUSE)
    pool.end_searches()
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
    rest = [report async for report in reports]
    assert len(rest) == 1
    assert rest[0].final_report
    pool.close()


async def until_idle(pool):
    while pool._jobs:
        await asyncio.sleep(PAUSE)


@pytest.mark.parametrize("threads", [1, 2])
async def test_a_cancelled_search_ends_within_a_few_iterations(threads):
    view = view_of_many_actions()
    began, cancelled = threading.Event(), threading.Event()
    jobs, at = [], []

    def work(job):
        def hold(_):
            # Between two slices of the search, while no iteration is under way.
            jobs.append(job)
            at.append(job.iterations)
            began.set()
            cancelled.wait()

        return answer(task_of(view), job, every=0.02, report=hold)

    pool = SearchPool("test", threads, Metrics())
    task = asyncio.create_task(outcome_in(pool, Limits(seconds=60, threads=threads), work))
    await asyncio.to_thread(began.wait)
    task.cancel()
    await asyncio.wait([task])
    cancelled.set()
    await until_idle(pool)
    assert pool._queue.free == threads
    pool.close()
    assert len(jobs) == 1
    assert jobs[0].iterations - at[0] < 20


def memory():
    """The resident memory of this process, in bytes."""
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_searches_cancelled_at_random_moments_leave_nothing_behind():
    view = view_of_many_actions()
    seed = random.randrange(2**32)
    rng = random.Random(seed)

    async def run():
        pool = SearchPool("test", 2, Metrics())
        loop = asyncio.get_running_loop()
        tell = lambda _: None  # noqa: E731
        work = lambda job: answer(task_of(view), job, every=0.001, report=tell)  # noqa: E731
        used = []
        for number in range(CANCELLED):
            if number in (CANCELLED // 4, CANCELLED - 1):
                await until_idle(pool)
                used.append(
                    (memory(), threading.active_count(), len(os.listdir("/proc/self/task")))
                )
            limits = Limits(seconds=60, threads=rng.choice((1, 2)))
            task = asyncio.create_task(outcome_in(pool, limits, work))
            loop.call_later(rng.expovariate(1 / 0.003), task.cancel)
            await asyncio.wait([task])
            assert task.cancelled()
        await until_idle(pool)
        pool.close()
        return used

    threads = threading.active_count()
    (early, *_), (late, *_) = used = asyncio.run(run())
    print(f"seed {seed}; memory and threads: {used}")
    with note_on_failure(seed=seed, used=used):
        assert threading.active_count() == threads
        # Three quarters of the searches ran between the two measurements. The allocator retains a
        # varying amount; a leak in each search would be far more.
        assert late - early < 48 << 20


def a_hint():
    view = view_of_many_actions()
    job = SearchJob(Limits(iterations=3000), Parameters())
    hint = answer(task_of(view, 1, 500), job).hint
    return hashlib.sha256(hint.SerializeToString(deterministic=True)).hexdigest()


def test_a_whole_hint_is_the_same_bytes_in_another_process():
    program = "from tests.service.searching.test_analysis import a_hint; print(a_hint())"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout.strip() == a_hint(), found.stderr
