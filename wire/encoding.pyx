"""Writes fields of protobuf messages as bytes, where whole messages would take too long.

Serialized messages that are concatenated are one message, with the fields of all of them; its lists
have the items of all of them, in order. So the parts that many messages share are kept serialized,
and a message is put together as bytes.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.string cimport memcpy

from engine.integers cimport uint8_t, uint64_t

cdef enum:
    VARINT = 0
    LENGTH_DELIMITED = 2
    MAX_HEAD = 20  # A tag and a length, or a number: at most 10 bytes each.


cdef inline Py_ssize_t put_varint(uint8_t* at, uint64_t value) noexcept:
    cdef Py_ssize_t used = 0
    while value > 127:
        at[used] = <uint8_t> (value & 127 | 128)
        value >>= 7
        used += 1
    at[used] = <uint8_t> value
    return used + 1


def field(int number, bytes content not None):
    """A message of only one field: a string, bytes, a packed list of numbers or a message."""
    cdef uint8_t[MAX_HEAD] head
    cdef Py_ssize_t size = PyBytes_GET_SIZE(content)
    cdef Py_ssize_t used = put_varint(head, number << 3 | LENGTH_DELIMITED)
    used += put_varint(head + used, size)
    cdef bytes written = PyBytes_FromStringAndSize(NULL, used + size)
    memcpy(PyBytes_AS_STRING(written), head, used)
    memcpy(PyBytes_AS_STRING(written) + used, PyBytes_AS_STRING(content), size)
    return written


def number_field(int number, uint64_t content):
    """A message of only one field: a number that is not negative."""
    cdef uint8_t[MAX_HEAD] written
    cdef Py_ssize_t used = put_varint(written, number << 3 | VARINT)
    used += put_varint(written + used, content)
    return PyBytes_FromStringAndSize(<char*> written, used)
