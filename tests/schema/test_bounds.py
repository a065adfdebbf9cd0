"""Every request has a largest size: whatever is of variable length in it has a bound."""

from functools import cache

import pytest
from google.protobuf.descriptor import FieldDescriptor

from buf.validate import validate_pb2
from croupier.v1 import catalog_pb2, hint_pb2, match_pb2

REQUESTS = [
    method.input_type
    for module in (catalog_pb2, hint_pb2, match_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]


_CHARACTER_BYTES = 4  # Of UTF-8.
# `wire/fields.py` takes 64 paths of fields that exist.
# What a game of a package adds is bounded by its own schema and by MAX_PACKAGED
# (wire/games.py), which no test of this schema can know. A record is checked in pieces, and
# has at most MAX_ENTRIES (service/hosting/records.py).
_OTHERS = {
    "google.protobuf.FieldMask": 64 * 100,
    "google.protobuf.Any": 0,
    "croupier.v1.MatchRecord": 0,
    # What creates many matches has at most what a call may have (service/listening/connections.py).
    "croupier.v1.BatchCreateMatchesRequest": 0,
}
_FIXED = {FieldDescriptor.TYPE_BOOL: 1, FieldDescriptor.TYPE_DOUBLE: 8}
_LONGEST_VARINT = 10


@cache
def largest_size(message):
    """The most bytes of a message that breaks no rule; raises ValueError if a field has no bound.

    The bytes are those of the shortest encoding, without fields that this server does not know.
    """
    if message.full_name in _OTHERS:
        return _OTHERS[message.full_name]
    apart = 0
    of_oneofs = {}
    for field in message.fields:
        rules = field.GetOptions().Extensions[validate_pb2.field]
        tag = _varint(field.number << 3)
        if not field.is_repeated:
            size = tag + _largest_value(field, rules)
        else:
            count = _bound(field, rules.repeated, "max_items")
            value = _largest_value(field, rules.repeated.items)
            size = tag + _delimited(count * value) if field.is_packed else count * (tag + value)
        if field.containing_oneof is None:
            apart += size
        else:
            name = field.containing_oneof.name
            of_oneofs[name] = max(size, of_oneofs.get(name, 0))
    return apart + sum(of_oneofs.values())


def _largest_value(field, rules):
    if field.message_type is not None:
        return _delimited(largest_size(field.message_type))
    if field.type == FieldDescriptor.TYPE_STRING:
        return _delimited(_CHARACTER_BYTES * _bound(field, rules.string, "max_len"))
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _delimited(_bound(field, rules.bytes, "max_len", "len"))
    if field.type == FieldDescriptor.TYPE_UINT32:
        return _varint(rules.uint32.lte if rules.uint32.HasField("lte") else (1 << 32) - 1)
    if field.enum_type is not None and rules.enum.defined_only:
        return _varint(max(value.number for value in field.enum_type.values))
    return _FIXED.get(field.type, _LONGEST_VARINT)


def _varint(number):
    return max(1, -(-number.bit_length() // 7))


def _delimited(size):
    return _varint(size) + size


def _bound(field, rules, *names):
    for name in names:
        if rules.HasField(name):
            return int(getattr(rules, name))
    raise ValueError(f"{field.full_name} has no {' and no '.join(names)}")


@pytest.mark.parametrize("request_type", REQUESTS, ids=lambda each: each.name)
def test_a_request_has_a_largest_size(request_type):
    size = largest_size(request_type)
    print(f"{request_type.name}: at most {size} bytes")
    assert size <= 256 << 10


def test_no_legal_request_is_larger():
    # One field after the other, in the type of each of which something is of variable length.
    request = match_pb2.JoinMatchRequest(invitation="\U0001f0a1" * 200, request_id="x" * 36)
    assert request.ByteSize() <= largest_size(request.DESCRIPTOR)
    cards = [{"card": 2 + i % 11, "copies": 6, "movement": 9, "attack": 9} for i in range(12)]
    request = match_pb2.CreateMatchRequest(ruleset={"champion_chess": {"cards": cards}})
    assert request.ByteSize() <= largest_size(request.DESCRIPTOR)
