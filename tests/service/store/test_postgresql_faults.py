"""Players and a failing database: a refusal reports the fault, and no answered action is lost.

No request is applied twice. The server recovers by itself when the database does.
"""

import asyncio
import uuid

import asyncpg
import grpc
import pytest

from croupier.v1 import match_pb2
from service.common.errors import Refusal
from service.hosting import leases, scheduler
from service.running.server import Options, Server
from service.store import postgresql_connections
from tests.support.play import seeded
from tests.support.proxy import Proxy
from tests.support.server_process import refused_start
from tests.support.serving import OPEN, Client, Table, bot, play_on, read_error, refused, ruleset_of
from tests.support.store_faults import (
    FULL,
    GAME,
    UNAVAILABLE,
    check_refusal,
    is_serving,
    next_request,
)
from tests.support.stores import NOT_DUE, PostgresPlace, action, header, opened
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def place(postgres):
    return PostgresPlace(postgres)


@pytest.fixture(scope="module")
def proxy(servers, place):
    proxy = Proxy(place.server.socket)
    servers.run(proxy.__aenter__())
    yield proxy
    servers.run(proxy.__aexit__())


@pytest.fixture(scope="module")
def serving(servers, place, proxy):
    """A server that soon looks again for a database and for what is due, and its client."""

    async def start():
        url = place.server.url(place.schema, proxy.host)
        server = Server(Options(port=0, store=url))
        return server, await server.start()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgresql_connections, "MAX_RETRY_SECONDS", 0.1)
        for module in (leases, scheduler):
            patch.setattr(module, "LEASE_MILLISECONDS", 400)
        patch.setattr(scheduler, "POLL_MILLISECONDS", 100)
        server, address = servers.run(start())
        client = Client(address)
        yield server, client
        client.close()
        servers.run(server.stop(0))


@pytest.fixture
def server(serving):
    return serving[0]


@pytest.fixture
def client(serving):
    return serving[1]


def store_metric(server, name, kind):
    return server.metrics.registry.get_sample_value(f"croupier_store_{name}", {"kind": kind})


def wait_for_log(caplog, text):
    wait_until(lambda: text in caplog.text, lambda: f"{text!r} in {caplog.text}")


def until_answered(call, *arguments):
    """Repeats a refused call until it is answered, as the refusal asks."""
    while True:
        try:
            return call(*arguments)
        except grpc.RpcError as error:
            check_refusal(read_error(error), UNAVAILABLE)


def execute(place, command):
    async def run():
        connection = await asyncpg.connect(place.url)
        try:
            return await connection.execute(command)
        finally:
            await connection.close()

    return asyncio.run(run())


def entries_of(place, table):
    match = table.name.removeprefix("matches/")
    done = execute(place, f"SELECT FROM entries WHERE match_id = '{match}'")
    return int(done.removeprefix("SELECT "))


def matches_in(place):
    return int(execute(place, "SELECT FROM matches").removeprefix("SELECT "))


@pytest.mark.parametrize("answered", [True, False], ids=["answer", "request"])
def test_a_connection_lost_in_a_commit_is_reported_and_a_retry_resolves_it(
    client, proxy, place, answered
):
    tables = [client.create(ruleset_of(GAME)) for _ in range(6)]
    turns = [next_request(table) for table in tables]
    streams = [table.spectator.watch() for table in tables]
    for stream in streams:
        next(stream)

    cuts = proxy.cuts
    proxy.break_at(turns[3][1].request_id.encode(), answered=answered)
    calls = [player.send_later(request) for player, request in turns]
    refusals = [call.exception() for call in calls]
    assert proxy.cuts == cuts + 1
    applied = [entries_of(place, table) for table in tables]
    assert refusals[3]
    # The fault affects only the entries of the same commit, and no stream.
    for error, count in zip(refusals, applied, strict=True):
        assert count == (answered or not error)
        if error:
            check_refusal(read_error(error), UNAVAILABLE)
    views = [player.send(request) for player, request in turns]
    assert [view.version for view in views] == [1] * len(tables)
    assert [player.send(request) for player, request in turns] == views
    assert [entries_of(place, table) for table in tables] == [1] * len(tables)
    assert [next(stream).version for stream in streams] == [1] * len(tables)


@pytest.mark.parametrize("answered", [True, False], ids=["answer", "request"])
def test_a_repeated_request_completes_an_interrupted_creation(client, proxy, place, answered):
    create = client.matches.CreateMatch
    # The proxy recognizes the row of this match by its odd time limit.
    seconds = 86_399 - answered
    request = match_pb2.CreateMatchRequest(
        ruleset=ruleset_of(GAME),
        seats=[bot("RANDOM"), OPEN],
        time_control={"per_match": {"seconds": seconds}},
        request_id=str(uuid.uuid4()),
    )
    before = matches_in(place)
    proxy.break_at(request.time_control.SerializeToString(), answered=answered)
    check_refusal(refused(create, request), UNAVAILABLE)
    assert matches_in(place) == before + answered
    created = create(request)
    assert create(request) == created
    assert matches_in(place) == before + 1
    # The bot decides, although the interrupted creation did not tell the server of the match.
    spectator = Table(client, created).spectator
    assert spectator.wait_later(1).result().view.version == 1


def test_a_database_restart_loses_nothing_and_ends_no_stream(server, client, place, caplog):
    table = until_answered(client.create, ruleset_of(GAME))
    stream = table.spectator.watch()
    next(stream)
    player, request = next_request(table)
    views = table.views()
    caplog.clear()
    place.server.stop()
    try:
        for _ in range(3):
            check_refusal(refused(player.send, request), UNAVAILABLE)
        check_refusal(refused(player.view), UNAVAILABLE)
        check_refusal(refused(client.create, ruleset_of(GAME)), UNAVAILABLE)
        assert is_serving(client)
        assert store_metric(server, "failing", "write") == 1
        assert store_metric(server, "failures_total", "write") > 0
        wait_for_log(caplog, "the log cannot be read")
    finally:
        place.server.start()
    # The server recovers without any request, because it polls for due matches.
    wait_for_log(caplog, "the log is read again")
    assert until_answered(table.views) == views
    view = until_answered(player.send, request)
    assert view.version == 1
    assert player.send(request) == view
    wait_for_log(caplog, "the log is written again")
    assert store_metric(server, "failing", "write") == 0
    assert next(stream).version == 1
    play_on(table, seeded("restarted"))
    assert [each.version for each in stream] == list(range(2, table.spectator.view().version + 1))


def test_a_full_disk_is_reported_and_logged(server, client, place, caplog):
    # PostgreSQL reports this error when a file cannot grow.
    execute(
        place,
        """
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON entries EXECUTE FUNCTION fail();
        """,
    )
    table = until_answered(client.create, ruleset_of(GAME))
    player, request = next_request(table)
    views = table.views()
    caplog.clear()
    for _ in range(2):
        check_refusal(refused(player.send, request), FULL)
    wait_for_log(caplog, "the log cannot be written: DiskFullError")
    assert caplog.text.count("the log cannot be written: DiskFullError") == 1
    assert store_metric(server, "failing", "write") == 1
    assert store_metric(server, "failing", "read") == 0
    assert table.views() == views
    execute(place, "DROP TRIGGER full_disk ON entries")
    assert player.send(request).version == 1
    wait_for_log(caplog, "the log is written again")


def test_a_server_recovers_when_the_database_accepts_connections_again(client, place):
    table = until_answered(client.create, ruleset_of(GAME))
    player, request = next_request(table)
    elsewhere = place.url.replace("@/postgres?", "@/template1?")

    async def allow(value):
        connection = await asyncpg.connect(elsewhere)
        await connection.execute(f"ALTER DATABASE postgres ALLOW_CONNECTIONS {value}")
        await connection.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres'"
        )
        await connection.close()

    asyncio.run(allow("false"))
    try:
        for _ in range(2):
            check_refusal(refused(player.send, request), UNAVAILABLE)
    finally:
        asyncio.run(allow("true"))
    assert until_answered(player.send, request).version == 1


def test_an_unreachable_database_is_reported_in_one_line_at_startup(tmp_path):
    url = f"postgresql://me:secret@/postgres?host={tmp_path}"
    line = refused_start("--store", url)
    assert "cannot use the PostgreSQL database" in line
    assert "secret" not in line


def test_only_the_faulty_request_of_a_shared_commit_fails(postgres):
    async def test():
        async with opened(PostgresPlace(postgres)) as store:
            names = [f"match{number}" for number in range(20)]
            for name in names:
                await store.create(header(name), NOT_DUE)
            entries = [action(0) for _ in names]
            entries[7] = action(0, at=1 << 70)
            done = await asyncio.gather(
                *(
                    store.append(name, 0, entry, NOT_DUE)
                    for name, entry in zip(names, entries, strict=True)
                ),
                return_exceptions=True,
            )
            assert isinstance(done.pop(7), Exception)
            assert not any(isinstance(each, Refusal) for each in done)
            assert set(done) == {True}

    asyncio.run(test())
