"""Memory of the searches: blocks that live as long as their owner, and an index of entries."""

cimport cython
from libc.stdint cimport uint32_t, uint64_t

cdef enum:
    NO_ENTRY = 0           # Entries are numbered from 1 on, so place 0 of their array is not used.


cdef class Arena:
    cdef char* last

    # A block for `count` items of `size` bytes, of any content; raises MemoryError.
    cdef void* take(self, size_t count, size_t size) except NULL
    # The same, all zeros.
    cdef void* take_zeroed(self, size_t count, size_t size) except NULL
    cdef void* keep(self, char* block) except NULL


@cython.final
cdef class HashIndex:
    cdef uint32_t* slots
    cdef size_t mask, smallest_mask
    cdef size_t count
    cdef const char* entries
    cdef size_t stride

    # Says where the keys are, and makes room for so many; raises MemoryError. The key of entry i,
    # of 64 bits, is at `entries + i * stride`: the first field of a struct.
    cdef int use(self, const void* entries, size_t stride, size_t capacity) except -1
    # Adds an entry whose key is new. False: there is no memory for it.
    cdef bint insert(self, uint32_t entry) noexcept nogil
    # Forgets all entries. False: there is no memory to go on with.
    cdef bint clear(self) noexcept nogil
    cdef bint resize(self, size_t mask) noexcept nogil
    cdef size_t free_slot(self, uint32_t entry) noexcept nogil

    # The entry with a key; NO_ENTRY if there is none. Inline, since every decision needs it.
    cdef inline uint32_t find(self, uint64_t key) noexcept nogil:
        cdef size_t slot = key & self.mask
        while (self.slots[slot] != NO_ENTRY
               and (<const uint64_t*> (self.entries + self.slots[slot] * self.stride))[0] != key):
            slot = (slot + 1) & self.mask
        return self.slots[slot]
