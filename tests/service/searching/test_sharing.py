"""Searches share the threads of a pool: whose turn it is, who waits, and what callers are told."""

import asyncio
import queue
import threading
from types import SimpleNamespace

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

import wire
from ai.results import Parameters
from croupier.v1 import hint_pb2
from croupier.v1.match_pb2 import BotStrength
from engine.match import Match
from service.hosting.bots import Bots
from service.observability.metrics import Metrics
from service.searching import fair_queue
from service.searching.hints import answer
from service.searching.pool import Limits, Quotas, SearchJob, SearchPool
from tests.support.random_matches import begin
from tests.support.searching import outcome_in, search_in, task_of
from tests.support.serving import read_error, refused, ruleset_of
from wire.errors import Refusal

LONG = Limits(seconds=60)
SHORT = Limits(iterations=200)
CASUAL = BotStrength.BOT_STRENGTH_CASUAL


def some_view(game_id="skystones"):
    match = Match(wire.hosted_games()[game_id](), bytes(32))
    return match.view(match.deciders[0])


class Hosted:
    """A pool, with its metrics."""

    def __init__(self, threads, **options):
        self.metrics = Metrics()
        self.pool = SearchPool("test", threads, self.metrics, **options)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.pool.close()

    def start(self, owner, limits, prepare=lambda: None, rank=0):
        search = search_in(self.pool, some_view(), limits, 1, prepare, owner, rank)
        return asyncio.create_task(search)

    def gauge(self, name):
        value = self.metrics.registry.get_sample_value
        return value(f"croupier_searches_{name}", {"kind": "test"})

    async def idle(self):
        while self.pool._jobs:
            await asyncio.sleep(0)


async def cancel(tasks):
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_a_refusal_names_the_limit_and_when_to_come_back(monkeypatch):
    monkeypatch.setattr(fair_queue, "CHUNK_SECONDS", 60.0)  # No search is paused for another.
    async with Hosted(1, quotas=Quotas(1, 2, 3)) as hosted:
        tasks = [hosted.start("one", LONG) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Refusal, match="at most 2 searches of one caller may wait"):
            await hosted.start("one", SHORT)
        tasks.append(hosted.start("two", LONG))
        await asyncio.sleep(0)
        with pytest.raises(Refusal, match="at most 3 searches of all callers together"):
            await hosted.start("three", SHORT)
        count = hosted.metrics.registry.get_sample_value
        for limit in ("caller", "server"):
            labels = {"kind": "test", "limit": limit}
            assert count("croupier_searches_refused_total", labels) == 1
        await cancel(tasks)


async def test_the_server_refuses_what_waits_when_it_shuts_down():
    async with Hosted(1) as hosted:
        running, waiting = (hosted.start("one", LONG) for _ in range(2))
        await asyncio.sleep(0)
        hosted.pool.end_searches()
        with pytest.raises(Refusal, match="shutting down"):
            await waiting
        await running
        with pytest.raises(Refusal, match="shutting down"):
            await hosted.start("one", SHORT)


async def test_a_paused_search_ends_when_its_time_is_up():
    async with Hosted(1) as hosted:
        gate = threading.Event()
        short = hosted.start("short", Limits(seconds=0.2))
        await asyncio.sleep(0)
        other = hosted.start("other", SHORT, gate.wait)
        await short  # Although the other one has the only thread.
        assert not other.done()
        gate.set()
        await other


async def test_a_search_that_takes_turns_finds_the_same(monkeypatch):
    monkeypatch.setattr(fair_queue, "CHUNK_SECONDS", 1e-3)  # However fast the search is.
    view = some_view()
    task = task_of(view, 1, 500)
    limits = Limits(iterations=20_000)
    expected = answer(task, SearchJob(limits, Parameters())).hint
    async with Hosted(1) as hosted:
        work = lambda job: answer(task, job)  # noqa: E731
        others = [hosted.start(owner, LONG) for owner in range(3)]
        report = await outcome_in(hosted.pool, limits, work, "one")
        assert report.hint == expected
        assert report.paused_time.ToNanoseconds() > 0
        await cancel(others)


# Limits of time


async def test_no_hint_takes_longer_than_the_server_allows():
    view = some_view()
    task = task_of(view, 1, 100_000)
    async with Hosted(1, max_seconds=0.1) as hosted:
        for limits in (Limits(iterations=10_000_000), Limits(seconds=60)):
            report = await outcome_in(hosted.pool, limits, lambda job: answer(task, job))
            assert report.hint.stop_reason == hint_pb2.STOP_REASON_TIME
            assert 0 < report.hint.iterations < 10_000_000


def test_beliefs_end_with_the_time_of_the_search():
    # The worlds of this game take long.
    view = some_view("castle_rampage")
    task = task_of(view, 1, 100_000)
    job = SearchJob(Limits(seconds=1e-3), Parameters())
    hint = answer(task, job).hint
    assert hint.stop_reason == hint_pb2.STOP_REASON_TIME
    assert hint.belief_worlds % 64 == 0
    assert 64 <= hint.belief_worlds < 100_000
    assert hint.beliefs
    hint = answer(task_of(view, 1, 700), SearchJob(SHORT, Parameters())).hint
    assert hint.belief_worlds == 700


# Over the wire


@pytest.fixture
def narrow_client(start):
    """The client of a server that runs one search at a time."""
    return start(search_threads=1, allow_seeds=True, searches_waiting=3)[1]


def test_each_seat_has_its_share_and_its_queue(narrow_client):
    seats = [
        narrow_client.create(ruleset_of("skystones"), seed=seed).players[0] for seed in range(2)
    ]
    for seat in seats:
        assert seat.view().legal_actions
    attack = [
        seats[0].hint_later(limits={"time": Duration(seconds=60), "threads": 16}) for _ in range(7)
    ]
    # Four are under way or wait in the room for long searches, three more wait.
    answered = seats[1].hint_later(limits={"iterations": 300}).result()
    assert answered.hint.stop_reason == hint_pb2.STOP_REASON_ITERATIONS
    assert answered.HasField("queue_time")
    assert answered.HasField("paused_time")
    refusals = [call for call in attack if call.done()]
    assert all(call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED for call in refusals)
    refusal = refused(lambda: seats[0].hint_later(limits={"iterations": 300}).result())
    assert (refusal.code, refusal.reason) == (
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "TOO_MANY_SEARCHES",
    )
    assert refusal.quotas == ["at most 3 searches of one caller may wait at a time"]
    assert refusal.retry_seconds >= 1
    for call in attack:
        call.cancel()


def test_an_analysis_says_how_long_it_was_paused(narrow_client):
    one, other = (
        narrow_client.create(ruleset_of("skystones"), seed=seed).players[0] for seed in range(2)
    )
    call = one.analysis(Duration(nanos=20_000_000), limits={"time": Duration(seconds=60)})
    next(call)
    other.hint_later(limits={"iterations": 1000}).result()
    report = next(report for report in call if report.paused_time.ToNanoseconds())
    assert report.paused_time.ToNanoseconds() < report.search_time.ToNanoseconds()
    call.cancel()


# Bots


async def test_a_bot_of_a_person_goes_before_bots_among_themselves():
    seen = []

    class Seen:
        async def report(self, task):
            seen.append((task.requester.owner, task.requester.rank))
            return SimpleNamespace(hint=hint_pb2.Hint())

    bots = Bots(None, Seen())
    for seats in ((0, CASUAL), (CASUAL, 0), (CASUAL, CASUAL)):
        seat = next(seat for seat in (0, 1) if seats[seat])
        await bots._choose(begin("champion_chess", match_id=f"{seats}", bots=seats), seat)
    assert [owner for owner, _ in seen] == [f"{s}" for s in ((0, 3), (3, 0), (3, 3))]
    ranks = [rank for _, rank in seen]
    assert ranks[0] == ranks[1] < ranks[2]


# Budgets


def test_a_caller_uses_its_budgets_of_searches(start):
    callers = (
        'trusted_proxies = ["127.0.0.1"]\n'
        "[budgets.address]\nsearches = 2\nsearch_seconds_per_minute = 1\n"
        'processor_milliseconds_per_second = "unlimited"\n'
    )
    server, client = start(search_threads=1, callers=callers)
    server._admission._ledger._now = lambda: 0.0  # No budget refills.
    metadata = [("x-forwarded-for", "192.0.2.1")]
    view = client.create(ruleset_of("skystones")).players[0].view()

    def ask(**limits):
        return client.hint_later(metadata, view=view, limits=limits)

    # What a search took is charged when it has ended, and the next one finds nothing left.
    answered = ask(time=Duration(seconds=1, nanos=10_000_000)).result()
    assert answered.hint.iterations > 0
    refusal = read_error(ask(iterations=10).exception())
    assert refusal.reason == "BUDGET_EXHAUSTED"
    assert refusal.metadata["budget"] == "search_seconds_per_minute"
    metadata[0] = ("x-forwarded-for", "192.0.2.2")
    calls = [ask(time=Duration(seconds=60)) for _ in range(3)]
    ended = queue.SimpleQueue()
    for call in calls:
        call.add_done_callback(ended.put)
    refusal = read_error(ended.get().exception())
    assert refusal.metadata["budget"] == "searches"
    for call in calls:
        call.cancel()


def test_a_caller_can_start_so_many_searches_a_second_however_short(start):
    callers = (
        'trusted_proxies = ["127.0.0.1"]\n[budgets.address]\nsearches_per_second = 2\n'
        'processor_milliseconds_per_second = "unlimited"\n'
    )
    server, client = start(callers=callers)
    server._admission._ledger._now = lambda: 0.0  # No budget refills.
    view = client.create(ruleset_of("skystones")).players[0].view()
    search = {"view": view, "limits": {"iterations": 1}, "belief_worlds": 100_000}

    def ask(caller):
        return client.hint_later([("x-forwarded-for", caller)], **search)

    calls = [ask("192.0.2.1") for _ in range(10)]
    refusals = [read_error(error) for error in (call.exception() for call in calls) if error]
    assert len(refusals) == len(calls) - 2
    assert {refusal.metadata["budget"] for refusal in refusals} == {"searches_per_second"}
    assert ask("192.0.2.2").result().hint.iterations == 1
