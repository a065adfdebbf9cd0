"""Waiting for a match to change."""

import asyncio
from collections.abc import Awaitable, Callable


class Changes:
    """The callers that wait for a match to be past a version, in one event loop."""

    def __init__(self) -> None:
        self._waits: dict[str, dict[asyncio.Future[None], int]] = {}

    async def wait(
        self, match_id: str, version: int, head: Callable[[str], Awaitable[int]]
    ) -> None:
        """Returns when a match has more than `version` entries, as `head` or `tell` says."""
        future = asyncio.get_running_loop().create_future()
        waits = self._waits.setdefault(match_id, {})
        # Registered first, so that no change falls between asking and waiting.
        waits[future] = version
        try:
            if await head(match_id) <= version:
                await future
        finally:
            del waits[future]
            if not waits and self._waits.get(match_id) is waits:
                del self._waits[match_id]

    def tell(self, match_id: str, version: int) -> None:
        """Wakes those who wait for a match, which now has `version` entries."""
        for future, waited in self._waits.get(match_id, {}).items():
            if version > waited and not future.done():
                future.set_result(None)

    def waited_for(self) -> dict[str, int]:
        """The matches that are waited for, each with the lowest version that is waited for."""
        return {match_id: min(waits.values()) for match_id, waits in self._waits.items()}
