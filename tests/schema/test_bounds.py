"""Every request has a largest size: whatever is of variable length in it has a limit."""

import pytest
from google.protobuf.descriptor import FieldDescriptor

from buf.validate import validate_pb2
from croupier.v1 import catalog_pb2, hint_pb2, match_pb2
from service.connections import MAX_REQUEST_BYTES

REQUESTS = [
    method.input_type
    for module in (catalog_pb2, hint_pb2, match_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]
CHARACTER_BYTES = 4  # Of UTF-8.
# Not of this schema. `service/wire/fields.py` takes 64 paths at most, of fields that there are.
FIELD_MASK = "google.protobuf.FieldMask"
FIELD_MASK_BYTES = 64 * 100


def largest_message(message):
    """The most bytes that a message has; raises ValueError for a field without a limit."""
    if message.full_name == FIELD_MASK:
        return FIELD_MASK_BYTES
    largest = 0
    of_oneofs = {}
    for field in message.fields:
        rules = field.GetOptions().Extensions[validate_pb2.field]
        tag = varint(field.number << 3)
        if not field.is_repeated:
            size = tag + largest_value(field, rules)
        else:
            count = limit(field, rules.repeated, "max_items")
            value = largest_value(field, rules.repeated.items)
            size = tag + delimited(count * value) if field.is_packed else count * (tag + value)
        if field.containing_oneof is None:
            largest += size
        else:
            name = field.containing_oneof.name
            of_oneofs[name] = max(size, of_oneofs.get(name, 0))
    return largest + sum(of_oneofs.values())


def largest_value(field, rules):
    if field.message_type is not None:
        return delimited(largest_message(field.message_type))
    if field.type == FieldDescriptor.TYPE_STRING:
        return delimited(CHARACTER_BYTES * limit(field, rules.string, "max_len"))
    if field.type == FieldDescriptor.TYPE_BYTES:
        return delimited(limit(field, rules.bytes, "max_len", "len"))
    if field.type == FieldDescriptor.TYPE_UINT32:
        return varint(rules.uint32.lte if rules.uint32.HasField("lte") else (1 << 32) - 1)
    if field.enum_type is not None and rules.enum.defined_only:
        return varint(max(value.number for value in field.enum_type.values))
    return {FieldDescriptor.TYPE_BOOL: 1, FieldDescriptor.TYPE_DOUBLE: 8}.get(field.type, 10)


def varint(number):
    return max(1, -(-number.bit_length() // 7))


def delimited(size):
    return varint(size) + size


def limit(field, rules, *names):
    for name in names:
        if rules.HasField(name):
            return getattr(rules, name)
    raise ValueError(f"{field.full_name} has no {' and no '.join(names)}")


@pytest.mark.parametrize("request_type", REQUESTS, ids=lambda each: each.name)
def test_a_request_has_a_largest_size(request_type):
    size = largest_message(request_type)
    print(f"{request_type.name}: at most {size} bytes")
    assert size <= MAX_REQUEST_BYTES
