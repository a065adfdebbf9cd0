"""Notifications of PostgreSQL: how servers that share a log tell each other of changed matches.

They also tell each other of which seats they hold a stream: when it begins, and now and then.

A notification names many matches and is sent after the commit: in the same transaction,
notifications would let one commit happen at a time. A notification can be lost, and nobody notifies
of what a database has lost whose standby took over. So every few seconds the listener looks at the
newest version of each match that is watched.

A server that nobody else listens to sends none. It learns of others when it polls, and at once from
the notification with which each begins to listen.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, count
from typing import Any

from service.common.tasks import KeptTask
from service.observability.metrics import OFF_SECONDS, Metrics
from service.store import postgresql_tables as tables
from service.store.interface import Changes
from service.store.postgresql_connections import check_primary, listening_connection
from service.store.presence import Place, Presence

CHANNEL = "croupier"
POLL_SECONDS = 2.0
# After the first poll. Until then the other servers have heard that this one listens.
SECOND_POLL_SECONDS = 0.1
POLLS_PER_TELLING = 5  # Of the seats that are there: three times before they count as gone.

_BEGINS = " 0"  # The notice of a server that begins to listen: a match of no name, in version 0.
# Of one match, among others: its version, or a seat that is there.
_NOTICE = re.compile(r"([a-z0-9]+) (?:(\d{1,18})|@([01]))(?=,|$)")
_MAX_NOTICE_BYTES = 7900  # PostgreSQL takes 8000.
_log = logging.getLogger(__name__)


class NotificationListener:
    """Hears of the changes that other servers have made, and tells of them."""

    def __init__(
        self,
        url: str,
        changes: Changes,
        presence: Presence,
        metrics: Metrics,
        own_process: Callable[[], int],
    ) -> None:
        """`own_process` says which process of the database sends this server's notifications."""
        self._url = url
        self._changes = changes
        self._presence = presence
        self._metrics = metrics
        self._own_process = own_process
        # Whether other servers listen, as far as is known.
        self.others = True
        self.hears = False  # Whether this server hears of them.
        self._off = False  # Whether the clock is wrong, or that of the database.
        self._task: KeptTask | None = None

    def start(self) -> None:
        """Listens from now on."""
        self._task = self._metrics.tasks.keep("notices", self._listen, needed=True)

    def close(self) -> None:
        """Listens no more."""
        if self._task is not None:
            self._task.close()

    async def _listen(self) -> None:
        # Whatever ends it is told, and it is begun again: a server that does not hear of the others
        # is not ready.
        connection = await listening_connection(self._url)
        try:
            await connection.add_listener(CHANNEL, self._hear)
            await connection.execute("SELECT pg_notify($1, $2)", CHANNEL, _BEGINS)
            # For what changed while this server did not listen.
            await self._poll(connection)
            self.hears = True
            self._presence.begin_to_hear()
            await asyncio.sleep(SECOND_POLL_SECONDS)
            for polls in count():
                # For lost notifications. It also finds out that the connection is gone.
                await self._poll(connection)
                if polls % POLLS_PER_TELLING == 0:
                    await self._compare_clocks(connection)
                    if self.others:
                        await self._tell_of_seats(connection)
                await asyncio.sleep(POLL_SECONDS)
        finally:
            self.others, self.hears = True, False  # Who begins to listen now is not heard.
            connection.terminate()

    async def _poll(self, connection: Any) -> None:
        self._metrics.store_statements.labels("poll").inc()
        self.others = await tables.count_listeners(connection) > 0
        check_primary(connection)
        watched = sorted(self._changes.watched())
        if not watched:
            return
        self._metrics.store_statements.labels("poll").inc()
        heads = await tables.read_heads(connection, watched)
        for match_id in watched:
            self._changes.look(match_id, heads.get(match_id))

    async def _compare_clocks(self, connection: Any) -> None:
        self._metrics.store_statements.labels("poll").inc()
        before = time.time()
        there = float(await connection.fetchval(tables.CLOCK))
        # The database has read its clock in between.
        offset = max(0.0, before - there) + min(0.0, time.time() - there)
        self._metrics.clock_offset.set(offset)
        if (abs(offset) > OFF_SECONDS) != self._off:
            self._off = not self._off
            _log.warning("this clock is ahead of the database's by %.1f seconds", offset)

    async def _tell_of_seats(self, connection: Any) -> None:
        for notice in write_notices({}, self._presence.attended()):
            self._metrics.store_statements.labels("notify").inc()
            await connection.execute("SELECT pg_notify($1, $2)", CHANNEL, notice)

    def _hear(self, connection: Any, process: int, channel: str, notice: str) -> None:
        if process == connection.get_server_pid() or process == self._own_process():
            return  # This server has told of it when it was committed.
        self.others = True
        # Anybody in the database can notify. What is no notice says nothing.
        for match_id, version, seat in _NOTICE.findall(notice):
            if seat:
                self._presence.see(Place(match_id, int(seat)))
            else:
                self._changes.tell(match_id, int(version))


def write_notices(changed: Mapping[str, int], there: Iterable[Place] = ()) -> list[str]:
    """The notices of matches and the versions they have come to, and of seats, as few as possible.

    `there` are the seats of which this server holds a stream.
    """
    notices: list[str] = []
    versions = (f"{match_id} {version}" for match_id, version in changed.items())
    seats = (f"{match_id} @{seat}" for match_id, seat in there)
    for each in chain(versions, seats):
        if notices and len(notices[-1]) + len(each) < _MAX_NOTICE_BYTES:
            notices[-1] += f",{each}"
        else:
            notices.append(each)
    return notices
