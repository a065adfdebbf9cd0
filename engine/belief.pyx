"""A belief: a probability distribution over hidden things, each packed into 64 bits.

A caller adds weights to keys in a hash table, then seals the belief and draws from it. The order of
the keys depends only on the keys and the order in which they were added, so a seed gives the same
draws on every machine.
"""

from libc.stdlib cimport calloc, free, malloc

from engine.chance cimport Rng, mix, rng_double, rng_weighted

cdef uint64_t NO_KEY = ~<uint64_t> 0


cdef class Belief:
    """A distribution over 64-bit keys. The key 2**64 - 1 is reserved for empty slots."""

    def __cinit__(self):
        self.room = 0
        if not self.grow():
            raise MemoryError

    def __dealloc__(self):
        free(self.keys)
        free(self.weights)
        free(self.first)

    def __len__(self):
        return self.size

    cdef bint grow(self) noexcept nogil:
        cdef size_t old_room = self.room, i
        cdef uint64_t* old_keys = self.keys
        cdef double* old_weights = self.weights
        cdef size_t room = 2 * old_room if old_room else 64
        cdef uint64_t* keys = <uint64_t*> malloc(room * sizeof(uint64_t))
        cdef double* weights = <double*> calloc(room, sizeof(double))
        if keys == NULL or weights == NULL:
            free(keys)
            free(weights)
            self.out_of_memory = True
            return False
        for i in range(room):
            keys[i] = NO_KEY
        self.keys = keys
        self.weights = weights
        self.room = room
        self.size = 0
        for i in range(old_room):
            if old_keys[i] != NO_KEY:
                self.add(old_keys[i], old_weights[i])
        free(old_keys)
        free(old_weights)
        return True

    cdef void add(self, uint64_t key, double weight) noexcept nogil:
        cdef size_t slot
        if weight <= 0 or (2 * self.size >= self.room and not self.grow()):
            return
        slot = mix(0, key) & (self.room - 1)
        while self.keys[slot] != key:
            if self.keys[slot] == NO_KEY:
                self.keys[slot] = key
                self.size += 1
                break
            slot = (slot + 1) & (self.room - 1)
        self.weights[slot] += weight

    cdef double normalize(self) noexcept nogil:
        cdef double total = 0
        cdef size_t i
        for i in range(self.room):
            total += self.weights[i]
        if total > 0:
            for i in range(self.room):
                self.weights[i] /= total
        return total

    cdef bint seal(self) noexcept nogil:
        cdef size_t i, n = 0
        cdef double total = 0
        if self.out_of_memory:
            return False
        for i in range(self.room):
            if self.keys[i] != NO_KEY:
                total += self.weights[i]
                self.keys[n] = self.keys[i]
                self.weights[n] = total
                n += 1
        return n > 0 and total > 0 and self.slice_weights()

    cdef bint slice_weights(self) noexcept nogil:
        # As many slices as entries: few entries then end in the same slice.
        cdef size_t i, slice = 0
        self.first = <uint32_t*> malloc((self.size + 2) * sizeof(uint32_t))
        if self.first == NULL:
            return False
        self.slices = self.size / self.weights[self.size - 1]
        for i in range(self.size):
            while slice <= <size_t> (self.weights[i] * self.slices):
                self.first[slice] = i
                slice += 1
        while slice < self.size + 2:
            self.first[slice] = self.size - 1
            slice += 1
        return True

    cdef uint64_t draw(self, Rng* rng) noexcept nogil:
        cdef double at
        cdef size_t slice, low, high, middle
        if rng.script != NULL:
            return self.keys[rng_weighted(rng, self.weights, self.size)]
        at = rng_double(rng) * self.weights[self.size - 1]
        slice = <size_t> (at * self.slices)
        low = self.first[slice]
        high = self.first[slice + 1]
        while low < high:
            middle = (low + high) // 2
            if self.weights[middle] > at:
                high = middle
            else:
                low = middle + 1
        return self.keys[low]
