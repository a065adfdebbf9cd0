"""Requests that change a match: what each makes of a match state, before anything is written."""

from itertools import islice, takewhile
from typing import NamedTuple

from croupier.v1.error_pb2 import ErrorReason
from croupier.v1.game_pb2 import MatchAction
from engine.errors import ActionError
from service import wire
from service.common.errors import Refusal
from service.hosting.match_state import MatchState
from service.hosting.seats import MAX_GENERATION, Caller
from service.store import Entry, EntryKind


class Reply(NamedTuple):
    """The request changes nothing now."""

    state: MatchState
    version: int  # It is answered with the match as it was at this version.


class Commit(NamedTuple):
    """The request adds an entry: the match with it, to be committed before it is answered."""

    state: MatchState


def submit_action(
    state: MatchState,
    at: int,
    seat: int,
    expected_version: int,
    action: MatchAction,
    request_id: str,
) -> Reply | Commit:
    """Decides for a seat at a time; raises Refusal.

    A request that was carried out before is answered as it was then.
    """
    wire.check_game(state.game, action, "action")
    number, data = _read_action(state, action)
    entry = Entry(EntryKind.ACTION, seat, at, data, expected_version, request_id)
    repeated = state.version_of(seat, request_id)
    if repeated is not None:
        return _reply_again(state, repeated, entry)
    check_running(state)
    if state.is_stale(seat, expected_version):
        raise Refusal(
            ErrorReason.ERROR_REASON_STALE_VERSION,
            f"the match is at version {state.version}",
            metadata={"current_version": str(state.version)},
        )
    check_decides(state, seat)
    try:
        if isinstance(number, ActionError):
            raise number
        return Commit(state.after_action(entry, number))
    except ActionError as error:
        raise wire.illegal_action(error, action, "action") from None


def _read_action(state: MatchState, action: MatchAction) -> tuple[int | ActionError, bytes]:
    # The action and its canonical form. One that the game does not have is an error only if the
    # request passes all other checks; until then it stands for itself.
    data = action.SerializeToString(deterministic=True)
    try:
        number = wire.parse_action(state.game, data)
    except ActionError as error:
        return error, data
    return number, wire.serialize_action(state.game, number)


def _reply_again(state: MatchState, version: int, entry: Entry) -> Reply:
    # When it was sent does not matter.
    if state.entry(version)._replace(at=entry.at) != entry:
        raise Refusal(
            ErrorReason.ERROR_REASON_REQUEST_ID_REUSED,
            "this request_id was used for another action or another version",
        )
    return Reply(state, version)


def contribute_entropy(
    state: MatchState, at: int, seat: int, kind: EntryKind, data: bytes
) -> Reply | Commit:
    """Adds a seat's hash of its entropy, or the entropy, at a time; raises Refusal."""
    entry = Entry(kind, seat, at, data)
    # When it was made does not matter. Nothing is contributed after the deal.
    before = takewhile(lambda each: each.kind != EntryKind.ACTION, state.history.entries)
    if any(each._replace(at=entry.at) == entry for each in islice(before, state.version)):
        return Reply(state, state.version)
    check_running(state)
    return Commit(state.after(entry))


def resign(state: MatchState, at: int, seat: int) -> Reply | Commit:
    """Gives the match up for a seat at a time.

    Raises Refusal if it is over, unless that is because this seat has resigned.
    """
    if state.resigned == seat:
        return Reply(state, state.version)
    check_running(state)
    return Commit(state.after(Entry(EntryKind.RESIGNATION, seat, at)))


def join(state: MatchState, at: int, seat: int, names: bytes, request_id: str) -> Reply | Commit:
    """Joins an invited seat at a time; raises Refusal if somebody else has.

    `names` is what `write_joined` makes of the names of the API key and the player. A request that
    was carried out before is answered as it was then. For the one caller that may join anyhow, the
    request_id is empty; a match that is over needs nobody to join.
    """
    missing = seat in state.seats.missing
    if not request_id:
        if state.declined:
            raise Refusal(ErrorReason.ERROR_REASON_MATCH_OVER, "the rematch was declined")
        if state.over or not missing:
            return Reply(state, state.version)
    if not missing:
        joined = state.version_of(seat, request_id)
        if joined is not None and state.entry(joined).kind == EntryKind.JOIN:
            return Reply(state, state.version)
        raise Refusal(
            ErrorReason.ERROR_REASON_INVITATION_USED,
            "the invitation was used with another request_id: somebody else sits in the seat",
        )
    check_running(state)
    return Commit(state.after(Entry(EntryKind.JOIN, seat, at, names, 0, request_id)))


def decline(state: MatchState, at: int, seat: int) -> Reply | Commit:
    """Ends a match that waits for a seat at a time, before it is dealt; raises Refusal."""
    if state.declined:
        return Reply(state, state.version)
    if state.over or not state.seats.missing:
        raise Refusal(
            ErrorReason.ERROR_REASON_REMATCH_NOT_OFFERED,
            "the offer is over" if state.over else "the rematch has begun",
        )
    return Commit(state.after(Entry(EntryKind.DECLINE, seat, at)))


def replace_token(state: MatchState, at: int, caller: Caller, request_id: str) -> Reply | Commit:
    """Replaces the token with which a seat calls at a time; raises Refusal.

    A request that was carried out before is answered as it was then, until the next replacement.
    """
    seat, generation = caller.seat, state.seats.generations[caller.seat]
    replaced = state.version_of(seat, request_id)
    if replaced is not None and caller.generation == generation - 1:
        later = [version for version in state.seats.replacements if version > replaced]
        if not any(state.entry(version).seat == seat for version in later):
            return Reply(state, state.version)
    state.seats.check_token(caller)
    check_running(state)
    if replaced is not None:
        raise Refusal(
            ErrorReason.ERROR_REASON_REQUEST_ID_REUSED,
            "this request_id was used for an earlier replacement",
        )
    if generation >= MAX_GENERATION:
        raise Refusal(
            ErrorReason.ERROR_REASON_TOKEN_REPLACED_TOO_OFTEN,
            f"the token of a seat can be replaced {MAX_GENERATION} times",
        )
    return Commit(state.after(Entry(EntryKind.TOKEN, seat, at, request_id=request_id)))


def check_running(state: MatchState) -> None:
    """Raises Refusal if a match is over."""
    if state.over:
        raise Refusal(ErrorReason.ERROR_REASON_MATCH_OVER, "the match is over")


def check_decides(state: MatchState, seat: int) -> None:
    """Raises Refusal unless a seat owes a decision."""
    if seat not in state.deciders:
        raise Refusal(ErrorReason.ERROR_REASON_NOT_TO_DECIDE, f"seat {seat} owes no decision now")
