"""Changes serialized messages by their descriptors, so that most results can still be parsed.

A message is changed in one to a few places: a field is cleared, set to a number at the edge of a
range, or copied from another message of the same type; lists are shortened, doubled, repeated or
reordered. One message in eight is damaged as bytes instead.
"""

from google.protobuf.descriptor import FieldDescriptor

_EDGES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 48, 49, 59, 60, 63, 64, 100, 127, 128, 254)
_LARGE = (255, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1)
_SMALLEST = (-1, -2, -128, -(2**31), -(2**63))
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e308, 5e-324, float("inf"), float("-inf"), float("nan"))
_TEXTS = ("", "a", "\0", "é", "\U0001f0a1", " ", "/", "matches/", "games/", "matches/a", "%s", "'")
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
_MAX_DEPTH = 12
_MAX_ITEMS = 3000  # Of a list. The schema allows at most 2048 items.
_MAX_TEXT = 4096


class Mutator:
    """Changes messages with the chance of a `random.Random`."""

    def __init__(self, rng):
        self._rng = rng

    def mutate(self, kind, data, other=b""):
        """Return serialized message `data` of type `kind`, changed. Parts may come from `other`."""
        rng = self._rng
        if rng.random() < 0.125:
            return self.damage(data)
        message, donor = _parsed(kind, data), _parsed(kind, other)
        for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
            self.change(message, donor)
        return message.SerializeToString()

    def damage(self, data):
        """Return bytes changed without regard to what they mean."""
        rng = self._rng
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 4, 16))):
            at = rng.randrange(len(changed) + 1)
            match rng.randrange(5):
                case 0 if at < len(changed):
                    changed[at] ^= 1 << rng.randrange(8)
                case 1 if at < len(changed):
                    changed[at] = rng.choice((0, 1, 127, 128, 255))
                case 2:
                    changed[at:at] = rng.randbytes(rng.choice((1, 2, 8)))
                case 3:
                    del changed[at : at + rng.choice((1, 2, 8, 64))]
                case _:
                    start = rng.randrange(len(changed) + 1)
                    changed[at:at] = changed[start : start + rng.choice((1, 8, 64))]
        return bytes(changed)

    def change(self, message, donor=None):
        """Change one field somewhere in a message, at a depth drawn at random."""
        rng = self._rng
        for _ in range(_MAX_DEPTH):
            inner = self._inner(message)
            if not inner or rng.random() < 0.2:
                break
            field, message = rng.choice(inner)
            donor = _part(donor, field)
        fields = message.DESCRIPTOR.fields
        if not fields:
            return
        # Mostly a field that is set: otherwise large messages would change at their edges.
        present = [field for field, _ in message.ListFields()]
        field = rng.choice(present) if present and rng.random() < 0.6 else rng.choice(fields)
        if donor is not None and rng.random() < 0.1:
            _copy_field(message, donor, field)
        elif rng.random() < 0.1:
            message.ClearField(field.name)
        elif field.is_repeated:
            self._change_list(getattr(message, field.name), field)
        elif field.message_type is not None:
            part = getattr(message, field.name)
            part.SetInParent()
            if rng.random() < 0.5:
                self.fill(part, 2)
        else:
            setattr(message, field.name, self._value(field, getattr(message, field.name)))

    def fill(self, message, depth):
        """Set about half of the fields of a message to values drawn at random."""
        rng = self._rng
        for field in message.DESCRIPTOR.fields:
            if rng.random() < 0.5:
                continue
            if field.is_repeated:
                for _ in range(rng.choice((0, 1, 2, 9))):
                    self._add(getattr(message, field.name), field, depth)
            elif field.message_type is None:
                setattr(message, field.name, self._value(field, getattr(message, field.name)))
            elif depth:
                getattr(message, field.name).SetInParent()
                self.fill(getattr(message, field.name), depth - 1)

    def _inner(self, message):
        # The messages in the fields of a message, each with its field.
        inner = []
        for field, value in message.ListFields():
            if field.message_type is None:
                continue
            items = [value] if not field.is_repeated else [self._rng.choice(value)]
            inner += [(field, item) for item in items]
        return inner

    def _add(self, items, field, depth=1):
        if field.message_type is not None:
            item = items.add()
            if depth:
                self.fill(item, depth - 1)
        else:
            items.append(self._value(field, items[-1] if items else field.default_value or 0))

    def _change_list(self, items, field):
        rng = self._rng
        n = len(items)
        what = rng.randrange(6) if n else 0
        if what == 0:
            self._add(items, field)
        elif what == 1:
            del items[rng.randrange(n)]
        elif what == 2:
            del items[rng.randrange(n) :]
        elif what == 3 and field.message_type is None:
            at = rng.randrange(n)
            items[at] = self._value(field, items[at])
        elif what == 4:
            times = rng.choice((1, 1, 1, 2, 10, _MAX_ITEMS // n + 1))
            copies = list(items)[: _MAX_ITEMS // times]
            for _ in range(times):
                items.extend(copies)
        else:
            shuffled = _copies(items)
            rng.shuffle(shuffled)
            del items[:]
            items.extend(shuffled)

    def _value(self, field, old):
        rng = self._rng
        if field.cpp_type in _INTEGERS:
            least, most = _INTEGERS[field.cpp_type]
            new = self._number(old)
            return min(max(new, least), most)
        if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
            known = list(field.enum_type.values_by_number)
            numbers = (*known, max(known) + 1, -1, 127, 128, 255, 256, 2**31 - 1)
            return rng.choice(known) if rng.random() < 0.8 else rng.choice(numbers)
        if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
            return rng.random() < 0.5
        if field.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
            return rng.choice(_FLOATS)
        if field.type == FieldDescriptor.TYPE_BYTES:
            old = old if isinstance(old, bytes) else b""
            long = rng.randbytes(rng.choice((0, 15, 16, 31, 32, 33, 64, 65)))
            return rng.choice((long, self.damage(old)[:_MAX_TEXT]))
        old = old if isinstance(old, str) else ""
        at = rng.randrange(len(old) + 1)
        text = rng.choice(_TEXTS)
        return rng.choice(
            (text, old[:at] + text + old[at:], old[:at], text * rng.choice((2, 41, 99)))
        )

    def _number(self, old):
        rng = self._rng
        old = old if isinstance(old, int) else 0
        match rng.randrange(8):
            case 0 | 1:
                return old + rng.choice((1, -1))
            case 2:
                return old ^ (1 << rng.randrange(8))
            case 3:
                return rng.randrange(256)
            case 4:
                return rng.choice(_LARGE + _SMALLEST)
            case _:
                return rng.choice(_EDGES)


def _parsed(kind, data):
    # Damaged data is changed further as the message that was read up to the damage, or none.
    message = kind()
    try:
        message.ParseFromString(data)
    except Exception:
        message.Clear()
    return message


def _part(donor, field):
    if donor is None:
        return None
    value = getattr(donor, field.name)
    if field.is_repeated:
        return value[0] if value else None
    return value


def _copy_field(message, donor, field):
    value = getattr(donor, field.name)
    message.ClearField(field.name)
    if field.is_repeated:
        getattr(message, field.name).extend(list(value)[:_MAX_ITEMS])
    elif field.message_type is not None:
        if donor.HasField(field.name):
            getattr(message, field.name).CopyFrom(value)
    else:
        setattr(message, field.name, value)


def _copies(items):
    # Those of messages: clearing a list ends the life of its messages.
    copies = []
    for item in items:
        if hasattr(item, "CopyFrom"):
            copy = type(item)()
            copy.CopyFrom(item)
            item = copy
        copies.append(item)
    return copies
