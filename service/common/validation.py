"""The rules of the schema, checked by protovalidate.

Most requests are valid, and protovalidate takes a tenth of an action to find that out. So the rules
of each message are first compiled into a few comparisons, which tell that a message is surely
valid. Of all others protovalidate says what is wrong with them, if anything is.
"""

import math
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from protovalidate import EvaluationError, Validator

from buf.validate import validate_pb2


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
    if is_surely_valid(message):
        return None
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


# The options that hold the rules; their types are not those that the stubs of protobuf expect.
_OF_MESSAGE: Any = validate_pb2.message
OF_FIELD: Any = validate_pb2.field
_OF_ONEOF: Any = validate_pb2.oneof

# Whether what a field holds surely breaks no rule. Most are methods of C: a call of them is short.
_Test: TypeAlias = Callable[[Any], Any]


class _UncompiledRuleError(Exception):
    """A rule that only protovalidate can check."""


def is_surely_valid(message: Message) -> bool:
    """Whether a message breaks no rule; False also where only protovalidate can tell."""
    return bool(_compiled(message.DESCRIPTOR)(message))


@cache
def _compiled(descriptor: Descriptor) -> _Test:
    try:
        return _of_message(descriptor) or _always
    except _UncompiledRuleError:
        return _never


def _always(message: Any) -> bool:
    return True


def _never(message: Any) -> bool:
    return False


def _of_message(descriptor: Descriptor) -> _Test | None:
    # The test of a message, or None if any is valid.
    if descriptor.GetOptions().HasExtension(_OF_MESSAGE):
        raise _UncompiledRuleError
    # An optional field of a plain type is in a oneof of its own, named after it.
    oneofs = [each for each in descriptor.oneofs if each.name != f"_{each.fields[0].name}"]
    plain: list[tuple[_Test, _Test]] = []  # How to get what a field holds, and its test.
    set_apart: list[tuple[str, bool, _Test]] = []  # Fields that are set or not, whether they must.
    for field in descriptor.fields:
        if field.containing_oneof in oneofs:
            continue
        test, required = _of_field(field)
        if field.has_presence and (test or required):
            set_apart.append((field.name, required, test or _always))
        elif test:
            plain.append((attrgetter(field.name), test))
    choices = [_of_oneof(oneof) for oneof in oneofs]
    if not plain and not set_apart and not choices:
        return None

    def test_all(message: Any) -> bool:
        for get, test in plain:
            if not test(get(message)):
                return False
        for name, required, test in set_apart:
            if message.HasField(name):
                if test is not _always and not test(getattr(message, name)):
                    return False
            elif required:
                return False
        for name, must, tests in choices:
            chosen = message.WhichOneof(name)
            if chosen is None:
                if must:
                    return False
                continue
            chosen_test = tests[chosen]
            if chosen_test is not None and not chosen_test(getattr(message, chosen)):
                return False
        return True

    return test_all


def _of_oneof(oneof: OneofDescriptor) -> tuple[str, bool, dict[str, _Test | None]]:
    # Its name, whether one of its fields must be set, and their tests.
    must = oneof.GetOptions().Extensions[_OF_ONEOF].required
    return oneof.name, must, {field.name: _of_field(field)[0] for field in oneof.fields}


def _of_field(field: FieldDescriptor) -> tuple[_Test | None, bool]:
    # The test of what a field holds, and whether it must be set.
    rules: validate_pb2.FieldRules = field.GetOptions().Extensions[OF_FIELD]
    if rules.ignore == validate_pb2.IGNORE_ALWAYS:
        return None, False
    names = {rule.name for rule, _ in rules.ListFields()}
    if not names <= {"required", "repeated", *_COMPILED}:
        if field.message_type is None or field.is_repeated:
            raise _UncompiledRuleError
        return _never, rules.required  # No rule is for a message that is not set.
    if not field.is_repeated:
        return _of_content(field, rules), rules.required
    counted = rules.repeated
    allowed = {"min_items", "max_items", "items"}
    if rules.required or not {rule.name for rule, _ in counted.ListFields()} <= allowed:
        raise _UncompiledRuleError
    lengths = _between(counted.min_items, counted.max_items or sys.maxsize - 1)
    test = _of_content(field, counted.items)
    if test is None:
        return (lambda items: lengths(len(items))) if counted.ListFields() else None, False
    return lambda items: lengths(len(items)) and all(map(test, items)), False


def _of_content(field: FieldDescriptor, rules: validate_pb2.FieldRules) -> _Test | None:
    # The test of what a field holds, or each item of a list; None where anything is valid.
    kind = rules.WhichOneof("type")
    if field.message_type is not None:
        try:
            if field.message_type.GetOptions().map_entry or kind not in (None, "repeated"):
                raise _UncompiledRuleError
            return _of_message(field.message_type)
        except _UncompiledRuleError:
            return _never
    if kind in (None, "repeated"):
        return None
    limits = {rule.name: content for rule, content in getattr(rules, kind).ListFields()}
    if not limits.keys() <= _COMPILED[kind]:
        raise _UncompiledRuleError
    if kind == "enum":
        assert field.enum_type is not None
        numbers = set(field.enum_type.values_by_number)
        if "in" in limits:
            numbers &= set(limits["in"])
        return frozenset(numbers - set(limits.get("not_in", ()))).__contains__
    if kind == "double":
        lowest, highest = limits.get("gte", -math.inf), limits.get("lte", math.inf)
        return lambda number: lowest <= number <= highest
    if kind in ("string", "bytes"):
        least = limits.get("len", limits.get("min_len", 0))
        lengths = _between(least, limits.get("len", limits.get("max_len", sys.maxsize - 1)))
        if "pattern" not in limits:
            return lambda content: lengths(len(content))
        match = re.compile(limits["pattern"].replace("$", r"\Z"), re.ASCII).search
        if len(limits) == 1:
            return match
        return lambda content: lengths(len(content)) and match(content)
    return _between(limits.get("gte", -(2**63)), limits.get("lte", 2**64))


def _between(lowest: int, highest: int) -> _Test:
    return range(lowest, highest + 1).__contains__


# The rules that are compiled, by the type that they are for.
_NUMBER = {"gte", "lte"}
_COMPILED = {
    "string": {"len", "min_len", "max_len", "pattern"},
    "bytes": {"len", "min_len", "max_len"},
    "enum": {"defined_only", "in", "not_in"},
    "double": _NUMBER,
    "int32": _NUMBER,
    "int64": _NUMBER,
    "uint32": _NUMBER,
    "uint64": _NUMBER,
}


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
