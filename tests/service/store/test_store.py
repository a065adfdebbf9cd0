"""The behaviour that all stores share."""

import asyncio
import contextlib
import random

import pytest

from service.store import DueMatch, Later, Listener, MatchStatus, Query, Seated, Snapshot
from tests.support.stores import (
    NOT_DUE,
    Branch,
    Heard,
    PostgresPlace,
    action,
    append,
    header,
    opened,
    read,
    resignation,
    sealed,
)


@pytest.fixture
def store(enter, place):
    return enter(opened(place, "one"))


async def test_an_entry_is_added_only_at_the_end(store):
    entries = [action(0, b"a"), action(1, b"b"), resignation(0)]
    for version, entry in enumerate(entries):
        assert not await append(store, "one", version + 1, entry, NOT_DUE)
        assert await append(store, "one", version, entry, NOT_DUE)
        assert not await append(store, "one", version, entry, NOT_DUE)
    assert await read(store, "one", 0) == entries
    assert await read(store, "one", 2) == entries[2:]
    assert await read(store, "one", 3) == []


async def test_headers_and_entries_round_trip(place):
    given = header(
        "all",
        game="some_game",
        ruleset=bytes(range(256)),
        rules_version=7,
        secret=bytes(reversed(range(32))),
        chance_id="",
        bots=(0, 5),
        created=2**41 + 1,
        entropy_from_seats=True,
        time_control=bytes(range(9)),
        invited=(0,),
        key_names=("ünï 🂡", ""),
        model="some_game-01234567",
    ).salted()
    entries = [
        action(1, bytes(range(256)), 2**40, "ünï \0 🂡", at=2**41 + 2),
        action(0, b"", 0, "", at=2**41 + 3),
        resignation(1, at=2**41 + 4),
    ]

    for reopened in (False, True):
        async with opened(place) as store:
            if not reopened:
                await store.create(given, NOT_DUE)
                for version, entry in enumerate(entries):
                    await append(store, "all", version, entry, NOT_DUE)
            stored = await store.load("all")
            assert stored.header == given
            assert await read(store, "all") == entries
            assert stored.snapshot is None


async def test_a_match_is_created_once(store):
    with pytest.raises(ValueError, match="already"):
        await store.create(header(created=1), NOT_DUE)
    assert (await store.load("one")).header == header()


async def test_of_several_matches_all_are_created_or_none(store):
    ann, bob = Seated("ann", 1), Seated("bob", 2)

    def some(*ids):
        return [(header(each, rematch_of="one"), MatchStatus(players=(ann,))) for each in ids]

    with pytest.raises(ValueError, match="already"):
        await store.create_all(some("a", "b", "one", "c"))
    for match_id in ("a", "b", "c"):
        assert await store.load(match_id) is None
        assert await store.list_players(match_id) == []
    await store.create_all(some("c", "b", "a"))
    listed = await store.list_matches(Query(player="ann"), 9)
    assert [each.match_id for each in listed] == ["c", "b", "a"]
    assert not any(each.damaged for each in listed)
    for match_id in ("a", "b", "c"):
        assert await append(store, match_id, 0, action(0), MatchStatus(players=(bob,)))
        assert await store.list_players(match_id) == [ann, bob]
        # Who has a seat already has both then.
        again = MatchStatus(players=(Seated("ann", 2),))
        assert await append(store, match_id, 1, action(0), again)
        assert await store.list_players(match_id) == [Seated("ann", 3), bob]
    assert len(await store.list_matches(Query(player="bob"), 9)) == 3


async def test_a_match_that_is_not_there(store):
    assert await store.load("two") is None
    assert await read(store, "two") is None
    assert not await append(store, "two", 0, action(0), NOT_DUE)
    assert await store.load("two") is None


async def test_one_of_several_racing_entries_wins_each_version(store):
    rounds, racers = 20, 8
    for version in range(rounds):
        entries = [action(each % 2, b"%d" % each) for each in range(racers)]
        calls = (append(store, "one", version, entry, NOT_DUE) for entry in entries)
        done = await asyncio.gather(*calls)
        assert sum(done) == 1
        assert await read(store, "one", version) == [entries[done.index(True)]]


async def test_a_conflict_fails_its_own_caller_only(store):
    seed = 0xC0FF1C7
    print(f"seed {seed:#x}")
    rng = random.Random(seed)
    names = [f"match{number}" for number in range(16)]
    for name in names:
        await store.create(header(name), NOT_DUE)
    heads = dict.fromkeys(names, 0)
    for _ in range(40):
        calls, expected = [], []
        # Simultaneous entries of many matches have the next version or a wrong one.
        for name in rng.sample(names, rng.randrange(1, len(names))):
            version = heads[name] + rng.choice((0, 0, 0, -1, 1))
            fine = version == heads[name]
            calls.append(append(store, name, version, action(0), NOT_DUE))
            expected.append(fine)
            heads[name] += fine
        assert await asyncio.gather(*calls) == expected
    for name in names:
        assert len(await read(store, name, 0)) == heads[name]


async def test_a_caller_that_leaves_does_not_affect_others(store):
    calls = [Branch().append(store, action(0))]
    await asyncio.sleep(0)
    calls[0].cancel()
    await store.create(header("two"), NOT_DUE)
    assert await append(store, "two", 0, action(0), NOT_DUE)
    # The cancelled entry may be in the log, may still come, or may never come.
    entries = await read(store, "one", 0)
    while not await append(store, "one", len(entries), action(1, b"next"), NOT_DUE):
        entries = await read(store, "one", 0)
    assert await read(store, "one", 0) == [*entries, action(1, b"next")]


async def test_what_is_decided_ahead_belongs_to_the_head(place, store):
    ahead = MatchStatus(ahead=b"0123 of a seat")
    assert await append(store, "one", 0, action(0), ahead)
    first = (await store.load("one")).head
    assert first.ahead == ahead.ahead
    assert await store.read("one", first) == Later(first, [])
    assert not await store.replace_ahead("one", first._replace(ahead=b""), b"1", None)
    assert await store.replace_ahead("one", first, b"1", 77)
    assert DueMatch("one", 77) in await store.list_due(100, 10)
    # Who knows it as it was is told, and adds nothing.
    entry = sealed(first, action(1))
    assert not await store.append("one", first, entry, ahead)
    later = await store.read("one", first)
    assert later == Later(first._replace(ahead=b"1"), [])
    assert await store.append("one", later.head, entry, NOT_DUE)
    assert (await store.load("one")).head.ahead == b""
    assert (await store.read("one", later.head)).head.version == 2
    assert not await store.replace_ahead("none", first, b"", None)


async def test_what_is_cancelled_at_the_same_time_is_made_or_cancelled(place, store):
    # Both servers of a log that may be shared know the same.
    shared = isinstance(place, PostgresPlace)
    async with contextlib.AsyncExitStack() as stack:
        other = await stack.enter_async_context(opened(place)) if shared else store
        for number in range(60):
            name = f"raced{number}"
            await store.create(header(name), NOT_DUE)
            assert await append(store, name, 0, action(0), MatchStatus(ahead=b"1234"))
            head = (await other.load(name)).head
            steps = [
                store.append(name, head, sealed(head, action(1)), NOT_DUE),
                other.replace_ahead(name, head, b"", None),
            ]
            random.shuffle(steps)
            assert sorted(await asyncio.gather(*steps)) == [False, True]


async def test_the_callback_of_an_added_entry_runs_even_if_the_caller_has_left(store):
    called = []

    def note(name):
        return lambda: called.append(name)

    one = Branch()
    assert not await append(store, "one", 1, action(0), NOT_DUE, note("in the future"))
    assert called == []
    assert await one.append(store, action(0), NOT_DUE, note("first"))
    assert called == ["first"]
    heard = Heard(store)
    left = one.append(store, action(1), NOT_DUE, note("left"))
    await asyncio.sleep(0)
    left.cancel()
    await heard.past(1)
    assert called == ["first", "left"]
    assert await read(store, "one", 1) == [action(1)]


def fail(*_):
    raise LookupError("what follows a commit has failed")


async def test_what_follows_a_commit_fails_for_its_own_match_alone(store):
    await store.create(header("other"), NOT_DUE)
    store.listen(Listener(fail, lambda: ["one"]))
    heard = [Heard(store), Heard(store, "other")]
    called = []
    one, other = Branch(), Branch("other")
    for version in range(3):
        # Together, so that they are one commit; and then the next ones.
        added = await asyncio.gather(
            one.append(store, action(0), NOT_DUE, fail),
            other.append(store, action(0), NOT_DUE, lambda: called.append(1)),
        )
        assert added == [True, True]
        for each in heard:
            await each.past(version)
        assert len(called) == version + 1


async def test_a_listener_hears_of_each_entry(store):
    one, other = Heard(store), Heard(store)
    await append(store, "one", 0, action(0), NOT_DUE)
    assert not await append(store, "one", 0, action(0), NOT_DUE)
    await append(store, "one", 1, action(1), NOT_DUE)
    for heard in (one, other):
        await heard.past(1)
    other.stop()
    other.versions.clear()
    await append(store, "one", 2, action(1), NOT_DUE)
    await one.past(2)
    assert other.versions == []


async def test_a_snapshot_replaces_an_older_one(place):
    async with opened(place, "one") as store:
        for version, of in enumerate((2, 3, 1)):
            store.save_snapshot("one", Snapshot(of, bytes([of])))
            await append(store, "one", version, action(0), NOT_DUE)
        store.save_snapshot("one", Snapshot(2, b""))
    async with opened(place) as store:
        assert (await store.load("one")).snapshot == Snapshot(3, b"\3")


async def test_the_first_key_offered_is_kept(place):
    for _ in range(2):
        async with opened(place) as store:
            for number in (1, 2):
                assert await store.key(bytes([number]) * 32) == b"\1" * 32


async def test_due_matches_are_listed_until_they_are_rescheduled_or_over(place):
    def at(time):
        return MatchStatus(due=time)

    async with opened(place, "one") as store:
        await store.create(header("two"), at(30))
        await store.create(header("three"), at(10))
        await append(store, "one", 0, action(0), at(20))
        assert await store.list_due(9, 10) == []
        assert await store.list_due(20, 10) == [DueMatch("three", 10), DueMatch("one", 20)]
        assert await store.list_due(99, 2) == [DueMatch("three", 10), DueMatch("one", 20)]
    async with opened(place) as store:
        assert await append(store, "one", 1, action(0), NOT_DUE)
        # Of two servers that reschedule the match, one succeeds.
        assert await store.reschedule(DueMatch("three", 10), 40)
        assert not await store.reschedule(DueMatch("three", 10), 50)
        assert not await store.reschedule(DueMatch("one", 20), 50)
        # A rejected entry does not reschedule its match.
        assert not await append(store, "two", 1, action(0), NOT_DUE)
        assert await store.list_due(99, 10) == [DueMatch("two", 30), DueMatch("three", 40)]
        await append(store, "three", 0, resignation(0), MatchStatus(over=True))
        await append(store, "two", 0, action(0), at(35))
    async with opened(place) as store:
        assert await store.list_due(99, 10) == [DueMatch("two", 35)]
