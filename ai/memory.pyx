"""Memory of the searches: the account, blocks that live as long as their owner, and an index.

A search takes its memory once, so that nothing is allocated while it runs; pages that it does not
touch cost nothing. What it finds again by a key is an entry of one of its arrays, and the index
holds the number of the entry with half of its key: a node and its key are read together anyway.

All searches of a process share one `account`, whose bound is chosen when the process starts. Each
thread of a search has a grant: what was set aside for it when the search was admitted, and what its
memory has grown by since, up to its share. A search that grows leaves a part of the bound to those
that have yet to be admitted. What is freed gives itself back.
"""

cimport cython
from libc.stdlib cimport calloc, free
from libc.string cimport memset

cdef enum:
    LINE = 64                  # Bytes of a cache line: a block begins with one.
    HEADER = LINE              # Before a block: where the block before it is.
    SMALLEST_INDEX = 16        # Slots.
    GROW_LEAVES = 4            # A fourth of the bound, to searches that have yet to be admitted.

cdef size_t ANY = <size_t> 1 << 62   # Bytes: no bound.


cdef extern from "<stdlib.h>":
    void* aligned_alloc(size_t alignment, size_t size) noexcept nogil

cdef extern from *:
    """
    /* Without a lock: a thread that only runs when nobody else does must not hold up another. */
    static int account_take(size_t* held, size_t size, size_t limit) {
        size_t before = __atomic_load_n(held, __ATOMIC_RELAXED);
        do {
            if (before > limit || size > limit - before) return 0;
        } while (!__atomic_compare_exchange_n(
            held, &before, before + size, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
        return 1;
    }
    static void account_give(size_t* held, size_t size) {
        __atomic_fetch_sub(held, size, __ATOMIC_RELAXED);
    }
    static size_t account_held(const size_t* held) {
        return __atomic_load_n(held, __ATOMIC_RELAXED);
    }
    """
    bint account_take(size_t* held, size_t size, size_t limit) noexcept nogil
    void account_give(size_t* held, size_t size) noexcept nogil
    size_t account_held(const size_t* held) noexcept nogil


cdef class Account:
    """How many bytes the searches of a process may hold, and how many they do.

    `grow_bound` is what they may hold by growing; the rest is for those that are admitted.
    """

    def __cinit__(self):
        self._bound = ANY

    @property
    def bound(self):
        """The most that they may hold; at first any number."""
        return self._bound

    @bound.setter
    def bound(self, size_t size):
        self._bound = size

    @property
    def grow_bound(self):
        """How much they may hold when one of them grows."""
        return grow_bound(self)

    @property
    def held(self):
        """How much they hold."""
        return account_held(&self._held)

    def reserve(self, int count, size_t size, size_t limit, size_t most):
        """So many grants, for each of which `size` bytes are set aside, to use at most `most`.

        None: more than `limit` bytes would be held then.
        """
        cdef Grant grant
        if not self.take(count * size, min(limit, self._bound)):
            return None
        grants = [self.grant() for _ in range(count)]
        for grant in grants:
            grant.reserved = grant.held = size
            grant.most = most
        return grants

    def grant(self):
        """A grant for which nothing is set aside, to use whatever the account has."""
        cdef Grant grant = Grant.__new__(Grant)
        grant.account = self
        grant.most = ANY
        return grant

    cdef bint take(self, size_t size, size_t limit) noexcept nogil:
        return account_take(&self._held, size, limit)

    cdef void give(self, size_t size) noexcept nogil:
        account_give(&self._held, size)


cdef size_t grow_bound(Account account) noexcept nogil:
    return account._bound - account._bound // GROW_LEAVES


account = Account()


# The collector of garbage must not take from these three to whom they give back what they hold.
# They cannot be part of a circle.
@cython.no_gc
cdef class Grant:
    """What one thread of a search may use of the account, and uses. Only this thread changes it."""

    def __dealloc__(self):
        if self.account is not None:
            self.account.give(self.held)

    cdef bint take(self, size_t size) noexcept nogil:
        cdef size_t used = self.used + size
        if used > self.most:
            return False
        if used > self.held:
            if not self.account.take(used - self.held, grow_bound(self.account)):
                self.refused = True
                return False
            self.held = used
        self.used = used
        return True

    cdef void give(self, size_t size) noexcept nogil:
        cdef size_t kept
        self.used -= size
        kept = max(self.used, self.reserved)
        self.account.give(self.held - kept)
        self.held = kept


@cython.no_gc
cdef class Arena:
    """Blocks of memory that are freed together with the arena, and charged to a grant."""

    def __cinit__(self, Grant grant=None):
        self.grant = grant

    def __dealloc__(self):
        self.discharge(self.charged)
        cdef char* block = self.last
        while block != NULL:
            self.last = (<char**> block)[0]
            free(block)
            block = self.last

    cdef bint charge(self, size_t size) noexcept nogil:
        if self.grant is not None:
            if not self.grant.take(size):
                return False
            self.charged += size
        return True

    cdef void discharge(self, size_t size) noexcept nogil:
        if self.grant is not None:
            self.charged -= size
            self.grant.give(size)

    cdef void* take(self, size_t count, size_t size) except NULL:
        if not self.charge(count * size):
            raise MemoryError
        return self.take_free(count, size)

    cdef void* take_free(self, size_t count, size_t size) except NULL:
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


@cython.no_gc
cdef class HashIndex:
    """Entries by their keys: open addressing with linear probing.

    Keys are mixed well before they come here, so their upper half alone chooses the slot, and no
    entry is read when the index grows. At most half of the slots are taken.
    """

    def __dealloc__(self):
        free(self.slots)

    cdef int use(self, Arena arena, const void* entries, size_t stride, size_t capacity) except -1:
        cdef size_t mask = SMALLEST_INDEX - 1
        self.arena = arena
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
        cdef uint64_t* slots
        cdef size_t i
        if not self.arena.charge((mask + 1) * sizeof(uint64_t)):
            return False
        slots = <uint64_t*> calloc(mask + 1, sizeof(uint64_t))
        if slots == NULL:
            return False
        self.slots = slots
        self.mask = mask
        for i in range(old_size):
            if old[i]:
                self.slots[self.free_slot(old[i])] = old[i]
        free(old)
        self.arena.discharge(old_size * sizeof(uint64_t))
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
