"""Faults that the sanitizers must report. scripts/sanitize.sh builds and calls them."""

from libc.stdlib cimport free, malloc


def write_past_stack(int index):
    """Write past the end of an array on the stack."""
    cdef int[4] array
    array[0] = 0
    array[index] = 1
    return array[0]


def read_past_heap(int index):
    """Read past the end of allocated memory."""
    cdef int* array = <int*> malloc(4 * sizeof(int))
    array[0] = 0
    value = array[index]
    free(array)
    return value


def read_freed():
    """Read memory that was freed."""
    cdef int* array = <int*> malloc(4 * sizeof(int))
    array[0] = 0
    free(array)
    return array[0]


def shift(int bits):
    """Shift by more bits than a number has."""
    cdef int number = 1
    return number << bits
