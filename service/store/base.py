"""What all stores do alike: most lists are read by statements that any database takes."""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import starmap
from typing import Any, TypeVar

from service.observability.metrics import Metrics
from service.store import queries
from service.store.chain import Entry
from service.store.faults import Faults
from service.store.interface import (
    Changes,
    DueMatch,
    Head,
    Header,
    HeldSeats,
    IdleMatch,
    ListedMatch,
    Listener,
    MatchStatus,
    Query,
    Seated,
    Store,
    Update,
)
from service.store.jobs import Append, JobGatherer
from service.store.presence import Presence

_T = TypeVar("_T")


class BaseStore(Store):
    """A log but for its files or its database, and how that is written."""

    _jobs: JobGatherer[Any]

    def __init__(self, metrics: Metrics | None) -> None:
        self._metrics = metrics or Metrics()
        self._faults = Faults(self._metrics)
        self._changes = Changes(self._metrics.tasks)
        self.presence = Presence()

    def listen(self, listener: Listener) -> Callable[[], None]:
        return self._changes.listen(listener)

    async def create(self, header: Header, status: MatchStatus) -> None:
        await self.create_all([(header, status)])

    def append(
        self,
        match_id: str,
        head: Head,
        entry: Entry,
        status: MatchStatus,
        on_added: Callable[[], None] | None = None,
    ) -> Awaitable[bool]:
        future = asyncio.get_running_loop().create_future()
        return self._jobs.add(Append(future, match_id, head, entry, status, on_added))

    # Lists

    @abstractmethod
    async def _list(
        self, purpose: str, read: Callable[[list[Any]], _T], sql: str, *values: object
    ) -> _T:
        """What `read`, which a thread may call, makes of the rows of a statement.

        The metrics may count it by its purpose. Raises Refusal if the log cannot be read now.
        """

    async def list_told(self, match_id: str) -> list[Update]:
        return await self._list(
            "other", lambda rows: [*starmap(queries.read_update, rows)], queries.READ_TOLD, match_id
        )

    async def list_due(self, until: int, limit: int) -> list[DueMatch]:
        return await self._list("due", queries.due_matches, queries.READ_DUE, until, limit)

    async def count_live(self, creator: str) -> int:
        return await self._list("other", lambda rows: int(rows[0][0]), queries.COUNT_LIVE, creator)

    async def list_players(self, match_id: str) -> list[Seated]:
        return await self._list(
            "other", lambda rows: [*starmap(Seated, rows)], queries.LIST_PLAYERS, match_id
        )

    async def list_seats(self, player: str, after: tuple[int, str], limit: int) -> list[HeldSeats]:
        read = partial(queries.held_seats, player)
        return await self._list("other", read, queries.LIST_SEATS, player, *after, limit)

    async def list_idle(
        self, before: int, after: IdleMatch | None, limit: int
    ) -> Sequence[IdleMatch]:
        values = (before, *(after or (0, "")), limit)
        return await self._list(
            "other", lambda rows: [*starmap(IdleMatch, rows)], queries.READ_IDLE, *values
        )

    async def list_matches(self, query: Query, limit: int) -> Sequence[ListedMatch]:
        sql, values = queries.list_matches(query, limit)
        return await self._list("other", partial(queries.listed, query), sql, *values)

    async def list_running(
        self, owner: str | None, after: tuple[int, str], limit: int
    ) -> list[Update]:
        sql, values = queries.list_running(owner, after, limit)
        return await self._list("feed", partial(queries.read_updates, running=True), sql, *values)
