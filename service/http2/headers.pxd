# Headers as nghttp2 takes and gives them.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeLatin1
from libc.stdint cimport uint8_t
from libc.string cimport memcmp

from service.http2.nghttp2 cimport NGHTTP2_NV_FLAG_NO_INDEX, nghttp2_nv

cdef enum:
    MAX_PAIRS = 16  # Of one block of headers that is sent.
    VARIABLE = 1  # A value that is longer is one of many.


cdef inline nghttp2_nv pair(bytes name, bytes value) noexcept:
    cdef nghttp2_nv made
    made.name = <uint8_t*> PyBytes_AS_STRING(name)
    made.namelen = PyBytes_GET_SIZE(name)
    made.value = <uint8_t*> PyBytes_AS_STRING(value)
    made.valuelen = PyBytes_GET_SIZE(value)
    made.flags = 0
    return made


cdef inline Py_ssize_t fill(nghttp2_nv* pairs, list headers) except -1:
    # nghttp2 copies them.
    if headers is None:
        return 0
    if len(headers) > MAX_PAIRS - 2:
        raise ValueError("too many headers")
    for at, (name, value) in enumerate(headers):
        pairs[<Py_ssize_t> at] = pair(name, value)
        if PyBytes_GET_SIZE(<bytes> value) > VARIABLE:
            # Ids and texts are not sent again, and would push what is out of the peer's table.
            pairs[<Py_ssize_t> at].flags = NGHTTP2_NV_FLAG_NO_INDEX
    return len(headers)


cdef inline bint same(const uint8_t* text, size_t length, bytes other) noexcept:
    return (
        length == <size_t> PyBytes_GET_SIZE(other)
        and memcmp(text, PyBytes_AS_STRING(other), length) == 0
    )


cdef inline str decode(const uint8_t* text, size_t length):
    return PyUnicode_DecodeLatin1(<char*> text, length, NULL)
