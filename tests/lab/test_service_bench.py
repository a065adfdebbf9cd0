"""The benchmark of the service counts answered calls and nothing else."""

import asyncio

import grpc
import pytest

from lab.service_bench import duties
from lab.service_bench.client import Client, Run
from lab.service_bench.load import hosting
from lab.service_bench.scripts import Request, write_scripts
from lab.service_bench.serve import ECHO
from lab.service_bench.servers import SUBMIT
from service.store import SqliteStore

SECONDS = 0.2
CALLS = 4_000  # More than a run can make.


async def entries_of(directory):
    store = SqliteStore(directory)
    await store.open()
    stored = [await store.load(f"played{number}") for number in range(CALLS)]
    await store.close()
    return sum(len(match.entries) for match in stored if match is not None)


def test_a_call_is_counted_once_it_is_in_the_log(tmp_path):
    directory = tmp_path / "log"
    with hosting(directory, write_scripts("skystones", 2), CALLS) as host:
        runs = [
            host.client.run(Run(host.server.address, SUBMIT, streams, SECONDS, False))
            for streams in (1, 8)
        ]
        assert host.server.cpu() > 0
    assert all(run.calls == len(run.latencies) > 0 for run in runs)
    assert asyncio.run(entries_of(directory)) == sum(run.calls for run in runs)


def test_a_call_that_fails_ends_the_measurement(tmp_path):
    with hosting(tmp_path / "log", write_scripts("skystones", 1), 1) as host:
        client = Client([[Request("nonsense", b"")]])
        with pytest.raises(RuntimeError, match="SubmitAction: a call failed"):
            client.run(Run(host.server.address, SUBMIT, 1, SECONDS, False))
        client.close()


def test_decisions_of_the_server_are_counted_beside_calls(capsys, monkeypatch):
    sizes = {"rounds": 1, "seconds": 0.2, "streams": 2, "playing": 4, "due": 4}
    options = [f"--{name}={size}" for name, size in sizes.items()]
    monkeypatch.setattr("sys.argv", ["duties", *options])
    duties.main()
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row[:16].strip() for row in rows] == [
        "quiet",
        "playing",
        "started quiet",
        "started due",
    ]
    rates = [int(row[16:25].replace(",", "")) for row in rows]
    assert min(rates) > 0
    decided = [int(row.rpartition("; ")[2].removesuffix("/s")) for row in rows]
    assert decided[0] == decided[2] == 0 < decided[3]


def test_the_measured_server_can_echo(tmp_path):
    with hosting(tmp_path / "log", write_scripts("skystones", 1), 1) as host:
        client = Client([[Request("token", b"message")]])
        run = client.run(Run(host.server.address, ECHO, 4, SECONDS, True))
        client.close()
        with grpc.insecure_channel(host.server.address) as channel:
            assert channel.unary_unary(ECHO)(b"message") == b"message"
    assert run.calls > 4
    assert min(run.latencies) > 0
