"""The rules of the schema, checked by protovalidate."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from protovalidate import EvaluationError, Validator


class Violation(NamedTuple):
    """A field that breaks a rule of the schema."""

    path: str  # As in "seats[1].bot".
    reason: str  # The rule's id in capitals, such as "STRING_PATTERN".
    rule: str


def first_violation(message: Message) -> Violation | None:
    """The first field of a message that breaks a rule of the schema, if one does.

    Only the first one, since a message can break a hundred thousand rules: finding them all would
    hold up other calls, and the error would be too long to send.
    """
    try:
        for violation in _validator().collect_violations(message, fail_fast=True):
            reason = re.sub(r"[^A-Z0-9]+", "_", violation.proto.rule_id.upper())
            return Violation(_path(violation.proto), reason, violation.proto.message)
    except EvaluationError:
        # An expression cannot even read a duration or a time that there is not.
        for path in _impossible_times(message, ""):
            return Violation(path, "OUT_OF_RANGE", "must be in the range of its type")
        raise
    return None


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
