"""How many workers there may be, and how they tell their progress."""

import pytest

from cli.main import main
from lab import workers
from lab.workers import telling


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--workers", "0"), "argument --workers: '0' is not a whole number"),
    ],
)
def test_wrong_workers_are_refused(capsys, options, said):
    with pytest.raises(SystemExit) as exit_:
        main(["arena", "random", "random", "--game", "skystones", *options])
    assert exit_.value.code == 2
    assert said in capsys.readouterr().err


def test_the_progress_is_told_after_each_result_was_taken(monkeypatch, capsys):
    monkeypatch.setattr(workers, "TELL_EVERY", 0)
    results = telling(iter("ab"), 2, "letters")
    assert next(results) == "a"
    assert capsys.readouterr().err == ""
    assert list(results) == ["b"]
    assert capsys.readouterr().err == "1 of 2 letters\n2 of 2 letters\n"
    monkeypatch.setattr(workers, "TELL_EVERY", 60)
    assert list(telling("ab", 2, "letters")) == ["a", "b"]
    assert capsys.readouterr().err == ""
