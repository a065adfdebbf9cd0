"""The server as a process of its own, and the command line."""

import os
import select
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

import wire
from cli import games, health
from croupier.v1 import catalog_pb2, clock_pb2, hint_pb2
from service.store import SqliteStore
from tests.support.commands import croupier
from tests.support.play import seeded
from tests.support.ports import free_port
from tests.support.server_process import SERVE, ServeCommand
from tests.support.serving import OPEN, Client, bot, play_on, read_error, refused, ruleset_of
from tests.support.waiting import FOREVER

SERVICES = tuple(f"croupier.v1.{name}Service" for name in ("Catalog", "Match", "Hint"))
SERVING = health_pb2.HealthCheckResponse.SERVING
COMMAND = [sys.executable, "-m", "cli"]
SEED = 0x5EC2E75EED5EC2E7


@pytest.fixture
def start():
    started = []

    def start(*options, **command):
        started.append(ServeCommand(*options, **command))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.communicate()


def run(*arguments):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True)


def status(channel, service=""):
    stub = health_pb2_grpc.HealthStub(channel)
    return stub.Check(health_pb2.HealthCheckRequest(service=service)).status


@pytest.mark.parametrize("web", [False, True])
def test_a_server_imports_no_more_than_it_needs_to_start(web):
    # What it imports is most of its start.
    code = f"""if True:
        import asyncio, sys
        import cli.serve
        from service.gateway.options import WebOptions
        from service.running.server import Options, Server
        async def make():
            Server(Options(port=0, web=WebOptions(port=0) if {web} else None))
        asyncio.run(make())
        print(*sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "service.api.match_service" in loaded
    assert ("service.gateway.rpc" in loaded) == ("connectrpc" in loaded) == web
    assert not loaded & {"asyncpg", "jwt"}


def test_a_server_answers_health_and_reflection_plays_counts_and_stops(start):
    metrics_port = free_port()
    options = ("--metrics-port", str(metrics_port), "--allow-seeds", "--log-level", "debug")
    server = start(*options, command=SERVE)
    client = Client(server.address)
    for service in ("", *SERVICES):
        assert status(client.channel, service) == SERVING
    services = ProtoReflectionDescriptorDatabase(client.channel).get_services()
    assert set(SERVICES) < set(services)

    game_id = "champion_chess"
    table = client.create(ruleset_of(game_id), seed=SEED)
    play_on(table, seeded("process"))
    # A refusal is counted after it is sent, so another call comes between it and the metrics.
    refused(table.players[0].resign)
    other = client.create(ruleset_of(game_id), [OPEN, bot("BEGINNER")], seed=SEED)
    other.players[0].resign()

    with urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics") as answer:
        metrics = answer.read().decode()
    for line in (
        'croupier_rpcs_total{code="FAILED_PRECONDITION",protocol="grpc"} 1.0',
        'croupier_unary_rpc_seconds_count{code="OK",method="MatchService/CreateMatch"} 2.0',
        'croupier_unary_rpc_seconds_count{code="FAILED_PRECONDITION",'
        'method="MatchService/ResignMatch"} 1.0',
        'croupier_refusals_total{reason="MATCH_OVER"} 1.0',
        f'croupier_matches_total{{game="{game_id}",state="created"}} 2.0',
        f'croupier_matches_total{{game="{game_id}",state="ended"}} 1.0',
        f'croupier_matches_total{{game="{game_id}",state="resigned"}} 1.0',
        'croupier_searches_waiting{kind="hint"} 0.0',
        'croupier_searches_waiting{kind="bot"} 0.0',
    ):
        assert line in metrics.splitlines()

    code, log = server.end()
    assert code == 0
    assert "MatchService/SubmitAction OK" in log
    # Neither the log nor the metrics hold a secret, not even the secret of a match that is over.
    secrets = [
        *(player.token for player in (*table.everyone(), *other.everyone())),
        str(SEED),
        "CHAMPION_CHESS_CARD",
    ]
    assert not [secret for secret in secrets if secret in log or secret in metrics]
    # The log says which match each call was about; the metrics do not.
    match_id = table.name.removeprefix("matches/")
    assert match_id in log
    assert match_id not in metrics


def test_streams_end_when_the_server_stops(start):
    server = start("--metrics-port", "0")
    client = Client(server.address)
    stream = client.create(ruleset_of("champion_chess")).spectator.watch()
    next(stream)
    watch = health_pb2_grpc.HealthStub(client.channel).Watch(health_pb2.HealthCheckRequest())
    assert next(watch).status == SERVING
    server.process.terminate()
    assert next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING
    watch.cancel()
    with pytest.raises(grpc.RpcError) as caught:
        next(stream)
    refusal = read_error(caught.value)
    assert refusal.code is grpc.StatusCode.UNAVAILABLE
    assert refusal.reason == "SHUTTING_DOWN"
    assert refusal.retry_seconds > 0
    server.process.communicate()
    assert server.process.returncode == 0


def children(process):
    """The processes that a process has started."""
    return set(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())


@pytest.fixture
def short_path():
    """A directory in whose path a socket has room."""
    with tempfile.TemporaryDirectory(prefix="t") as folder:
        yield folder


def test_a_killed_server_leaves_no_search_process(start, monkeypatch, short_path):
    monkeypatch.setenv("TMPDIR", short_path)
    server = start("--metrics-port", "0", command=SERVE)
    assert os.listdir(short_path)
    (child,) = children(server.process)
    child = os.pidfd_open(int(child))
    server.process.kill()
    select.select([child], [], [])  # It ends.
    os.close(child)
    assert not os.listdir(short_path)


@pytest.mark.parametrize("decoy", ["service/__init__.py", "random.py", "grpc.py"])
def test_no_process_takes_what_lies_in_the_working_directory_for_a_module(
    start, monkeypatch, tmp_path, decoy
):
    path = tmp_path / decoy
    path.parent.mkdir(exist_ok=True)
    path.write_text("import pathlib; pathlib.Path('ran').touch(); raise SystemExit")
    monkeypatch.chdir(tmp_path)
    croupier = Path(sys.executable).with_name("croupier")
    server = start(command=[croupier, *SERVE[3:], "--metrics-port", "0"])
    assert children(server.process)
    assert server.end()[0] == 0
    assert not (tmp_path / "ran").exists()


def test_a_directory_without_room_for_sockets_is_reported(tmp_path, monkeypatch):
    folder = tmp_path / ("x" * 80)
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    done = run("serve", "--listen", "127.0.0.1:0", "--metrics-port", "0", "--store", "memory")
    assert done.returncode == 1
    assert done.stderr.startswith(f"croupier: {folder} has too long a path")
    assert not list(folder.iterdir())


def test_searches_run_at_a_search_server(start):
    worker = start("--metrics-port", "0", "--role", "search", command=SERVE)
    options = ("--metrics-port", "0", "--search-at", f"ipv4:{worker.address}", "--allow-seeds")
    server = start(*options, command=SERVE)
    assert not children(server.process)
    client, limits = Client(server.address), hint_pb2.SearchLimits(iterations=100)
    view = client.create(ruleset_of("skystones"), seed=SEED).players[0].view()
    with_worker = client.hint(view, limits, seed=1).hint
    with Client(worker.address).channel as channel:
        services = ProtoReflectionDescriptorDatabase(channel).get_services()
        assert "croupier.v1.HintService" in services
        assert "croupier.v1.MatchService" not in services
    assert worker.end()[0] == 0
    assert client.hint(view, limits, seed=1).hint == with_worker


def test_a_port_in_use_is_reported_in_one_line(client):
    nobody = ("--listen", "127.0.0.1:0", "--store", "memory", "--metrics-port")
    web = ("--listen", "127.0.0.1:0", "--store", "memory", "--metrics-port", "0", "--web")
    for named, options in (
        ("--listen", ("--listen", client.address, "--metrics-port", "0")),
        ("--metrics-host or --metrics-port", (*nobody, client.address.rpartition(":")[2])),
        ("--web", (*web, client.address)),
    ):
        second = run("serve", *options)
        assert second.returncode == 1
        assert not second.stdout
        (line,) = second.stderr.splitlines()
        why = f"Address already in use; give {named} another address"
        assert line == f"croupier: cannot listen on {client.address}: {why}"


def test_a_host_without_an_address_is_reported_in_one_line():
    failed = run("serve", "--listen", "300.1.1.1:50051")
    assert failed.returncode == 1
    (line,) = failed.stderr.splitlines()
    why = "the host has no address; give --listen another address"
    assert line == f"croupier: cannot listen on 300.1.1.1:50051: {why}"


def test_an_unusable_token_key_is_reported(tmp_path):
    short = tmp_path / "short"
    short.write_bytes(b"x" * 31)
    for path, said in ((short, "at least 32 bytes"), (tmp_path / "missing", "No such file")):
        failed = run(
            "serve", "--listen", "127.0.0.1:0", "--store", "memory", "--token-key-file", str(path)
        )
        assert failed.returncode == 1
        (line,) = failed.stderr.splitlines()
        assert said in line


def test_the_commands_health_and_games_ask_a_server(client, monkeypatch):
    monkeypatch.setattr(health, "ANSWER_SECONDS", FOREVER)
    monkeypatch.setattr(games, "ANSWER_SECONDS", FOREVER)
    assert croupier("health", "--server", client.address) == (0, "SERVING\n", "")
    listed = croupier("games")
    assert croupier("games", "--server", client.address) == listed
    assert [line.split()[0] for line in listed.out.splitlines()] == list(wire.hosted_games())
    monkeypatch.setattr("croupier.client.CATALOG_PATIENCE", 0.0)
    for command in ("health", "games"):
        ended = croupier(command, "--server", "127.0.0.1:1")
        assert ended.status == 1
        assert ended.err.startswith("croupier: ")
        assert "127.0.0.1:1: UNAVAILABLE" in ended.err


def test_the_catalog_describes_every_game(client):
    listed = client.catalog.ListGames(catalog_pb2.ListGamesRequest()).games
    assert [game.name for game in listed] == [f"games/{game_id}" for game_id in wire.hosted_games()]
    for game in listed:
        assert not game.cards
        request = catalog_pb2.GetGameRequest(name=game.name)
        whole = client.catalog.GetGame(request).game
        game_id = game.name.removeprefix("games/")
        assert len(whole.cards) == len(wire.hosted_games()[game_id]().cards()) > 0
        assert all(card.id and card.title and card.kind and card.numbers for card in whole.cards)
        assert whole.phrases
        assert whole.aspects
        for name in ("cards", "phrases", "aspects"):
            whole.ClearField(name)
        assert whole == game
        assert game.title
        assert game.rules
        assert game.rules_version
        assert len(game.seat_titles) == 2
        # The default ruleset of the catalog creates the same match as no ruleset.
        table = client.create(game.default_ruleset, seed=4)
        same = client.create(ruleset_of(game_id), seed=4)
        for one, other in zip(table.everyone(), same.everyone(), strict=True):
            assert getattr(one.view(), game_id) == getattr(other.view(), game_id)


def test_a_second_server_on_the_same_data_is_refused_in_one_line(servers, tmp_path):
    store = SqliteStore(tmp_path)
    servers.run(store.open())
    where = ("--listen", "127.0.0.1:0", "--metrics-port", "0", "--data", str(tmp_path))
    second = run("serve", *where)
    servers.run(store.close())
    assert second.returncode == 1
    (line,) = second.stderr.splitlines()
    assert line == f"croupier: {tmp_path} is in use by another server"


def test_the_options_about_matches_that_nobody_plays_reach_the_server(start):
    control = clock_pb2.TimeControl(per_decision={"seconds": 9}, on_expiry=2)

    def limit(*options):
        server = start("--store", "memory", "--metrics-port", "0", *options)
        client = Client(server.address)
        table = client.create(ruleset_of("skystones"), time_control=control)
        view = table.spectator.view()
        assert server.end(signal.SIGINT)[0] == 0
        return view.clocks.time_control.max_default_actions

    assert limit("--max-default-actions", "7", "--end-idle", "12h") == 7
    assert limit("--max-default-actions", "0", "--end-idle", "never") == 0
    for wrong in (("--max-default-actions", "1001"), ("--end-idle", "forever")):
        ended = croupier("serve", *wrong)
        assert ended.status == 2
        assert wrong[0] in ended.err
