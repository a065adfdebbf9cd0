"""Requests in JSON, read as ProtoJSON defines them (https://protobuf.dev/programming-guides/json).

protobuf's own reader takes much that ProtoJSON does not allow, such as "1_0" for 10, or a list in
place of a message, and it is slow. This one looks at no more than a request can have: not at the
items of a list that is longer than the schema allows, nor at fields that the server ignores.
"""

import base64
import json
import math
import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple, NoReturn, TypeAlias

from google.api import field_behavior_pb2
from google.protobuf import any_pb2, json_format
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp

import wire
from buf.validate import validate_pb2
from service.api.calls import unreadable
from wire.errors import invalid_field, meant, nearest, quoted
from wire.validation import choices

_RULES: Any = validate_pb2.field
_ONEOF: Any = validate_pb2.oneof
_REASON = "NOT_PROTO_JSON"  # Of a violation that is none of a rule in the schema.

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,19})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?")
_DURATION = re.compile(r"(-?)(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?s")
_MAX_SECONDS = 315_576_000_000  # Of a duration.
_TIMESTAMP = re.compile(
    r"[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})"
)
# With or without padding, and with the two characters of either alphabet.
_BASE64 = re.compile(r"([\w+/-]{4})*([\w+/-]{2}(==)?|[\w+/-]{3}=?)?", re.ASCII)
_PATHS = re.compile(r"([A-Za-z0-9_.]+(,[A-Za-z0-9_.]+)*)?")
_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")
_MAX_PATHS = 8192  # Characters: 64 paths are less.

# Makes of a value what the constructor of a message takes for a field: of an object, a dictionary.
Reader: TypeAlias = Callable[[Any], Any]


class _Wrong(Exception):
    """A value that its field cannot have."""

    def __init__(self, rule: str, reason: str = _REASON) -> None:
        super().__init__(rule)
        self.rule = rule  # A sentence without a subject.
        self.reason = reason
        self.path = ""  # As in ".seats[1].bot".


def parse(message_class: type[Message], data: bytes, take_unknown: bool = False) -> Message:
    """The message that a JSON text is; raises Refusal.

    With `take_unknown`, fields that this server does not know are left out, unless a `oneof` stays
    empty without them; else they are refused.
    """
    try:
        # Objects become tuples of their members: two of the same name must not become one.
        value = json.loads(data.decode(), object_pairs_hook=tuple, parse_constant=_no_constant)
    except RecursionError:
        raise unreadable("its JSON is nested too deeply") from None
    except ValueError as error:
        raise unreadable(f"it is no JSON: {error}") from None
    try:
        return message_class(**_message_reader(message_class.DESCRIPTOR, take_unknown)(value))
    except _Wrong as wrong:
        if not wrong.path:
            raise unreadable(f"it {wrong.rule}") from None
        raise invalid_field(wrong.path.removeprefix("."), wrong.reason, wrong.rule) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


class _Field(NamedTuple):
    name: str
    oneof: str  # That it is a member of, if it is.
    read: Reader


@cache
def _message_reader(descriptor: Descriptor, take_unknown: bool) -> Reader:
    if descriptor.full_name == any_pb2.Any.DESCRIPTOR.full_name:
        return partial(_read_any, take_unknown)
    if descriptor.full_name in _FORMS:
        return _FORMS[descriptor.full_name]
    if descriptor.file.package == "google.protobuf":
        return lambda value: _read_other_form(descriptor, value)
    fields: dict[str, _Field] = {}
    for field in descriptor.fields:
        behavior = field.GetOptions().Extensions[field_behavior_pb2.field_behavior]
        # A client that sends a view back also sends what the server ignores in it.
        if field_behavior_pb2.OUTPUT_ONLY not in behavior:
            oneof = field.containing_oneof
            known = _Field(
                field.name, oneof.name if oneof else "", _field_reader(field, take_unknown)
            )
            fields[field.json_name] = fields[field.name] = known

    # What the server ignores is no fault.
    ignored = {
        name for field in descriptor.fields for name in (field.name, field.json_name)
    } - fields.keys()
    needed = {
        oneof.name for oneof in descriptor.oneofs if oneof.GetOptions().Extensions[_ONEOF].required
    }

    def read_message(value: Any) -> dict[str, Any]:
        if type(value) is not tuple:
            raise _Wrong("must be an object")
        given: dict[str, Any] = {}
        chosen = set()
        unknown = None
        for key, item in value:
            field = fields.get(key)
            if field is None:
                if key not in ignored:
                    unknown = unknown or _unknown_field(descriptor, key)
                    if not take_unknown:
                        raise unknown
                continue
            name, oneof, read = field
            try:
                if name in given:
                    raise _Wrong("must not be given twice")
                if item is None:
                    given[name] = None
                    continue
                if oneof in chosen:
                    raise _Wrong(f"must be the only one of {oneof}")
                if oneof:
                    chosen.add(oneof)
                given[name] = read(item)
            except _Wrong as wrong:
                wrong.path = f".{name}{wrong.path}"
                raise
        if unknown is not None and not needed <= chosen:
            raise unknown
        return given

    return read_message


def _unknown_field(descriptor: Descriptor, key: str) -> _Wrong:
    names = {field.json_name for field in descriptor.fields}
    rule = ""
    if wire.is_over_games(descriptor.full_name):
        games = {
            field.json_name for field in descriptor.fields if field.name in wire.hosted_games()
        }
        if not nearest(key, names - games):
            rule = f"is no field: {wire.no_such_game(key, descriptor.full_name)}"
    wrong = _Wrong(
        rule or f"is no field of {descriptor.name}: {meant(key, names)}", "UNKNOWN_FIELD"
    )
    wrong.path = f".{key if _NAME.fullmatch(key) else quoted(key)}"
    return wrong


def _field_reader(field: FieldDescriptor, take_unknown: bool) -> Reader:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        raise NotImplementedError(f"no request has a map: {field.full_name}")
    read = _item_reader(field, take_unknown)
    if not field.is_repeated:
        return read
    rules = field.GetOptions().Extensions[_RULES].repeated
    most = rules.max_items if rules.HasField("max_items") else math.inf

    def read_list(value: Any) -> list[Any]:
        if type(value) is not list:
            raise _Wrong("must be an array")
        if len(value) > most:
            raise _Wrong(f"must contain no more than {most} item(s)", "REPEATED_MAX_ITEMS")
        items: list[Any] = []
        try:
            for item in value:
                items.append(read(item))
        except _Wrong as wrong:
            wrong.path = f"[{len(items)}]{wrong.path}"
            raise
        return items

    return read_list


def _item_reader(field: FieldDescriptor, take_unknown: bool) -> Reader:
    if field.message_type is not None:
        return _message_reader(field.message_type, take_unknown)
    if field.enum_type is not None:
        return _enum_reader(field.enum_type, choices(field))
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _read_bytes
    return _READERS[field.cpp_type]


def _read_bool(value: Any) -> bool:
    if type(value) is not bool:
        raise _Wrong("must be true or false")
    return value


def _read_string(value: Any) -> str:
    if type(value) is not str:
        raise _Wrong("must be a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Wrong("must not contain half of a surrogate pair") from None
    return value


def _read_bytes(value: Any) -> bytes:
    if type(value) is not str or not _BASE64.fullmatch(value):
        raise _Wrong("must be a string of bytes in base64")
    plain = value.replace("+", "-").replace("/", "_")
    return base64.urlsafe_b64decode(plain + "=" * (-len(plain) % 4))


def _integer_reader(least: int, most: int) -> Reader:
    def read_integer(value: Any) -> int:
        number = _unquoted(value)
        if type(number) is float and number.is_integer():
            number = int(number)
        if type(number) is not int or not least <= number <= most:
            raise _Wrong(f"must be a whole number from {least} to {most}")
        return number

    return read_integer


def _read_float(value: Any) -> float:
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    number = _unquoted(value)
    # A number of JSON may be too large for a float, which is then infinite.
    if type(number) is int and abs(number) < 1 << 1023:
        number = float(number)
    if type(number) is not float or not math.isfinite(number):
        raise _Wrong("must be a number")
    return number


def _unquoted(value: Any) -> Any:
    # Numbers may be in quotes, since many readers of JSON know no 64-bit integers.
    return json.loads(value) if type(value) is str and _NUMBER.fullmatch(value) else value


def _enum_reader(enum: EnumDescriptor, named: list[str]) -> Reader:
    numbers = {value.name: value.number for value in enum.values}

    def read_enum(value: Any) -> int:
        number = numbers.get(value) if type(value) is str else value
        # To ignore the name of a newer client, as ProtoJSON allows, would be to take it for 0.
        if type(number) is not int or not -(1 << 31) <= number < 1 << 31:
            instead = f": {meant(value, named)}" if type(value) is str else ""
            raise _Wrong(f"must be the name or the number of a value of {enum.name}{instead}")
        return number

    return read_enum


def _read_duration(value: Any) -> dict[str, int]:
    found = _DURATION.fullmatch(value) if type(value) is str else None
    if found is None:
        raise _Wrong('must be a string of seconds, such as "1.5s"')
    if int(found[2]) > _MAX_SECONDS:
        raise _Wrong(f"must be {_MAX_SECONDS} seconds at most")
    sign = -1 if found[1] else 1
    nanos = (found[3] or ".")[1:].ljust(9, "0")
    return {"seconds": sign * int(found[2]), "nanos": sign * int(nanos)}


def _read_timestamp(value: Any) -> Timestamp:
    timestamp = Timestamp()
    try:
        if not _TIMESTAMP.fullmatch(value):
            raise ValueError
        timestamp.FromJsonString(value)
    except (TypeError, ValueError):
        raise _Wrong('must be a string of a time, such as "2026-01-31T12:00:00Z"') from None
    return timestamp


def _read_field_mask(value: Any) -> dict[str, list[str]]:
    if type(value) is not str or len(value) > _MAX_PATHS or not _PATHS.fullmatch(value):
        raise _Wrong('must be a short string of paths, such as "view.version,view.legalActions"')
    # Names may be as in JSON or as in the schema, as names of fields may.
    paths = re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", value)
    return {"paths": paths.split(",") if paths else []}


def _read_any(take_unknown: bool, value: Any) -> any_pb2.Any:
    # A message of a game that has its own schema, with its name in "@type".
    if type(value) is not tuple:
        raise _Wrong("must be an object")
    types = [item for key, item in value if key == "@type"]
    name = types[0].rpartition("/")[2] if len(types) == 1 and type(types[0]) is str else ""
    kind = wire.packaged_type(name)
    if kind is None:
        rule = 'must have in "@type" the name of a message of a game of this server'
        raise _Wrong(f"{rule}: {meant(name, wire.packaged_types())}")
    members = tuple(member for member in value if member[0] != "@type")
    packed = any_pb2.Any()
    read = _message_reader(kind.DESCRIPTOR, take_unknown)
    packed.Pack(kind(**read(members)), deterministic=True)
    return packed


def _read_other_form(descriptor: Descriptor, value: Any) -> Message:
    # A message with a form of its own that no request of the schema has.
    try:
        return json_format.ParseDict(_plain(value), GetMessageClass(descriptor)())
    except (json_format.ParseError, TypeError, ValueError):
        raise _Wrong(f"must be a {descriptor.full_name}") from None


def _plain(value: Any) -> Any:
    if type(value) is tuple:
        return {key: _plain(item) for key, item in value}
    return [_plain(item) for item in value] if type(value) is list else value


_READERS: dict[int, Reader] = {
    FieldDescriptor.CPPTYPE_BOOL: _read_bool,
    FieldDescriptor.CPPTYPE_DOUBLE: _read_float,
    FieldDescriptor.CPPTYPE_FLOAT: _read_float,
    FieldDescriptor.CPPTYPE_INT32: _integer_reader(-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_INT64: _integer_reader(-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.CPPTYPE_STRING: _read_string,
    FieldDescriptor.CPPTYPE_UINT32: _integer_reader(0, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_UINT64: _integer_reader(0, (1 << 64) - 1),
}

# The messages with a form of their own that requests have.
_FORMS: dict[str, Reader] = {
    "google.protobuf.Duration": _read_duration,
    "google.protobuf.FieldMask": _read_field_mask,
    "google.protobuf.Timestamp": _read_timestamp,
}
