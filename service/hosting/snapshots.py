"""Snapshots: a match as bytes, so that a long match is not replayed from its first entry.

They are a cache of this build of the engine. A snapshot that is broken, of another build or of
another match is not recognized, and the match is replayed from its log instead.
"""

import hashlib
import importlib.util
import pkgutil
import struct
from functools import cache
from pathlib import Path

import engine
from engine.game import Game
from engine.match import Match
from service.hosting.clocks import Clocks, Control
from service.store import Header, Snapshot

_DIGEST_BYTES = 32
_CLOCKS = struct.Struct("<4q")  # As `left` of each seat, -1 for None, and `since`.


def write(header: Header, version: int, match: Match, clocks: Clocks | None) -> Snapshot:
    """A snapshot of a match as it is after `version` entries."""
    data = bytes(match)
    if clocks is not None:
        left = (-1 if each is None else each for each in clocks.left)
        data = _CLOCKS.pack(*left, *clocks.since) + data
    return Snapshot(version, _digest(header, version, data) + data)


def read(
    header: Header, game: Game, control: Control | None, snapshot: Snapshot
) -> tuple[Match, Clocks | None] | None:
    """The match in a snapshot; None unless it is one of this match, by this engine."""
    digest, data = snapshot.data[:_DIGEST_BYTES], snapshot.data[_DIGEST_BYTES:]
    # The engine trusts these bytes as it trusts its own.
    if digest != _digest(header, snapshot.version, data):
        return None
    clocks = None
    if control is not None:
        *left, one, other = _CLOCKS.unpack_from(data)
        clocks = Clocks(control, tuple(None if each < 0 else each for each in left), (one, other))
        data = data[_CLOCKS.size :]
    return Match.from_bytes(game, data), clocks


def _digest(header: Header, version: int, data: bytes) -> bytes:
    digest = hashlib.sha256(_engine())
    for part in (
        header.match_id.encode(),
        header.ruleset,
        header.time_control,
        b"%d" % version,
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
