"""A server that answers before it commits, as a checker of histories must find out.

It is started as `croupier` is. An action is in the memory of the server at once, and in its log a
moment later: if nothing happens to the server, nobody can tell.
"""

import asyncio

from cli.main import main
from service.store import SqliteStore

LATER = 0.05  # Seconds.


def plant():
    """From now on, the SQLite log is a moment behind what is answered."""
    append = SqliteStore.append
    later = asyncio.Queue()

    async def commit_later():
        while True:
            waiting = [await later.get()]
            await asyncio.sleep(LATER)
            while not later.empty():
                waiting.append(later.get_nowait())
            await asyncio.gather(*(append(*arguments) for arguments in waiting))

    async def answer_at_once(self, match_id, version, entry, status, added):
        if not hasattr(self, "committing"):
            self.committing = asyncio.create_task(commit_later())
        later.put_nowait((self, match_id, version, entry, status))
        added()
        return True

    SqliteStore.append = answer_at_once


if __name__ == "__main__":
    plant()
    main()
