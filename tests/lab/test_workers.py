"""How many workers there may be, how they tell their progress, and what ends them."""

import os
import signal

import pytest

from lab import workers
from tests.support.commands import croupier


def test_wrong_workers_are_refused():
    ended = croupier("arena", "random", "random", "--game", "skystones", "--workers", "0")
    assert ended.status == 2
    assert "argument --workers: '0' is not a whole number" in ended.err


def test_the_progress_is_told_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(workers, "TELL_EVERY", 0)
    for _ in range(2):
        tell = workers.counting(2, "letters")
        tell()
        tell()
        monkeypatch.setattr(workers, "TELL_EVERY", 600)
    assert capsys.readouterr().err == "1 of 2 letters\n2 of 2 letters\n1 of 2 letters\n"


def signalled(number):
    os.kill(os.getpid(), number)
    return number


def test_workers_leave_it_to_their_parent_to_end_them_at_a_signal():
    numbers = [signal.SIGTERM, signal.SIGINT, signal.SIGTERM]
    with workers.in_order(signalled, numbers, 2) as found:
        assert list(found) == numbers


def test_a_worker_that_is_killed_is_told_in_a_sentence():
    with (
        pytest.raises(ChildProcessError, match="a worker was killed"),
        workers.in_order(signalled, [signal.SIGKILL] * 2, 2) as found,
    ):
        list(found)
