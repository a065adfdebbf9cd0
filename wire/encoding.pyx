"""Writes fields of protobuf messages as bytes, where whole messages would take too long.

Serialized messages that are concatenated are one message, with the fields of all of them; its lists
have the items of all of them, in order. So the parts that many messages share are kept serialized,
and a message is put together as bytes.
"""

from engine.integers cimport uint64_t
from wire.writer cimport LENGTH_DELIMITED, VARINT, Writer, put_varint, written


def field(int number, bytes content not None):
    """A message of only one field: a string, bytes, a packed list of numbers or a message."""
    cdef Writer head
    head.used = 0
    put_varint(&head, number << 3 | LENGTH_DELIMITED)
    put_varint(&head, len(content))
    return written(&head) + content


def number_field(int number, uint64_t content):
    """A message of only one field: a number that is not negative."""
    cdef Writer out
    out.used = 0
    put_varint(&out, number << 3 | VARINT)
    put_varint(&out, content)
    return written(&out)
