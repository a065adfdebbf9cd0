"""How many workers there may be, and how they tell their progress."""

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
