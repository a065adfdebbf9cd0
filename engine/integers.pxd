"""The integers that states and views are made of."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef extern from "<stdint.h>":
    # Not the uint8_t of libc.stdint: Cython turns an array of that type into a C string, which ends
    # at the first 0. It turns an array of this one into a list.
    ctypedef unsigned short uint8_t
