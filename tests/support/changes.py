"""Enumerates all changes of a message that alter one thing, from its descriptor."""

import copy

from google.protobuf.descriptor import FieldDescriptor

from tests.support.serving import as_bytes

_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
}


def changes(message):
    """All changes of a message: pairs of the path of the changed field and a function of a copy."""
    return list(_of_message(lambda copy: copy, message, ""))


def changed_by(message, change):
    """A copy of a message with one change."""
    changed = copy.deepcopy(message)
    change(changed)
    assert as_bytes(changed) != as_bytes(message)
    return changed


def _of_message(find, message, path):
    # `find` takes a copy of the whole message and returns its part that corresponds to `message`.
    for field in message.DESCRIPTOR.fields:
        name = f"{path}.{field.name}" if path else field.name
        if field.is_repeated:
            yield from _of_list(find, message, field, name)
        elif field.message_type is not None:
            yield from _of_part(find, message, field, name)
        else:
            yield from _of_scalar(find, message, field, name)


def _of_part(find, message, field, name):
    if message.HasField(field.name):
        yield f"{name}", lambda copy: find(copy).ClearField(field.name)
        part = getattr(message, field.name)
        yield from _of_message(lambda copy: getattr(find(copy), field.name), part, name)
    else:
        # In a oneof this replaces the field that is set.
        yield f"{name}", lambda copy: getattr(find(copy), field.name).SetInParent()


def _of_scalar(find, message, field, name):
    value = getattr(message, field.name)
    if field.has_presence and not message.HasField(field.name):
        yield name, lambda copy: setattr(find(copy), field.name, value)
        return
    for other in others(field, value):
        yield name, lambda copy, other=other: setattr(find(copy), field.name, other)
    if value or field.has_presence:
        yield name, lambda copy: find(copy).ClearField(field.name)


def others(field, value):
    """Some values of a field other than this one."""
    if field.cpp_type in _INTEGERS:
        least = 0 if "UINT" in _type_name(field) else -1
        return [each for each in (value + 1, value - 1) if each >= least]
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        return [number for number in field.enum_type.values_by_number if number != value]
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return [not value]
    if field.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return [value + 0.5, -value, float("nan")]
    if field.type == FieldDescriptor.TYPE_BYTES:
        flipped = [value[:-1] + bytes([value[-1] ^ 1]), value[:-1]] if value else []
        return [*flipped, value + b"\0"]
    # One stays within the characters that the schema allows in a name, the other does not.
    return [value + "a", value + "é", *([value[:-1]] if value else [])]


def _type_name(field):
    names = vars(FieldDescriptor).items()
    return next(n for n, v in names if n.startswith("CPPTYPE_") and v == field.cpp_type)


def _of_list(find, message, field, name):
    values = getattr(message, field.name)

    def put(copy, elements):
        into = getattr(find(copy), field.name)
        del into[:]
        into.extend(elements)

    for number, value in enumerate(values):
        path = f"{name}[{number}]"
        rest = [*values[:number], *values[number + 1 :]]
        yield f"{path} dropped", lambda copy, rest=rest: put(copy, rest)
        twice = [*values[: number + 1], *values[number:]]
        yield f"{path} doubled", lambda copy, twice=twice: put(copy, twice)
        for other in range(number + 1, len(values)):
            # Each element is swapped with its neighbour, and the first one with every other.
            if (number and other > number + 1) or values[other] == value:
                continue
            swapped = list(values)
            swapped[number], swapped[other] = swapped[other], swapped[number]
            yield f"{path} swapped", lambda copy, swapped=swapped: put(copy, swapped)
        if field.message_type is not None:
            yield from _of_message(
                lambda copy, number=number: getattr(find(copy), field.name)[number], value, path
            )
        else:
            for other in others(field, value):
                changed = [*values[:number], other, *values[number + 1 :]]
                yield path, lambda copy, changed=changed: put(copy, changed)
    if not values:
        if field.message_type is not None:
            yield name, lambda copy: getattr(find(copy), field.name).add()
        else:
            yield name, lambda copy: put(copy, [field.default_value or others(field, 0)[0]])
