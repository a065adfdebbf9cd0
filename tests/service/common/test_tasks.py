"""Background work: what is kept is begun again, what is spawned tells its owner, all is seen."""

import asyncio
import threading
from contextlib import suppress

import pytest
import uvloop

from croupier.v1.error_pb2 import ErrorReason
from service.common import tasks
from service.common.call import current_call
from service.common.tasks import TaskFailedError, Tasks
from tests.support.waiting import wait_until
from wire.errors import Refusal


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request):
    """Runs a coroutine on an event loop of either kind; what it fails in is counted."""

    def run(test):
        work = Tasks()

        async def whole():
            work.watch(asyncio.get_running_loop())
            await test(work)

        factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(whole())
        return work

    return run


class Work:
    """Work that ends in one way after the other, and then goes on."""

    def __init__(self, *ends):
        self.ends = list(ends)
        self.begun = 0
        self.goes_on = asyncio.Event()

    async def __call__(self):
        self.begun += 1
        if not self.ends:
            self.goes_on.set()
            await asyncio.Event().wait()
        end = self.ends.pop(0)
        if end is not None:
            raise end


ENDS = (None, KeyError("x"), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError())


def test_kept_work_is_begun_again_whatever_ends_it(run, caplog, monkeypatch):
    monkeypatch.setattr(tasks, "FIRST_PAUSE_SECONDS", 0.001)

    async def test(work):
        kept = Work(*ENDS)
        task = work.keep("feed", kept)
        await kept.goes_on.wait()
        assert kept.begun == 1 + len(ENDS)
        assert work.failures()["feed"] == len(ENDS)
        assert work.down() == {"feed"}  # Until it has gone on for some time.
        monkeypatch.setattr(tasks, "WELL_SECONDS", 0.0)
        assert not work.down()
        task.close()
        await asyncio.wait([task.task])
        assert task.task.cancelled()
        assert not work.kept

    run(test)
    assert "feed has ended" in caplog.text
    assert "feed failed: KeyError at" in caplog.text
    assert "'x'" not in caplog.text  # It could name cards.


def test_a_pause_grows_to_a_minute_at_most(run, monkeypatch):
    pauses = []

    async def test(work):
        kept = work.keep("feed", Work())
        now = [0.0]
        monkeypatch.setattr(tasks.time, "monotonic", lambda: now[0])
        for _ in range(20):
            kept._begin()
            pauses.append(kept._end(None))
        kept._begin()
        now[0] += tasks.WELL_SECONDS
        pauses.append(kept._end(None))
        monkeypatch.undo()
        kept.close()

    run(test)
    for before, after in zip(pauses[:8], pauses[2:10], strict=True):
        assert before < after
    assert tasks.MAX_PAUSE_SECONDS / 2 <= pauses[19] <= tasks.MAX_PAUSE_SECONDS
    assert pauses[20] <= tasks.FIRST_PAUSE_SECONDS  # It was well in between.


def test_a_server_is_not_ready_without_work_that_it_needs(run, monkeypatch):
    async def test(work):
        fails = Work(*[KeyError()] * 10)
        for name, needed in (("feed", False), ("web port", True)):
            work.keep(name, fails, needed=needed)
        while work.down() != {"feed", "web port"}:
            await asyncio.sleep(0)
        assert not work.lost()  # Not yet: it may come back.
        monkeypatch.setattr(tasks, "LOST_SECONDS", 0.0)
        assert work.lost() == "web port"

    run(test)


def test_kept_work_that_is_closed_is_not_begun_again(run):
    async def test(work):
        async def stubborn():
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

        sleeping, ending, pausing = Work(), asyncio.Event(), Work(KeyError())
        closed = [work.keep("feed", sleeping), work.keep("feed", stubborn)]
        left = work.keep("feed", ending.wait)
        paused = work.keep("feed", pausing)
        await sleeping.goes_on.wait()
        while not work.failures()["feed"]:
            await asyncio.sleep(0)
        for each in closed:
            each.close()
        left.let_end()
        paused.let_end()
        ending.set()
        await asyncio.wait([each.task for each in (*closed, left, paused)])
        assert (sleeping.begun, pausing.begun) == (1, 1)

    assert run(test).failures()["feed"] == 1


def test_kept_work_belongs_to_no_call(run):
    async def test(work):
        seen = []

        async def look():
            seen.append(current_call.get())
            await asyncio.Event().wait()

        current_call.set("a call")
        work.keep("feed", look)
        while not seen:
            await asyncio.sleep(0)
        assert seen == [None]

    run(test)


@pytest.mark.parametrize("end", ENDS[1:], ids=lambda end: type(end).__name__)
def test_a_failure_of_spawned_work_is_told_to_its_owner(run, caplog, end):
    async def test(work):
        async def fail():
            await asyncio.sleep(0)
            raise end

        spawned = work.spawn("search", fail, about="m-1")
        with pytest.raises((type(end), TaskFailedError)) as caught:
            await spawned
        assert isinstance(caught.value, Exception)
        assert asyncio.current_task().cancelling() == 0

    assert run(test).failures()["search"] == 1
    assert f"search of m-1 failed: {type(end).__name__} at" in caplog.text


def test_an_answer_of_spawned_work_is_no_failure(run, caplog):
    async def test(work):
        async def refuse():
            raise Refusal(ErrorReason.ERROR_REASON_MATCH_OVER, "over")

        async def double(number):
            return 2 * number

        assert await work.spawn("search", double, 2) == 4
        with pytest.raises(Refusal):
            await work.spawn("search", refuse)
        cancelled = work.spawn("search", asyncio.sleep, 1000)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        assert cancelled.cancelled()

    assert not any(run(test).failures().values())
    assert not caplog.records


def test_work_that_must_be_done_is_begun_again_until_it_is(run, caplog, monkeypatch):
    monkeypatch.setattr(tasks, "FIRST_PAUSE_SECONDS", 0.001)

    async def test(work):
        ends = [*ENDS, True]

        async def do():
            end = ends.pop(0)
            if isinstance(end, BaseException):
                raise end
            return end

        await work.finish("read", do, about="a match")
        assert not ends
        told_to_end = work.finish("read", asyncio.Event().wait)
        await asyncio.sleep(0)
        told_to_end.cancel()
        await asyncio.wait([told_to_end])
        assert told_to_end.cancelled()

    assert run(test).failures()["read"] == len(ENDS)
    assert "read of a match has ended" in caplog.text


def test_what_nobody_awaits_is_logged_and_counted(run, caplog):
    async def test(work):
        async def fail():
            raise KeyError("x")

        work.spawn("search", fail)
        asyncio.get_running_loop().call_soon(fail_at_once, "a card")
        asyncio.get_running_loop().create_future().set_exception(LookupError("y"))
        while work.failures()["callback"] < 2:
            await asyncio.sleep(0)

    failures = run(test).failures()
    assert (failures["search"], failures["callback"]) == (1, 2)
    assert "callback failed: ZeroDivisionError" in caplog.text
    assert "callback failed: LookupError" in caplog.text
    assert "a card" not in caplog.text


def fail_at_once(*_):
    raise ZeroDivisionError


def test_whoever_attempts_goes_on(caplog):
    work, called = Tasks(), []

    def end():
        raise SystemExit

    assert not work.attempt("change", fail_at_once, about="m-1")
    assert not work.attempt("change", end)
    assert work.attempt("change", called.append, 1)
    assert called == [1]
    assert work.failures()["change"] == 2
    assert "change of m-1 failed: ZeroDivisionError" in caplog.text


# Threads


def test_a_kept_thread_is_begun_again_whatever_ends_it(monkeypatch):
    monkeypatch.setattr(tasks, "FIRST_PAUSE_SECONDS", 0.001)
    work, ends, told, stops = Tasks(), list(ENDS), threading.Event(), threading.Event()

    def end():
        if not ends:
            told.set()
            stops.wait()
            return
        failure = ends.pop(0)
        if failure is not None:
            raise failure

    kept = work.keep_thread("writer", end, needed=True)
    told.wait()
    assert work.failures()["writer"] == len(ENDS)
    assert work.down() == {"writer"}
    monkeypatch.setattr(tasks, "LOST_SECONDS", 0.0)
    assert work.lost() == "writer"
    kept.close(stops.set)
    assert work.failures()["writer"] == len(ENDS)
    assert not work.kept


def test_a_thread_that_waits_to_be_begun_again_does_what_is_left(monkeypatch):
    monkeypatch.setattr(tasks, "FIRST_PAUSE_SECONDS", 3600.0)
    work, runs = Tasks(), []

    def once():
        runs.append(1)
        if len(runs) == 1:
            raise KeyError

    kept = work.keep_thread("writer", once)
    wait_until(lambda: work.failures()["writer"])
    kept.close(lambda: None)
    assert len(runs) == 2
