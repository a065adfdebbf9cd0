"""How the arena refuses workers that it cannot have; tests/lab/test_ray.py uses a cluster."""

import sys

import pytest

from cli.main import main
from lab import workers
from lab.workers import RayCluster, WorkersError, telling


def test_ray_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        WorkersError, match=r"--ray needs Ray: pip install 'croupier-server\[ray\]'"
    ):
        RayCluster("127.0.0.1:6379")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--ray", "127.0.0.1:6379", "--workers", "2"), "not allowed with argument --ray"),
        (("--workers", "0"), "argument --workers: '0' is not a whole number"),
    ],
)
def test_wrong_workers_are_refused(capsys, options, said):
    with pytest.raises(SystemExit) as exit_:
        main(["arena", "random", "random", "--game", "skystones", *options])
    assert exit_.value.code == 2
    assert said in capsys.readouterr().err


def test_a_cluster_that_does_not_answer_is_named(capsys, monkeypatch):
    # Ray is loaded, but not asked: nobody listens on port 1.
    monkeypatch.setitem(sys.modules, "ray", sys)
    with pytest.raises(SystemExit) as exit_:
        main(["arena", "random", "random", "--game", "skystones", "--ray", "127.0.0.1:1"])
    assert exit_.value.code == 2
    assert "croupier: --ray 127.0.0.1:1: no cluster is reached: " in capsys.readouterr().err


def test_a_revision_is_not_played_on_a_cluster(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["arena", "search@HEAD:ms=1", "random", "--game", "skystones", "--ray", "x:1"])
    assert exit_.value.code == 2
    assert "a revision is built on this machine only" in capsys.readouterr().err


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
