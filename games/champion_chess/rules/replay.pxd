"""A replay of the turns in a memory: what they show for certain about a hand."""

from engine.integers cimport uint8_t
from games.champion_chess.rules.state cimport CARDS, ChessView, Memory, Turn

cdef struct Replay:
    uint8_t unseen[CARDS]        # In hand or deck.
    uint8_t reserve[CARDS]
    uint8_t known[CARDS]         # Certain to be in hand. A shown card is taken from these first.
    int hand_size
    int deck_size
    int draws                    # Cards drawn since the hand was last equal to `known`, or shown.
    bint certain                 # The last fill found the hand certain: it is `known` and `draws`.
    bint reshuffled              # The last fill shuffled the reserve into a new deck.

# Starts at the point where the memory begins.
cdef void replay_start(const Memory* memory, Replay* replay) noexcept nogil
# Fills the hand, as at the start of a turn.
cdef void replay_fill(Replay* replay, int max_hand) noexcept nogil
# Plays a champion. False: it cannot have been in hand.
cdef bint replay_champion(Replay* replay, int champion, bint castled) noexcept nogil
# Plays a whole turn, after the fill. False: it cannot have been played.
cdef bint replay_turn(Replay* replay, const Turn* turn) noexcept nogil
# Plays all turns up to now, without a champion on the table. False: the memory contradicts itself.
cdef bint replay_memory(const Memory* memory, int phase, int max_hand,
                        Replay* replay) noexcept nogil
# Writes which cards are certain to be in each hand. Nothing else in the view is trusted.
cdef void know_hands(ChessView* seen, int max_hand) noexcept nogil
