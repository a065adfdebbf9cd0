"""The history of a match, and snapshots, from which a long match need not be replayed.

The history has the entries, what each led to, and the requests that were carried out. A snapshot
is the match as bytes, for this code of the engine and of the game alone. One that is broken, of
other code or of another match is not recognized, and the match is replayed from its log instead.
"""

import hashlib
import importlib
import struct
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path

from engine import games
from engine.events import Event
from engine.game import Game
from engine.match import Match
from engine.packages import package_of
from service.hosting.clocks import Clocks, Control
from service.store import Entry, Header, Snapshot

# The events of one version; None where a snapshot has skipped them.
Events = tuple[Event, ...] | None


class History:
    """The entries of a match and their events, in order.

    All states of a match share one history: a state at version n is its first n entries. It grows
    when an entry is added to the newest state, and is copied when one is added to an older state.
    """

    def __init__(
        self, entries: list[Entry], events: list[Events], requests: dict[tuple[int, str], int]
    ) -> None:
        self.entries = entries
        self.events = events  # By version; version 0 is the deal.
        self.requests = requests  # The version that a request made, by seat and request_id.

    @staticmethod
    def begin(dealt: tuple[Event, ...]) -> "History":
        """The history of a match without entries."""
        return History([], [dealt], {})

    def after(self, version: int, entry: Entry, events: Events) -> "History":
        """The first `version` entries and one more."""
        history = self
        if len(self.entries) > version:
            # The entry that was added here before was not committed, or the match is replayed.
            requests = {request: made for request, made in self.requests.items() if made <= version}
            history = History(self.entries[:version], self.events[: version + 1], requests)
        history.entries.append(entry)
        history.events.append(events)
        if entry.request_id:
            history.requests[entry.seat, entry.request_id] = version + 1
        return history


_DIGEST_BYTES = 32
_CLOCKS = struct.Struct("<4q")  # As `left` of each seat, -1 for None, and `since`.


def write_snapshot(
    header: Header, version: int, made: int, match: Match, clocks: Clocks | None
) -> Snapshot:
    """A snapshot of a match as it is after `version` entries, the last of which was made then."""
    data = bytes(match)
    if clocks is not None:
        left = (-1 if each is None else each for each in clocks.left)
        data = _CLOCKS.pack(*left, *clocks.since) + data
    return Snapshot(version, _digest(header, version, made, data) + data)


def read_snapshot(
    header: Header, game: Game, control: Control | None, snapshot: Snapshot, made: int
) -> tuple[Match, Clocks | None] | None:
    """The match in a snapshot; None unless it is one of this match, by this engine.

    `made` is when the log says that its version was made: a log that was set back may have another.
    """
    digest, data = snapshot.data[:_DIGEST_BYTES], snapshot.data[_DIGEST_BYTES:]
    # The engine trusts these bytes as it trusts its own.
    if digest != _digest(header, snapshot.version, made, data):
        return None
    clocks = None
    if control is not None:
        *left, one, other = _CLOCKS.unpack_from(data)
        clocks = Clocks(control, tuple(None if each < 0 else each for each in left), (one, other))
        data = data[_CLOCKS.size :]
    return Match.from_bytes(game, data), clocks


def _digest(header: Header, version: int, made: int, data: bytes) -> bytes:
    digest = hashlib.sha256(code_of(header.game))
    for part in (
        header.match_id.encode(),
        header.ruleset,
        header.time_control,
        b"%d" % version,
        b"%d" % made,
        data,
    ):
        digest.update(b"%d:" % len(part) + part)
    return digest.digest()


@cache
def code_of(game_id: str) -> bytes:
    """The fingerprint of the code that lays out a state of a game: any change of it counts.

    It is to be taken when the code is loaded, since files can change while a server runs.
    """
    package = package_of(games()[game_id]).partition(".")[0]
    return b"".join(_files_of(name) for name in sorted({"engine", package}))


@cache
def _files_of(package: str) -> bytes:
    digest = hashlib.sha256()
    for folder in map(Path, importlib.import_module(package).__path__):
        for path in sorted(folder.rglob("*")):
            if path.name.endswith((*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES)):
                digest.update(b"%s %d:" % (bytes(path.relative_to(folder)), path.stat().st_size))
                digest.update(path.read_bytes())
    return digest.digest()
