"""Packs of puzzles: a file beside the rules of a game, with the answers.

A puzzle is the record of a match that ends at the decision. So its position follows from the rules,
as that of a match does, and not from how a build of the engine stores it.
"""

import gzip
import hashlib
import zlib
from importlib.resources import files
from typing import Any

from google.protobuf.message import DecodeError

import wire
from croupier.v1 import game_pb2, match_pb2, puzzle_pb2
from engine.game import Game, SeatView
from engine.parts import package_of
from service.common.event_loop import Work, finish_now
from service.hosting.match_state import MatchState
from service.hosting.records import RecordError, replaying_record
from service.hosting.views import serialize_position

FILE = "puzzles.binpb.gz"
ID_DIGITS = 12


FIND_NEW = "find new ones with `croupier puzzles`"


class PackError(ValueError):
    """A pack that cannot be used. The message says why, in a line."""


def pack_of(game: type[Game]) -> puzzle_pb2.PuzzlePack | None:
    """The pack of a game; None if it has none. Raises PackError."""
    path = files(package_of(game)).joinpath("play", FILE)
    return read_pack(path.read_bytes(), game) if path.is_file() else None


def read_pack(data: bytes, game: type[Game] | None = None) -> puzzle_pb2.PuzzlePack:
    """Reads the file of a pack, which must be that of a game, if one is given; raises PackError."""
    try:
        pack = puzzle_pb2.PuzzlePack.FromString(gzip.decompress(data))
    except (OSError, EOFError, zlib.error, DecodeError) as error:
        raise PackError(f"it is no pack of puzzles: {error}") from None
    game_id = pack.game.removeprefix("games/")
    found = wire.hosted_games().get(game_id) if game is None else game
    if found is None or found.id != game_id:
        raise PackError(f"it is a pack of {game_id or 'no game'}")
    if pack.rules_version != found.rules_version:
        raise PackError(
            f"the puzzles of {game_id} were found under version {pack.rules_version} of its rules, "
            f"and this is version {found.rules_version}: {FIND_NEW}"
        )
    for each in pack.puzzles:
        try:
            state = finish_now(replaying(each.record))
            if state.game.id != game_id or each.puzzle.origin.seat not in state.deciders:
                raise RecordError("", "no decision of this game is owed there")
        except RecordError as error:
            raise PackError(
                f"{each.puzzle.name} does not follow from the rules and the messages of {game_id} "
                f"as they are now ({error}): {FIND_NEW}"
            ) from None
    return pack


def write_pack(pack: puzzle_pb2.PuzzlePack) -> bytes:
    """The file of a pack."""
    return gzip.compress(pack.SerializeToString(deterministic=True), mtime=0)


def cut(record: match_pb2.MatchRecord, version: int) -> match_pb2.MatchRecord:
    """A record up to a version, without what does not matter to the position."""
    short = match_pb2.MatchRecord()
    short.CopyFrom(record)
    del short.entries[:]
    short.entries.extend(
        each
        for each in record.entries
        if each.version <= version and each.WhichOneof("entry") != "event"
    )
    for name in ("result", "digest", "model"):
        short.ClearField(name)
    for seat in short.seats:
        seat.ClearField("display_name")
    return short


def name_of(view: SeatView) -> str:
    """The name of the puzzle that a view sets its seat; equal views have the same."""
    content = wire.write_view(view.game, view) + bytes([view.seat])
    return f"games/{view.game.id}/puzzles/{hashlib.sha256(content).hexdigest()[:ID_DIGITS]}"


def replaying(record: match_pb2.MatchRecord) -> Work[MatchState]:
    """The match of a record, at its end; raises RecordError."""
    return replaying_record(record, len(record.entries))


def write_view(state: MatchState, seat: int) -> bytes:
    """What a seat knows and may do, as a serialized View."""
    legal = wire.write_legal_actions(state.game, state.dealt().legal(seat))
    return serialize_position(state, seat) + legal


def theme_of(view: game_pb2.View) -> str:
    """The phase of a view, in small letters; empty if the game has none."""
    shown: Any = wire.messages(wire.game_of(view)).read(view)
    field = shown.DESCRIPTOR.fields_by_name.get("phase")
    if field is None or field.enum_type is None:
        return ""
    name: str = field.enum_type.values_by_number[shown.phase].name
    prefix: str = field.enum_type.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return name.removeprefix(prefix).lower()
