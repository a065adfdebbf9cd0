"""Faults of rules that are written in Python, which cannot raise where the engine calls them."""

# How many threads have a fault that was not raised yet. What has called into a game from Python
# calls `raise_fault` next, so that a compiled game pays for a comparison.
cdef int pending

# Whether this thread has a fault that was not raised yet.
cdef bint failed_here() noexcept nogil
# Comes before each call into a package's code, and `keep_raised` after it.
cdef void begin_call() noexcept
# Ends a call. Takes the exception that the rules of a game have just raised in a method, if there
# is one, and keeps it unless this thread has a fault already.
cdef void keep_raised(str game_id, const char* method) noexcept
cdef int raise_pending() except -1

# Raises the fault of this thread, if it has one: RulesFault from what the rules raised.
cdef inline int raise_fault() except -1:
    return raise_pending() if pending else 0
