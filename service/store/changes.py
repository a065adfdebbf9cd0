"""Who waits for which match to change."""

import asyncio
from collections.abc import Awaitable, Callable


class Changes:
    """Those who wait for a match to be past a version, in one event loop."""

    def __init__(self) -> None:
        self._waits: dict[str, dict[asyncio.Future[None], int]] = {}

    async def wait(
        self, match_id: str, version: int, head: Callable[[str], Awaitable[int]]
    ) -> None:
        """Returns when a match has more than `version` entries: as `head` says, or when told."""
        future = asyncio.get_running_loop().create_future()
        waits = self._waits.setdefault(match_id, {})
        # First of all, so that no change falls between asking and waiting.
        waits[future] = version
        try:
            if await head(match_id) <= version:
                await future
        finally:
            # Who gives up leaves nothing behind.
            del waits[future]
            if not waits and self._waits.get(match_id) is waits:
                del self._waits[match_id]

    def tell(self, match_id: str, version: int) -> None:
        """A match has that many entries."""
        for future, waited in self._waits.get(match_id, {}).items():
            if version > waited and not future.done():
                future.set_result(None)

    def waited_for(self) -> dict[str, int]:
        """The matches that someone waits for, and the lowest version waited for."""
        return {match_id: min(waits.values()) for match_id, waits in self._waits.items()}
