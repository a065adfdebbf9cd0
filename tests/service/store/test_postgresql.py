"""The PostgreSQL log: several servers that share it, and a database that goes and returns."""

import asyncio
import re
import sys
from unittest.mock import AsyncMock

import asyncpg
import pytest

from croupier.v1.error_pb2 import ErrorReason
from croupier.v1.game_pb2 import View
from service.common.call import Call, Kind, Principal, current_call
from service.common.tasks import TaskFailedError
from service.hosting.creation import NewMatch
from service.hosting.matches import Matches
from service.hosting.seats import Caller
from service.hosting.views import serialize_view
from service.observability.metrics import OFF_SECONDS, Metrics
from service.running.server import Options, open_store
from service.store import (
    Head,
    MatchStatus,
    postgresql,
    postgresql_connections,
    postgresql_listener,
    postgresql_tables,
)
from tests.support.proxy import CUT, PASS, SWALLOW, Proxy
from tests.support.server_process import refused_start
from tests.support.serving import ruleset_of, view_of
from tests.support.stores import (
    NOT_DUE,
    Branch,
    Heard,
    PostgresPlace,
    action,
    add,
    append,
    header,
    opened,
    read,
    refused,
    sealed,
)
from tests.support.waiting import PAUSE
from wire.errors import Refusal

LONG = 1000.0
FULL = ErrorReason.ERROR_REASON_STORE_FULL
UNAVAILABLE = ErrorReason.ERROR_REASON_STORE_UNAVAILABLE


@pytest.fixture
def place(postgres):
    return PostgresPlace(postgres)


@pytest.fixture
def store(enter, place):
    return enter(opened(place, "one"))


async def until_done(call):
    """Repeats a call until it is no longer refused."""
    while True:
        try:
            return await call()
        except Refusal as refusal:
            assert refusal.reason == UNAVAILABLE
            await asyncio.sleep(0.01)


async def test_waiters_at_another_server_are_notified(place, monkeypatch):
    monkeypatch.setattr(postgresql_listener, "POLL_SECONDS", LONG)
    async with opened(place, "one") as store, opened(place) as other:
        # Once it has heard of the match, the other server is certain to listen.
        heard = Heard(other)
        await add(store, 0)
        await heard.past(0)
        for version in range(1, 20):
            assert max(heard.versions) == version
            await add(store, version)
            await heard.past(version)


async def test_notifications_are_batched(place, monkeypatch):
    notices = []
    write = postgresql.write_notices
    monkeypatch.setattr(
        postgresql, "write_notices", lambda *of: notices.append(write(*of)) or notices[-1]
    )
    names = [f"{number:032}" for number in range(300)]

    async def one_listener(connection):
        return 1

    monkeypatch.setattr(postgresql_tables, "count_listeners", one_listener)
    async with opened(place, "one") as store:
        for name in names:
            await store.create(header(name), NOT_DUE)
        calls = (Branch(name).append(store, action(0)) for name in names)
        assert all(await asyncio.gather(*calls))
    sent = [notice for each in notices for notice in each]
    assert sorted(word for each in sent for word in each.split(",")) == [f"{n} 1" for n in names]
    assert all(len(notice) < 8000 for notice in sent)
    assert len(sent) < len(names) / 4


async def test_polling_finds_changes_without_notifications(place, monkeypatch):
    monkeypatch.setattr(postgresql, "write_notices", lambda *_: [])
    monkeypatch.setattr(postgresql_listener, "POLL_SECONDS", 0.05)
    async with opened(place, "one") as store, opened(place) as other:
        heard = Heard(other)
        for version in range(3):
            await add(store, version)
            await heard.past(version)


async def test_a_clock_that_is_off_the_database_s_is_told_once(place, monkeypatch, caplog):
    true, bound = postgresql_tables.CLOCK, OFF_SECONDS
    monkeypatch.setattr(postgresql_listener, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(postgresql_tables, "CLOCK", f"{true} - 90")
    async with opened(place) as store:
        shown = store._metrics.registry.get_sample_value
        for off in (90.0, 0.0, -90.0):
            monkeypatch.setattr(postgresql_tables, "CLOCK", f"{true} - {off}")
            asked = ("croupier_store_statements_total", {"purpose": "poll"})
            until = shown(*asked) + 8 * postgresql_listener.POLLS_PER_TELLING
            while shown(*asked) < until:
                await asyncio.sleep(0.001)
            (line,) = (each for each in caplog.messages if "this clock is ahead" in each)
            told = float(re.search(r"by (\S+) seconds", line)[1])
            for offset in (told, shown("croupier_clock_offset_seconds")):
                assert abs(offset - off) < bound
            caplog.clear()


async def test_waiters_are_notified_after_the_listener_was_cut_off(place, monkeypatch):
    monkeypatch.setattr(postgresql_listener, "POLL_SECONDS", 0.05)
    cut = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE application_name = 'croupier listens'"
    )
    async with opened(place, "one") as store, opened(place) as other:
        heard = Heard(other)
        version = cuts = 0
        while cuts < 5:
            cuts += int(place.server.execute(cut))
            await until_done(lambda version=version: add(store, version))
            await heard.past(version)
            version += 1
        while not other.reads:
            await asyncio.sleep(0)


async def test_servers_that_add_to_the_same_matches_do_not_block_each_other(place):
    names = [f"match{number}" for number in range(200)]
    async with opened(place, "one") as store, opened(place) as other:
        await asyncio.gather(*(store.create(header(name), NOT_DUE) for name in names))
        heads = {name: Branch(name).head for name in names}
        for _ in range(10):
            asked = [
                (name, sealed(heads[name], action(seat)), server)
                for seat, server in enumerate((store, other))
                for name in (names if seat else reversed(names))
            ]
            done = await asyncio.gather(
                *(server.append(name, heads[name], entry, NOT_DUE) for name, entry, server in asked)
            )
            # Each match gets an entry from one of the servers.
            assert sum(done) == len(names)
            first, second = done[: len(names)], done[len(names) :]
            assert all(a != b for a, b in zip(reversed(first), second, strict=True))
            for (name, entry, _), added in zip(asked, done, strict=True):
                if added:
                    heads[name] = Head(heads[name].version + 1, entry.digest)


async def test_servers_that_start_together_create_the_tables_once(place):
    stores = [place.store() for _ in range(6)]
    await asyncio.gather(*(store.open() for store in stores))
    keys = await asyncio.gather(*(s.key(bytes([n]) * 32) for n, s in enumerate(stores)))
    assert len(set(keys)) == 1
    await asyncio.gather(*(store.close() for store in stores))


def test_an_unreachable_database_is_reported_in_one_line_at_startup(tmp_path):
    url = f"postgresql://me:secret@/postgres?host={tmp_path}"
    line = refused_start("--store", url)
    assert "cannot use the PostgreSQL database postgresql://me@/postgres?host=" in line
    assert "secret" not in line


@pytest.mark.parametrize("damaged", [False, True])
async def test_only_the_faulty_request_of_a_shared_commit_fails(store, damaged):
    names = [f"match{number}" for number in range(20)]
    for name in names:
        await store.create(header(name), NOT_DUE)
    statuses = [NOT_DUE] * 20
    if damaged:
        await store._use("write", "other", lambda file: file.execute(_DAMAGE))
    else:
        statuses[7] = MatchStatus(due=1 << 70)
    calls = [
        Branch(name).append(store, action(0), status)
        for name, status in zip(names, statuses, strict=True)
    ]
    done = await asyncio.gather(*calls, return_exceptions=True)
    fault = done.pop(7)
    assert isinstance(fault, Exception) and isinstance(fault, Refusal) == damaged
    assert set(done) == {True}


# PostgreSQL reports this error where a page is not what was written.
_DAMAGE = """
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'data_corrupted'; END $$;
    CREATE TRIGGER damage BEFORE INSERT ON entries FOR EACH ROW
        WHEN (NEW.match_id = 'match7') EXECUTE FUNCTION fail();
"""


@pytest.mark.parametrize("end", [SystemExit(1), asyncio.CancelledError()], ids=type)
async def test_what_ends_a_commit_is_told_and_the_next_ones_are_carried_out(
    store, monkeypatch, end
):
    with monkeypatch.context() as patch:
        for name in ("append_entries", "read_matches"):
            patch.setattr(postgresql_tables, name, AsyncMock(side_effect=end))
        for call in (add(store, 0), store.load("one")):
            with pytest.raises(TaskFailedError):
                await call
    assert await add(store, 0)
    assert (await store.load("one")).entries


@pytest.mark.parametrize(
    ("given", "used"), [("off", "on"), ("remote_apply", "remote_apply"), ("local", "local")]
)
async def test_a_database_may_be_set_to_more_durability_but_not_to_less(place, given, used):
    def show(file):
        return file.fetchval("SHOW synchronous_commit")

    place.server.execute(f"ALTER ROLE croupier SET synchronous_commit = {given}")
    try:
        async with opened(place) as store:
            for connection in (None, store._writer):
                assert await store._use("read", "other", show, connection) == used
    finally:
        place.server.execute("ALTER ROLE croupier RESET synchronous_commit")


def test_a_missing_package_is_reported_with_the_one_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    for name in [name for name in sys.modules if name.startswith("service.store.postgresql")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ValueError, match=r"install croupier-server\[postgres\]"):
        open_store(Options(store="postgresql://anywhere"), Metrics())


async def test_a_full_disk_is_reported_and_changes_nothing(store):
    # PostgreSQL reports this error when a file cannot grow.
    full = """
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON entries EXECUTE FUNCTION fail();
    """
    await add(store, 0)
    await store._use("write", "other", lambda file: file.execute(full))
    assert await refused(add(store, 1)) == FULL
    await store._use(
        "write", "other", lambda file: file.execute("DROP TRIGGER full_disk ON entries")
    )
    assert await until_done(lambda: add(store, 1))
    assert len(await read(store, "one", 0)) == 2


@pytest.fixture
def one_quiet_connection(monkeypatch):
    """Leaves one connection without other traffic, so that the next answer is the tested one."""
    monkeypatch.setattr(postgresql_connections, "CONNECTIONS", 1)
    monkeypatch.setattr(postgresql, "write_notices", lambda *_: [])
    monkeypatch.setattr(postgresql_listener, "POLL_SECONDS", LONG)


@pytest.fixture
def proxy(enter, store, place):
    """A proxy in front of the database."""
    return enter(Proxy(place.server.socket))


@pytest.fixture
def behind(enter, place, proxy):
    """A store that reaches the database through the proxy."""
    return enter(opened(PostgresPlace(place.server, place.schema, proxy.host)))


@pytest.mark.usefixtures("one_quiet_connection")
async def test_a_connection_lost_during_a_commit_is_reported_and_the_log_decides(
    store, proxy, behind
):
    matches = Matches(behind, Metrics())
    state = await matches.create(NewMatch(ruleset_of("skystones")))
    caller = Caller(state.header.match_id, state.deciders[0])
    legal = view_of(state, caller.seat).legal_actions[0]

    async def submit(version):
        return await matches.submit(
            caller, version, legal, "a", lambda state: serialize_view(state, caller.seat)
        )

    # The first entry prepares the statement, so the next answer is that of the commit.
    await append(behind, "one", 0, action(0), NOT_DUE)
    proxy.mode = CUT
    assert await refused(submit(0)) == UNAVAILABLE
    proxy.mode = PASS
    assert proxy.cuts
    assert len(await read(store, caller.match_id, 0)) == 1
    view = View.FromString(await until_done(lambda: submit(0)))
    assert view.version == 1
    assert len(await read(store, caller.match_id, 0)) == 1
    # Another request with the same request_id is refused.
    assert await refused(submit(1)) == ErrorReason.ERROR_REASON_REQUEST_ID_REUSED


@pytest.mark.usefixtures("one_quiet_connection")
async def test_waiting_for_a_silent_database_has_a_limit(proxy, behind, monkeypatch):
    with monkeypatch.context() as patch:
        # A busy database may miss these, too, so what is to be answered is repeated.
        patch.setattr(postgresql_connections, "ANSWER_SECONDS", 0.3)
        patch.setattr(postgresql_connections, "CONNECT_SECONDS", 0.3)
        for kept in (behind._writer, behind._reader):
            kept.close()
        await until_done(lambda: add(behind, 0))
        await until_done(lambda: behind.load("one"))
        proxy.mode = SWALLOW
        assert await refused(add(behind, 1)) == UNAVAILABLE
        assert await refused(behind.load("one")) == UNAVAILABLE
    proxy.mode = PASS
    proxy.drop()
    entries = await until_done(lambda: behind.read("one", Branch().head))
    assert len(entries) in (1, 2)


# PostgreSQL sends this to an idle connection at an orderly shutdown.
_FIELDS = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"
TERMINATING = b"E" + (len(_FIELDS) + 4).to_bytes(4, "big") + _FIELDS


async def announce_shutdown(proxy):
    """Sends the notice of a shutdown to all connections without closing them."""
    proxy.say(TERMINATING)
    # Bytes written to a local socket arrive at once, and the next turn of the loop reads them.
    for _ in range(3):
        await asyncio.sleep(0)


@pytest.mark.usefixtures("one_quiet_connection")
async def test_a_terminated_connection_is_not_used_again(proxy, behind):
    await add(behind, 0)
    await behind.read("one", Branch().head)
    await behind.load("one")
    await announce_shutdown(proxy)
    assert await refused(behind.read("one", Branch().head)) == UNAVAILABLE
    assert await refused(behind.load("one")) == UNAVAILABLE
    assert await refused(add(behind, 1)) == UNAVAILABLE
    assert await until_done(lambda: add(behind, 1))
    # A connection that is found dead only now has the database left alone once more.
    assert len(await until_done(lambda: behind.read("one", Branch().head))) == 2


async def test_an_absent_database_is_not_tried_on_every_call(proxy, behind, monkeypatch):
    monkeypatch.setattr(postgresql_connections, "MIN_RETRY_SECONDS", LONG)
    monkeypatch.setattr(postgresql_connections, "MAX_RETRY_SECONDS", LONG)
    await behind.load("one")
    proxy.drop()
    proxy._server.close()
    # The first call loses the connection, and the second one finds none.
    assert await refused(behind.load("one")) == UNAVAILABLE
    assert await refused(behind.load("one")) == UNAVAILABLE
    behind._connections._free = None
    for _ in range(100):
        assert await refused(behind.load("one")) == UNAVAILABLE
        assert await refused(add(behind, 0)) == UNAVAILABLE


async def test_a_server_that_cannot_hear_the_others_says_so(place, monkeypatch, caplog):
    async def fail(url):
        raise asyncpg.TooManyConnectionsError

    monkeypatch.setattr(postgresql_listener, "listening_connection", fail)
    async with opened(place) as store:
        working = store._metrics.tasks
        while working.failures().get("notices", 0) < 2:
            await asyncio.sleep(0)
        assert working.down() == {"notices"}
        assert not store.reads
        assert "TooManyConnectionsError" in caplog.text


async def test_one_who_asks_for_much_leaves_a_connection_to_others(store):
    may_go_on, lent = asyncio.Event(), []

    async def hold(payer):
        call = Call("", "")
        call.payers = (Principal(Kind.ADDRESS, payer),)
        current_call.set(call)
        async with store._connections.one():
            lent.append(payer)
            await may_go_on.wait()

    many = [asyncio.create_task(hold("many")) for _ in range(10)]
    one = asyncio.create_task(hold("one"))
    while "one" not in lent:
        await asyncio.sleep(PAUSE)
    assert lent.count("many") < postgresql_connections.CONNECTIONS
    may_go_on.set()
    await asyncio.gather(*many, one)
