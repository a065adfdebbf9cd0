"""The database moves to another server behind the same address, and old connections stay open."""

import time
import urllib.error
import urllib.request

import grpc
import pytest

from lab.service_bench.ports import free_port
from lab.service_bench.postgresql import Postgres
from service.running import monitoring
from service.running.server import Options, Server
from service.store import postgresql_tables as tables
from tests.support.play import seeded
from tests.support.proxy import Proxy
from tests.support.server_process import ServerProcess, refused_start
from tests.support.serving import Client, play_on, read_error, refused, ruleset_of
from tests.support.store_faults import GAME, UNAVAILABLE, check_refusal, next_request

END = 30


# The tests share a pair. The last one moves the database, and so leaves it of no use to others.


@pytest.fixture(scope="module")
def primary():
    server = Postgres()
    yield server
    server.close()


@pytest.fixture(scope="module")
def standby(primary):
    server = Postgres(primary)
    yield server
    server.close()


def repeated(call, *arguments):
    """Repeats a refused call until it is answered; returns the answer and the refusals."""
    until = time.monotonic() + END
    refusals = 0
    while True:
        try:
            return call(*arguments), refusals
        except grpc.RpcError as error:
            check_refusal(read_error(error), UNAVAILABLE)
            assert time.monotonic() < until
            refusals += 1


def test_a_server_does_not_start_on_a_database_that_takes_no_writes(primary, standby):
    line = refused_start("--store", standby.url("public"))
    assert line.endswith("cannot use the PostgreSQL database: it takes no writes, as a standby")


def readiness(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=END) as answer:
            return answer.status, answer.read().decode().strip()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode().strip()


def wait_for_readiness(port, expected):
    until = time.monotonic() + END
    while readiness(port) != expected:
        assert time.monotonic() < until, readiness(port)


def test_a_server_that_cannot_read_its_log_for_long_is_not_ready(servers, primary, monkeypatch):
    monkeypatch.setattr(monitoring, "UNREADABLE_SECONDS", 1.0)
    port = free_port()
    url = primary.url(primary.new_schema())

    async def start():
        server = Server(Options(port=0, metrics_port=port, store=url))
        return server, await server.start()

    server, address = servers.run(start())
    wait_for_readiness(port, (200, "ready"))
    primary.stop()
    wait_for_readiness(port, (503, "the log cannot be read"))
    primary.start()
    # Without a call: the server looks for what is due.
    wait_for_readiness(port, (200, "ready"))
    client = Client(address)
    repeated(client.create, ruleset_of(GAME))
    client.close()
    servers.run(server.stop(0.2))


def test_servers_follow_the_database_to_its_new_primary(servers, primary, standby):
    schema = primary.new_schema()
    proxy = Proxy(primary.socket)
    servers.run(proxy.__aenter__())
    with ServerProcess("--store", primary.url(schema, proxy.host)) as server:
        create = server.client.create
        # As many at once that each connection of the pool is used.
        requests = [create(ruleset_of(GAME)) for _ in range(20)]
        table = requests[0]
        stream = table.spectator.watch()
        assert next(stream).version == 0
        losing = requests[1]
        for version in range(3):
            player, request = next_request(losing)
            assert player.send(request).version == version + 1
        watching = losing.spectator.watch(3)
        standby.take_over(primary)
        # As if it had not had the last two entries.
        where = f"match_id = '{losing.spectator.match.removeprefix('matches/')}' AND version > 1"
        standby.execute(f"DELETE FROM {schema}.entries WHERE {where}")
        proxy.turn_to(standby.socket)

        # Who only watches is told so without a call of anybody.
        error = refused(lambda: next(watching))
        assert error[:2] == (grpc.StatusCode.OUT_OF_RANGE, "VERSION_IN_FUTURE")
        assert error.metadata == {"current_version": "1"}
        _, refusals = repeated(create, ruleset_of(GAME))
        print(f"{refusals} calls were refused before the first new match")
        player, request = next_request(table)
        assert repeated(player.send, request)[0].version == 1
        assert next(stream).version == 1
        for _ in range(20):
            repeated(create, ruleset_of(GAME))
        # By now nothing is asked of the previous server.
        for each in (create(ruleset_of(GAME)), table, losing):
            play_on(each, seeded("switched"))
        listeners = (
            f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{tables.LISTENER}'"
        )
        until = time.monotonic() + END
        while (primary.execute(listeners), standby.execute(listeners)) != ("0", "1"):
            assert time.monotonic() < until
        server.stop()
    servers.run(proxy.__aexit__())
