"""The history of a match, its rules, and snapshots, from which a long match need not be replayed.

The history has the entries, what each led to, and the requests that were carried out. A snapshot
is the match as bytes, for this code of the engine and of the game alone. One that is broken, of
other code or of another match is not recognized, and the match is replayed from its log instead.
"""

import ast
import hashlib
import importlib
import struct
import sys
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib import resources
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import wire
from croupier.v1 import game_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine import games
from engine.events import Event
from engine.game import Game
from engine.match import Match
from engine.parts import contents
from service.hosting.clocks import Clocks, Control
from service.hosting.consent import NO_UNDO, Undo, Undos
from service.store import Entry, Head, Header, Snapshot, chain
from wire.errors import Refusal

# The events of one version; None where a snapshot has skipped them.
Events = tuple[Event, ...] | None
_DIGEST_BYTES = 32
_GAMES_KEPT = 256
REQUEST_END = "\0"  # The last of them in a request_id of the log ends what the caller has sent.


class History:
    """The entries of a match and their events, in order.

    All states of a match share one history: a state at version n is its first n entries. It grows
    when an entry is added to the newest state, and is copied when one is added to an older state.
    """

    def __init__(
        self,
        first: bytes,
        entries: list[Entry],
        events: list[Events],
        requests: dict[tuple[int, str], int],
        course: bytes,
        newest_rules: bool,
    ) -> None:
        self._first = first  # The digest of the header.
        self._course = course  # Of the deal.
        self._newest_rules = newest_rules
        self.entries = entries
        self.events = events  # By version; version 0 is the deal.
        self.requests = requests  # The version that a request made, by seat and request_id.

    @staticmethod
    def begin(header: Header, dealt: tuple[Event, ...], course: bytes) -> "History":
        """The history of a match without entries, whose deal has this course.

        Raises Refusal if the deal once led to something else.
        """
        newest = games()[header.game].rules_version == header.rules_version
        if chain.leads_elsewhere(header.course, course, newest_rules=newest):
            raise rules_changed(0)
        return History(chain.first_digest(header), [], [dealt], {}, course, newest)

    def digest(self, version: int) -> bytes:
        """The digest of a version."""
        return self.entries[version - 1].digest if version else self._first

    def after(
        self, version: int, entry: Entry, events: Events, match: Match | None = None
    ) -> "History":
        """The first `version` entries and one more; `match` is as it is then, if it has changed.

        Raises Refusal if an entry of the log led to something else once. Nothing is known of it
        where `events` is None.
        """
        if entry.digest:
            if events is not None and entry.course:
                course = self._course_after(version, events, match)
                if chain.leads_elsewhere(entry.course, course, newest_rules=self._newest_rules):
                    raise rules_changed(version + 1)
        else:
            course = self._course_after(version, events or (), match)
            digest = chain.next_digest(self.digest(version), entry, course)
            # Not by `_replace`, which takes four times as long.
            entry = Entry(*entry[:7], course, digest)
        history = self
        if len(self.entries) > version:
            # The entry that was added here before was not committed, or the match is replayed.
            requests = {request: made for request, made in self.requests.items() if made <= version}
            history = History(
                self._first,
                self.entries[:version],
                self.events[: version + 1],
                requests,
                self._course,
                self._newest_rules,
            )
        history.entries.append(entry)
        history.events.append(events)
        if entry.request_id:
            sent, end, _ = entry.request_id.rpartition(REQUEST_END)
            history.requests[entry.seat, sent if end else entry.request_id] = version + 1
        return history

    def _course_after(self, version: int, events: tuple[Event, ...], match: Match | None) -> bytes:
        before = self.entries[version - 1].course if version else self._course
        return course_of(before, events, match)


def course_of(before: bytes, events: Iterable[Event], match: Match | None) -> bytes:
    """The course after one, of events and, if it has changed, of the match after them."""
    position: tuple[object, ...] = ()
    if match is not None:
        # How many actions are legal tells much of what the seats have, and costs little.
        choices = tuple([(seat, len(match.legal(seat))) for seat in match.deciders])
        position = choices or match.scores or ()
    return chain.next_course(before, events, position)


def rules_changed(version: int) -> Refusal:
    """The refusal of a match of which the rules make something else than before."""
    return Refusal(
        ErrorReason.ERROR_REASON_RULES_CHANGED,
        f"the rules that this server has lead elsewhere at version {version} than those under "
        "which it was made: have the code from before, or raise `rules_version` where the rules "
        "change, and keep the old ones",
        metadata={"version": str(version)},
    )


@lru_cache(maxsize=_GAMES_KEPT)
def _under(game: Game, rules_version: int) -> Game | None:
    return game.under(rules_version)


def read_game(header: Header) -> Game:
    """The game of a match under its rules; raises Refusal if this server does not have them."""
    game = None
    if header.game in wire.hosted_games():
        game = wire.read_ruleset(game_pb2.Ruleset.FromString(header.ruleset), "ruleset")
        under = _under(game, header.rules_version)
        if under is not None:
            return under
    versions = {"game": header.game, "rules_version": str(header.rules_version)}
    if game is not None:
        versions["server_rules_version"] = str(game.rules_version)
    raise Refusal(
        ErrorReason.ERROR_REASON_RULES_CHANGED,
        f"the match began under version {header.rules_version} of the rules of {header.game}; this "
        + ("server has no such game" if game is None else f"server has {game.rules_version}"),
        metadata=versions,
    )


_LENGTH_BYTES = 4
_CLOCKS = struct.Struct("<4q")  # As `left` of each seat, -1 for None, and `since`.
_UNDO = struct.Struct("<3q")  # As its version and `since`.


def write_snapshot(
    game: Game,
    head: Head,
    match: Match,
    clocks: Clocks | None,
    undo: Sequence[Undo | None] = NO_UNDO,
) -> Snapshot:
    """A snapshot of a match as it is at a version, and of what takebacks would take it back to."""
    data = bytes(match)
    for each in undo:
        back = b""
        if each is not None:
            back = _UNDO.pack(each.version, *each.since) + bytes(each.match)
        data = len(back).to_bytes(_LENGTH_BYTES) + back + data
    if clocks is not None:
        left = (-1 if each is None else each for each in clocks.left)
        data = _CLOCKS.pack(*left, *clocks.since) + data
    return Snapshot(head.version, _digest(game, head, data) + data)


def read_snapshot(
    game: Game, control: Control | None, snapshot: Snapshot, digest: bytes
) -> tuple[Match, Clocks | None, Undos] | None:
    """What is in a snapshot; None unless it is of the version of this digest, by this engine."""
    found, data = snapshot.data[:_DIGEST_BYTES], snapshot.data[_DIGEST_BYTES:]
    # The engine trusts these bytes as it trusts its own.
    if found != _digest(game, Head(snapshot.version, digest), data):
        return None
    clocks = None
    if control is not None:
        *left, one, other = _CLOCKS.unpack_from(data)
        clocks = Clocks(control, tuple(None if each < 0 else each for each in left), (one, other))
        data = data[_CLOCKS.size :]
    undo: list[Undo | None] = []
    for _ in NO_UNDO:
        end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES])
        back, data = data[_LENGTH_BYTES:end], data[end:]
        if back:
            version, *since = _UNDO.unpack_from(back)
            undo.insert(0, Undo(version, Match.from_bytes(game, back[_UNDO.size :]), tuple(since)))
        else:
            undo.insert(0, None)
    return Match.from_bytes(game, data), clocks, (undo[0], undo[1])


def _digest(game: Game, head: Head, data: bytes) -> bytes:
    # The digest of the version covers the header.
    digest = hashlib.sha256(b"2" + code_of(game.id))  # The second form of snapshots.
    digest.update(b"%d %s" % (head.version, head.digest))
    digest.update(data)
    return digest.digest()


@cache
def code_of(game_id: str) -> bytes:
    """The fingerprint of the code that lays out a state of a game: any change of it counts.

    It is to be taken when the code is loaded, since files can change while a server runs.
    """
    # A class that the game is made of may be in another package than the game.
    modules = {each.__module__.partition(".")[0] for each in games()[game_id].__mro__}
    names, code = sorted(modules - {object.__module__}), b""
    for name in names:  # It grows by what these import, and so on.
        releases = () if name in modules else _distributions().get(name, ())
        # The files of a distribution are those of its version.
        told = " ".join(f"{each} {version(each)}" for each in releases)
        code += told.encode() or _files_of(name)
        names += sorted(_imported_by(name).difference(names))
    return code


_OURS = {"adapters", "ai", "cli", "croupier", "engine", "games", "lab", "service", "wire"}
_distributions = cache(packages_distributions)


def _imported_by(name: str) -> set[str]:
    # The packages that a package imports, in its functions too: others than ours, and there.
    if name in _OURS:
        return set()
    found: set[str | None] = set()
    for module in [each for each in sys.modules if f"{each}.".startswith(f"{name}.")]:
        loader: Any = getattr(sys.modules[module], "__loader__", None)
        source = loader.get_source(module) if hasattr(loader, "get_source") else None
        if source is None:  # It is compiled.
            values = list(vars(sys.modules[module]).values())
            found.update(getattr(value, "__module__", None) for value in values)
            found.update(value.__name__ for value in values if isinstance(value, ModuleType))
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                found.update(each.name for each in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module)
    tops = {each.partition(".")[0] for each in found if isinstance(each, str)}
    tops -= {name, "__main__", *_OURS, *sys.stdlib_module_names}
    return {each for each in tops if each.isidentifier() and find_spec(each) is not None}


@cache
def _files_of(name: str) -> bytes:
    # By the importer, since it may read from an archive.
    module: Any = importlib.import_module(name)
    digest = hashlib.sha256()
    if hasattr(module, "__path__"):
        # All files, since code may read them, wherever links lead.
        for path, file in contents(resources.files(module)):
            data = file.read_bytes()
            digest.update(b"/%s %d:" % (path.encode(), len(data)))
            digest.update(data)
    else:
        digest.update(module.__spec__.loader.get_data(module.__file__))
    return digest.digest()
