"""Which fields of a response a caller has asked for, by a read mask (AIP-157)."""

from functools import cache, lru_cache
from typing import Any

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message

from wire.errors import invalid_field, meant, quoted

MAX_PATHS = 64

_MASKS_KEPT = 256


class Fields:
    """Some fields of a message, or all. Equal masks are the same object, so it can be a key."""

    def __init__(self, tree: "dict[str, Fields] | None") -> None:
        self._tree = tree  # None: all fields.
        self.all = tree is None  # Whether these are all fields.

    def __contains__(self, name: str) -> bool:
        return self._tree is None or name in self._tree

    def __getitem__(self, name: str) -> "Fields":
        """The fields of the message in a field that is one of these."""
        return ALL if self._tree is None else self._tree[name]

    def prune(self, message: Message) -> None:
        """Clears all other fields of a message."""
        if self._tree is None:
            return
        for name in _names(message.DESCRIPTOR):
            if name not in self._tree:
                message.ClearField(name)
        for name, fields in self._tree.items():
            if not fields.all and message.HasField(name):
                fields.prune(getattr(message, name))


ALL = Fields(None)


@cache
def _names(descriptor: Any) -> list[str]:
    return [field.name for field in descriptor.fields]


def read_mask(mask: FieldMask, response: type[Message]) -> Fields:
    """The fields of a response that the field `read_mask` of its request asks for.

    Raises Refusal.
    """
    if not mask.paths:
        return ALL
    if len(mask.paths) > MAX_PATHS:
        raise invalid_field("read_mask", "TOO_MANY_PATHS", f"must have at most {MAX_PATHS} paths")
    descriptor: Any = response.DESCRIPTOR
    if not mask.IsValidForDescriptor(descriptor):
        raise invalid_field("read_mask", "UNKNOWN_FIELD", _unknown(mask, descriptor))
    return _read(tuple(mask.paths))


def _unknown(mask: FieldMask, descriptor: Any) -> str:
    # The rule that the first path breaks that names no field.
    for path in mask.paths:
        within = descriptor
        for name in path.split("."):
            field = within.fields_by_name.get(name) if within else None
            if field is None:
                break
            within = None if field.is_repeated else field.message_type
        else:
            continue
        instead = meant(name, within.fields_by_name) if within else "there is nothing within"
        return f"must name fields of {descriptor.name}, not {quoted(path)}: {instead}"
    return f"must name fields of {descriptor.name}"


@lru_cache(maxsize=_MASKS_KEPT)
def _read(paths: tuple[str, ...]) -> Fields:
    tree: dict[str, Any] = {}
    # Shorter paths come first, so that one that names a whole message holds all within it.
    for path in sorted(paths, key=len):
        *parents, last = path.split(".")
        inner: dict[str, Any] | None = tree
        for name in parents:
            inner = inner.setdefault(name, {}) if inner is not None else None
        if inner is not None:
            inner.setdefault(last, None)
    return _fields(tree)


@cache
def all_but(message: type[Message], *names: str) -> Fields:
    """All fields of a message but some."""
    return Fields({name: ALL for name in _names(message.DESCRIPTOR) if name not in names})


def _fields(tree: dict[str, Any] | None) -> Fields:
    if tree is None:
        return ALL
    return Fields({name: _fields(inner) for name, inner in tree.items()})
