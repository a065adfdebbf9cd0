"""The behaviour that all stores share."""

import asyncio
import random

import pytest

from service.store import DueMatch, Listener, MatchStatus, Snapshot
from tests.support.stores import (
    NEVER_DUE,
    NOT_DUE,
    Heard,
    action,
    header,
    opened,
    resignation,
)


def on_log(place, test):
    """Runs a test on a log that holds the match "one"."""

    async def run():
        async with opened(place) as store:
            if await store.load("one") is None:
                await store.create(header(), NOT_DUE)
            return await test(store)

    return asyncio.run(run())


@pytest.mark.parametrize("status", [NOT_DUE, NEVER_DUE], ids=["not_due", "never_due"])
def test_an_entry_is_added_only_at_the_end(place, status):
    async def test(store):
        entries = [action(0, b"a"), action(1, b"b"), resignation(0)]
        for version, entry in enumerate(entries):
            assert not await store.append("one", version + 1, entry, status)
            assert await store.append("one", version, entry, status)
            assert not await store.append("one", version, entry, status)
        assert await store.read("one", 0) == entries
        assert await store.read("one", 2) == entries[2:]
        assert await store.read("one", 3) == []

    on_log(place, test)


def test_headers_and_entries_round_trip(place):
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
    )
    entries = [
        action(1, bytes(range(256)), 2**40, "ünï \0 🂡", at=2**41 + 2),
        action(0, b"", 0, "", at=2**41 + 3),
        resignation(1, at=2**41 + 4),
    ]

    async def write(store):
        await store.create(given, NOT_DUE)
        for version, entry in enumerate(entries):
            await store.append("all", version, entry, NOT_DUE)
        return await store.load("all")

    async def read(store):
        return await store.load("all")

    for test in (write, read):
        stored = on_log(place, test)
        assert stored.header == given
        assert stored.entries == entries
        assert stored.snapshot is None


def test_a_match_is_created_once(place):
    async def test(store):
        with pytest.raises(ValueError, match="already"):
            await store.create(header(created=1), NOT_DUE)
        assert (await store.load("one")).header == header()

    on_log(place, test)


def test_a_match_that_is_not_there(place):
    async def test(store):
        assert await store.load("two") is None
        assert await store.read("two", 0) == []
        assert not await store.append("two", 0, action(0), NOT_DUE)
        assert await store.load("two") is None

    on_log(place, test)


@pytest.mark.parametrize("status", [NOT_DUE, NEVER_DUE], ids=["not_due", "never_due"])
def test_a_request_is_added_once(place, status):
    async def test(store):
        assert await store.append("one", 0, action(0, request_id="a"), status)
        assert not await store.append("one", 1, action(0, b"y", request_id="a"), status)
        # Another seat may use the same request_id. An empty request_id counts as none.
        assert await store.append("one", 1, action(1, request_id="a"), status)
        assert await store.append("one", 2, action(0), status)
        assert await store.append("one", 3, action(0), status)
        await store.create(header("two"), status)
        assert await store.append("two", 0, action(0, request_id="a"), status)

    on_log(place, test)


@pytest.mark.parametrize("status", [NOT_DUE, NEVER_DUE], ids=["not_due", "never_due"])
def test_one_of_several_racing_entries_wins_each_version(place, status):
    rounds, racers = 20, 8

    async def test(store):
        for version in range(rounds):
            entries = [action(each % 2, b"%d" % each) for each in range(racers)]
            calls = (store.append("one", version, entry, status) for entry in entries)
            done = await asyncio.gather(*calls)
            assert sum(done) == 1
            assert await store.read("one", version) == [entries[done.index(True)]]

    on_log(place, test)


def test_a_conflict_fails_its_own_caller_only(place):
    seed = 0xC0FF1C7
    print(f"seed {seed:#x}")
    rng = random.Random(seed)
    names = [f"match{number}" for number in range(16)]

    async def test(store):
        for name in names:
            await store.create(header(name), NOT_DUE)
        heads = dict.fromkeys(names, 0)
        used = {name: set() for name in names}
        for _ in range(40):
            calls, expected = [], []
            # Simultaneous entries of many matches have the next version, a wrong one, or a used
            # request_id.
            for name in rng.sample(names, rng.randrange(1, len(names))):
                fresh = f"{heads[name]} {rng.random()}"
                version = heads[name] + rng.choice((0, 0, 0, -1, 1))
                request = rng.choice([fresh, fresh, *used[name]])
                fine = version == heads[name] and request not in used[name]
                calls.append(store.append(name, version, action(0, request_id=request), NOT_DUE))
                expected.append(fine)
                heads[name] += fine
                if fine:
                    used[name].add(request)
            assert await asyncio.gather(*calls) == expected
        for name in names:
            assert len(await store.read(name, 0)) == heads[name]

    on_log(place, test)


def test_a_caller_that_leaves_does_not_affect_others(place):
    async def test(store):
        calls = [asyncio.ensure_future(store.append("one", 0, action(0), NOT_DUE))]
        await asyncio.sleep(0)
        calls[0].cancel()
        await store.create(header("two"), NOT_DUE)
        assert await store.append("two", 0, action(0), NOT_DUE)
        # The cancelled entry may be in the log, may still come, or may never come.
        entries = await store.read("one", 0)
        while not await store.append("one", len(entries), action(1, b"next"), NOT_DUE):
            entries = await store.read("one", 0)
        assert await store.read("one", 0) == [*entries, action(1, b"next")]

    on_log(place, test)


def test_the_callback_of_an_added_entry_runs_even_if_the_caller_has_left(place):
    async def test(store):
        called = []

        def add(version, entry, name):
            return store.append("one", version, entry, NOT_DUE, lambda: called.append(name))

        assert not await add(1, action(0), "in the future")
        assert called == []
        assert await add(0, action(0), "first")
        assert called == ["first"]
        heard = Heard(store)
        left = asyncio.ensure_future(add(1, action(1), "left"))
        await asyncio.sleep(0)
        left.cancel()
        await heard.past(1)
        assert called == ["first", "left"]
        assert await store.read("one", 1) == [action(1)]

    on_log(place, test)


def fail(*_):
    raise LookupError("what follows a commit has failed")


def test_what_follows_a_commit_fails_for_its_own_match_alone(place):
    async def test(store):
        await store.create(header("other"), NOT_DUE)
        store.listen(Listener(fail, lambda: ["one"]))
        heard = [Heard(store), Heard(store, "other")]
        called = []
        for version in range(3):
            # Together, so that they are one commit; and then the next ones.
            added = await asyncio.gather(
                store.append("one", version, action(0), NOT_DUE, fail),
                store.append("other", version, action(0), NOT_DUE, lambda: called.append(1)),
            )
            assert added == [True, True]
            for each in heard:
                await each.past(version)
            assert len(called) == version + 1

    on_log(place, test)


def test_a_listener_hears_of_each_entry(place):
    async def test(store):
        one, other = Heard(store), Heard(store)
        await store.append("one", 0, action(0), NOT_DUE)
        assert not await store.append("one", 0, action(0), NOT_DUE)
        await store.append("one", 1, action(1), NOT_DUE)
        for heard in (one, other):
            await heard.past(1)
        other.stop()
        other.versions.clear()
        await store.append("one", 2, action(1), NOT_DUE)
        await one.past(2)
        assert other.versions == []

    on_log(place, test)


def test_a_snapshot_replaces_an_older_one(place):
    async def test(store):
        for version, kept in enumerate((2, 3, 1)):
            store.save_snapshot("one", Snapshot(kept, bytes([kept])))
            await store.append("one", version, action(0), NOT_DUE)
        store.save_snapshot("one", Snapshot(2, b""))

    async def read(store):
        return (await store.load("one")).snapshot

    on_log(place, test)
    assert on_log(place, read) == Snapshot(3, b"\3")


def test_the_first_key_offered_is_kept(place):
    async def test(store):
        return [await store.key(bytes([number]) * 32) for number in (1, 2)]

    assert on_log(place, test) + on_log(place, test) == [b"\1" * 32] * 4


def test_due_matches_are_listed_until_they_are_rescheduled_or_over(place):
    def at(time):
        return MatchStatus(due=time)

    async def write(store):
        await store.create(header("two"), at(30))
        await store.create(header("three"), at(10))
        await store.append("one", 0, action(0), at(20))
        assert await store.list_due(9, 10) == []
        assert await store.list_due(20, 10) == [DueMatch("three", 10), DueMatch("one", 20)]
        assert await store.list_due(99, 2) == [DueMatch("three", 10), DueMatch("one", 20)]

    async def change(store):
        assert await store.append("one", 1, action(0), NOT_DUE)
        # Of two servers that reschedule the match, one succeeds.
        assert await store.reschedule(DueMatch("three", 10), 40)
        assert not await store.reschedule(DueMatch("three", 10), 50)
        assert not await store.reschedule(DueMatch("one", 20), 50)
        # A rejected entry does not reschedule its match.
        assert not await store.append("two", 1, action(0), NOT_DUE)
        assert await store.list_due(99, 10) == [DueMatch("two", 30), DueMatch("three", 40)]
        await store.append("three", 0, resignation(0), MatchStatus(over=True))
        await store.append("two", 0, action(0), at(35))

    async def read(store):
        return await store.list_due(99, 10)

    on_log(place, write)
    on_log(place, change)
    assert on_log(place, read) == [DueMatch("two", 35)]
