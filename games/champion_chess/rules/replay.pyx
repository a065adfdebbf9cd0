"""A replay of the turns in a memory: what they show for certain about a hand.

A `Memory` starts at a point where the hand was certain and keeps what the hand has shown since,
turn by turn. A `Replay` goes through these turns.
"""

from libc.string cimport memcpy

from engine.game cimport SEATS
from games.champion_chess.rules.hand cimport total
from games.champion_chess.rules.state cimport (
    AID, CHAMPION, KING, MAX_HAND, MEMORY_CUT, MEMORY_TURNS, NOBLES, ROOK, ChessView,
)


cdef void replay_start(const Memory* memory, Replay* replay) noexcept nogil:
    cdef int card
    for card in range(CARDS):
        replay.unseen[card] = memory.hand[card] + memory.deck[card]
        replay.reserve[card] = memory.reserve[card]
        replay.known[card] = memory.hand[card]
    replay.hand_size = total(memory.hand)
    replay.deck_size = total(memory.deck)
    replay.draws = 0
    replay.certain = False


cdef void replay_fill(Replay* replay, int max_hand) noexcept nogil:
    cdef int card, n
    replay.draws = 0
    replay.certain = False
    replay.reshuffled = False
    while replay.hand_size < max_hand:
        if replay.deck_size == 0:
            replay.deck_size = total(replay.reserve)
            if replay.deck_size == 0:
                break
            memcpy(replay.known, replay.unseen, CARDS)
            replay.certain = True
            replay.reshuffled = True
            for card in range(CARDS):
                replay.unseen[card] += replay.reserve[card]
                replay.reserve[card] = 0
        n = min(max_hand - replay.hand_size, replay.deck_size)
        replay.hand_size += n
        replay.deck_size -= n
        replay.draws = n
        if replay.deck_size == 0:
            memcpy(replay.known, replay.unseen, CARDS)
            replay.certain = True
            replay.draws = 0


cdef bint replay_loss(Replay* replay, int card) noexcept nogil:
    # A card was shown and left the hand. False: it cannot have been in hand.
    if replay.unseen[card] == 0 or replay.hand_size == 0:
        return False
    replay.unseen[card] -= 1
    replay.hand_size -= 1
    if replay.known[card]:
        replay.known[card] -= 1
    return True


cdef bint replay_champion(Replay* replay, int champion, bint castled) noexcept nogil:
    if not castled:
        return replay_loss(replay, champion)
    # A King in hand changed places with a Rook in the deck.
    if champion != ROOK or not replay_loss(replay, KING) or replay.unseen[ROOK] == 0:
        return False
    replay.unseen[KING] += 1
    replay.unseen[ROOK] -= 1
    return True


cdef bint replay_turn(Replay* replay, const Turn* turn) noexcept nogil:
    cdef int i
    if turn.aid_count + turn.discard_count > MAX_HAND:
        return False
    for i in range(turn.aid_count + turn.discard_count):
        if turn.cards[i] >= CARDS:
            return False
    if turn.mulligan:
        if turn.discard_count != replay.hand_size or turn.aid_count:
            return False
    else:
        if (turn.champion >= NOBLES
                or not replay_champion(replay, turn.champion, turn.castled)):
            return False
        if turn.won:
            replay.reserve[turn.champion] += 1
    for i in range(turn.aid_count + turn.discard_count):
        if not replay_loss(replay, turn.cards[i]):
            return False
        if i >= turn.aid_count:
            replay.reserve[turn.cards[i]] += 1
    return True


cdef bint replay_memory(const Memory* memory, int phase, int max_hand,
                        Replay* replay) noexcept nogil:
    cdef int i
    replay_start(memory, replay)
    if memory.size > MEMORY_TURNS:
        return False
    for i in range(memory.size):
        replay_fill(replay, max_hand)
        if not replay_turn(replay, &memory.turns[i]):
            return False
        # A memory of this length would have been cut at the last point where the hand was certain.
        if i + memory.turns[i].mulligan > MEMORY_CUT and (
                replay.reshuffled or memory.turns[i].mulligan):
            return False
    if phase != CHAMPION and phase != AID:
        return True
    replay_fill(replay, max_hand)
    return not replay.reshuffled or memory.size <= MEMORY_CUT


cdef void know_hands(ChessView* seen, int max_hand) noexcept nogil:
    cdef Replay replay
    cdef int seat, champion
    for seat in range(SEATS):
        replay_memory(&seen.side[seat].memory, seen.phase, max_hand, &replay)
        champion = seen.side[seat].champion
        if 0 < champion <= NOBLES:
            replay_champion(&replay, champion - 1, seen.side[seat].castled)
        memcpy(seen.known[seat], replay.known, CARDS)
