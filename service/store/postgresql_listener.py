"""Notifications of PostgreSQL: how servers that share a log tell each other of changed matches.

A notification names many matches and is sent after the commit: in the same transaction,
notifications would let one commit happen at a time. A notification can be lost, and nobody notifies
of what a database has lost whose standby took over. So every few seconds the listener looks at the
newest version of each match that is watched.

A server that nobody else listens to sends none. It learns of others when it polls, and at once from
the notification with which each begins to listen.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any

from service.common.tasks import KeptTask
from service.observability.metrics import Metrics
from service.store import postgresql_tables as tables
from service.store.interface import Changes
from service.store.postgresql_connections import check_primary, listening_connection

CHANNEL = "croupier"
POLL_SECONDS = 2.0
# After the first poll. Until then the other servers have heard that this one listens.
SECOND_POLL_SECONDS = 0.1

_BEGINS = " 0"  # The notice of a server that begins to listen: a match of no name, in version 0.
_NOTICE = re.compile(r"([a-z0-9]+) (\d{1,18})(?=,|$)")  # Of one match, among others.
_MAX_NOTICE_BYTES = 7900  # PostgreSQL takes 8000.


class NotificationListener:
    """Hears of the changes that other servers have made, and tells of them."""

    def __init__(
        self, url: str, changes: Changes, metrics: Metrics, own_process: Callable[[], int]
    ) -> None:
        """`own_process` says which process of the database sends this server's notifications."""
        self._url = url
        self._changes = changes
        self._metrics = metrics
        self._own_process = own_process
        # Whether other servers listen, as far as is known.
        self.others = True
        self.hears = False  # Whether this server hears of them.
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
            await asyncio.sleep(SECOND_POLL_SECONDS)
            while True:
                # For lost notifications. It also finds out that the connection is gone.
                await self._poll(connection)
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

    def _hear(self, connection: Any, process: int, channel: str, notice: str) -> None:
        if process == connection.get_server_pid() or process == self._own_process():
            return  # This server has told of it when it was committed.
        self.others = True
        # Anybody in the database can notify. What is no notice says nothing.
        for match_id, version in _NOTICE.findall(notice):
            self._changes.tell(match_id, int(version))


def write_notices(changed: Mapping[str, int]) -> list[str]:
    """The notices of matches and the versions they have come to, as few as possible."""
    notices: list[str] = []
    for match_id, version in changed.items():
        each = f"{match_id} {version}"
        if notices and len(notices[-1]) + len(each) < _MAX_NOTICE_BYTES:
            notices[-1] += f",{each}"
        else:
            notices.append(each)
    return notices
