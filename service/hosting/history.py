"""The history of a match, and snapshots, from which a long match need not be replayed.

The history has the entries, what each led to, and the requests that were carried out. A snapshot
is the match as bytes, for this build of the engine alone. One that is broken, of another build or
of another match is not recognized, and the match is replayed from its log instead.
"""

import hashlib
import importlib.util
import pkgutil
import struct
from functools import cache
from pathlib import Path

import engine
from engine.events import Event
from engine.game import Game
from engine.match import Match
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
    digest = hashlib.sha256(_engine())
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
def _engine() -> bytes:
    # Only the compiled engine knows the layout of a state, so that any change of it counts.
    digest = hashlib.sha256()
    for module in pkgutil.walk_packages(engine.__path__, "engine."):
        spec = importlib.util.find_spec(module.name)
        if spec is not None and spec.origin:
            digest.update(Path(spec.origin).read_bytes())
    return digest.digest()
