"""Replays: a match that is over, as seats and spectators saw it at each version."""

from collections.abc import Iterator, Sequence

from croupier.v1 import match_pb2, review_pb2
from service.hosting.match_state import MatchState
from service.hosting.records import RecordError, after_entry
from service.hosting.views import serialize_view
from wire import field, number_field, write_recorded_events
from wire.errors import invalid_field
from wire.fields import Fields

_VERSION = review_pb2.ReplayMatchResponse.VERSION_FIELD_NUMBER
_VIEWS = review_pb2.ReplayMatchResponse.VIEWS_FIELD_NUMBER
_END_VERSION = review_pb2.ReplayMatchResponse.END_VERSION_FIELD_NUMBER


def trying(
    state: MatchState,
    viewers: Sequence[int],
    fields: Fields,
    after: int,
    tried: Sequence[match_pb2.SeatAction],
) -> Iterator[bytes | None]:
    """What decisions lead to that are tried after a version of a match; as `replaying`.

    Raises Refusal for one that the rules do not allow.
    """
    past = yield from state.going_back(after)
    for number, action in enumerate(tried):
        entry = match_pb2.RecordEntry(action=action)
        entry.time.FromMilliseconds(past.time)
        try:
            past = after_entry(past, entry, path := f"tried_actions[{number}]")
        except RecordError as error:
            raise invalid_field(path, "NOT_ALLOWED", str(error)) from None
        response = review_pb2.ReplayMatchResponse(
            events=write_recorded_events(past.game, past.events(past.version), past.version)
        )
        views = _write(past, viewers, fields, after + len(tried))
        yield views + response.SerializeToString()


def replaying(
    state: MatchState, viewers: Sequence[int], fields: Fields, after: int
) -> Iterator[bytes | None]:
    """The versions of a match after one, each as a serialized ReplayMatchResponse.

    `fields` are those of the views. None stands for a step that shows nothing. Raises Refusal as
    `MatchState.loading`.
    """
    past = yield from MatchState.beginning(state.header)
    for version in range(state.version + 1):
        if version:
            past = past.after(state.entry(version))
        yield _write(past, viewers, fields, state.version) if version > after else None


def _write(past: MatchState, viewers: Sequence[int], fields: Fields, end_version: int) -> bytes:
    # In the order of the fields, as protobuf writes them.
    parts = [number_field(_VERSION, past.version)] if past.version else []
    parts += [field(_VIEWS, serialize_view(past, viewer, fields)) for viewer in viewers]
    if end_version:
        parts.append(number_field(_END_VERSION, end_version))
    return b"".join(parts)
