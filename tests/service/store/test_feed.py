"""The feed of each kind of log: no update is ever added before its end."""

import asyncio
import random
import shutil

import pytest

from service.store import MatchStatus
from tests.support.stores import (
    PostgresPlace,
    SqlitePlace,
    action,
    header,
    opened,
)

MATCHES, ROUNDS, READERS = 12, 12, 3
OVER = MatchStatus(over=True)


def on_log(place, test, servers=1):
    """Runs a test with as many stores of the log."""

    async def run():
        if servers == 1:
            async with opened(place) as store:
                return await test(store)
        async with opened(place) as one, opened(place) as other:
            return await test(one, other)

    return asyncio.run(run())


async def write(store, match_id, rng):
    """Creates a match and adds entries, with pauses."""
    await store.create(header(match_id), MatchStatus(feed=b"0"))
    for version in range(ROUNDS):
        await asyncio.sleep(rng.choice((0, 0, 0.001, 0.003)))
        feed = f"{version + 1}".encode()
        assert await store.append(
            match_id,
            version,
            action(version % 2),
            MatchStatus(over=version == ROUNDS - 1, feed=feed),
        )


async def follow(store, limit, done):
    """Follows the feed until it has told of the ends of all matches; returns what it has told."""
    position, told = 0, {}
    while True:
        last = done.is_set()
        found = await store.list_updates(position, limit)
        assert found.end >= position
        for update in found.updates:
            assert position < update.position <= found.end
            assert update.feed == f"{update.version}".encode()
            # The versions of a match ascend.
            assert update.version > told.get(update.match_id, -1)
            told[update.match_id] = update.version
        position = found.end
        if last and not found.more:
            return told
        await asyncio.sleep(0)


@pytest.mark.parametrize("limit", [1, 7, 500])
def test_a_reader_beside_writers_misses_no_match(place, limit):
    seed = random.randrange(10**9)
    print("seed", seed)
    rng = random.Random(seed)
    wanted = {f"match{number}": ROUNDS for number in range(MATCHES)}

    async def test(*stores):
        done = asyncio.Event()
        readers = [
            asyncio.create_task(follow(rng.choice(stores), limit, done)) for _ in range(READERS)
        ]
        writers = (write(rng.choice(stores), each, random.Random(rng.random())) for each in wanted)
        await asyncio.gather(*writers)
        done.set()
        for told in await asyncio.gather(*readers):
            assert told == wanted

    on_log(place, test, servers=2 if isinstance(place, PostgresPlace) else 1)


def test_an_open_transaction_holds_up_what_comes_after_it_and_nothing_is_missed(postgres):
    place = PostgresPlace(postgres)

    async def test(store):
        await store.create(header("one"), MatchStatus(feed=b"0"))
        before = await store.list_updates(None, 9)
        # Another writer takes its place in the feed, and commits later than those after it.
        async with store._connections.one() as slow:
            transaction = slow.transaction()
            await transaction.start()
            await slow.execute(
                "INSERT INTO entries (match_id, version, kind, seat, at, action, expected_version, "
                "request_id, feed) VALUES ('one', 1, 0, 0, 1, '', 0, '', '1')"
            )
            await store.create(header("two"), MatchStatus(feed=b"0"))
            held = await store.list_updates(before.end, 9)
            assert held.updates == []
            await transaction.commit()
        found = await store.list_updates(held.end, 9)
        assert [(each.match_id, each.version) for each in found.updates] == [("one", 1), ("two", 0)]

    on_log(place, test)


def test_the_matches_that_run_are_listed_page_by_page(place):
    async def test(store):
        for number in range(10):
            owner = "ab"[number % 2]
            given = header(f"match{number}", owner=owner, created=1000 + number // 4)
            await store.create(given, MatchStatus(feed=b"0"))
        await store.append("match3", 0, action(0, at=2000), MatchStatus(feed=b"1"))
        await store.append("match4", 0, action(0, at=2000), MatchStatus(over=True, feed=b"1"))
        for owner, wanted in ((None, "0123 567 89"), ("a", "02 6 8"), ("b", "13579"), ("c", "")):
            found, after = [], (0, "")
            while page := await store.list_running(owner, after, 3):
                found += page
                after = (page[-1].created, page[-1].match_id)
            assert "".join(each.match_id[-1] for each in found) == wanted.replace(" ", "")
            assert all(owner in (None, each.owner) for each in found)
        [updated] = [each for each in await store.list_running(None, (0, ""), 99) if each.version]
        assert (updated.match_id, updated.at, updated.feed) == ("match3", 2000, b"1")

    on_log(place, test)


def test_deleted_matches_are_in_the_feed_no_more(place):
    async def test(store):
        for match_id in ("one", "two"):
            await store.create(header(match_id), MatchStatus(feed=b"0"))
            await store.append(match_id, 0, action(0, at=5), OVER)
        assert len((await store.list_updates(0, 9)).updates) == 2
        assert len(await store.delete_ended(9, 1)) == 1
        assert len((await store.list_updates(0, 9)).updates) == 1

    on_log(place, test)


def test_positions_are_not_used_again_after_a_backup_was_restored(tmp_path):
    place = SqlitePlace(tmp_path / "log")

    async def begin(store):
        await store.create(header("one"), MatchStatus(feed=b"0"))

    async def go_on(store):
        await store.append("one", 0, action(0, b"lost"), MatchStatus(feed=b"1"))
        return (await store.list_updates(None, 9)).end

    async def go_on_differently(store):
        await store.append("one", 0, action(0, b"other"), MatchStatus(feed=b"1"))
        return (await store.list_updates(None, 9)).end

    on_log(place, begin)
    shutil.copytree(place.directory, tmp_path / "backup")
    lost = on_log(place, go_on)
    shutil.rmtree(place.directory)
    shutil.copytree(tmp_path / "backup", place.directory)
    assert on_log(place, go_on_differently) > lost


def test_the_end_stays_where_it_is_when_the_last_matches_are_deleted(place):
    async def end(test):
        async with opened(place) as store:
            await test(store)
            return await store.list_updates(None, 9)

    async def write_and_delete(store):
        for name in ("one", "two"):
            await store.create(header(name), MatchStatus())
            assert await store.append(name, 0, action(0), OVER)
        last = await store.list_updates(None, 9)
        assert len(await store.delete_ended(2**60, 9)) == 2
        assert (await store.list_updates(None, 9)).end >= last.end
        cursors.append(last.end)

    async def nothing(store):
        pass

    cursors = []
    asyncio.run(end(write_and_delete))
    assert asyncio.run(end(nothing)).end >= cursors[0]
