"""Memory of the searches: the account, blocks that live as long as their owner, and an index."""

cimport cython
from libc.stdint cimport uint32_t, uint64_t

cdef enum:
    NO_ENTRY = 0           # Entries are numbered from 1 on, so place 0 of their array is not used.


cdef extern from *:
    void prefetch "__builtin_prefetch"(const void* address) noexcept nogil


cdef class Account:
    cdef size_t _bound, _held

    # Adds bytes to what is held. False: more than `limit` would be held then, and nothing changes.
    cdef bint take(self, size_t size, size_t limit) noexcept nogil
    cdef void give(self, size_t size) noexcept nogil


@cython.final
cdef class Grant:
    cdef Account account
    cdef size_t reserved, held, used   # `held`, of the account, is at least each of the others.
    cdef size_t most                   # That may be used.
    cdef readonly bint refused         # The account once had no more, though less was used.

    # False: there is no more, and nothing changes.
    cdef bint take(self, size_t size) noexcept nogil
    cdef void give(self, size_t size) noexcept nogil


@cython.final
cdef class Arena:
    cdef char* last
    cdef Grant grant           # None: the blocks count in no account.
    cdef size_t charged

    # A block for `count` items of `size` bytes, of any content; raises MemoryError.
    cdef void* take(self, size_t count, size_t size) except NULL
    # The same, all zeros.
    cdef void* take_zeroed(self, size_t count, size_t size) except NULL
    # The same as `take`, but whoever uses the block charges for it as far as it is used.
    cdef void* take_free(self, size_t count, size_t size) except NULL
    # Charges the grant, until the arena goes or it is discharged. False: there is no more.
    cdef bint charge(self, size_t size) noexcept nogil
    cdef void discharge(self, size_t size) noexcept nogil
    cdef void* keep(self, char* block) except NULL


@cython.final
cdef class HashIndex:
    cdef Arena arena           # Whose grant it charges.
    cdef uint64_t* slots       # An entry, and the upper half of its key in the upper half.
    cdef size_t mask, count
    cdef const char* entries
    cdef size_t stride

    # Says where the keys are, and makes room for so many; raises MemoryError. The key of entry i,
    # of 64 bits, is at `entries + i * stride`: the first field of a struct.
    cdef int use(self, Arena arena, const void* entries, size_t stride,
                 size_t capacity) except -1
    # Adds an entry whose key is new. False: there is no memory for it.
    cdef bint insert(self, uint32_t entry) noexcept nogil
    cdef bint resize(self, size_t mask) noexcept nogil
    cdef size_t free_slot(self, uint64_t key) noexcept nogil
    cdef inline uint64_t key_of(self, uint32_t entry) noexcept nogil:
        return (<const uint64_t*> (self.entries + entry * self.stride))[0]

    # Fetches the place of a key, so that `find` need not wait for it.
    cdef inline void prefetch(self, uint64_t key) noexcept nogil:
        prefetch(&self.slots[key >> 32 & self.mask])

    # The entry with a key; NO_ENTRY if there is none. Inline, since every decision needs it. An
    # entry is read only if half of its key fits, so a key that is new costs one cache miss.
    cdef inline uint32_t find(self, uint64_t key) noexcept nogil:
        cdef size_t at = key >> 32 & self.mask
        cdef uint64_t slot = self.slots[at]
        while slot and ((slot ^ key) >> 32 or self.key_of(<uint32_t> slot) != key):
            at = (at + 1) & self.mask
            slot = self.slots[at]
        return <uint32_t> slot
