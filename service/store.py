"""The log of the matches: what was decided, and in which order. It is the only truth.

A match is its header and its entries; everything else is computed from them. An entry is in the log
or it is not, and an answered action is in it. Nothing here knows a rule: rulesets and actions are
serialized messages of the API, which outlast any change of the engine's own encodings.
"""

import asyncio
from typing import NamedTuple, Protocol


class Header(NamedTuple):
    """What a match starts from."""

    match_id: str
    ruleset: bytes  # A croupier.v1.Ruleset, as it was given.
    rules_version: int
    secret: bytes  # 32 bytes; all chance is drawn from it.
    chance_id: str  # The id under which it is drawn: the match's own, or none if seeded.
    bots: tuple[int, ...]  # A croupier.v1.BotStrength for each seat; 0: the seat is open.
    created: int  # Seconds since 1970, UTC.


class Entry(NamedTuple):
    """One thing that a seat did. The n-th entry makes version n of the match."""

    seat: int
    action: bytes  # A croupier.v1.Action; empty: the seat resigned.
    expected_version: int = 0
    request_id: str = ""  # Empty for bots and resignations.


class Store(Protocol):
    """An append-only log of matches. Implementations may be shared by several servers."""

    async def create(self, header: Header) -> None:
        """Adds a match; its id is new."""

    async def header(self, match_id: str) -> Header | None:
        """The header of a match, if there is such a match."""

    async def read(self, match_id: str, version: int) -> list[Entry]:
        """The entries that come after the first `version` ones."""

    async def append(self, match_id: str, version: int, entry: Entry) -> bool:
        """Adds an entry if the match has exactly `version` of them; whether it did.

        When it returns True, the entry is as durable as the store can make it.
        """

    async def wait(self, match_id: str, version: int) -> None:
        """Returns when the match may have more than `version` entries. It may return early."""


class MemoryStore:
    """A log that ends with the process."""

    def __init__(self) -> None:
        self._headers: dict[str, Header] = {}
        self._entries: dict[str, list[Entry]] = {}
        self._changes: dict[str, asyncio.Event] = {}

    async def create(self, header: Header) -> None:
        """Adds a match; its id is new."""
        if header.match_id in self._headers:
            raise ValueError("there is a match of this id already")
        self._headers[header.match_id] = header
        self._entries[header.match_id] = []

    async def header(self, match_id: str) -> Header | None:
        """The header of a match, if there is such a match."""
        return self._headers.get(match_id)

    async def read(self, match_id: str, version: int) -> list[Entry]:
        """The entries that come after the first `version` ones."""
        return self._entries[match_id][version:]

    async def append(self, match_id: str, version: int, entry: Entry) -> bool:
        """Adds an entry if the match has exactly `version` of them; whether it did."""
        entries = self._entries[match_id]
        if len(entries) != version:
            return False
        entries.append(entry)
        change = self._changes.pop(match_id, None)
        if change is not None:
            change.set()
        return True

    async def wait(self, match_id: str, version: int) -> None:
        """Returns when the match has more than `version` entries."""
        while len(self._entries[match_id]) <= version:
            await self._changes.setdefault(match_id, asyncio.Event()).wait()
