"""The fields of a ctypes structure that rules in Python lay over a state or a view.

They are integers, arrays and structures, as in the structs of a compiled game. Their Python form is
the same too: integers, lists and dicts.
"""

import ctypes
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

_INTEGERS = frozenset(
    {
        *(ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64),
        *(ctypes.c_int8, ctypes.c_int16, ctypes.c_int32, ctypes.c_int64),
        *(ctypes.c_long, ctypes.c_ulong, ctypes.c_longlong, ctypes.c_ulonglong),
    }
)


class Layout(NamedTuple):
    """How to turn a structure into fields and back."""

    read: Callable[[Any], dict[str, Any]]
    # Raises what Cython raises for a struct: OverflowError for a number out of range, IndexError
    # for a list of another length, TypeError and ValueError.
    fill: Callable[[Any, Any], None]


def layout(kind: Any, where: str, most: int, *, seat: bool = False) -> Layout:
    """Returns the layout of a structure of at most `most` bytes; raises TypeError if it has none.

    If it has a `seat`, that is its first byte.
    """
    if not (isinstance(kind, type) and issubclass(kind, ctypes.Structure)):
        raise TypeError(f"{where} must be a subclass of ctypes.Structure")
    if ctypes.sizeof(kind) > most:
        raise TypeError(f"{where} has {ctypes.sizeof(kind)} bytes and can have at most {most}")
    first = _fields(kind, where)[:1]
    if seat and first != [("seat", ctypes.c_uint8)]:
        raise TypeError(f"the first field of {where} must be seat, a c_uint8")
    return _of_struct(kind, where)


def _fields(kind: Any, where: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for base in reversed(kind.__mro__):
        for field in vars(base).get("_fields_", ()):
            if len(field) != 2:
                raise TypeError(f"{where}.{field[0]} must not be a bit field")
            found.append(tuple(field))
    return found


def _of_struct(kind: Any, where: str) -> Layout:
    parts = [(name, _part(inner, f"{where}.{name}")) for name, inner in _fields(kind, where)]
    names = frozenset(name for name, _ in parts)

    def read(struct: Any) -> dict[str, Any]:
        return {name: part.read(getattr(struct, name)) for name, part in parts}

    def fill(struct: Any, fields: Any) -> None:
        for name in fields:
            if name not in names:
                raise ValueError(f"{where} has no field {name}")
        for name, part in parts:
            if name not in fields:
                raise ValueError(f"{where}.{name} is missing")
            if part.check is not None:
                setattr(struct, name, part.check(fields[name]))
            else:
                part.fill(getattr(struct, name), fields[name])

    return Layout(read, fill)


class _Part(NamedTuple):
    read: Callable[[Any], Any]
    check: Callable[[Any], int] | None  # Of an integer, which is set in what it is a part of.
    fill: Callable[[Any, Any], None]


def _part(kind: Any, where: str) -> _Part:
    if kind in _INTEGERS:
        return _Part(int, _checked(kind, where), _nothing)
    if issubclass(kind, ctypes.Structure):
        inner = _of_struct(kind, where)
        return _Part(inner.read, None, inner.fill)
    if issubclass(kind, ctypes.Array):
        return _of_array(kind, where)
    raise TypeError(f"{where} must be an integer, an array or a structure, not {kind.__name__}")


def _nothing(item: Any, value: Any) -> None:
    raise AssertionError("an integer is set in what it is a part of")


def _checked(kind: Any, where: str) -> Callable[[Any], int]:
    # ctypes cuts off what does not fit.
    signed = kind(-1).value < 0
    bits = 8 * ctypes.sizeof(kind)
    least, most = (-1 << bits - 1, (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def check(value: Any) -> int:
        number = operator.index(value)
        if not least <= number <= most:
            raise OverflowError(f"{where} must be from {least} to {most}, not {number}")
        return number

    return check


def _of_array(kind: Any, where: str) -> _Part:
    part = _part(kind._type_, f"{where}[]")
    length = kind._length_
    check = part.check

    def read(array: Any) -> list[Any]:
        return list(array) if check else [part.read(item) for item in array]

    def fill(array: Any, values: Any) -> None:
        if len(values) != length:
            raise IndexError(f"{where} must have {length} items, not {len(values)}")
        if check:
            array[:] = [check(value) for value in values]
        else:
            for item, value in zip(array, values, strict=True):
                part.fill(item, value)

    return _Part(read, None, fill)
