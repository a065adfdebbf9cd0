"""Memory of the searches: blocks that live as long as their owner, and an index of entries.

A search takes its memory once, so that nothing is allocated while it runs; pages that it does not
touch cost nothing. What it finds again by a key is an entry of one of its arrays, and the index
holds the number of the entry with half of its key: a node and its key are read together anyway.
"""

from libc.stdlib cimport calloc, free
from libc.string cimport memset

cdef enum:
    LINE = 64                  # Bytes of a cache line: a block begins with one.
    HEADER = LINE              # Before a block: where the block before it is.
    SMALLEST_INDEX = 16        # Slots.


cdef extern from "<stdlib.h>":
    void* aligned_alloc(size_t alignment, size_t size) noexcept nogil


cdef class Arena:
    """Blocks of memory that are freed together with the arena."""

    def __dealloc__(self):
        cdef char* block = self.last
        while block != NULL:
            self.last = (<char**> block)[0]
            free(block)
            block = self.last

    cdef void* take(self, size_t count, size_t size) except NULL:
        return self.keep(<char*> aligned_alloc(
            LINE, (HEADER + count * size + LINE - 1) // LINE * LINE))

    cdef void* take_zeroed(self, size_t count, size_t size) except NULL:
        cdef char* block = <char*> self.take(count, size)
        memset(block, 0, count * size)
        return block

    cdef void* keep(self, char* block) except NULL:
        if block == NULL:
            raise MemoryError
        (<char**> block)[0] = self.last
        self.last = block
        return block + HEADER


cdef class HashIndex:
    """Entries by their keys: open addressing with linear probing.

    Keys are mixed well before they come here, so their upper half alone chooses the slot, and no
    entry is read when the index grows. At most half of the slots are taken.
    """

    def __dealloc__(self):
        free(self.slots)

    cdef int use(self, const void* entries, size_t stride, size_t capacity) except -1:
        cdef size_t mask = SMALLEST_INDEX - 1
        self.entries = <const char*> entries
        self.stride = stride
        while mask < 2 * capacity:
            mask = 2 * mask + 1
        if not self.resize(mask):
            raise MemoryError
        return 0

    cdef bint resize(self, size_t mask) noexcept nogil:
        cdef uint64_t* old = self.slots
        cdef size_t old_size = self.mask + 1 if old != NULL else 0
        cdef uint64_t* slots = <uint64_t*> calloc(mask + 1, sizeof(uint64_t))
        cdef size_t i
        if slots == NULL:
            return False
        self.slots = slots
        self.mask = mask
        for i in range(old_size):
            if old[i]:
                self.slots[self.free_slot(old[i])] = old[i]
        free(old)
        return True

    cdef size_t free_slot(self, uint64_t key) noexcept nogil:
        cdef size_t at = key >> 32 & self.mask
        while self.slots[at]:
            at = (at + 1) & self.mask
        return at

    cdef bint insert(self, uint32_t entry) noexcept nogil:
        # The index grows with its entries, since few searches come near to what fits in memory, and
        # slots for that would be a page fault for each entry.
        cdef uint64_t key = self.key_of(entry)
        if 2 * (self.count + 1) > self.mask and not self.resize(2 * self.mask + 1):
            return False
        self.slots[self.free_slot(key)] = key >> 32 << 32 | entry
        self.count += 1
        return True
