"""A server that answers before it commits: a fault that the checker of histories must detect.

It starts like `croupier`. An action is in the memory of the server at once and in its log a moment
later, so no client can notice the fault unless the server dies in between.
"""

import asyncio

from cli.main import main
from service.store import SqliteStore

COMMIT_DELAY_SECONDS = 0.05


def plant():
    """Makes the SQLite log lag behind the answers from now on."""
    append = SqliteStore.append
    later = asyncio.Queue()

    async def commit_later():
        while True:
            waiting = [await later.get()]
            await asyncio.sleep(COMMIT_DELAY_SECONDS)
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
