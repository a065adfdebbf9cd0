"""Hints are the same for the same request.

A search stops when its caller leaves, and is refused when too many wait.
"""

import asyncio
import os
import sys
import time

import pytest
from google.protobuf.duration_pb2 import Duration

import wire
from ai.results import Parameters
from ai.search import search
from croupier.v1 import hint_pb2
from engine.match import Match
from service.api import hint_service
from service.common.tasks import TaskFailedError
from service.observability.metrics import Metrics
from service.searching import hints
from service.searching.pool import LOWEST_PRIORITY, Limits, SearchJob, SearchPool
from service.searching.tasks import Kind
from tests.support.own_thread import patch_here
from tests.support.play import note_on_failure, seeded
from tests.support.searching import in_time, outcome_in, search_in, task_of
from tests.support.serving import as_bytes, hosted_cases, play_on, ruleset_of
from tests.support.waiting import wait_until

LIMITS = hint_pb2.SearchLimits(iterations=300)
LONG = hint_pb2.SearchLimits(time=Duration(seconds=60))
LATE = 14  # A version from which a match of Skystones may be searched to its end.


@pytest.mark.parametrize(("game_id", "name"), hosted_cases())
def test_a_match_and_its_view_get_the_same_hint(client, game_id, name):
    for seed in range(3):
        table = client.create(ruleset_of(game_id, name), seed=seed)
        play_on(table, seeded(game_id, name, seed), most=2 * seed)
        for player in table.players.values():
            view = player.view()
            if view.seat not in view.deciders:
                continue
            with note_on_failure(seed=seed, seat=view.seat):
                by_match = player.hint(LIMITS, seed).hint
                by_view = client.hint(view, LIMITS, seed).hint
                # The search does not read fields other than those with the seat's knowledge.
                del view.legal_actions[:]
                view.name = ""
                by_bare_view = client.hint(view, LIMITS, seed).hint
                assert as_bytes(by_match) == as_bytes(by_view) == as_bytes(by_bare_view)
                assert by_match.version == view.version
                check_hint(by_match, player.view())


def check_hint(hint, view):
    """Checks what holds of every hint."""
    assert hint.seat == view.seat
    legal = {as_bytes(action) for action in view.legal_actions}
    assert {as_bytes(each.action) for each in hint.actions} == legal
    assert as_bytes(hint.action) in legal
    assert sum(each.probability for each in hint.actions) == pytest.approx(1)
    likeliest_first = [each.probability for each in hint.actions]
    assert likeliest_first == sorted(likeliest_first, reverse=True)
    assert 0 <= hint.expected_score <= 1
    if len(legal) == 1:
        assert hint.stop_reason == hint_pb2.StopReason.STOP_REASON_SINGLE_ACTION
        return
    if hint.stop_reason == hint_pb2.StopReason.STOP_REASON_PROVEN:
        assert hint.iterations <= LIMITS.iterations
        assert all(each.deviation == 0 for each in hint.actions)
    else:
        assert hint.stop_reason == hint_pb2.StopReason.STOP_REASON_ITERATIONS
        assert hint.iterations == LIMITS.iterations
    assert hint.win + hint.draw + hint.loss == pytest.approx(1)


def test_a_hint_at_the_end_of_a_match_is_proven(client):
    table = client.create(ruleset_of("skystones"), seed=1)
    rng = seeded("proven")
    reasons = []
    while True:
        deciders = table.spectator.view().deciders
        if not deciders:
            break
        player = table.players[deciders[0]]
        view = player.view()
        if len(view.legal_actions) > 1 and view.version >= LATE:
            hint = player.hint(hint_pb2.SearchLimits(iterations=5_000), seed=1).hint
            check_hint_of_ending(hint)
            reasons.append(hint.stop_reason)
        player.submit(rng.choice(view.legal_actions), view.version)
    assert reasons[-1] == hint_pb2.StopReason.STOP_REASON_PROVEN


def check_hint_of_ending(hint):
    """Checks that the score of a proven hint is that of its best actions."""
    if hint.stop_reason != hint_pb2.StopReason.STOP_REASON_PROVEN:
        return
    best = max(each.expected_score for each in hint.actions)
    assert hint.expected_score == pytest.approx(best)
    for each in hint.actions:
        assert each.deviation == 0
        assert each.probability == 0 or each.expected_score == pytest.approx(best)


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_no_score_deviates_more_than_a_score_can(client, game_id):
    largest = 0
    for seed in range(5):
        table = client.create(ruleset_of(game_id), seed=seed)
        player = table.players[table.spectator.view().deciders[0]]
        for iterations in (4, 16, 64):
            hint = player.hint(hint_pb2.SearchLimits(iterations=iterations), seed).hint
            largest = max(largest, *(each.deviation for each in hint.actions))
    assert 0.2 < largest <= 0.5


def test_another_seed_may_get_another_hint(client):
    view = client.create(ruleset_of("champion_chess"), seed=1).players[0].view()
    hints = {as_bytes(client.hint(view, LIMITS, seed).hint) for seed in range(4)}
    assert len(hints) > 1


def test_a_hint_takes_a_second_by_default(client, monkeypatch):
    assert Limits(seconds=1.0) == hint_service.SUGGESTION
    monkeypatch.setattr(hint_service, "SUGGESTION", Limits(seconds=0.05))
    player = client.create(ruleset_of("champion_chess"), seed=1).players[0]
    answer = player.hint(None)
    assert answer.hint.stop_reason == hint_pb2.StopReason.STOP_REASON_TIME


def start_hint(client, view, limits=LONG, **options):
    return client.hint_later(view=view, limits=limits, **options)


@pytest.fixture
def small_server(start):
    """A client, a view and a pool; the server runs one search at a time and queues two."""
    server, client = start(
        search_threads=1, searches_running=1, searches_waiting=2, allow_seeds=True
    )
    view = client.create(ruleset_of("champion_chess"), seed=1).players[0].view()
    return client, view, server._own_threads._pools[Kind.HINT]


def test_a_search_ends_when_its_caller_hangs_up(small_server):
    client, view, pool = small_server
    call = start_hint(client, view)
    wait_until(lambda: pool._jobs)
    (job,) = pool._jobs.values()
    # This search waits in the queue.
    after = start_hint(client, view, LIMITS)
    call.cancel()
    assert after.result().hint.iterations == LIMITS.iterations
    assert job.abandoned  # Its time was not up.


def test_a_search_ends_with_the_deadline_of_its_caller(small_server):
    client, view, _ = small_server
    hint = in_time(lambda seconds: start_hint(client, view, timeout=seconds).result()).hint
    assert hint.stop_reason == hint_pb2.StopReason.STOP_REASON_DEADLINE
    assert hint.iterations > 0
    after = start_hint(client, view, LIMITS)
    assert after.result().hint.iterations == LIMITS.iterations


# The search pool alone


def some_view(game_id):
    match = Match(wire.hosted_games()[game_id](), bytes(32))
    return match.view(match.deciders[0])


def test_time_in_the_queue_is_not_search_time(monkeypatch):
    now = [0.0]
    patch_here(monkeypatch, time, "monotonic", lambda: now[0])
    job = SearchJob(Limits(seconds=1), Parameters())
    now[0] = 5.0
    job.begin()
    now[0] = 7.0
    report = hints._report(task_of(some_view("skystones")), hint_pb2.Hint(), job)
    monkeypatch.undo()
    assert (report.queue_time.ToSeconds(), report.search_time.ToSeconds()) == (5, 2)


async def test_a_cancelled_search_leaves_the_queue():
    view = some_view("champion_chess")
    metrics = Metrics()
    pool = SearchPool("test", 1, metrics)
    tasks = [asyncio.create_task(search_in(pool, view, Limits(seconds=60), 1)) for _ in range(3)]
    await asyncio.sleep(0)
    value = metrics.registry.get_sample_value
    assert value("croupier_searches_waiting", {"kind": "test"}) == 2
    tasks[1].cancel()
    tasks[0].cancel()
    await asyncio.wait(tasks[:2])
    tasks[2].cancel()
    await asyncio.wait(tasks)
    result, _ = await search_in(pool, view, Limits(iterations=50), 1)
    assert result.iterations == 50
    # The thread of the search tells so after the search has answered.
    while pool._queue.free != 1:
        await asyncio.sleep(0)
    assert value("croupier_searches_waiting", {"kind": "test"}) == 0
    pool.close()


async def test_a_search_is_answered_whatever_fails_at_its_end():
    metrics = Metrics()
    pool = SearchPool("test", 1, metrics)

    def fail(_):
        raise LookupError

    def leave(_):
        raise SystemExit(1)

    assert await outcome_in(pool, Limits(), lambda job: 1, charge=fail) == 1
    with pytest.raises(TaskFailedError):
        await outcome_in(pool, Limits(), leave)
    assert await outcome_in(pool, Limits(), lambda job: 2) == 2
    assert metrics.tasks.failures()["search"] == 2
    pool.close()


async def test_searches_have_the_lowest_priority(monkeypatch):
    monkeypatch.delenv("SEARCH_PRIORITY")  # With which tests run.
    # On Linux each thread has its own priority; elsewhere a thread has that of the process.
    own, linux = os.getpriority(os.PRIO_PROCESS, 0), sys.platform == "linux"
    seen = []
    pool = SearchPool("test", 1, Metrics())

    def check():
        seen.append(os.getpriority(os.PRIO_PROCESS, 0))
        seen.append(linux and os.sched_getscheduler(0) == os.SCHED_IDLE)

    view, limits = some_view("champion_chess"), Limits(iterations=5000)
    result, _ = await search_in(pool, view, limits, 1, check)
    pool.close()
    # The priority does not change the result.
    assert result == search(view, iterations=5000, seed=1)
    assert seen == [LOWEST_PRIORITY if linux else own, linux]
    assert os.getpriority(os.PRIO_PROCESS, 0) == own
