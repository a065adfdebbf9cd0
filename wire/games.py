"""The games that this server can host, and the messages of each.

The messages of the games of this repository are in `croupier.v1`, and each has a field in every
`oneof` over the games. A game of another distribution brings its own schema: its room `api` has
`<package>.proto`, compiled to `<package>_pb2.py`, with the messages `<Name>Ruleset`,
`<Name>Action`, `<Name>Event` and `<Name>View`. They travel in the field `packaged`.
"""

import importlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple, TypeVar, cast

from google.protobuf import any_pb2, descriptor_pb2
from google.protobuf.descriptor import FieldDescriptor, FileDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from croupier.v1.game_pb2 import MatchAction, MatchEvent, Ruleset, View
from croupier.v1.match_pb2 import MatchRecord
from engine import games
from engine.aspects import Aspects
from engine.errors import GameError
from engine.faults import Guarded
from engine.game import Game
from engine.packages import PackageError, fault, leave_out, using
from engine.parts import load_all, module_of, package_of, part
from engine.playout_policy import PlayoutPolicy
from engine.sampler import Sampler
from wire.errors import nearest, quoted
from wire.translation import Translation
from wire.validation import Violation, first_violation, unknown_sent

_T = TypeVar("_T")

MAX_NAME = 100  # Characters of the name of an unknown message that a refusal repeats.
MAX_PACKAGED = 64 << 10  # Bytes of one message of such a game.
PACKAGED = "packaged"  # The field of a game that has none of its own.
_OURS = Ruleset.DESCRIPTOR.file.package
_TYPE_URL = "type.googleapis.com/"
_OUTER: tuple[type[Message], ...] = (Ruleset, MatchAction, MatchEvent, View)
_OUTER_BY_NAME = {each.DESCRIPTOR.full_name: each for each in _OUTER}
# What a game can have compiled in its room `play`.
_PARTS: dict[str, type] = {
    "play.sampler": Sampler,
    "play.playout": PlayoutPolicy,
    "play.aspects": Aspects,
}
_KINDS = ("Ruleset", "Action", "Event", "View")


class Messages(NamedTuple):
    """The messages of a game."""

    field: str  # Of each message over all games.
    types: dict[type[Message], type[Message]]  # By the type of the message over all games.

    def read(self, outer: Any, error: Callable[[str, str, str], GameError] = GameError) -> Message:
        """Returns the game's part of a message over all games, which is of this game.

        Raises `error` with the field and the rule if it cannot be read or breaks its schema.
        """
        inner: Message = getattr(outer, self.field)
        if self.field != PACKAGED:
            return inner
        if len(outer.packaged.value) > MAX_PACKAGED:
            raise error("", f"must have at most {MAX_PACKAGED} bytes", "TOO_LARGE")
        unpacked = self.types[type(outer)]()
        try:
            fits = outer.packaged.Unpack(unpacked)
        except DecodeError:
            raise error("", "must be a message of its type", "MALFORMED") from None
        if not fits:
            raise error("", f"must be a {unpacked.DESCRIPTOR.full_name}", "OTHER_TYPE")
        violation = first_violation(unpacked)
        if violation is not None:
            raise error(violation.path, violation.rule, violation.reason)
        return unpacked

    def write(self, outer: Any, fill: Callable[[Any], None]) -> None:
        """Fills in the game's part of a message over all games."""
        if self.field != PACKAGED:
            inner = getattr(outer, self.field)
            inner.SetInParent()
            fill(inner)
            return
        unpacked = self.types[type(outer)]()
        fill(unpacked)
        outer.packaged.Pack(unpacked, deterministic=True)

    def put(self, outer: Any, inner: Message) -> None:
        """Sets the game's part of a message over all games."""
        if self.field == PACKAGED:
            outer.packaged.Pack(inner, deterministic=True)
        else:
            getattr(outer, self.field).CopyFrom(inner)

    def wrap(self, serialized_view: bytes) -> bytes:
        """Returns a serialized view of a game with its own schema as `packaged` holds it."""
        type_url = _TYPE_URL + self.types[View].DESCRIPTOR.full_name
        return any_pb2.Any(type_url=type_url, value=serialized_view).SerializeToString()

    @property
    def file(self) -> Any:
        """The descriptor of the file with the messages."""
        return self.types[View].DESCRIPTOR.file

    @property
    def own_schema(self) -> bytes:
        """The file with the messages, as a FileDescriptorSet."""
        described = descriptor_pb2.FileDescriptorSet()
        self.file.CopyToProto(described.file.add())
        return described.SerializeToString(deterministic=True)

    @property
    def schema(self) -> bytes:
        """The schema of a game with messages of its own, as a FileDescriptorSet; else empty."""
        if self.field != PACKAGED:
            return b""
        files: dict[str, FileDescriptor] = {}
        _add_file(self.file, files)
        described = descriptor_pb2.FileDescriptorSet()
        for file in files.values():
            file.CopyToProto(described.file.add())
        return described.SerializeToString(deterministic=True)


def _add_file(file: Any, files: dict[str, FileDescriptor]) -> None:
    # What a file imports comes before it.
    if file.name not in files:
        for imported in file.dependencies:
            _add_file(imported, files)
        files[file.name] = file


@cache
def hosted_games() -> dict[str, type[Game]]:
    """Returns the games that this server can host, by id, in order of the ids.

    Raises PackageError if the package of a game cannot be used.
    """
    hosted = {}
    for game_id, game in games().items():
        if game.reference:
            continue
        try:
            messages(game_id)
            translation(game_id)
            if messages(game_id).field == PACKAGED:
                _load_parts(game_id, game)
        except PackageError as error:
            leave_out(error)
        else:
            load_all(package_of(game))
            hosted[game_id] = game
    return hosted


def of_each(fails: str, read: Callable[[type[Game]], _T]) -> dict[str, _T]:
    """Returns what is read of each hosted game, by id.

    Where that fails, a game is hosted no more, or PackageError is raised, which says what fails.
    """
    found = {}
    for game_id, game in list(hosted_games().items()):
        try:
            with using(game_id, fails):
                found[game_id] = read(game)
        except PackageError as error:
            leave_out(error)
            del hosted_games()[game_id]
    return found


@cache
def messages(game_id: str) -> Messages:
    """Returns the messages of a game; raises PackageError if it has none that can be used."""
    if game_id in Ruleset.DESCRIPTOR.fields_by_name and game_id != PACKAGED:
        types = {outer: GetMessageClass(_type_of(outer.DESCRIPTOR, game_id)) for outer in _OUTER}
        return Messages(game_id, types)
    schema = _schema_module(game_id)
    file: FileDescriptor = schema.DESCRIPTOR
    if file.package == _OURS or f"{file.package}.".startswith("croupier."):
        raise fault(game_id, f"its schema must have a package of its own, not {file.package}")
    found = [
        name.removesuffix("View") for name in file.message_types_by_name if name.endswith("View")
    ]
    named = [
        name
        for name in found
        if all(f"{name}{kind}" in file.message_types_by_name for kind in _KINDS)
    ]
    if len(named) != 1:
        raise fault(game_id, f"{file.name} must have one message each of {_listed(found)}")
    types = {
        outer: GetMessageClass(file.message_types_by_name[f"{named[0]}{kind}"])
        for outer, kind in zip(_OUTER, _KINDS, strict=True)
    }
    for each in types.values():
        _check_served(game_id, each.DESCRIPTOR.name, (each.DESCRIPTOR,))
        with using(game_id, f"the constraints of {each.DESCRIPTOR.name} cannot be checked"):
            first_violation(each())
    return Messages(PACKAGED, types)


def _check_served(game_id: str, path: str, outer: tuple[Any, ...]) -> None:
    # Raises PackageError for a field, at a path in these messages, that no translation serves.
    for field in outer[-1].fields:
        inner, at = field.message_type, f"{path}.{field.name}"
        if inner is None:
            continue
        if inner in outer:
            raise fault(game_id, f"in its schema {at} is a {inner.name} in another one")
        if inner.GetOptions().map_entry or field.type == FieldDescriptor.TYPE_GROUP:
            raise fault(game_id, f"in its schema {at} is a map or a group, which is not served")
        if inner is any_pb2.Any.DESCRIPTOR:
            raise fault(game_id, f"in its schema {at} is an Any, which is not served")
        _check_served(game_id, at, (*outer, inner))


def _listed(found: list[str]) -> str:
    name = found[0] if len(found) == 1 else "<Name>"
    return ", ".join(f"{name}{kind}" for kind in _KINDS)


def _type_of(outer: Any, field: str) -> Any:
    return outer.fields_by_name[field].message_type


def _schema_module(game_id: str) -> ModuleType:
    game = games()[game_id]
    package = package_of(game)
    module = f"api.{package.rpartition('.')[2]}_pb2"
    name = module_of(game, module)
    if name is None:
        raise fault(game_id, f"it has no schema: {package}.{module} is missing")
    # Protobuf raises, too, if another file has a message or a file of the same name.
    with using(game_id, "its schema cannot be used"):
        return importlib.import_module(name)


@cache
def translation(game_id: str) -> Translation:
    """Returns what translates a game; raises PackageError if it cannot be made."""
    game: Any = games()[game_id]
    with using(game_id, "its module api.translation fails"):
        made: Any = part(game, "api.translation", Translation)(game)
    guards = messages(game_id).field == PACKAGED
    return cast(Translation, Guarded(made, game_id) if guards else made)


def _load_parts(game_id: str, game: Any) -> None:
    # At the start, and not in the first call that needs them.
    for name, base in _PARTS.items():
        with using(game_id, f"its module {name} fails"):
            part(game, name, base)
    with using(game_id, "its default ruleset fails"):
        made = game()
        made.cards()
        Aspects.of(made)
        translation(game_id).write(messages(game_id).types[Ruleset](), made.ruleset)


@cache
def packaged_types() -> dict[str, tuple[str, type[Message]]]:
    """The games with messages of their own and the types of these, by the names of the messages."""
    return {
        inner.DESCRIPTOR.full_name: (game_id, inner)
        for game_id in hosted_games()
        if messages(game_id).field == PACKAGED
        for inner in messages(game_id).types.values()
    }


def packaged_type(name: str) -> type[Message] | None:
    """Returns the type of a message of a game with a schema of its own; None if there is none."""
    found = packaged_types().get(name)
    return found[1] if found else None


def no_such_game(word: str, outer: str = "") -> str:
    """What a refusal says of the word for a game that this server does not have as such.

    `outer` is the full name of the message over all games in which it is the name of a field.
    """
    near = nearest(word, hosted_games())
    if outer and near and messages(near).field == PACKAGED:
        inner = messages(near).types[_OUTER_BY_NAME[outer]].DESCRIPTOR.full_name
        return f'the messages of {near} go into "packaged", with "@type": "{inner}"'
    instead = f": did you mean {near}?" if near else ":"
    return f"there is no game {quoted(word)}{instead} {_there_are()}"


def _there_are() -> str:
    listed = (
        f"{game_id} (in packaged)" if messages(game_id).field == PACKAGED else game_id
        for game_id in hosted_games()
    )
    return f"this server has {', '.join(listed)}"


def is_over_games(name: str) -> bool:
    """Whether a message of this full name has a field for each game."""
    return name in _OUTER_BY_NAME


def rule_of(violation: Violation) -> str:
    """The rule that a message breaks; if it has no game, with those that there are."""
    lacking = violation.lacking
    if lacking is None or not is_over_games(lacking.DESCRIPTOR.full_name):
        return violation.rule
    return f"must have a game: {_there_are()}{unknown_sent(lacking)}"


def discard_unknown(message: Message) -> None:
    """Discards what this server does not know of a message, also in what is packaged in it."""
    message.DiscardUnknownFields()
    if packaged_types():
        for packaged in _packaged_in(message):
            known = packaged_type(packaged.TypeName())
            # What cannot be read, or is too large, is left to those who refuse it.
            with suppress(DecodeError):
                if known is not None and len(packaged.value) <= MAX_PACKAGED:
                    inner = known.FromString(packaged.value)
                    inner.DiscardUnknownFields()
                    packaged.Pack(inner, deterministic=True)


def _packaged_in(message: Message) -> Iterator[any_pb2.Any]:
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in value if field.is_repeated else (value,):
                if isinstance(inner, any_pb2.Any):
                    yield inner
                # Whoever reads a record checks it entry by entry: there can be many.
                elif not isinstance(inner, MatchRecord):
                    yield from _packaged_in(inner)


def game_of(message: Ruleset | MatchAction | View) -> str:
    """Returns the id of the game of a message, in which one is set.

    For a message of a schema that this server does not know, it is the name of the message.
    """
    field = str(message.WhichOneof("game"))
    if field != PACKAGED:
        return field
    name = message.packaged.type_url.rpartition("/")[2]
    found = packaged_types().get(name)
    if found:
        return found[0]
    # A message of a package has a dot in its name; the id of a game, which this must not be, none.
    return name[:MAX_NAME] if "." in name[:MAX_NAME] else PACKAGED
