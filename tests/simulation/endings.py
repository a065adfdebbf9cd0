"""How matches end: who loses, and whether a match may end so at all.

The judge asks the entries of the log, the engine, and what the API promises of each reason
(`EndReason`, `TimeControl.max_default_actions`).
"""

from croupier.v1 import clock_pb2, game_pb2
from service.hosting.entries import EntryKind


def wrong_idle(course, entry, before, seconds):
    """What is wrong with an entry that ends a match as idle, after another at a time `before`."""
    if entry.kind != EntryKind.IDLE:
        return ""
    deciders = course.match.deciders if course.match is not None else ()
    if course.clocked() or any(course.header.bots[seat] for seat in deciders):
        return "the match ends as idle, though a server had to act in it"
    if entry.at - before < 1000 * seconds:
        return f"the match ends as idle {(entry.at - before) / 1000:.1f} s after something happened"
    return ""


def result_after(course, entry):
    """The reason and the scores of a match that an entry ends before its rules do, or None."""
    if entry.kind == EntryKind.RESIGNATION:
        return _early(game_pb2.END_REASON_RESIGNATION, (entry.seat,))
    if entry.kind == EntryKind.IDLE:
        losers = course.match.deciders if course.match is not None else ()
        return _early(game_pb2.END_REASON_IDLE, losers)
    if entry.kind == EntryKind.DECLINE:
        return _early(game_pb2.END_REASON_DECLINED, ())
    if entry.kind == EntryKind.ABORT:
        return game_pb2.END_REASON_ABORTED, []
    if entry.kind != EntryKind.EXPIRY or entry.action:
        return None
    if course.control.on_expiry != clock_pb2.EXPIRY_POLICY_DEFAULT_ACTION:
        late = [seat for seat in course.clocked() if course.deadline(seat) <= entry.at]
        first = min(course.deadline(seat) for seat in late)
        losers = [seat for seat in late if course.deadline(seat) == first]
        return _early(game_pb2.END_REASON_TIME, losers)
    # A seat that has had at least half as many default actions has left too.
    left, other = course.played[entry.seat], course.played[1 - entry.seat]
    losers = (0, 1) if other >= left / 2 else (entry.seat,)
    return _early(game_pb2.END_REASON_ABANDONED, losers)


def _early(reason, losers):
    if len(losers) != 1:
        return reason, [0.5, 0.5]
    return reason, [float(seat not in losers) for seat in (0, 1)]
