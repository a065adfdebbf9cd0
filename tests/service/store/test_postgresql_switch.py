"""The database moves to another server behind the same address, and old connections stay open."""

import re

import grpc
import pytest

from service.running import monitoring
from service.running.server import Options, Server
from service.store import postgresql_connections
from service.store import postgresql_tables as tables
from service.store.postgresql import PostgresStore
from tests.support.play import seeded
from tests.support.postgresql import Postgres
from tests.support.proxy import Proxy
from tests.support.server_process import refused_start
from tests.support.serving import Client, play_on, read_error, refused, ruleset_of
from tests.support.store_faults import GAME, UNAVAILABLE, check_refusal, next_request
from tests.support.stores import lose
from tests.support.waiting import wait_until

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
    refusals = 0
    while True:
        try:
            return call(*arguments), refusals
        except grpc.RpcError as error:
            check_refusal(read_error(error), UNAVAILABLE)
            refusals += 1


def test_a_server_does_not_start_on_a_database_that_takes_no_writes(primary, standby):
    line = refused_start("--store", standby.url("public"))
    assert re.search(
        r"PostgreSQL database postgresql://\S+: it takes no writes, as a standby$", line
    )


@pytest.fixture
def serve(servers, monkeypatch):
    """Starts a server on a database, which is tried again soon, and returns it with a client."""
    monkeypatch.setattr(postgresql_connections, "MAX_RETRY_SECONDS", 0.1)
    started = []

    async def start(url):
        server = Server(Options(port=0, store=url))
        return server, await server.start()

    def serve(url):
        server, address = servers.run(start(url))
        started.append((server, Client(address)))
        return started[-1]

    yield serve
    for server, client in started:
        client.close()
        servers.run(server.stop(0))


def wait_for_readiness(server, expected):
    readiness = server._monitoring._readiness
    wait_until(lambda: readiness() == expected, readiness)


def test_a_server_that_cannot_read_its_log_for_long_is_not_ready(serve, primary, monkeypatch):
    monkeypatch.setattr(monitoring, "UNREADABLE_SECONDS", 0.2)
    server, client = serve(primary.url(primary.new_schema()))
    wait_for_readiness(server, monitoring.READY)
    primary.stop()
    wait_for_readiness(server, "the log cannot be read")
    primary.start()
    # Without a call: the server looks for what is due.
    wait_for_readiness(server, monitoring.READY)
    repeated(client.create, ruleset_of(GAME))


@pytest.fixture
def proxy(servers, primary):
    proxy = Proxy(primary.socket)
    servers.run(proxy.__aenter__())
    yield proxy
    servers.run(proxy.__aexit__())


async def lose_last(url, match_id):
    store = PostgresStore(url)
    await store.open()
    await lose(store, match_id, 1)
    await store.close()


def test_servers_follow_the_database_to_its_new_primary(servers, proxy, serve, primary, standby):
    schema = primary.new_schema()
    _, client = serve(primary.url(schema, proxy.host))
    create = client.create
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
    match_id = losing.spectator.match.removeprefix("matches/")
    servers.run(lose_last(standby.url(schema), match_id))
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

    def listening():
        return primary.execute(listeners), standby.execute(listeners)

    wait_until(lambda: listening() == ("0", "1"), listening)
