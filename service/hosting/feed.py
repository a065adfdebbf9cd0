"""The feed: what changes in all matches of the log, for those who follow many of them.

The log has the feed (`Store.list_updates`). A server that somebody follows it on reads its end
again and again, once for all of them, and keeps what it has read last. Each follower goes its own
way from position to position, through what is kept or, if it is behind, through the log. So a
follower that reads slowly costs nothing, and is told less: each match at its newest version alone.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from croupier.v1.error_pb2 import ErrorReason
from service.common.tasks import KeptTask, Tasks
from service.store import Listener, Position, Store, Update, Updates
from wire.errors import Refusal

PAGE = 500  # Updates that are read at once.
MAX_KEPT = 5_000  # Updates.
# Between two looks at the log. Other servers are heard of sooner, if they are.
POLL_SECONDS = 0.25
MIN_SECONDS = 0.05


class Feed:
    """The feed of a log, as those who follow it at one server read it."""

    def __init__(self, store: Store, tasks: Tasks) -> None:
        self._store = store
        self._tasks = tasks
        self._followers = 0
        self._task: KeptTask | None = None
        # What was read last: the updates after one position, up to another.
        self._epoch = ""
        self._begin = self._end = -1
        self._kept: list[Update] = []
        self._changed = asyncio.Event()  # Set when the log may have changed.
        self._news = asyncio.Event()  # Set, and replaced, when more was read.
        self.closing = False

    def close(self) -> None:
        """Ends all waiting."""
        self.closing = True
        self._news.set()
        if self._task is not None:
            self._task.close()

    @contextmanager
    def following(self) -> Iterator[None]:
        """While somebody follows the feed."""
        self._followers += 1
        if self._followers == 1 and not self.closing:
            self._end_listening = self._store.listen(Listener(self._hear, tuple))
            self._task = self._tasks.keep("feed", self._read_on)
        try:
            yield
        finally:
            self._followers -= 1
            if not self._followers and self._task is not None:
                self._end_listening()
                self._task.close()
                self._task = None
                self._begin = self._end = -1
                self._kept = []

    async def end(self) -> Position:
        """Where the feed ends now."""
        found = await self._store.list_updates(None, PAGE)
        assert found is not None
        return Position(found.epoch, found.end)

    async def list_running(
        self, owner: str | None, after: tuple[int, str]
    ) -> tuple[list[Update], tuple[int, str] | None]:
        """Some matches of an owner that are not over, and what to call this with for the next."""
        found = await self._store.list_running(owner, after, PAGE)
        last = (found[-1].created, found[-1].match_id) if len(found) == PAGE else None
        return found, last

    async def after(self, position: Position, seconds: float | None) -> Updates:
        """Some updates after a position, as soon as there are any.

        There may be none while the feed goes on, after `seconds`, and when this was closed. Raises
        Refusal if the log has not told the position itself.
        """
        while True:
            news = self._news
            found = await self._read(position)
            if found is None:
                raise cursor_expired()
            if found.updates or found.more or self.closing:
                return found
            position = Position(found.epoch, found.end)
            try:
                async with asyncio.timeout(seconds):
                    await news.wait()
            except TimeoutError:
                return found

    async def _read(self, position: Position) -> Updates | None:
        # What is kept may be of an epoch that is over, or not have begun here yet.
        if position.epoch == self._epoch and self._begin <= position.number <= self._end:
            first = bisect_right(self._kept, position.number, key=lambda update: update.position)
            return Updates(self._epoch, self._end, self._kept[first:])
        return await self._store.list_updates(position, PAGE)

    # Reading the end of the feed

    def _hear(self, match_id: str, version: int) -> None:
        self._changed.set()

    async def _read_on(self) -> None:
        while True:
            try:
                while await self._read_more():
                    pass
            except Refusal:
                pass  # The store logs its own failures.
            # Some changes at once, so that they are read together.
            await asyncio.sleep(MIN_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._changed.wait()
            self._changed.clear()

    async def _read_more(self) -> bool:
        # Reads some updates; returns whether there may be more.
        after = None if self._end < 0 else Position(self._epoch, self._end)
        found = await self._store.list_updates(after, PAGE)
        if found is None:
            # The log was set back. Those who are at such a position find it out.
            self._begin = self._end = -1
            return True
        updates = found.updates
        if after is None:
            self._begin, self._kept, updates = found.end, [], []
            self._tell()
        self._epoch = found.epoch
        self._kept += updates
        self._end = found.end
        if len(self._kept) > MAX_KEPT:
            dropped = self._kept[: len(self._kept) - MAX_KEPT]
            self._begin = dropped[-1].position
            # A position is told as a whole.
            self._kept = [each for each in self._kept if each.position > self._begin]
        if updates:
            self._tell()
        return found.more

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


def cursor_expired() -> Refusal:
    """The refusal of a cursor whose position means nothing any more."""
    return Refusal(
        ErrorReason.ERROR_REASON_CURSOR_EXPIRED,
        "the cursor is not of this log, or of what it had before it was restored or another server "
        "of the database took over: begin without one",
    )
