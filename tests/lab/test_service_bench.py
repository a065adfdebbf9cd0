"""The benchmark of the service prints a row for each server, of calls that were answered."""

import asyncio
import contextlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.service_bench import played
from lab.service_bench.servers import MeasuredServer


@pytest.fixture
def measured(shared_server):
    """What stands for a server in a process of its own, which costs nothing."""
    return SimpleNamespace(address=shared_server[1], cpu=lambda: 0.5, memory=lambda: 1 << 20)


def test_each_server_has_a_row_and_the_other_one_a_ratio(tmp_path, capsys, monkeypatch, measured):
    @contextlib.contextmanager
    def hosting(*_):
        yield measured, None

    monkeypatch.setattr(played, "hosting", hosting)
    monkeypatch.setattr(measured, "cpu", iter(range(10**6)).__next__)
    games, checkouts = ("skystones", "powershot_soccer"), {"this code": None, "other": tmp_path}
    asyncio.run(played.measure(tmp_path, games, ("memory",), (2,), 1, 0.2, checkouts))
    _, head, ours, theirs = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["store", "matches", "actions/s"]
    assert ours.startswith("memory           2  this code")
    assert theirs.startswith("memory           2  other")
    assert "CPU" in theirs and "CPU" not in ours


def test_a_call_that_failed_is_no_figure(measured):
    async def play():
        subject = played.Subject(measured, None)
        noticed = subject.noticed
        async with played.seated(measured, ("skystones",), 1, noticed, subject.may.wait):
            noticed.repeated["UNAVAILABLE"] += 1
            await subject.run(0.1)

    with pytest.raises(RuntimeError, match=r"calls failed: .*UNAVAILABLE"):
        asyncio.run(play())


def test_a_server_is_measured_while_it_runs(tmp_path):
    with MeasuredServer(tmp_path, ("--search-processes", "0")) as server:
        assert server.cpu() > 0 and server.memory() > 1 << 20
        assert {"croupier_event_loop_lag_seconds_count"} <= {each.name for each in server.samples()}
    assert not Path(f"/proc/{server.pid}").exists()


def test_a_server_that_does_not_start_is_told(tmp_path, capfd):
    with pytest.raises(RuntimeError, match="did not start"):
        MeasuredServer(tmp_path, ("--no-such-option",)).start()
    assert "--no-such-option" in capfd.readouterr().err
