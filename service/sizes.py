"""How large a request can be: the bounds of the schema, added up.

A larger one breaks a rule of the schema, or holds what this server does not know. It is refused
before it is parsed, so that nobody waits for the parsing of what nobody needs.
"""

from functools import cache

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from buf.validate import validate_pb2
from service.validation import OF_FIELD

_CHARACTER_BYTES = 4  # Of UTF-8.
# Of messages whose schema has no bounds: `service/wire/fields.py` takes 64 paths of fields that
# exist, and `service/api/grpc_services.py` names of 256 characters.
_OTHERS = {
    "google.protobuf.FieldMask": 64 * 100,
    "grpc.health.v1.HealthCheckRequest": 1 << 11,
    "grpc.health.v1.HealthListRequest": 0,
    "grpc.reflection.v1alpha.ServerReflectionRequest": 1 << 12,
}
_FIXED = {FieldDescriptor.TYPE_BOOL: 1, FieldDescriptor.TYPE_DOUBLE: 8}
_LONGEST_VARINT = 10


@cache
def largest_size(message: Descriptor) -> int:
    """The most bytes of a message that breaks no rule; raises ValueError if a field has no bound.

    The bytes are those of the shortest encoding, without fields that this server does not know.
    """
    if message.full_name in _OTHERS:
        return _OTHERS[message.full_name]
    apart = 0
    of_oneofs: dict[str, int] = {}
    for field in message.fields:
        rules: validate_pb2.FieldRules = field.GetOptions().Extensions[OF_FIELD]
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


def _largest_value(field: FieldDescriptor, rules: validate_pb2.FieldRules) -> int:
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


def _varint(number: int) -> int:
    return max(1, -(-number.bit_length() // 7))


def _delimited(size: int) -> int:
    return _varint(size) + size


def _bound(field: FieldDescriptor, rules: object, *names: str) -> int:
    for name in names:
        if rules.HasField(name):  # type: ignore[attr-defined]
            return int(getattr(rules, name))
    raise ValueError(f"{field.full_name} has no {' and no '.join(names)}")
