"""Reads of the PostgreSQL log are gathered, and none is answered by what was sent before it."""

import asyncio
from contextlib import ExitStack

import asyncpg
import pytest

from croupier.v1.error_pb2 import ErrorReason
from service.common.errors import store_unavailable
from service.common.tasks import Tasks
from service.hosting.creation import NewMatch, rematch_id
from service.hosting.entries import Resignation
from service.hosting.matches import Matches
from service.hosting.seats import Caller
from service.observability.metrics import Metrics
from service.store import postgresql, postgresql_connections, postgresql_listener, postgresql_tables
from service.store.postgresql import MAX_LOADS
from service.store.postgresql_reads import ReadGatherer
from tests.support.scheduling import act, create
from tests.support.serving import ruleset_of
from tests.support.stores import (
    NOT_DUE,
    Branch,
    Heard,
    PostgresPlace,
    action,
    append,
    head_of,
    header,
    lose,
    opened,
    refused,
)
from wire.errors import Refusal

LONG = 1000.0


class Statements:
    """Statements that a test answers."""

    def __init__(self, most=100):
        self.gatherer = ReadGatherer(self._read, most, Tasks())
        self.sent = []
        self._answers = asyncio.Queue()

    async def _read(self, asked):
        self.sent.append(asked)
        answer = await self._answers.get()
        if isinstance(answer, Exception):
            raise answer
        return [(each, answer) for each in asked]

    def answer(self, answer):
        self._answers.put_nowait(answer)


async def test_a_read_is_not_answered_by_a_statement_that_was_sent_before():
    statements = Statements()
    first = statements.gatherer.ask("a")
    await asyncio.sleep(0)
    assert statements.sent == [["a"]]
    # The same is asked again, after the statement was sent.
    later = [statements.gatherer.ask(each) for each in "aba"]
    statements.answer("old")
    assert await first == ("a", "old")
    assert not any(future.done() for future in later)
    statements.answer("new")
    assert await asyncio.gather(*later) == [("a", "new"), ("b", "new"), ("a", "new")]
    assert statements.sent == [["a"], ["a", "b"]]
    await statements.gatherer.close()


async def test_reads_of_a_failed_statement_are_refused_and_the_next_ones_are_answered():
    statements = Statements(most=2)
    gone, *futures = [statements.gatherer.ask(each) for each in "abc"]
    gone.cancel()
    statements.answer(store_unavailable())
    with pytest.raises(Refusal):
        await futures[0]
    statements.answer(1)
    assert await futures[1] == ("c", 1)
    assert statements.sent == [["a", "b"], ["c"]]


async def test_only_the_faulty_one_of_reads_that_were_gathered_fails():
    statements = Statements()
    futures = [statements.gatherer.ask(each) for each in "ab"]
    for answer in (ValueError(), ValueError(), 2):
        statements.answer(answer)
    with pytest.raises(ValueError):
        await futures[0]
    assert await futures[1] == ("b", 2)


@pytest.fixture
def place(postgres):
    return PostgresPlace(postgres)


def sent(store, purpose):
    """How many statements a store has sent."""
    name = "croupier_store_statements_total"
    return store._metrics.registry.get_sample_value(name, {"purpose": purpose})


NAMES = [f"match{number:03}" for number in range(MAX_LOADS)]


async def with_matches(store):
    for name in NAMES:
        await store.create(header(name), NOT_DUE)


async def test_reads_that_are_asked_for_at_once_are_one_statement(store):
    await with_matches(store)
    for version in range(3):
        for name in NAMES[version:]:
            assert await append(store, name, version, action(0, name.encode()))
    asked = [
        (name, await head_of(store, name, known)) for name in [*NAMES, "none"] for known in (0, 1)
    ]
    before = sent(store, "read")
    found = await asyncio.gather(*(store.read(*each) for each in asked))
    assert sent(store, "read") == before + 1
    for (name, known), later in zip(asked, found, strict=True):
        if name == "none":
            assert later is None
        else:
            has = min(3, NAMES.index(name) + 1)
            assert [entry.action for entry in later.entries] == [name.encode()] * (
                has - known.version
            )
    before = sent(store, "load")
    names = [*NAMES[1:], "none"]
    loaded = await asyncio.gather(*map(store.load, names))
    assert sent(store, "load") == before + 2
    assert loaded.pop() is None
    assert [match.header for match in loaded] == [header(name) for name in names[:-1]]
    lengths = [min(3, number + 1) for number in range(1, len(NAMES))]
    assert [len(match.entries) for match in loaded] == lengths


async def test_a_match_is_loaded_as_it_was_at_one_moment(place, monkeypatch):
    # Its head is read before its entries; another server adds one in between, with what a seat has
    # decided ahead, of which that head does not tell.
    read_entries = postgresql_tables._read_entries
    ahead = NOT_DUE._replace(ahead=b"....decided ahead")
    async with opened(place, "one") as store, opened(place) as other:
        branch = Branch()

        async def add_and_read(*args):
            monkeypatch.undo()
            assert await branch.append(other, action(0), ahead)
            return await read_entries(*args)

        monkeypatch.setattr(postgresql_tables, "_read_entries", add_and_read)
        before, after = await store.load("one"), await store.load("one")
    assert (before.head.version, len(before.entries), before.head.ahead) == (0, 0, b"")
    assert (after.head.version, len(after.entries)) == (1, 1)
    assert after.head.ahead == ahead.ahead


async def test_commits_and_reads_are_planned_once(store):
    plans = "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE $1"
    await store.create(header(), NOT_DUE)
    one = Branch()
    for _ in range(20):
        before = one.head
        assert await one.append(store, action(0))
        assert len((await store.read("one", before)).entries) == 1
    for kept, words in ((store._writer, "%INTO entries%"), (store._reader, "%number%")):
        async with kept.use() as connection:
            assert [tuple(row) for row in await connection.fetch(plans, words)] == [(20, 0)]


async def test_changes_that_another_server_tells_of_are_read_together(place, monkeypatch):
    monkeypatch.setattr(postgresql_listener, "POLL_SECONDS", LONG)
    async with opened(place) as store, opened(place) as other:
        matches, elsewhere = Matches(store, Metrics()), Matches(other, Metrics())
        await until_it_listens(store, other)
        created = [await matches.create(NewMatch(ruleset_of("skystones"))) for _ in range(20)]
        names = [state.header.match_id for state in created]
        with ExitStack() as stack:
            watches = [stack.enter_context(elsewhere.watch(name)) for name in names]
            for name in names:
                await elsewhere.load(name)
            before, notices = sent(other, "read"), sent(store, "notify")
            times = [state.time + 1 for state in created]
            await asyncio.gather(*map(matches.end_idle, names, times))
            for watch, state in zip(watches, created, strict=True):
                assert (await watch.newer(state)).over
        assert sent(store, "notify") - notices < len(names)
        assert 1 <= sent(other, "read") - before < len(names)


async def test_a_notice_of_rubbish_says_nothing(place, caplog):
    async with opened(place) as store, opened(place) as other:
        await until_it_listens(store, other)
        stranger = await asyncpg.connect(place.url)
        for notice in ("rubbish", "one x", "one 1,", ",,", "one 99999999999999999999", ""):
            channel = postgresql_listener.CHANNEL
            await stranger.execute("SELECT pg_notify($1, $2)", channel, notice)
        await stranger.close()
        await until_it_listens(store, other, "two")
        assert not [each for each in caplog.records if each.levelname == "ERROR"]


async def test_servers_see_each_other_whatever_their_roles_are(place):
    async with opened(place) as store, opened(place) as other:
        await until_it_listens(store, other)
        await until_it_listens(other, store, "two")
        async with store._reader.use() as connection:
            await connection.execute("CREATE ROLE stranger LOGIN")
            assert await postgresql_tables.count_listeners(connection) >= 2
        stranger = await asyncpg.connect(place.url.replace("croupier@", "stranger@"))
        try:
            assert await postgresql_tables.count_listeners(stranger) >= 2
        finally:
            await stranger.close()


async def test_a_connection_that_was_idle_for_long_is_not_used_again(place, monkeypatch):
    async with opened(place) as store:
        await store.create(header(), NOT_DUE)
        processes = []
        for version in range(4):
            if version == 2:
                monkeypatch.setattr(postgresql_connections, "IDLE_SECONDS", -1.0)
            assert await append(store, "one", version, action(0), NOT_DUE)
            processes.append(store._writer.process)
        assert len(set(processes)) == 3
        assert processes[0] == processes[1]


async def read_no_heads(connection, match_ids):
    return {}


async def until_it_listens(store, other, name="one"):
    """Returns when a store hears of what another one commits."""
    await store.create(header(name), NOT_DUE)
    heard = Heard(other, name)
    await append(store, name, 0, action(0), NOT_DUE)
    await heard.past(0)
    heard.stop()


async def test_a_server_that_nobody_listens_to_sends_no_notifications(place, monkeypatch):
    counted, told = [], asyncio.Event()
    count = postgresql_tables.count_listeners

    async def count_and_tell(connection):
        # The listeners of tests before may take a moment to go.
        others = await count(connection)
        counted.append(others)
        alone = counted[-2:] == [0, 0]
        # From then on, a store learns of another one only from its notification.
        monkeypatch.setattr(postgresql_listener, "POLL_SECONDS", LONG if alone else 0.01)
        if alone:
            told.set()
        return others

    monkeypatch.setattr(postgresql_tables, "count_listeners", count_and_tell)
    async with opened(place) as store:
        await store.create(header(), NOT_DUE)
        # The second answer comes after the first one was noted.
        await told.wait()
        for version in range(5):
            assert await append(store, "one", version, action(0), NOT_DUE)
        assert sent(store, "notify") == 0
        async with opened(place) as other:
            heard = Heard(other)
            for version in range(5, 15):
                assert await append(store, "one", version, action(0), NOT_DUE)
                await heard.past(version)
        assert sent(store, "notify") > 0


async def test_a_server_does_not_hear_its_own_notifications(place, monkeypatch):
    monkeypatch.setattr(postgresql_listener, "POLL_SECONDS", LONG)
    async with opened(place) as store, opened(place) as other:
        await until_it_listens(store, other)
        # Only notifications are heard.
        monkeypatch.setattr(postgresql_tables, "read_heads", read_no_heads)
        heard, heard_elsewhere = Heard(store), Heard(other)
        for version in range(1, 10):
            await append(store, "one", version, action(0), NOT_DUE)
            await heard_elsewhere.past(version)
        await append(other, "one", 10, action(0), NOT_DUE)
        await heard.past(10)
        assert heard.versions == list(range(2, 12))


@pytest.mark.parametrize("told", [True, False])
async def test_a_rematch_of_open_seats_is_heard_of_at_another_server(place, monkeypatch, told):
    if told:
        monkeypatch.setattr(postgresql_listener, "POLL_SECONDS", LONG)
    else:
        monkeypatch.setattr(postgresql_listener, "POLL_SECONDS", 0.01)
        monkeypatch.setattr(postgresql, "write_notices", lambda *_: [])
    async with opened(place) as store, opened(place) as other:
        if told:
            await until_it_listens(store, other)
        here, there = Matches(store, Metrics()), Matches(other, Metrics())
        state = await here.create(NewMatch(ruleset_of("skystones")))
        await here.carry_out(Caller(state.header.match_id, 0), Resignation.ask)
        over = await here.load(state.header.match_id)
        with there.watch(rematch_id(over.header)) as watch:
            rematch = await here.rematch(over, 0)
            assert (await watch.any()).header == rematch.header


@pytest.mark.parametrize("lost", ["entries", "match"])
async def test_who_only_watches_finds_that_the_log_has_lost_something(place, monkeypatch, lost):
    monkeypatch.setattr(postgresql_listener, "POLL_SECONDS", 0.01)
    async with opened(place) as store:
        matches = Matches(store, Metrics())
        match_id = (await create(matches, "powershot_soccer", (0, 0))).header.match_id
        await act(matches, match_id)
        with matches.watch(match_id) as watch:
            known = await matches.load(match_id)
            if lost == "entries":
                await lose(store, match_id, 0)
            else:
                for table in ("entries", "heads", "matches"):
                    place.server.execute(f"DELETE FROM {place.schema}.{table}")
            reason = "VERSION_IN_FUTURE" if lost == "entries" else "MATCH_NOT_FOUND"
            wanted = ErrorReason.Value(f"ERROR_REASON_{reason}")
            assert await refused(watch.newer(known)) == wanted
