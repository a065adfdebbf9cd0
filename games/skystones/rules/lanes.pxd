"""Lanes: a word with seven bits for each of nine squares, for what runs millions of times a second.

One operation works on all squares at once (SWAR: SIMD within a register). A board of two by two
uses the lanes that its squares would have on a board of three by three; nothing ever lies on the
others.

An edge of p points takes an edge of q points that it touches if p + (63 - q) sets the highest bit
of a lane.
"""

from engine.integers cimport uint64_t
from games.skystones.rules.state cimport EAST, NORTH, SOUTH

cdef extern from *:
    """
    #define SKYSTONES_LANE_ONES 0x0102040810204081ULL
    #define SKYSTONES_WEST_LANES (0x40000200001ULL * 127)
    """
    const uint64_t LANE_ONES "SKYSTONES_LANE_ONES"     # The lowest bit of each lane,
    const uint64_t LANE_TOPS "(SKYSTONES_LANE_ONES << 6)"      # the highest,
    const uint64_t ALL_LANES "(SKYSTONES_LANE_ONES * 127)"     # and all bits.
    const uint64_t WEST_LANES "SKYSTONES_WEST_LANES"   # The lanes of the squares in the west,
    const uint64_t EAST_LANES "(SKYSTONES_WEST_LANES << 14)"   # and of those in the east.

cdef enum:
    LANE_BITS = 7
    LANE = (1 << LANE_BITS) - 1
    MOST = LANE >> 1             # The most that a lane can hold below its highest bit.


# Moves to each lane what the lane across this edge has: 0 where the board ends.
cdef inline uint64_t across(uint64_t lanes, int edge) noexcept nogil:
    if edge == NORTH:
        return lanes << 3 * LANE_BITS & ALL_LANES
    if edge == EAST:
        return lanes >> LANE_BITS & ~EAST_LANES
    if edge == SOUTH:
        return lanes >> 3 * LANE_BITS
    return lanes << LANE_BITS & ALL_LANES & ~WEST_LANES


cdef inline int count_lanes(uint64_t lanes) noexcept nogil:
    return ((lanes & LANE_ONES) * LANE_ONES >> 8 * LANE_BITS) & LANE
