"""Translates between the engine's fields and the messages of a game, as far as their names agree.

The engine and the schema use the same names for most things, so that most of a game is translated
without any code of its own. The room `api` of each game has a subclass named `Translation` that
states where the two differ.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple, cast

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from engine.errors import ViewError
from engine.events import ANY_SEAT, Event
from engine.game import SEATS, Game, SeatView

Fields = dict[str, Any]
_Path = tuple[str | int, ...]

_MAX_VALUES = 255  # Of an event.
_NOT_SET = 255  # As a value of an event whose name ends in "?".
_VALUE = re.compile(r"(?P<name>\w+)(?:(?P<rest>\*)|(?P<optional>\?)|\[(?P<length>\d+)\])?")


class Translation:
    """Translates one game. A subclass sets and overrides what is particular to its game.

    The methods check no rule: those about single fields are the schema's, all others the engine's.
    """

    # By the name of an enum: the number in the schema of what the engine numbers 0.
    first: ClassVar[Mapping[str, int]] = {}
    # The arrays of a view in which the engine counts cards by type. The schema lists the cards.
    counted: ClassVar[frozenset[str]] = frozenset()
    # The lists of cards in a view that are not read in a request.
    outputs: ClassVar[frozenset[str]] = frozenset({"unseen"})
    # How the engine's paths in a view begin, and how the schema's do, where they differ.
    view_paths: ClassVar[Mapping[str, str]] = {}
    # By the name of an event in the schema: the field with its seat, if that is not `seat`.
    seat_fields: ClassVar[Mapping[str, str]] = {}
    # By the name of an ending: the sentence in English that says what decided the match. Its fields
    # in braces are values that `ending` returns. A field that is called `seat`, or ends so, is a
    # seat, and `card` the id of a card, so that each client puts in the title.
    endings: ClassVar[Mapping[str, str]] = {}

    def __init__(self, game: type[Game]) -> None:
        self._game = game
        self._layouts = _event_layouts(game.event_kinds.values())

    def read(self, message: Message) -> Fields:
        """Returns the fields of a message; a number that can be absent only if it is set."""
        fields: Fields = {}
        for field in _schema_fields(message.DESCRIPTOR).values():
            if field.can_be_absent and not field.is_message and not message.HasField(field.name):
                continue
            value = getattr(message, field.name)
            first = self.first.get(field.enum, 0)
            if field.is_message:
                fields[field.name] = (
                    [self.read(item) for item in value] if field.is_list else self.read(value)
                )
            elif field.is_list:
                fields[field.name] = [item - first for item in value]
            else:
                fields[field.name] = value - first if first else value
        return fields

    def write(self, message: Message, fields: Fields) -> None:
        """Sets fields of a message."""
        schema = _schema_fields(message.DESCRIPTOR)
        for name, value in fields.items():
            field = schema.get(name)
            if field is None:
                raise LookupError(f"the message {message.DESCRIPTOR.name} has no field {name}")
            first = self.first.get(field.enum, 0)
            if field.is_message and not field.is_list:
                self.write(getattr(message, name), value)
            elif not field.is_list:
                setattr(message, name, value + first if first else value)
            elif field.is_message:
                items = getattr(message, name)
                for item in value:
                    self.write(items.add(), item)
            else:
                getattr(message, name).extend([item + first for item in value] if first else value)

    def read_action(self, message: Any) -> Fields:
        """Returns the fields of an action, its cards in the order of the message.

        Raises ActionError if no action can have these fields.
        """
        kind = str(message.WhichOneof("action"))
        return {"kind": kind, **self.read(getattr(message, kind))}

    def write_action(self, message: Any, fields: Fields) -> None:
        """Writes an action."""
        chosen = getattr(message, fields["kind"])
        chosen.SetInParent()
        self.write(chosen, {name: value for name, value in fields.items() if name != "kind"})

    def write_event(self, message: Any, event: Event) -> None:
        """Writes an event; leaves out what is hidden in it.

        An event and its hidden twin become the same message. A message that counts its cards says
        how many there are.
        """
        layout = self._layouts[event.kind]
        happened = getattr(message, layout.name)
        happened.SetInParent()
        schema = _schema_fields(happened.DESCRIPTOR)
        fields = self.event_fields(event)
        if "count" in schema and "count" not in fields:
            fields["count"] = len(fields["cards"])
        self.write(happened, fields)
        if event.seat == ANY_SEAT:
            return
        seat_field = self.seat_fields.get(layout.name, "seat")
        if seat_field in schema:
            setattr(happened, seat_field, event.seat)
        elif "seat" in _schema_fields(message.DESCRIPTOR):
            message.seat = event.seat

    def event_fields(self, event: Event) -> Fields:
        """Returns the values of an event by the names that `Game.event_kinds` has for them."""
        return self._layouts[event.kind].fields(event.values)

    def ending(self, view: SeatView, events: Sequence[Event]) -> tuple[str, Fields] | None:
        """Returns what decided a match that its rules have ended; None: the game does not tell.

        That is a name among `endings` and the values of its fields: integers and strings. `view` is
        what spectators see after the end, and `events` are those that they saw of the last version,
        so an ending can tell nothing hidden.
        """
        return None

    def recorded(self, rules_version: int, messages: list[Any]) -> list[Any]:
        """Returns the events of one version of a match as a record under these rules tells them."""
        return messages

    def read_view(self, game: Game, message: Message, seat: int) -> Fields:
        """Returns the fields of a seat's view; raises ViewError if they do not fit the engine's."""
        self._check_cards(message, "")
        fields = {**self.view_fields(game, self.read(message)), "seat": seat}
        return cast(Fields, self._fit(self._empty_view, fields, ()))

    def serialize_view(self, kind: type[Message], game: Game, view: SeatView) -> bytes:
        """Returns a view as a serialized message, for a game without a writer of its own."""
        message = kind()
        self.write(message, self.message_fields(game, view.fields))
        return message.SerializeToString(deterministic=True)

    def message_fields(self, game: Game, fields: Fields) -> Fields:
        """Returns the fields of the message of a view, from the engine's.

        The engine's arrays have a fixed length. Those of which the engine also has `<name>_count`
        beside them are cut to that length, and those of `counted` become lists of cards.
        """
        own = {name: value for name, value in fields.items() if not name.endswith("_count")}
        own.pop("seat", None)
        return {name: self._cut(name, value, fields) for name, value in own.items()}

    def _cut(self, name: str, value: Any, beside: Fields) -> Any:
        # What the message says of a field of the engine's view, with those beside it.
        if name in self.counted:
            return [card for card, count in enumerate(value) for _ in range(count)]
        if isinstance(value, dict):
            return {
                inner: self._cut(inner, each, value)
                for inner, each in value.items()
                if not (inner.endswith("_count") and inner.removesuffix("_count") in value)
            }
        if isinstance(value, list):
            value = value[: beside.get(f"{name}_count")]
            if value and isinstance(value[0], dict):
                value = [self._cut("", each, {}) for each in value]
        return value

    def view_fields(self, game: Game, message: Fields) -> Fields:
        """Returns the fields of a view from those of its message, by the engine's names.

        What belongs to a struct without a counterpart in the schema stands beside it; arrays may be
        shorter than the engine's, and what is 0 may be left out, and how long an array is.
        """
        return message

    @cached_property
    def _empty_view(self) -> Fields:
        return self._game().empty_view()

    def _check_cards(self, message: Message, path: str) -> None:
        # 0, which is no card, can be the value of a field, but does not belong in a list of cards.
        for field in _fields_with_cards(message.DESCRIPTOR):
            value = getattr(message, field.name)
            if field.is_message and field.is_list:
                for i, item in enumerate(value):
                    self._check_cards(item, f"{path}{field.name}[{i}].")
            elif field.is_message:
                self._check_cards(value, f"{path}{field.name}.")
            elif 0 in value and field.name not in self.outputs:
                raise ViewError(f"{path}{field.name}[{list(value).index(0)}]", "must be a card")

    def _fit(self, empty: Any, value: Any, path: _Path, has_count: bool = False) -> Any:
        # Gives a value of a view the shape of the engine's, of which there is an empty one.
        if isinstance(empty, int):
            return value
        if isinstance(empty, dict):
            return {
                name: value.get(name, _length(name, empty, value))
                if isinstance(inner, int)
                else self._fit_field(name, inner, value, (*path, name), f"{name}_count" in empty)
                for name, inner in empty.items()
            }
        if len(empty) == SEATS != len(value) and not has_count:
            raise ViewError(_join(path), f"must have {SEATS} items")
        if len(value) > len(empty):
            raise ViewError(_join(path), f"must have at most {len(empty)} items")
        fitted = (
            value
            if isinstance(empty[0], int)
            else [self._fit(empty[0], item, (*path, i)) for i, item in enumerate(value)]
        )
        return [*fitted, *empty[len(fitted) :]]

    def _fit_field(
        self, name: str, empty: Any, fields: Fields, path: _Path, has_count: bool
    ) -> Any:
        if name not in fields:
            # A struct that the schema does not have, or something that is 0.
            return self._fit(empty, fields, path) if isinstance(empty, dict) else empty
        if name in self.counted:
            return _count(fields[name], len(empty), path)
        return self._fit(empty, fields[name], path, has_count)


class _SchemaField(NamedTuple):
    name: str
    enum: str  # Its name; empty if the field is none.
    is_list: bool
    is_message: bool
    can_be_absent: bool


@cache
def _schema_fields(descriptor: Descriptor) -> Mapping[str, _SchemaField]:
    return {
        field.name: _SchemaField(
            field.name,
            field.enum_type.name if field.enum_type else "",
            field.is_repeated,
            field.message_type is not None,
            field.has_presence,
        )
        for field in descriptor.fields
    }


@cache
def _fields_with_cards(descriptor: Descriptor) -> Sequence[_SchemaField]:
    # The lists of enums, and the messages that have some.
    return [
        field
        for field in _schema_fields(descriptor).values()
        if (field.enum and field.is_list)
        or (
            field.is_message
            and _fields_with_cards(descriptor.fields_by_name[field.name].message_type)
        )
    ]


class _Layout(NamedTuple):
    """The values of a kind of event."""

    name: str  # Of the event in the schema.
    values: Sequence[tuple[str, int | None, bool]]  # Name; length, if a list; whether optional.

    def fields(self, values: Sequence[int]) -> Fields:
        """Names the values of an event."""
        fields: Fields = {}
        at = 0
        for name, length, optional in self.values:
            if length is not None:
                fields[name] = values[at : at + length]
                at += length
                continue
            if not (optional and values[at] == _NOT_SET):
                fields[name] = values[at]
            at += 1
        return fields


def _event_layouts(texts: Iterable[str]) -> Mapping[str, _Layout]:
    # By kind; see `Game.event_kinds`.
    layouts = {}
    for text in texts:
        kind, _, values = text.partition(":")
        layouts[kind] = _Layout(
            kind.removesuffix("_hidden"), [_read_value(word) for word in values.split()]
        )
    return layouts


def _read_value(word: str) -> tuple[str, int | None, bool]:
    found = _VALUE.fullmatch(word)
    assert found, f"{word!r} does not name a value"
    length = _MAX_VALUES if found["rest"] else int(found["length"]) if found["length"] else None
    return found["name"], length, bool(found["optional"])


def _length(name: str, empty: Fields, fields: Fields) -> int:
    # What a field is that is left out: the length of the array that it counts, or 0.
    array = name.removesuffix("_count")
    counts = array != name and isinstance(empty.get(array), list)
    return len(fields.get(array, ())) if counts else 0


def _count(cards: Sequence[int], types: int, path: _Path) -> list[int]:
    counts = [0] * types
    for i, card in enumerate(cards):
        if not 0 <= card < types:
            raise ViewError(_join((*path, i)), "must be a card")
        counts[card] += 1
    return counts


def _join(path: _Path) -> str:
    joined = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return joined.removeprefix(".")
