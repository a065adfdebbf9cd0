"""How many workers there may be, and how they tell their progress."""

import pytest

from cli.main import main
from lab import workers


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


def test_the_progress_is_told_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(workers, "TELL_EVERY", 0)
    for _ in range(2):
        tell = workers.counting(2, "letters")
        tell()
        tell()
        monkeypatch.setattr(workers, "TELL_EVERY", 600)
    assert capsys.readouterr().err == "1 of 2 letters\n2 of 2 letters\n1 of 2 letters\n"
