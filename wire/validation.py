"""The rules of the schema, checked by protovalidate."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from google.api import resource_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.unknown_fields import UnknownFieldSet
from protovalidate import EvaluationError, Validator

from buf.validate import validate_pb2
from wire.errors import quoted

_RULES: Any = validate_pb2.field
_REFERENCE: Any = resource_pb2.resource_reference
_RESOURCE: Any = resource_pb2.resource


class Violation(NamedTuple):
    """A field that breaks a rule of the schema."""

    path: str  # As in "seats[1].bot".
    reason: str  # The rule's id in capitals, such as "STRING_PATTERN".
    rule: str
    lacking: Message | None = None  # The message of which a `oneof` is empty, if one is.


def first_violation(message: Message) -> Violation | None:
    """The first field of a message that breaks a rule of the schema, if one does.

    Only the first one, since a message can break a hundred thousand rules: finding them all would
    hold up other calls, and the error would be too long to send.
    """
    try:
        for violation in _validator().collect_violations(message, fail_fast=True):
            reason = re.sub(r"[^A-Z0-9]+", "_", violation.proto.rule_id.upper())
            path = _path(violation.proto)
            return Violation(path, reason, *_told(message, violation.proto))
    except EvaluationError:
        # An expression cannot even read a duration or a time that there is not.
        for path in _impossible_times(message, ""):
            return Violation(path, "OUT_OF_RANGE", "must be in the range of its type")
        raise
    return None


def _told(message: Message, violation: Any) -> tuple[str, Message | None]:
    # The rule, with what there is instead of what was sent.
    elements = violation.field.elements
    if not elements:
        return violation.message, None
    *outer, last = elements
    inner: Any = message
    for element in outer:
        inner = getattr(inner, element.field_name)
        if element.subscript is not None:
            inner = inner[element.subscript.value]
    if last.field_name in inner.DESCRIPTOR.oneofs_by_name:
        return _empty_oneof(inner, last.field_name), inner
    field = inner.DESCRIPTOR.fields_by_name[last.field_name]
    value = getattr(inner, field.name)
    if last.subscript is not None:
        value = value[last.subscript.value]
    if field.enum_type is not None and violation.rule_id.startswith("enum."):
        names = ", ".join(choices(field))
        return f"must be a value of {field.enum_type.name}, not {value}: {names}", None
    form = _form(field)
    if form and not re.match(re.sub(r"{.*?}", "[^/]+", form[: form.rfind("/") + 1]), value):
        return f'must be as "{form}": {quoted(value)} lacks "{form[: form.rfind("/") + 1]}"', None
    return violation.message, None


def choices(field: Any) -> list[str]:
    """The names of the values of an enum that a field may have."""
    refused: Any = field.GetOptions().Extensions[_RULES].enum.not_in
    # The first value of every enum says that it is not set.
    return [each.name for each in field.enum_type.values[1:] if each.number not in refused]


def _empty_oneof(message: Message, oneof: str) -> str:
    descriptor: Any = message.DESCRIPTOR
    names = ", ".join(each.name for each in descriptor.oneofs_by_name[oneof].fields)
    return f"must have one of {names}{unknown_sent(message)}"


def unknown_sent(message: Message) -> str:
    """What to add to a refusal of a message that has fields unknown to this server; or nothing."""
    unknown: Any = UnknownFieldSet(message)
    numbers = sorted({each.field_number for each in unknown})
    listed = ", ".join(map(str, numbers[:4]))
    return f"; sent was field {listed}, which this server does not know" if numbers else ""


@cache
def _form(field: Any) -> str:
    # Of the names of resources that a field has, such as "matches/{match}"; else empty.
    reference = field.GetOptions().Extensions[_REFERENCE]
    kind = reference.type or reference.child_type
    if not kind:
        return ""
    name = f"{field.file.package}.{kind.rpartition('/')[2]}"
    try:
        resource = field.file.pool.FindMessageTypeByName(name).GetOptions().Extensions[_RESOURCE]
    except KeyError:
        return ""  # Of the schema of a package.
    pattern = next(iter(resource.pattern), "")
    return pattern if reference.type else pattern.rsplit("/", 2)[0]


def _impossible_times(message: Message, path: str) -> Iterator[str]:
    for field, content in message.ListFields():
        if field.message_type is None:
            continue
        each = f"{path}.{field.name}".removeprefix(".")
        members = [content] if isinstance(content, Message) else content
        for i, member in enumerate(members):
            place = each if member is content else f"{each}[{i}]"
            if isinstance(member, Duration | Timestamp):
                try:
                    member.ToJsonString()
                except ValueError:
                    yield place
            else:
                yield from _impossible_times(member, place)


@cache
def _validator() -> Validator:
    return Validator()


def _path(violation: Any) -> str:
    path = ""
    for element in violation.field.elements if violation.field else ():
        path += f".{element.field_name}"
        if element.subscript is not None and element.subscript.field == "index":
            path += f"[{element.subscript.value}]"
    return path.removeprefix(".")
