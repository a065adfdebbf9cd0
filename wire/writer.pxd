"""Writes a protobuf message as the bytes that go over the wire, without making the message.

Each answer to an action holds a view. Filling in a message takes a Python call for each part;
writing its bytes takes a few instructions. Fields are written in the order of their numbers, as
protobuf writes them, so that the bytes are the same. Only the numbers 1 to 15 are used, so a tag is
one byte.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint64_t
from libc.string cimport memmove

from engine.integers cimport uint8_t

cdef enum:
    ROOM = 1 << 14         # More than the longest view needs; a length takes at most two bytes.
    VARINT = 0
    LENGTH_DELIMITED = 2

cdef struct Writer:
    size_t used
    uint8_t bytes[ROOM]

cdef inline void put_byte(Writer* out, uint8_t byte) noexcept nogil:
    if out.used < ROOM:
        out.bytes[out.used] = byte
        out.used += 1

cdef inline void put_varint(Writer* out, uint64_t value) noexcept nogil:
    while value > 127:
        put_byte(out, <uint8_t> (value & 127 | 128))
        value >>= 7
    put_byte(out, <uint8_t> value)

# Writes a number, also if it is 0: for a field with presence that is set.
cdef inline void put_set(Writer* out, int field, uint64_t value) noexcept nogil:
    put_byte(out, field << 3 | VARINT)
    put_varint(out, value)

# Writes a number; leaves out 0.
cdef inline void put(Writer* out, int field, uint64_t value) noexcept nogil:
    if value:
        put_set(out, field, value)

# Begins a field with a length: a message, a list or bytes. `end` takes the result.
cdef inline size_t begin(Writer* out, int field) noexcept nogil:
    put_byte(out, field << 3 | LENGTH_DELIMITED)
    put_byte(out, 0)
    return out.used

cdef inline void end(Writer* out, size_t begun) noexcept nogil:
    cdef size_t length = out.used - begun
    if length < 128:
        out.bytes[begun - 1] = <uint8_t> length
        return
    # One byte was left for the length, but it takes two.
    put_byte(out, 0)
    memmove(&out.bytes[begun + 1], &out.bytes[begun], out.used - begun - 1)
    out.bytes[begun - 1] = <uint8_t> (length & 127 | 128)
    out.bytes[begun] = <uint8_t> (length >> 7)

# Ends a list or bytes, which are left out if they are empty.
cdef inline void end_list(Writer* out, size_t begun) noexcept nogil:
    if out.used == begun:
        out.used = begun - 2
    else:
        end(out, begun)

cdef inline void put_bytes(Writer* out, int field, const uint8_t* data, int n) noexcept nogil:
    cdef size_t begun = begin(out, field)
    cdef int i
    for i in range(n):
        put_byte(out, data[i])
    end_list(out, begun)

# Writes a list of numbers, each with `plus` added.
cdef inline void put_list(
    Writer* out, int field, const uint8_t* values, int n, int plus
) noexcept nogil:
    cdef size_t begun = begin(out, field)
    cdef int i
    for i in range(n):
        put_varint(out, values[i] + plus)
    end_list(out, begun)

# Writes cards that are counted by type as a list of types, each with `plus` added.
cdef inline void put_counted(
    Writer* out, int field, const uint8_t* counts, int types, int plus
) noexcept nogil:
    cdef size_t begun = begin(out, field)
    cdef int card, _copy
    for card in range(types):
        for _copy in range(counts[card]):
            put_varint(out, card + plus)
    end_list(out, begun)

cdef inline bytes written(Writer* out):
    assert out.used < ROOM, "a view is longer than it can be"
    return PyBytes_FromStringAndSize(<char*> out.bytes, out.used)
