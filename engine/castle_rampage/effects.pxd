"""Steps of effects: how cards of Castle Rampage move. Each step logs its events."""

from engine.castle_rampage.state cimport CastleState
from engine.chance cimport Rng
from engine.events cimport EventLog
from engine.game cimport Action
from engine.integers cimport uint8_t

# Shuffles the draw pile.
cdef void shuffle(CastleState* rampage, Rng* rng, EventLog* log) noexcept nogil
# Draws up to `number` cards. When the draw pile runs out, the discard pile is shuffled into a new
# one; when both are empty, drawing stops.
cdef void draw(CastleState* rampage, int seat, int number, Rng* rng, EventLog* log) noexcept nogil
cdef void log_drawn(EventLog* log, int seat, const uint8_t* cards, uint8_t n) noexcept nogil
# Takes a card that a seat has chosen out of its hand.
cdef void spend(CastleState* rampage, int seat, int card) noexcept nogil
# Discards the cards that an action pays with.
cdef void discard_payment(CastleState* rampage, int seat, Action action,
                          EventLog* log) noexcept nogil
# Discards `number` random cards of a hand, or the whole hand if it has fewer.
cdef void discard_at_random(CastleState* rampage, int seat, int number, Rng* rng,
                            EventLog* log) noexcept nogil
# Puts a card under a structure.
cdef void put_under(CastleState* rampage, int seat, int structure, int card,
                    int known) noexcept nogil
# Destroys the top card of a structure. The match is over if it was the last card of a Castle.
cdef void destroy_top(CastleState* rampage, int seat, int structure, EventLog* log) noexcept nogil
# Destroys a permanent card of a seat.
cdef void destroy_permanent(CastleState* rampage, int seat, int card, EventLog* log) noexcept nogil
# Lets a seat see the top card of each structure of the other seat.
cdef void look(CastleState* rampage, int seat, EventLog* log) noexcept nogil
# Shows a hand to everyone and discards each card of it that counts as a unit.
cdef void show_hand(CastleState* rampage, int seat, int unit, EventLog* log) noexcept nogil
