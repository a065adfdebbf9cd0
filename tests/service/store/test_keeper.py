"""A log that one process keeps for others: what each of them is told, and when."""

import asyncio
import random

import pytest

from service.errors import Refusal, store_full
from service.store import MemoryStore, Snapshot, SqliteStore
from service.store.keeper import MAX_RECENT_ENTRIES, RecentEntries
from tests.support.stores import NOT_DUE, Heard, LinkedStores, action, header

SECONDS = 20
SEED = 20261124


def with_stores(kept, test, processes=2):
    """Runs a test with the stores of some processes, on a log with the match "one"."""

    async def run():
        linked = LinkedStores(kept)
        async with asyncio.timeout(SECONDS):
            await linked.open()
            stores = [await linked.add() for _ in range(processes)]
            await stores[0].create(header(), NOT_DUE)
            try:
                return await test(linked, stores)
            finally:
                await linked.close()

    return asyncio.run(run())


@pytest.fixture(params=["memory", "sqlite"])
def kept(request, tmp_path):
    """The store that the keeper keeps."""
    return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "log")


def test_what_one_process_was_answered_every_process_reads(kept):
    async def test(_, stores):
        for version in range(3 * MAX_RECENT_ENTRIES):
            writer, reader = stores if version % 2 else stores[::-1]
            entry = action(0, b"%d" % version)
            assert await writer.append("one", version, entry, NOT_DUE)
            assert await reader.read("one", version) == [entry]
            assert await reader.read("one", version + 1) == []
            assert len(await reader.read("one", 0)) == version + 1
            assert (await reader.load("one")).entries[-1] == entry

    with_stores(kept, test)


def test_one_of_several_processes_wins_each_version(kept):
    async def test(_, stores):
        for version in range(50):
            entries = [action(each % 2, b"%d" % each) for each in range(8)]
            done = await asyncio.gather(
                *(
                    stores[each % len(stores)].append("one", version, entry, NOT_DUE)
                    for each, entry in enumerate(entries)
                )
            )
            assert sum(done) == 1
            for store in stores:
                assert await store.read("one", version) == [entries[done.index(True)]]

    with_stores(kept, test, processes=3)


def test_processes_hear_of_what_others_add(kept):
    async def test(_, stores):
        heard = [Heard(store) for store in stores]
        for version in range(4):
            assert await stores[version % 2].append("one", version, action(0), NOT_DUE)
        for each in heard:
            await each.past(3)
            assert sorted(each.versions) == [1, 2, 3, 4]

    with_stores(kept, test)


def test_a_process_that_dies_loses_nothing_that_it_has_asked_for(kept):
    async def test(linked, stores):
        heard = Heard(stores[1])
        stores[0].append("one", 0, action(0), NOT_DUE)
        stores[0].save_snapshot("one", Snapshot(1, b"snapshot"))
        await stores[1].read("one", 0)
        linked.remove(stores[0])
        await heard.past(0)
        assert await stores[1].read("one", 0) == [action(0)]
        assert await stores[1].append("one", 1, action(1), NOT_DUE)

    with_stores(kept, test)


def test_the_successor_of_a_process_gets_no_answer_of_it():
    class SlowStore(MemoryStore):
        def __init__(self):
            super().__init__()
            self.asked, self.go = asyncio.Event(), asyncio.Event()

        async def load(self, match_id):
            self.asked.set()
            await self.go.wait()
            return await super().load(match_id)

    kept = SlowStore()

    async def test(linked, stores):
        stores[0].append("one", 0, action(0), NOT_DUE)
        left = asyncio.create_task(stores[1].load("one"))
        await kept.asked.wait()
        linked.remove(stores[1])
        successor = await linked.add()
        # The first request of both.
        asked = asyncio.create_task(successor.load("two"))
        await stores[0].read("one", 1)
        kept.go.set()
        assert await asked is None
        left.cancel()

    with_stores(kept, test)


def test_a_failure_of_the_log_is_a_refusal_in_every_process():
    class FullStore(MemoryStore):
        async def append(self, *arguments):
            raise store_full()

        async def load(self, match_id):
            raise ZeroDivisionError("cards")

    async def test(_, stores):
        for store in stores:
            with pytest.raises(Refusal) as caught:
                await store.append("one", 0, action(0), NOT_DUE)
            assert caught.value.status == store_full().status
            # What went wrong is in the log of the keeper alone.
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                await store.load("one")
            with pytest.raises(ValueError, match="already"):
                await store.create(header(), NOT_DUE)

    with_stores(FullStore(), test)


def test_recent_entries_are_those_of_the_log_or_unknown():
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    recent = RecentEntries()
    logs = {name: [] for name in ("one", "two", "three")}
    known = 0
    for step in range(5000):
        name = rng.choice(list(logs))
        log = logs[name]
        if rng.random() < 0.02:
            recent.drop(name)
            log.extend(action(0, b"unheard") for _ in range(rng.randrange(3)))
        else:
            log.append(action(0, b"%d" % step))
            recent.add(name, len(log), log[-1])
        version = rng.randrange(max(0, len(log) - 2 * MAX_RECENT_ENTRIES), len(log) + 2)
        found = recent.after(name, version)
        assert found is None or found == log[version:]
        if len(log) - version <= 1 and version <= len(log):
            known += found is not None
    assert known > 200
